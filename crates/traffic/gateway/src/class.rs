//! Which Ingresses are the gateway's: those of a class that names it as its controller. All others are left alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kedge_client::{NotReady, World};
use kube::ResourceExt;

/// Who looks after a class, as its `spec.controller` says.
pub const CONTROLLER: &str = "kedge.dev/gateway";
/// The class that every cluster has.
pub const CLASS: &str = "kedge";
pub(crate) const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
/// How classes were named before there was a field for it.
const OLD: &str = "kubernetes.io/ingress.class";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes {
    ours: BTreeSet<String>,
    /// Ingresses that name no class are ours.
    is_default: bool,
}

impl Classes {
    pub(crate) fn of(world: &World) -> Result<Self, NotReady> {
        Ok(Self::among(&world.cache::<IngressClass>()?.all()))
    }

    fn among(classes: &[Arc<IngressClass>]) -> Self {
        let ours = classes.iter().filter(|class| {
            class.spec.as_ref().and_then(|spec| spec.controller.as_deref()) == Some(CONTROLLER)
        });
        let is_default = ours.clone().any(|class| is_default(class));
        Self { ours: ours.map(|class| class.name_any()).collect(), is_default }
    }

    pub(crate) fn have(&self, ingress: &Ingress) -> bool {
        let named = ingress.spec.as_ref().and_then(|spec| spec.ingress_class_name.as_ref());
        match named.or_else(|| ingress.annotations().get(OLD)) {
            Some(class) => self.ours.contains(class),
            None => self.is_default,
        }
    }
}

pub(crate) fn is_default(class: &IngressClass) -> bool {
    class.annotations().get(DEFAULT).is_some_and(|is| is == "true")
}

/// The gateway's own, the oldest first: who came first is served where several ask for the same.
pub(crate) fn ours(world: &World) -> Result<Vec<Arc<Ingress>>, NotReady> {
    let classes = Classes::of(world)?;
    let mut all = world.cache::<Ingress>()?.all();
    all.retain(|ingress| classes.have(ingress));
    all.sort_by_cached_key(|ingress| crate::claims::age(&**ingress));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::object;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn ingresses_of_other_classes_are_left_alone() {
        let class = |name: &str, controller: &str, default: &str| {
            Arc::new(object::<IngressClass>(json!({
                "metadata": {"name": name, "annotations": {DEFAULT: default}}, "spec": {"controller": controller},
            })))
        };
        let ours = [class("kedge", CONTROLLER, "true"), class("edge", CONTROLLER, "false")];
        let others = [class("kedge", CONTROLLER, "false"), class("nginx", "k8s.io/ingress-nginx", "true")];
        let by_field = |name: &str| json!({"metadata": {"name": "i"}, "spec": {"ingressClassName": name}});
        let by_annotation = |name: &str| json!({"metadata": {"name": "i", "annotations": {OLD: name}}});
        let none = json!({"metadata": {"name": "i"}, "spec": {}});
        for (case, classes, ingress, expected) in [
            ("our class", &ours, by_field("kedge"), true),
            ("another name of ours", &ours, by_field("edge"), true),
            ("the old annotation", &ours, by_annotation("kedge"), true),
            ("a class that is not there", &ours, by_field("nginx"), false),
            ("no class, and ours is the default", &ours, none.clone(), true),
            ("no class, and another is the default", &others, none, false),
            ("another class", &others, by_field("nginx"), false),
            ("another class by the annotation", &others, by_annotation("nginx"), false),
        ] {
            let ingress: Ingress = object::<Ingress>(ingress as Value);
            assert_eq!(Classes::among(classes).have(&ingress), expected, "{case}");
        }
    }
}
