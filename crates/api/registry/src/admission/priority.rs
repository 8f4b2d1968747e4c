//! A pod's priority is the number behind its class, and only that.

use std::sync::Arc;

use kedge_kinds::Status;
use serde_json::Value;

use super::{Plugin, View, forbidden};
use crate::object;

pub(super) struct Priority;

impl Plugin for Priority {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Pod") || view.is("scheduling.k8s.io", "PriorityClass")
    }

    fn mutate(
        &self,
        view: &View<'_>,
        pod: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        if !view.is("", "Pod") {
            return Ok(());
        }
        let named = object::text(pod, &["spec", "priorityClassName"]).to_owned();
        let class = match named.as_str() {
            "" => default_class(view)?,
            name => match view.other("priorityclasses", name)? {
                Some(class) => Some(class),
                None => {
                    let why = format!("no PriorityClass with name {name} was found");
                    return Err(forbidden(&view.at.kind, pod, &why));
                }
            },
        };
        let value = class.as_ref().and_then(|class| class.get("value")).and_then(Value::as_i64).unwrap_or(0);
        let policy = class.as_ref().map_or("", |class| object::text(class, &["preemptionPolicy"]));
        let policy = if policy.is_empty() { "PreemptLowerPriority" } else { policy }.to_owned();
        if let Some(said) = object::at(pod, &["spec", "priority"]).and_then(Value::as_i64)
            && said != value
        {
            let why = format!(
                "the integer value of priority ({said}) must not be provided in pod spec; \
                 priority admission controller computed {value} from the given PriorityClass name"
            );
            return Err(forbidden(&view.at.kind, pod, &why));
        }
        let spec = object::map_mut(pod, "spec");
        if let Some(said) = spec.get("preemptionPolicy").and_then(Value::as_str)
            && said != policy
        {
            let why = format!(
                "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; \
                 priority admission controller computed {policy} from the given PriorityClass name"
            );
            return Err(forbidden(&view.at.kind, pod, &why));
        }
        if let Some(class) = class {
            spec.insert("priorityClassName".to_owned(), object::meta_text(&class, "name").into());
        }
        spec.insert("priority".to_owned(), value.into());
        spec.insert("preemptionPolicy".to_owned(), policy.into());
        Ok(())
    }

    /// Only one class may be everybody's.
    fn validate(&self, view: &View<'_>, class: &Value, _: Option<&Value>) -> Result<(), Status> {
        let is_default = |class: &Value| class.get("globalDefault") == Some(&Value::Bool(true));
        if !view.is("scheduling.k8s.io", "PriorityClass") || !is_default(class) {
            return Ok(());
        }
        let name = object::meta_text(class, "name");
        match view
            .all("priorityclasses")?
            .iter()
            .find(|other| is_default(other) && object::meta_text(other, "name") != name)
        {
            None => Ok(()),
            Some(other) => {
                let other = object::meta_text(other, "name");
                let why =
                    format!("PriorityClass {other} is already marked as default. Only one default can exist");
                Err(forbidden(&view.at.kind, class, &why))
            }
        }
    }
}

/// The class marked as everybody's; the lowest where several are.
fn default_class(view: &View<'_>) -> Result<Option<Arc<Value>>, Status> {
    let all = view.all("priorityclasses")?;
    let marked = all.into_iter().filter(|class| class.get("globalDefault") == Some(&Value::Bool(true)));
    Ok(marked.min_by_key(|class| class.get("value").and_then(Value::as_i64).unwrap_or(0)))
}
