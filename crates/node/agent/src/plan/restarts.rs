//! Whether a container that ended is made again.

use k8s_openapi::api::core::v1::{Container, PodSpec};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    No,
    Yes,
    /// And all others of the pod with it.
    All,
}

/// A container's own rules come first, then its own policy, then the pod's.
pub(crate) fn again(spec: &PodSpec, container: &Container, code: i32) -> Again {
    for rule in container.restart_policy_rules.iter().flatten() {
        let Some(wanted) = &rule.exit_codes else { continue };
        let listed = wanted.values.iter().flatten().any(|value| *value == code);
        let matches = match &*wanted.operator {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        match &*rule.action {
            "Restart" if matches => return Again::Yes,
            "RestartAllContainers" if matches => return Again::All,
            _ if matches => return Again::No,
            _ => {}
        }
    }
    let is_init = spec.init_containers.iter().flatten().any(|init| init.name == container.name);
    let policy = container.restart_policy.as_deref();
    let comes = match policy.or(spec.restart_policy.as_deref()).unwrap_or("Always") {
        "Never" => false,
        "OnFailure" => code != 0,
        // An init container that did its work is done, however often the others are made again.
        _ => policy == Some("Always") || !is_init || code != 0,
    };
    if comes { Again::Yes } else { Again::No }
}

pub(crate) fn restarts(spec: &PodSpec, container: &Container, code: i32) -> bool {
    again(spec, container, code) != Again::No
}
