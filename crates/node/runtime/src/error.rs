//! Why a call to the runtime came to nothing.

use kedge_grpc::CallError;

#[derive(Clone, Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{call}: the answer lacks {what}")]
    Incomplete { call: &'static str, what: &'static str },
}

impl RuntimeError {
    /// The runtime took the question and did not answer in time.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_late())
    }

    /// What was asked about does not exist, or no longer.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_absent())
    }
}
