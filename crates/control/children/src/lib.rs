//! What controllers share: whose an object is, how its children are named, what a pod's state means, how a condition is set.
//! Pure functions over objects; knows no controller. Walk: step 6, inside `control/engine`.

pub mod claim;
pub mod conditions;
pub mod names;
pub mod placement;
pub mod pods;
pub mod share;
// Only tests use it, and a test ends where something is not as it says.
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]
#[cfg(any(test, feature = "testing"))]
pub mod testing;
