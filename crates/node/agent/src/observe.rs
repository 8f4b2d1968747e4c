//! Looks at what the runtime has of one pod.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use kedge_runtime::wire::{
    Container, ContainerFilter, ContainerState, ContainerStatus, PodSandboxFilter, PodSandboxState,
};
use kedge_runtime::{Runtime, RuntimeError};

use crate::folders::Folders;
use crate::spec::container::{CONTAINER_NAME, HASH};
use crate::spec::sandbox::POD_UID;
use crate::view::{Exit, Made, Sandbox, State, View};

/// As much as Kubernetes keeps of a container's last words.
const LAST_WORDS: u64 = 4096;

/// What has ended never changes again, so it is asked about once.
#[derive(Debug, Default)]
pub(crate) struct Ended(HashMap<String, Made>);

pub(crate) async fn observe(
    runtime: &Runtime,
    uid: &str,
    folders: &Folders,
    ended: &mut Ended,
) -> Result<View, RuntimeError> {
    let mine = || HashMap::from([(POD_UID.to_owned(), uid.to_owned())]);
    let sandboxes = PodSandboxFilter { label_selector: mine(), ..PodSandboxFilter::default() };
    let containers = ContainerFilter { label_selector: mine(), ..ContainerFilter::default() };
    let (mut sandboxes, mut containers) =
        futures::try_join!(runtime.sandboxes(sandboxes), runtime.containers(containers))?;
    sandboxes.sort_by_key(|sandbox| std::cmp::Reverse(sandbox.created_at));
    containers.sort_by_key(|container| std::cmp::Reverse(container.created_at));
    let mut view = View::default();
    for sandbox in sandboxes {
        let is_ready = sandbox.state() == PodSandboxState::Ready;
        let ips = match is_ready && view.sandboxes.is_empty() {
            true => addresses(runtime, &sandbox.id).await?,
            false => Vec::new(),
        };
        let attempt = sandbox.metadata.map_or(0, |metadata| metadata.attempt);
        view.sandboxes.push(Sandbox { id: sandbox.id, attempt, is_ready, ips });
    }
    ended.0.retain(|id, _| containers.iter().any(|container| container.id == *id));
    for container in containers {
        if let Some(made) = ended.0.get(&container.id) {
            view.containers.push(made.clone());
            continue;
        }
        let status = match runtime.container_status(&container.id, false).await {
            Ok(told) => told.status,
            // It was removed between the list and the question.
            Err(error) if error.is_absent() => continue,
            Err(error) => return Err(error),
        };
        let made = made(&container, status, uid, folders);
        if matches!(made.state, State::Exited(_)) {
            ended.0.insert(made.id.clone(), made.clone());
        }
        view.containers.push(made);
    }
    Ok(view)
}

async fn addresses(runtime: &Runtime, sandbox: &str) -> Result<Vec<String>, RuntimeError> {
    let status = match runtime.sandbox_status(sandbox, false).await {
        Ok(told) => told.status,
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let network = status.network.unwrap_or_default();
    let more = network.additional_ips.into_iter().map(|ip| ip.ip);
    Ok(std::iter::once(network.ip).chain(more).filter(|ip| !ip.is_empty()).collect())
}

fn made(container: &Container, status: ContainerStatus, uid: &str, folders: &Folders) -> Made {
    let metadata = container.metadata.clone().unwrap_or_default();
    let name = container.labels.get(CONTAINER_NAME).cloned().unwrap_or(metadata.name);
    let state = match status.state() {
        ContainerState::Created => State::Created,
        ContainerState::Running => State::Running,
        ContainerState::Exited => {
            let words = last_words(&folders.last_words(uid, &name, metadata.attempt));
            // Both may have something to say; what the container says comes first.
            let message = if words.is_empty() { status.message.clone() } else { words };
            State::Exited(Exit {
                code: status.exit_code,
                reason: status.reason.clone(),
                message,
                at: moment(status.finished_at),
            })
        }
        ContainerState::Unknown => State::Unknown,
    };
    let image = status.image.unwrap_or_default();
    Made {
        id: container.id.clone(),
        name,
        sandbox: container.pod_sandbox_id.clone(),
        attempt: metadata.attempt,
        state,
        image: if image.user_specified_image.is_empty() { image.image } else { image.user_specified_image },
        image_id: status.image_ref,
        hash: container.annotations.get(HASH).cloned().unwrap_or_default(),
        started_at: moment(status.started_at),
    }
}

fn last_words(path: &Path) -> String {
    let mut words = Vec::new();
    // A container that left none has none.
    if let Ok(file) = std::fs::File::open(path) {
        let _read = file.take(LAST_WORDS).read_to_end(&mut words);
    }
    String::from_utf8_lossy(&words).into_owned()
}

/// Zero is never.
fn moment(nanoseconds: i64) -> Option<Timestamp> {
    (nanoseconds > 0).then(|| Timestamp::from_nanosecond(nanoseconds.into()).ok()).flatten()
}
