//! Which of a pod's containers is meant. Pure.

use kedge_kinds::Status;
use serde_json::Value;

/// The one that was asked for, if the pod has it; else its only one.
pub(super) fn chosen<'v>(pod: &'v Value, asked: &'v str) -> Result<&'v str, Status> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let all =
        || ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|of| names(pod, of));
    if !asked.is_empty() {
        return match all().any(|one| one == asked) {
            true => Ok(asked),
            false => Err(Status::bad_request(format!("container {asked} is not valid for pod {name}"))),
        };
    }
    let own: Vec<&str> = names(pod, "containers").collect();
    match own.as_slice() {
        [only] => Ok(only),
        [] => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        _ => {
            let all: Vec<&str> = all().collect();
            let all = all.join(" ");
            let message =
                format!("a container name must be specified for pod {name}, choose one of: [{all}]");
            Err(Status::bad_request(message))
        }
    }
}

fn names<'v>(pod: &'v Value, of: &str) -> impl Iterator<Item = &'v str> + use<'v> {
    pod["spec"][of].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str())
}
