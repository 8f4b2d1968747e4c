//! The record of this node's pods, in the folder of each: what an agent that starts while the API is away goes by. It holds
//! what the API said last and no Secret; what is read from it is only as old as the last thing that was heard.

use std::fs;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use k8s_openapi::api::core::v1::Pod;
use kedge_client::{Watched, Written};

use crate::folders::Folders;

const FILE: &str = "pod.json";

/// Puts the whole file in place at once: a reader sees the old one or the new one.
pub(crate) fn write(folders: &Folders, pod: &Pod) -> io::Result<()> {
    let Some(uid) = pod.metadata.uid.as_deref() else { return Ok(()) };
    let folder = folders.pod(uid);
    fs::DirBuilder::new().recursive(true).mode(0o750).create(&folder)?;
    let text = serde_json::to_vec(&pod.write())?;
    let (new, place) = (folder.join("pod.json.new"), folder.join(FILE));
    let mut options = fs::File::options();
    options.create(true).truncate(true).write(true).mode(0o600).open(&new)?.write_all(&text)?;
    fs::rename(new, place)
}

/// Every pod that was written down. What cannot be read is as if it had not been.
pub(crate) fn read(folders: &Folders) -> Vec<Pod> {
    let entries = fs::read_dir(folders.pods()).into_iter().flatten().flatten();
    let pods = entries.filter_map(|entry| {
        let path = entry.path().join(FILE);
        let text = fs::read(&path).ok()?;
        match Pod::read(&text) {
            // A folder that was copied by hand would give a pod two homes.
            Ok(pod) if pod.metadata.uid.as_deref() == entry.file_name().to_str() => Some(pod),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "what was written of a pod cannot be read");
                None
            }
        }
    });
    pods.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_broken_is_not() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::below(data.path());
        assert!(read(&folders).is_empty());
        let pod = |uid: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"name": "p", "namespace": "n", "uid": uid},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
                "status": {"phase": "Running"},
            }))
            .unwrap()
        };
        write(&folders, &pod("a")).unwrap();
        write(&folders, &pod("b")).unwrap();
        fs::create_dir_all(folders.pod("c")).unwrap();
        fs::write(folders.pod("c").join(FILE), b"{\"met").unwrap();
        fs::create_dir_all(folders.pod("d")).unwrap();
        fs::copy(folders.pod("a").join(FILE), folders.pod("d").join(FILE)).unwrap();
        let mut found = read(&folders);
        found.sort_by_key(|pod| pod.metadata.uid.clone());
        assert_eq!(found, [pod("a"), pod("b")]);
    }
}
