//! Looks at what the runtime has of one pod.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use kedge_runtime::wire::{
    Container, ContainerFilter, ContainerState, ContainerStatus, PodSandboxFilter, PodSandboxState,
};
use kedge_runtime::{Runtime, RuntimeError};

use crate::folders::Folders;
use crate::spec::container::{BY_LOG, CONTAINER_NAME, HASH, LAST_WORDS_BY};
use crate::spec::sandbox::POD_UID;
use crate::view::{Exit, Made, Sandbox, State, View};

/// As much as Kubernetes keeps of a container's last words.
const LAST_WORDS: u64 = 4096;
/// As much of its log as stands for them.
const LAST_LINES: usize = 80;
const LAST_BYTES: usize = 2048;

/// What is known already: what has ended never changes again, what runs changes only by ending, and a sandbox that is ready
/// keeps its addresses. So a look at a pod to which nothing happened is two lists.
#[derive(Debug, Default)]
pub(crate) struct Known {
    containers: HashMap<String, Made>,
    addresses: HashMap<String, Vec<String>>,
}

impl Known {
    fn container(&self, listed: &Container) -> Option<&Made> {
        let made = self.containers.get(&listed.id)?;
        let same = match made.state {
            State::Running => listed.state() == ContainerState::Running,
            State::Exited(_) => true,
            State::Created | State::Unknown => false,
        };
        same.then_some(made)
    }
}

pub(crate) async fn observe(
    runtime: &Runtime,
    uid: &str,
    folders: &Folders,
    known: &mut Known,
) -> Result<View, RuntimeError> {
    let mine = || HashMap::from([(POD_UID.to_owned(), uid.to_owned())]);
    let sandboxes = PodSandboxFilter { label_selector: mine(), ..PodSandboxFilter::default() };
    let containers = ContainerFilter { label_selector: mine(), ..ContainerFilter::default() };
    let (mut sandboxes, mut containers) =
        futures::try_join!(runtime.sandboxes(sandboxes), runtime.containers(containers))?;
    sandboxes.sort_by_key(|sandbox| std::cmp::Reverse(sandbox.created_at));
    containers.sort_by_key(|container| std::cmp::Reverse(container.created_at));
    known.containers.retain(|id, _| containers.iter().any(|container| container.id == *id));
    known.addresses.retain(|id, _| sandboxes.iter().any(|sandbox| sandbox.id == *id));
    let mut view = View::default();
    for sandbox in sandboxes {
        let is_ready = sandbox.state() == PodSandboxState::Ready;
        let ips = match is_ready && view.sandboxes.is_empty() {
            true => match known.addresses.get(&sandbox.id) {
                Some(ips) => ips.clone(),
                None => {
                    let ips = addresses(runtime, &sandbox.id).await?;
                    known.addresses.insert(sandbox.id.clone(), ips.clone());
                    ips
                }
            },
            false => Vec::new(),
        };
        let attempt = sandbox.metadata.map_or(0, |metadata| metadata.attempt);
        view.sandboxes.push(Sandbox { id: sandbox.id, attempt, is_ready, ips });
    }
    for container in containers {
        if let Some(made) = known.container(&container) {
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
        known.containers.insert(made.id.clone(), made.clone());
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
        ContainerState::Exited if was_left(&status) => State::Created,
        ContainerState::Exited => {
            let mut words = last_words(&folders.last_words(uid, &name, metadata.attempt));
            let by_log = container.annotations.get(LAST_WORDS_BY).is_some_and(|by| by == BY_LOG);
            let never_ran = status.reason == "ContainerCannotRun";
            if words.is_empty() && by_log && status.exit_code != 0 && !never_ran {
                words = last_lines(Path::new(&status.log_path));
            }
            let both = [&*status.message, &*words];
            let both: Vec<&str> = both.into_iter().filter(|words| !words.is_empty()).collect();
            State::Exited(Exit {
                code: status.exit_code,
                reason: status.reason.clone(),
                message: both.join(": "),
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
        user: status.user.and_then(|user| user.linux).map(Box::new),
    }
}

/// Its start was broken off because whoever had asked for it was gone, so that nothing of it ever ran: it is as if it had only been made.
fn was_left(status: &ContainerStatus) -> bool {
    status.reason == "StartError"
        && moment(status.started_at).is_none()
        && status.message.contains("context canceled")
}

fn last_words(path: &Path) -> String {
    let mut words = Vec::new();
    // A container that left none has none.
    if let Ok(file) = std::fs::File::open(path) {
        let _read = file.take(LAST_WORDS).read_to_end(&mut words);
    }
    String::from_utf8_lossy(&words).into_owned()
}

/// The end of a log: each line of the file is a moment, an output, whether the line is whole, and what was said.
fn last_lines(path: &Path) -> String {
    let Ok(mut file) = std::fs::File::open(path) else { return String::new() };
    // Each line may be a little longer in the file than what was said in it.
    let most = (LAST_BYTES + LAST_LINES * 64) as u64;
    let from = file.metadata().map_or(0, |metadata| metadata.len().saturating_sub(most));
    let mut text = Vec::new();
    if file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut text)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().collect();
    if from > 0 && lines.len() > 1 {
        // It begins somewhere in the middle.
        lines.drain(..1);
    }
    let last = lines.split_off(lines.len().saturating_sub(LAST_LINES));
    let mut said = String::new();
    for line in last {
        let mut parts = line.splitn(4, ' ');
        let (whole, words) = (parts.nth(2) == Some("F"), parts.next().unwrap_or_default());
        said.push_str(words);
        if whole {
            said.push('\n');
        }
    }
    let mut cut = said.len().saturating_sub(LAST_BYTES);
    while !said.is_char_boundary(cut) {
        cut += 1;
    }
    said.split_off(cut)
}

/// Zero is never.
fn moment(nanoseconds: i64) -> Option<Timestamp> {
    (nanoseconds > 0).then(|| Timestamp::from_nanosecond(nanoseconds.into()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_nobody_waited_for_is_none() {
        let cancelled =
            "failed to create containerd task: failed to create shim task: context canceled: unknown";
        for (case, reason, message, started_at, was) in [
            ("whoever asked was gone", "StartError", cancelled, 0, true),
            ("no such program", "StartError", "exec: \"x\": executable file not found in $PATH", 0, false),
            ("it ran", "StartError", cancelled, 7, false),
            ("it ended by itself", "Error", "context canceled", 0, false),
        ] {
            let (reason, message) = (reason.to_owned(), message.to_owned());
            let status = ContainerStatus { reason, message, started_at, ..ContainerStatus::default() };
            assert_eq!(was_left(&status), was, "{case}");
        }
    }

    #[test]
    fn the_end_of_a_log_stands_for_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let line =
            |flag: &str, words: &str| format!("2030-01-01T12:00:00.000000000Z stdout {flag} {words}\n");
        std::fs::write(&path, [line("F", "one"), line("P", "two "), line("F", "halves")].concat()).unwrap();
        assert_eq!(last_lines(&path), "one\ntwo halves\n");
        let many: String = (0..100).map(|number| line("F", &number.to_string())).collect();
        std::fs::write(&path, many).unwrap();
        assert!(last_lines(&path).starts_with("20\n21\n"));
        std::fs::write(&path, line("F", &"x".repeat(5000))).unwrap();
        assert_eq!(last_lines(&path).len(), LAST_BYTES);
        assert_eq!(last_lines(&folder.path().join("none")), "");
    }
}
