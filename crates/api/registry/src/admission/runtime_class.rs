//! A pod that names a runtime class gets what that class costs and where it runs.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::{Plugin, View, forbidden};
use crate::object;

pub(super) struct RuntimeClass;

impl Plugin for RuntimeClass {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Pod")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        pod: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let name = object::text(pod, &["spec", "runtimeClassName"]).to_owned();
        let class = if name.is_empty() { None } else { view.other("runtimeclasses", &name)? };
        let refuse =
            |pod: &Value, why: &str| Err(forbidden(&view.at.kind, pod, &format!("pod rejected: {why}")));
        let Some(class) = class else {
            let stray = object::at(pod, &["spec", "overhead"]).is_some();
            return match (name.is_empty(), stray) {
                (false, _) => refuse(pod, &format!("RuntimeClass {name:?} not found")),
                (true, true) => {
                    refuse(pod, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
                }
                (true, false) => Ok(()),
            };
        };
        let cost = object::at(&class, &["overhead", "podFixed"]).cloned();
        if let Some(said) = object::at(pod, &["spec", "overhead"])
            && Some(said) != cost.as_ref()
        {
            return refuse(pod, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");
        }
        let spec = object::map_mut(pod, "spec");
        object::carry(spec, cost.as_ref(), "overhead");
        for (key, value) in object::at(&class, &["scheduling", "nodeSelector"])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let chosen = object::as_map(spec.entry("nodeSelector").or_insert_with(|| json!({})));
            if chosen.get(key).is_some_and(|said| said != value) {
                return refuse(
                    pod,
                    "conflict: runtimeClass.scheduling.nodeSelector and pod.spec.nodeSelector",
                );
            }
            chosen.insert(key.clone(), value.clone());
        }
        for toleration in
            object::at(&class, &["scheduling", "tolerations"]).and_then(Value::as_array).into_iter().flatten()
        {
            let known = spec.entry("tolerations").or_insert_with(|| json!([]));
            if let Some(known) = known.as_array_mut().filter(|known| !known.contains(toleration)) {
                known.push(toleration.clone());
            }
        }
        Ok(())
    }
}
