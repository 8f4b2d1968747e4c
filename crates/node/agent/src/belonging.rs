//! Whether this node is still part of the cluster. The object of a node that stands for itself is made again if somebody deletes it; a
//! further node whose object is deleted leaves, also if that happened while it was away.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;

/// On the node's object: by what key its machine is known again.
pub const KEY_ANNOTATION: &str = "kedge.dev/node-key";
/// In the data folder once the cluster has had this node: its object's uid.
const FILE: &str = "registered";

pub(crate) struct Belonging {
    /// `None` for a node that never leaves.
    file: Option<PathBuf>,
    known: watch::Sender<Known>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    uid: Option<String>,
    left: bool,
}

impl Belonging {
    pub(crate) fn open(data: &Path, leaves: bool) -> Self {
        let file = leaves.then(|| data.join(FILE));
        let uid = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        Self { file, known: watch::Sender::new(Known { uid, left: false }) }
    }

    /// The cluster has this node.
    pub(crate) fn seen(&self, node: &Node) {
        let Some(file) = &self.file else { return };
        let uid = node.metadata.uid.clone();
        if self.known.borrow().uid == uid {
            return;
        }
        // Whether it is written matters only if the node is deleted while nobody is there.
        if let Err(error) = fs::write(file, uid.as_deref().unwrap_or_default()) {
            tracing::warn!(%error, "cannot write down that the cluster has this node");
        }
        self.known.send_modify(|known| known.uid = uid);
    }

    /// The object that the cluster had, if it had one: taken before it is asked whether it still has it.
    pub(crate) fn known(&self) -> Option<String> {
        self.known.borrow().uid.clone()
    }

    /// The cluster, asked after this was known, has none. True if it is to leave: one that was made meanwhile is not missing.
    pub(crate) fn missing(&self, known: Option<&str>) -> bool {
        let leaves = self.file.is_some() && known.is_some() && self.known.borrow().uid.as_deref() == known;
        if leaves {
            self.known.send_modify(|known| known.left = true);
        }
        leaves
    }

    /// Waits until it is to leave; for ever, for one that never does.
    pub(crate) async fn left(&self) {
        let mut known = self.known.subscribe();
        if known.wait_for(|known| known.left).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Forgets that the cluster had a node here.
pub(crate) fn forget(data: &Path) {
    // Whoever never was part of one has no such file.
    let _gone = fs::remove_file(data.join(FILE));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(uid: &str) -> Node {
        let mut node = Node::default();
        node.metadata.uid = Some(uid.to_owned());
        node
    }

    #[tokio::test]
    async fn only_what_was_there_can_leave() {
        let data = tempfile::tempdir().unwrap();
        let stays = Belonging::open(data.path(), false);
        stays.seen(&node("a"));
        assert!(!stays.missing(stays.known().as_deref()), "it is made again");

        let new = Belonging::open(data.path(), true);
        let before = new.known();
        assert!(!new.missing(before.as_deref()), "the cluster has not had it yet");
        new.seen(&node("a"));
        assert!(!new.missing(before.as_deref()), "it was made while it was asked for");
        assert!(new.missing(Some("a")));
        new.left().await;

        let again = Belonging::open(data.path(), true);
        assert!(again.missing(again.known().as_deref()), "it was deleted while nobody was there");
        forget(data.path());
        assert_eq!(Belonging::open(data.path(), true).known(), None);
    }
}
