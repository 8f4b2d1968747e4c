//! Where a pod's volumes are, kept beside them: an agent that starts while the API is away still knows what claims led to.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where a volume is on the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Nobody may write to it, whatever the mount says.
    pub(crate) read_only: bool,
}

/// By the name that the pod gives to a volume.
pub(crate) type Places = HashMap<String, Place>;

#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// Mounts don't outlive the machine's.
    boot: String,
    places: Places,
}

/// What cannot be read is not known.
pub(super) fn read(file: &Path) -> Places {
    let bytes = fs::read(file).unwrap_or_default();
    let record: Record = serde_json::from_slice(&bytes).unwrap_or_default();
    if record.boot == boot() { record.places } else { Places::default() }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Whole or not at all.
pub(super) fn write(file: &Path, places: &Places) -> io::Result<()> {
    let next = file.with_extension("next");
    if let Some(above) = file.parent() {
        fs::create_dir_all(above)?;
    }
    let record = Record { boot: boot(), places: places.clone() };
    fs::write(&next, serde_json::to_vec(&record)?)?;
    fs::rename(next, file)
}
