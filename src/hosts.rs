//! The names of DNSRecords on this node: for its DNS, and for its own programs in `/etc/hosts`.

use std::path::{Path, PathBuf};

use kedge_client::World;
use kedge_gateway::{HostsError, HostsFile};

use crate::settings::NodeSettings;
use crate::traffic::Ground;

const USUAL: &str = "/etc/hosts";
const NONE: &str = "none";

/// Tells them for as long as it is let. The file has them no longer than that.
pub(crate) async fn run(ground: &Ground, settings: &NodeSettings, facts: World, hosts: kedge_dns::Hosts) {
    // Apart from the other facts: who serves no DNSRecords must not keep Services waiting.
    let records = World::new(ground.client.clone(), ground.clock.clone());
    let block = Block::open(settings, &ground.data);
    kedge_gateway::follow(records, facts, |names| {
        hosts.set(names.keys().map(String::as_str));
        if let Some(block) = &block {
            report(block.file.write(names));
        }
    })
    .await;
}

/// Takes away what a node left in the file.
pub(crate) fn release(data: &Path) -> Result<(), HostsError> {
    let Ok(path) = std::fs::read_to_string(note(data)) else { return Ok(()) };
    file(Path::new(&path), data).clear()
}

struct Block {
    file: HostsFile,
}

impl Block {
    fn open(settings: &NodeSettings, data: &Path) -> Option<Self> {
        let path = settings.hosts_file.clone().unwrap_or_else(|| USUAL.into());
        if path == Path::new(NONE) {
            return None;
        }
        // For whoever cleans up after a node that was killed.
        if let Err(error) = std::fs::write(note(data), path.as_os_str().as_encoded_bytes()) {
            tracing::warn!("cannot note that {} is written to: {error}", path.display());
        }
        Some(Self { file: file(&path, data) })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        report(self.file.clear());
    }
}

fn file(path: &Path, data: &Path) -> HostsFile {
    HostsFile::new(path, data.display().to_string())
}

fn note(data: &Path) -> PathBuf {
    data.join("hosts-file")
}

fn report(written: Result<(), HostsError>) {
    if let Err(error) = written {
        tracing::warn!(
            "programs of this node do not find DNSRecords: {}; choose another file with --hosts-file, or none",
            crate::told(&error)
        );
    }
}
