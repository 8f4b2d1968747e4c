//! How long lists were, so that whoever asks for the same state again need not wait for it to be measured: after a restart all clients do.

use std::collections::VecDeque;
use std::sync::Arc;

use kedge_registry::At;
use kedge_store::Revision;
use parking_lot::Mutex;

use crate::media::Rendering;

const AT_MOST: usize = 32;

/// Which list: everything of a kind, at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    /// Group, version and plural.
    kind: (Arc<str>, Arc<str>, Arc<str>),
    namespace: Option<Arc<str>>,
    rendering: Rendering,
    revision: Revision,
}

impl Which {
    pub(crate) fn new(at: &At, rendering: Rendering, revision: Revision) -> Self {
        let kind = (at.kind.gv.group.clone(), at.kind.gv.version.clone(), at.kind.plural.clone());
        Self { kind, namespace: at.namespace.clone(), rendering, revision }
    }
}

/// Of one store; newest last.
#[derive(Default)]
pub(crate) struct Lengths(Mutex<VecDeque<(Which, u64)>>);

impl Lengths {
    pub(super) fn find(&self, which: &Which) -> Option<u64> {
        self.0.lock().iter().find(|(known, _)| known == which).map(|(_, length)| *length)
    }

    pub(super) fn keep(&self, which: Which, length: u64) {
        let mut lengths = self.0.lock();
        lengths.push_back((which, length));
        if lengths.len() > AT_MOST {
            lengths.pop_front();
        }
    }
}
