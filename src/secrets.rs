//! Secrets at rest: which keys of the store are sealed, with the keys of one file in the data folder. The file is made
//! once it is asked for; while it is there everything stays sealed, and without it nothing of it can be read.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_seal::{Keys, SealError, Shut};
use kedge_store::{Options, Seal, Store, Unopened};

use crate::assemble::ServerError;

const PREFIX: &str = "/registry/secrets/";

struct Secrets(Keys);

impl Seal for Secrets {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn concerns(&self, key: &str) -> bool {
        key.starts_with(PREFIX)
    }

    fn seal(&self, key: &str, value: &[u8]) -> Option<Vec<u8>> {
        self.0.seal(key, value)
    }

    fn open(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        self.0.open(key, sealed).map_err(|shut| match shut {
            Shut::NoKey => Unopened::NoKey,
            Shut::Changed => Unopened::Changed,
        })
    }

    fn is_old(&self, sealed: &[u8]) -> bool {
        self.0.is_old(sealed)
    }
}

pub(crate) fn file(data: &Path) -> PathBuf {
    data.join("secrets.keys")
}

/// The seal of a data folder; none if it has no keys and none are asked for.
pub(crate) fn seal(data: &Path, wanted: bool) -> Result<Option<Arc<dyn Seal>>, SealError> {
    let path = file(data);
    let keys = match wanted {
        true => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
            made.map_err(|source| SealError::Write { path: path.clone(), source })?;
            Some(Keys::read_or_make(&path)?)
        }
        false => Keys::read(&path)?,
    };
    Ok(keys.map(|keys| Arc::new(Secrets(keys)) as Arc<dyn Seal>))
}

/// Seals everything anew with a new key and drops the old ones. For a server that is not running and keeps its own
/// store; cut short at any point, it can be done again.
pub(crate) async fn rotate(data: &Path) -> Result<String, ServerError> {
    let path = file(data);
    let folder = data.join("store");
    if !folder.is_dir() {
        return Err(ServerError::NoStore { folder });
    }
    let Some(keys) = Keys::read(&path)? else { return Err(ServerError::NoKeys { path }) };
    // A running server would go on with the old key: its lock is met before anything is changed.
    Store::open(&folder, options(data)?).await?.close().await;
    keys.rotated(&path)?;
    Store::open(&folder, options(data)?).await?.close().await;
    let Some(keys) = Keys::read(&path)? else { return Err(ServerError::NoKeys { path }) };
    Ok(keys.without_old(&path)?.name().to_owned())
}

fn options(data: &Path) -> Result<Options, SealError> {
    Ok(Options { seal: seal(data, false)?, ..Options::default() })
}

#[cfg(test)]
mod tests;
