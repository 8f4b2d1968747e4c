//! How large an empty folder in memory is: as its pod says, never more than the pod or the node has. Pure.

use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, Pod};
use kedge_kinds::Quantity;
use kedge_mounts::Medium;

use super::cause::Cause;

pub(super) fn of(source: &EmptyDirVolumeSource, pod: &Pod, node: i64) -> Result<Medium, Cause> {
    match source.medium.as_deref().unwrap_or_default() {
        "" => Ok(Medium::Disk),
        "Memory" => {
            let asked = source.size_limit.as_ref().and_then(|limit| limit.0.parse::<Quantity>().ok());
            let asked = asked.map(|limit| limit.value());
            let limits = [Some(node), of_pod(pod), asked].into_iter().flatten();
            let least = limits.filter(|limit| *limit > 0).min();
            Ok(Medium::Memory { limit: least.and_then(|limit| u64::try_from(limit).ok()) })
        }
        medium if medium.starts_with("HugePages") => Err(Cause::HugePages(medium.to_owned())),
        medium => Err(Cause::Medium(medium.to_owned())),
    }
}

/// What a pod may use at most, if all of its containers say so or it says so itself.
fn of_pod(pod: &Pod) -> Option<i64> {
    let spec = pod.spec.as_ref()?;
    let memory = |resources: Option<&k8s_openapi::api::core::v1::ResourceRequirements>| {
        let limit = resources?.limits.as_ref()?.get("memory")?.0.parse::<Quantity>().ok()?;
        Some(limit.value()).filter(|limit| *limit > 0)
    };
    if let Some(limit) = memory(spec.resources.as_ref()) {
        return Some(limit);
    }
    let init = spec.init_containers.iter().flatten();
    let is_sidecar = |restarts: Option<&str>| restarts == Some("Always");
    let (sidecars, once): (Vec<_>, Vec<_>) =
        init.partition(|container| is_sidecar(container.restart_policy.as_deref()));
    let together = spec.containers.iter().chain(sidecars);
    let together: Option<Vec<i64>> = together.map(|container| memory(container.resources.as_ref())).collect();
    let alone: Option<Vec<i64>> =
        once.into_iter().map(|container| memory(container.resources.as_ref())).collect();
    let alone = alone?.into_iter().max().unwrap_or(0);
    Some(together?.into_iter().sum::<i64>().max(alone))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_folder_in_memory_has_an_end() {
        let limited = json!({"name": "c", "resources": {"limits": {"memory": "100"}}});
        let free = json!({"name": "d"});
        let half = json!({"name": "i", "resources": {"limits": {"memory": "150"}}});
        let pod = |containers: Value, init: Value| -> Pod {
            serde_json::from_value(json!({"spec": {"containers": containers, "initContainers": init}}))
                .unwrap()
        };
        for (case, pod, asked, limit) in [
            ("the node's", pod(json!([free]), json!([])), json!(null), 1000),
            ("its own", pod(json!([free]), json!([])), json!("10"), 10),
            ("not more than the node", pod(json!([free]), json!([])), json!("2k"), 1000),
            ("the pod's", pod(json!([limited, limited]), json!([])), json!(null), 200),
            ("not all are limited", pod(json!([limited, free]), json!([])), json!(null), 1000),
            ("one after the other", pod(json!([limited]), json!([half])), json!(null), 150),
            ("its own is less", pod(json!([limited]), json!([])), json!("99"), 99),
        ] {
            let source = serde_json::from_value(json!({"medium": "Memory", "sizeLimit": asked})).unwrap();
            let medium = of(&source, &pod, 1000).unwrap();
            assert_eq!(medium, Medium::Memory { limit: Some(limit) }, "{case}");
        }
        let medium = |medium: &str| {
            let source = serde_json::from_value(json!({"medium": medium})).unwrap();
            of(&source, &Pod::default(), 0).map_err(|cause| cause.to_string())
        };
        assert_eq!(medium(""), Ok(Medium::Disk));
        assert!(medium("HugePages-2Mi").unwrap_err().contains("HugePages-2Mi"));
        assert!(medium("Paper").unwrap_err().contains("Paper"));
    }
}
