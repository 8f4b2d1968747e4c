//! What the runtime shows of one pod: its sandboxes and containers, the dead ones included. Says what is, never what should be.

use jiff::Timestamp;
use kedge_runtime::wire::LinuxContainerUser;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// The newest first.
    pub(crate) sandboxes: Vec<Sandbox>,
    /// The newest first.
    pub(crate) containers: Vec<Made>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sandbox {
    pub(crate) id: String,
    pub(crate) attempt: u32,
    pub(crate) is_ready: bool,
    pub(crate) ips: Vec<String>,
}

/// A container that was made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) sandbox: String,
    pub(crate) attempt: u32,
    pub(crate) state: State,
    /// As the pod names it, and as the runtime does.
    pub(crate) image: String,
    pub(crate) image_id: String,
    pub(crate) hash: String,
    pub(crate) started_at: Option<Timestamp>,
    /// Who it began as, if the runtime says so.
    pub(crate) user: Option<Box<LinuxContainerUser>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Created,
    Running,
    Exited(Exit),
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) at: Option<Timestamp>,
}

impl View {
    /// The sandbox that containers may be put into.
    pub(crate) fn ready_sandbox(&self) -> Option<&Sandbox> {
        self.sandboxes.first().filter(|sandbox| sandbox.is_ready)
    }

    /// The newest container of a name.
    pub(crate) fn latest(&self, name: &str) -> Option<&Made> {
        self.containers.iter().filter(|made| made.name == name).max_by_key(|made| made.attempt)
    }

    /// The one before the newest.
    pub(crate) fn previous(&self, name: &str) -> Option<&Made> {
        let latest = self.latest(name)?.attempt;
        let older = self.containers.iter().filter(|made| made.name == name && made.attempt < latest);
        older.max_by_key(|made| made.attempt)
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Made> {
        self.containers.iter().filter(|made| made.is_running())
    }
}

impl Made {
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    pub(crate) fn exit(&self) -> Option<&Exit> {
        match &self.state {
            State::Exited(exit) => Some(exit),
            _ => None,
        }
    }
}
