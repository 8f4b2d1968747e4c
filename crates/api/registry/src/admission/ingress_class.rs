//! An ingress that names no class gets the cluster's default one.

use kedge_kinds::Status;
use serde_json::Value;

use super::{Plugin, View, annotated_default};
use crate::object;

const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
const OLD_NAME: &str = "kubernetes.io/ingress.class";

pub(super) struct DefaultIngressClass;

impl Plugin for DefaultIngressClass {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("networking.k8s.io", "Ingress")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        ingress: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let named = object::at(ingress, &["spec", "ingressClassName"]).is_some()
            || object::meta(ingress, "annotations").is_some_and(|all| all.get(OLD_NAME).is_some());
        if named {
            return Ok(());
        }
        if let Some(class) = annotated_default(&view.all("ingressclasses")?, DEFAULT) {
            let name = object::meta_text(class, "name");
            object::map_mut(ingress, "spec").insert("ingressClassName".to_owned(), name.into());
        }
        Ok(())
    }
}
