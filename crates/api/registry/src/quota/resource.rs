//! Names under which quotas count.

use kedge_kinds::Kind;

/// `count/pods`, `count/deployments.apps`: every object of a kind that is stored.
pub(super) fn count(kind: &Kind) -> String {
    match &*kind.gv.group {
        "" => format!("count/{}", kind.plural),
        group => format!("count/{}.{group}", kind.plural),
    }
}

/// Kinds that were counted before all could be have a name without `count/` too.
pub(super) fn alias(kind: &Kind) -> Option<&str> {
    let known = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];
    (kind.gv.group.is_empty() && known.contains(&&*kind.plural)).then_some(&*kind.plural)
}

pub(super) const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// A resource of Kubernetes' own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// A device that a container may ask for.
pub(super) fn is_device(name: &str) -> bool {
    (!is_native(name) && !name.starts_with("requests.")) || name.starts_with(DEVICE_CLASS)
}

/// `requests.example.com/gpu`: devices can't be promised twice, so only what is requested is counted.
pub(super) fn requested_device(name: &str) -> Option<&str> {
    let device = name.strip_prefix("requests.")?;
    (!is_native(name) || device.starts_with(DEVICE_CLASS)).then_some(device)
}
