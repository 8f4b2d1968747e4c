//! Checks that an API server answers as the stock Kubernetes API server does. Knows no kind and no rule of the
//! API: the requests are `cases/*.yaml`, the answers that a stock server gave to them are `answers/*.json`.

mod answer;
mod case;
mod compare;
mod known;
mod normal;
mod run;
mod server;

pub use answer::{Answer, read_answers, write_answers};
pub use case::{Step, Topic, read_topics};
pub use compare::{Difference, differences};
pub use known::{Known, Verdict, judge, read_known};
pub use run::run;
pub use server::Server;

use std::path::{Path, PathBuf};

/// Why a topic could not be run at all; a wrong answer is a [`Difference`], not an error.
#[derive(Debug, thiserror::Error)]
pub enum AgreementError {
    #[error("cannot read or write {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a list of cases: {reason}")]
    Malformed { path: PathBuf, reason: String },
    #[error("{path} has no usable kubeconfig: {source}")]
    Kubeconfig { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("step {step:?} is no HTTP request: {source}")]
    Request { step: String, source: http::Error },
    #[error("step {step:?} got no answer: {source}")]
    Unanswered { step: String, source: Box<kube::Error> },
    #[error("step {step:?} got no answer within {seconds} s")]
    Silent { step: String, seconds: u64 },
    #[error("step {step:?} refers to {reference:?}, which no earlier step answered")]
    Reference { step: String, reference: String },
}

/// The folder that holds `cases/`, `answers/` and `known.yaml`.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
