//! What was measured for one metric, as plans use it, or why nothing was.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// The use of one pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// In thousandths.
    pub(crate) value: i64,
    pub(crate) at: Timestamp,
    /// Over which time it was measured.
    pub(crate) window: SignedDuration,
}

pub(crate) type Samples = BTreeMap<String, Sample>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    /// By the names of the pods.
    Pods(Samples),
    /// Of something else, in thousandths: all values that there are.
    Values(Vec<i64>),
    /// In words.
    Unknown(String),
}
