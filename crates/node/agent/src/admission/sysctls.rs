//! Which settings of the kernel a pod may change: those that are its own and that nobody else feels.

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::sysctls::SAFE;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Ipc,
    Net,
}

/// Whose a setting is; none if it is the whole machine's.
fn namespace(sysctl: &str) -> Option<Namespace> {
    let starts = |with: &str| sysctl.starts_with(with);
    match sysctl {
        _ if starts("kernel.shm") || starts("kernel.msg") || sysctl == "kernel.sem" => Some(Namespace::Ipc),
        _ if starts("fs.mqueue.") => Some(Namespace::Ipc),
        _ if starts("net.") => Some(Namespace::Net),
        _ => None,
    }
}

/// With dots between its parts; slashes are allowed so that a part may have a dot.
pub(crate) fn dotted(name: &str) -> String {
    let first = name.find(['.', '/']).and_then(|at| name.as_bytes().get(at));
    match first {
        Some(b'/') => name
            .chars()
            .map(|letter| {
                if letter == '/' {
                    '.'
                } else if letter == '.' {
                    '/'
                } else {
                    letter
                }
            })
            .collect(),
        _ => name.to_owned(),
    }
}

fn is_safe(name: &str) -> bool {
    SAFE.contains(&&*dotted(name))
}

/// What is said about the first that the pod may not have.
pub(super) fn forbidden(pod: &Pod, allowed: &[String]) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let wanted = spec.security_context.as_ref()?.sysctls.as_ref()?;
    wanted.iter().find_map(|sysctl| {
        let name = dotted(&sysctl.name);
        let listed = allowed.iter().any(|one| match one.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *one == name,
        });
        let whose = namespace(&name);
        let shared = match whose {
            Some(Namespace::Ipc) if spec.host_ipc == Some(true) => Some("host ipc"),
            Some(Namespace::Net) if spec.host_network == Some(true) => Some("host net"),
            _ => None,
        };
        match shared {
            Some(what) if listed || is_safe(&name) => {
                Some(format!("forbidden sysctl: {name:?} not allowed with {what} enabled"))
            }
            None if is_safe(&name) || listed && whose.is_some() => None,
            _ => Some(format!("forbidden sysctl: {name:?} not allowlisted")),
        }
    })
}
