//! Who did what and what became of it, one line each, as the policy asks for. Costs nothing where there is no policy; where
//! there is one, a request only hands its record over: writing is somebody else's work and nobody waits for it.

mod log;
mod policy;
mod trail;

use std::path::PathBuf;
use std::sync::Arc;

use kedge_clock::Clock;
pub use log::AuditLog;
use log::Writer;
use policy::Policy;
pub(crate) use trail::Trail;

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("cannot read the audit policy {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the audit policy {} is wrong", path.display())]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("the audit policy {} is wrong: {why}", path.display())]
    Policy { path: PathBuf, why: String },
    #[error("cannot write the audit log {}", path.display())]
    Open { path: PathBuf, source: std::io::Error },
}

/// The policy and where its records go. Clones share both.
#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    policy: Policy,
    writer: Writer,
    clock: Clock,
}

impl Audit {
    /// Reads the policy and opens the log.
    pub fn open(policy: PathBuf, log: AuditLog, clock: Clock) -> Result<Self, AuditError> {
        let policy = Policy::read(policy)?;
        Ok(Self(Arc::new(Inner { policy, writer: Writer::start(log, clock.clone())?, clock })))
    }

    /// Returns when everything that was handed over is written.
    pub async fn flush(&self) {
        let audit = self.clone();
        // Only a runtime that is itself going down refuses.
        let _ = tokio::task::spawn_blocking(move || audit.0.writer.flush()).await;
    }
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Audit")
    }
}

#[cfg(test)]
mod tests;
