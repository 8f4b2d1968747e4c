//! Carries out steps that have nothing to do with each other: one that is refused must not hold up the rest.

use jiff::Timestamp;
use kedge_engine::{Carrier, Next, Outcome, Plan};

pub(crate) async fn carry_out(carrier: &Carrier, plan: Plan) -> Outcome {
    let (mut waits, mut error) = (Vec::new(), None);
    for action in &plan.actions {
        tracing::debug!(%action);
        let done = carrier.carry_out(std::slice::from_ref(action)).await;
        waits.extend(done.waits);
        error = done.error.or(error);
    }
    Outcome { waits, next: next(error, plan.look_again) }
}

pub(crate) fn next(error: Option<kedge_engine::TurnError>, look_again: Option<Timestamp>) -> Next {
    match (error, look_again) {
        (Some(error), _) => Next::Retry(error),
        (None, Some(moment)) => Next::At(moment),
        (None, None) => Next::Rest,
    }
}
