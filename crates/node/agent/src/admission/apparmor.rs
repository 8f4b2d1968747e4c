//! Whether a pod has to be confined by AppArmor: what would be left out silently on a machine without it is refused.

use k8s_openapi::api::core::v1::{AppArmorProfile, Pod};

use crate::plan::{as_container, containers};

const ENABLED: &str = "/sys/module/apparmor/parameters/enabled";
/// How it was asked for before there were fields for it.
const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether this machine's kernel does it.
pub(crate) fn is_enabled() -> bool {
    std::fs::read_to_string(ENABLED).is_ok_and(|text| text.starts_with('Y'))
}

pub(super) fn is_needed(pod: &Pod) -> bool {
    let confines = |profile: Option<&AppArmorProfile>| profile.is_some_and(|one| one.type_ != "Unconfined");
    let Some(spec) = &pod.spec else { return false };
    if confines(spec.security_context.as_ref().and_then(|own| own.app_armor_profile.as_ref())) {
        return true;
    }
    let debugging: Vec<_> = spec.ephemeral_containers.iter().flatten().map(as_container).collect();
    let mut all = containers(spec).chain(&debugging);
    let mut annotations = pod.metadata.annotations.iter().flatten();
    all.any(|one| confines(one.security_context.as_ref().and_then(|own| own.app_armor_profile.as_ref())))
        || annotations.any(|(key, value)| key.starts_with(ANNOTATION) && value != "unconfined")
}
