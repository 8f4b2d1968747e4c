//! Somebody who has a say in which pods are made and refuses some of them, as webhooks and policies do: now and then, or all of
//! them for a while. Says so without chance of its own, so that the same history gives the same answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use kedge_kinds::{Reason, Status};
use kedge_registry::gate::{Gate, Operation, Review};
use serde_json::Value;

/// Every how many pods one is refused; 0 for none.
#[derive(Debug, Default)]
pub(crate) struct Mood {
    refuses: AtomicUsize,
    asked: AtomicUsize,
}

impl Mood {
    pub(crate) fn refuse_every(&self, nth: usize) {
        self.refuses.store(nth, Ordering::Relaxed);
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.refuses.load(Ordering::Relaxed) > 0
    }
}

impl Gate for Mood {
    fn concerns(&self, review: &Review<'_>) -> bool {
        let at = review.at;
        review.operation == Operation::Create && &*at.kind.plural == "pods" && at.subresource.is_none()
    }

    fn mutate<'a>(
        &'a self,
        _review: &'a Review<'a>,
        _object: &'a mut Value,
    ) -> BoxFuture<'a, Result<bool, Status>> {
        async { Ok(false) }.boxed()
    }

    fn validate<'a>(&'a self, _review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        let (every, asked) =
            (self.refuses.load(Ordering::Relaxed), self.asked.fetch_add(1, Ordering::Relaxed));
        let refuses = every > 0 && asked % every == 0;
        let answer = match refuses {
            true => Err(Status::new(403, Reason::Forbidden, "the policy of the day is against it")),
            false => Ok(()),
        };
        async { answer }.boxed()
    }
}
