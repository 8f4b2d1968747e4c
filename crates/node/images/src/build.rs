//! Makes an image of one layer out of files. The same files give the same image, byte for byte.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::digest::Digest;
use crate::manifest::{Blob, CONFIG, Descriptor, Image, LAYER, MANIFEST, Manifest, architecture};

/// A file of an image, owned by root.
#[derive(Clone, Debug)]
pub enum File {
    Regular { path: String, mode: u32, content: Bytes },
    Folder { path: String, mode: u32 },
    Link { path: String, target: String },
}

/// `config` is the image's `config` object: `Entrypoint`, `Cmd`, `Env`…
pub fn build(name: &str, files: &[File], config: serde_json::Value) -> io::Result<Image> {
    let layer = Bytes::from(layer(files)?);
    let layer_digest = Digest::of(&layer);
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer_digest.as_str()]},
    });
    let config = Bytes::from(serde_json::to_vec(&config)?);
    let config_digest = Digest::of(&config);
    let describe = |media_type: &str, digest: &Digest, bytes: &Bytes| Descriptor {
        media_type: media_type.to_owned(),
        digest: digest.clone(),
        size: bytes.len() as u64,
        annotations: BTreeMap::new(),
        platform: None,
    };
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST.to_owned(),
        config: describe(CONFIG, &config_digest, &config),
        layers: vec![describe(LAYER, &layer_digest, &layer)],
    };
    Ok(Image {
        names: vec![name.to_owned()],
        manifest: Bytes::from(serde_json::to_vec(&manifest)?),
        media_type: MANIFEST.to_owned(),
        config: config_digest.clone(),
        layers: vec![layer_digest.clone()],
        blobs: BTreeMap::from([(config_digest, Blob::Memory(config)), (layer_digest, Blob::Memory(layer))]),
    })
}

fn layer(files: &[File]) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(0);
        match file {
            File::Regular { path, mode, content } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, inside(path), &content[..])?;
            }
            File::Folder { path, mode } => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(*mode);
                tar.append_data(&mut header, inside(path), io::empty())?;
            }
            File::Link { path, target } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                tar.append_link(&mut header, inside(path), target)?;
            }
        }
    }
    tar.into_inner()
}

/// Layers name files from the image's root.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}
