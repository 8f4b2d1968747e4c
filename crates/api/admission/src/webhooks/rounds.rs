//! Who is asked again in the second round: those who wish it and whose object others have changed since. Kept per write.

use std::collections::HashSet;

use kedge_registry::gate::Review;
use serde_json::Value;

/// What the first round leaves for the second. Webhooks are known by where they stand among all.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Asked, wishing to be asked again, and nothing was changed since.
    content: HashSet<usize>,
    /// To be asked again.
    due: HashSet<usize>,
    /// What the last webhook left.
    left: Option<Value>,
}

impl Rounds {
    /// At the start of a round. Whoever wished it is due if others changed the object after the last webhook.
    pub(crate) fn begin(review: &Review<'_>, object: &Value) -> Self {
        let mut rounds: Self = review.memory.recall().unwrap_or_default();
        if review.again && rounds.left.take().is_some_and(|left| left != *object) {
            rounds.changed();
        }
        rounds
    }

    /// Nobody is asked for the first time in the second round.
    pub(crate) fn is_due(&self, again: bool, hook: usize) -> bool {
        !again || self.due.contains(&hook)
    }

    /// The object was changed: those who had seen it want to see it again.
    pub(crate) fn changed(&mut self) {
        self.due.extend(self.content.drain());
    }

    pub(crate) fn asked(&mut self, hook: usize) {
        self.content.insert(hook);
    }

    pub(crate) fn end(mut self, review: &Review<'_>, object: &Value) {
        if review.again || (self.content.is_empty() && self.due.is_empty()) {
            return;
        }
        self.left = Some(object.clone());
        review.memory.keep(self);
    }
}
