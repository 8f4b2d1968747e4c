//! Network namespaces that nobody has: a containerd that is killed while it makes a sandbox leaves its network behind, and the
//! next one does not look.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};
use serde_json::Value;

use crate::client::Runtime;
use crate::error::RuntimeError;

/// All that are there now.
pub(super) fn there(folder: &Path) -> HashSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Takes away those of them that no sandbox has by now. What came since then may be in the making and is left alone.
pub(super) async fn remove(runtime: &Runtime, before: &HashSet<PathBuf>) -> Result<(), RuntimeError> {
    let mut used = HashSet::new();
    if before.is_empty() {
        return Ok(());
    }
    for sandbox in runtime.sandboxes(Default::default()).await? {
        let told = match runtime.sandbox_status(&sandbox.id, true).await {
            Err(error) if error.is_absent() => continue,
            told => told?,
        };
        // One that does not say which network it has may have any of them.
        let Some(network) = told.info.get("info").and_then(|info| network(info)) else { return Ok(()) };
        used.extend(network);
    }
    for path in before.difference(&used).filter(|path| path.exists()) {
        tracing::warn!(path = %path.display(), "taking away a network that no sandbox has");
        let _it_may_be_no_mount = unmount(path, UnmountFlags::DETACH);
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(%error, path = %path.display(), "cannot take away a network that no sandbox has");
        }
    }
    Ok(())
}

/// The network that a sandbox has of its own, if it has; `None` if what it says cannot be read.
fn network(info: &str) -> Option<Option<PathBuf>> {
    let info: Value = serde_json::from_str(info).ok()?;
    let namespaces = info.pointer("/runtimeSpec/linux/namespaces")?.as_array()?;
    let network = namespaces.iter().find(|namespace| namespace["type"] == "network");
    Some(network.and_then(|network| network["path"].as_str()).map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_says_which_network_it_has() {
        let spec =
            |namespaces: &str| format!(r#"{{"runtimeSpec": {{"linux": {{"namespaces": {namespaces}}}}}}}"#);
        for (info, wanted) in [
            (spec(r#"[{"type": "pid"}, {"type": "network", "path": "/netns/a"}]"#), Some(Some("/netns/a"))),
            (spec(r#"[{"type": "pid", "path": "/proc/1"}]"#), Some(None)),
            (spec("null"), None),
            ("{}".to_owned(), None),
            ("".to_owned(), None),
        ] {
            assert_eq!(network(&info), wanted.map(|path| path.map(PathBuf::from)), "{info}");
        }
    }
}
