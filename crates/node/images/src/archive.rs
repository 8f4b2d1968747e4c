//! Reads images from an archive: what `docker save`, `skopeo` and `umoci` write, as an OCI layout or in Docker's own form.
//! Blobs stay where they lie in the file; only the small documents are read into memory.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::digest::{Digest, Hasher};
use crate::manifest::{
    Blob, CONFIG, Descriptor, INDEX, Image, Index, LAYER, LAYER_GZIP, LAYER_ZSTD, MANIFEST, Manifest,
};

/// Larger documents than this are no manifests.
const DOCUMENT: u64 = 8 << 20;
const REFERENCE: &str = "org.opencontainers.image.ref.name";
/// What containerd calls the whole name.
const NAME: &str = "io.containerd.image.name";

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not an archive of images: it has neither index.json nor manifest.json", path.display())]
    NotImages { path: PathBuf },
    #[error("{} is compressed: unpack it first", path.display())]
    Compressed { path: PathBuf },
    #[error("the archive has no {name}")]
    Missing { name: String },
    #[error("{name} in the archive is wrong")]
    Document { name: String, source: serde_json::Error },
    #[error("{name} in the archive is too large")]
    TooLarge { name: String },
    #[error("the archive has no image for this machine")]
    OtherMachine,
    #[error("what the archive calls {digest} is something else")]
    Forged { digest: Digest },
}

/// An open archive.
pub struct Archive {
    path: PathBuf,
    file: File,
    entries: HashMap<String, (u64, u64)>,
}

#[derive(Deserialize)]
struct Saved {
    #[serde(rename = "Config")]
    config: String,
    #[serde(rename = "RepoTags", default)]
    names: Option<Vec<String>>,
    #[serde(rename = "Layers")]
    layers: Vec<String>,
}

impl Archive {
    /// Reads the list of what is in it. A folder with an OCI layout is an archive too.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
        if path.is_dir() {
            let file = tempfile::tempfile().map_err(failed)?;
            let mut packed = tar::Builder::new(&file);
            packed.append_dir_all(".", path).and_then(|()| packed.finish()).map_err(failed)?;
            drop(packed);
            return Self::list(path, file);
        }
        Self::unpack(path, File::open(path).map_err(failed)?)
    }

    /// Reads an archive that comes only once, and is called `name` where something is wrong with it.
    pub fn read(mut from: impl Read, name: &str) -> Result<Self, ArchiveError> {
        let path = Path::new(name);
        let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
        let mut file = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut from, &mut file).and_then(|_| file.rewind()).map_err(failed)?;
        Self::unpack(path, file)
    }

    fn unpack(path: &Path, mut file: File) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
        let mut magic = [0; 4];
        let read = file.read(&mut magic).map_err(failed)?;
        file.rewind().map_err(failed)?;
        match magic.get(..read) {
            Some([0x28, 0xb5, 0x2f, 0xfd]) => Err(ArchiveError::Compressed { path: path.to_owned() }),
            Some([0x1f, 0x8b, ..]) => {
                let mut whole = tempfile::tempfile().map_err(failed)?;
                let mut packed = flate2::read::MultiGzDecoder::new(io::BufReader::new(file));
                io::copy(&mut packed, &mut whole).map_err(failed)?;
                Self::list(path, whole)
            }
            _ => Self::list(path, file),
        }
    }

    fn list(path: &Path, mut file: File) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
        file.rewind().map_err(failed)?;
        let mut entries = HashMap::new();
        let mut links = Vec::new();
        for entry in tar::Archive::new(&file).entries_with_seek().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = plain(&entry.path().map_err(failed)?);
            match entry.link_name().map_err(failed)? {
                Some(target) => {
                    let beside = Path::new(&name).parent().map(|folder| folder.join(&target));
                    links.push((name, plain(&beside.unwrap_or_else(|| target.to_path_buf()))));
                }
                None => drop(entries.insert(name, (entry.raw_file_position(), entry.size()))),
            }
        }
        for (name, target) in links {
            if let Some(place) = entries.get(&target).copied() {
                entries.insert(name, place);
            }
        }
        Ok(Self { path: path.to_owned(), file, entries })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// The images for this machine, checked against their digests.
    pub fn images(&self) -> Result<Vec<Image>, ArchiveError> {
        if self.entries.contains_key("index.json") {
            return self.layout();
        }
        if self.entries.contains_key("manifest.json") {
            let saved: Vec<Saved> = self.document("manifest.json")?;
            return saved.iter().map(|saved| self.saved(saved)).collect();
        }
        Err(ArchiveError::NotImages { path: self.path.clone() })
    }

    fn layout(&self) -> Result<Vec<Image>, ArchiveError> {
        let index: Index = self.document("index.json")?;
        let images = index.manifests.iter().map(|descriptor| self.described(descriptor));
        let images: Vec<Image> = images.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        if images.is_empty() { Err(ArchiveError::OtherMachine) } else { Ok(images) }
    }

    /// The image that a descriptor leads to, if it is for this machine.
    fn described(&self, descriptor: &Descriptor) -> Result<Option<Image>, ArchiveError> {
        if descriptor.platform.as_ref().is_some_and(|platform| !platform.is_ours()) {
            return Ok(None);
        }
        let name = blob(&descriptor.digest)?;
        if descriptor.media_type == INDEX || descriptor.media_type.ends_with("manifest.list.v2+json") {
            let index: Index = self.document(&name)?;
            let names = names(descriptor);
            for inner in &index.manifests {
                if let Some(mut image) = self.described(inner)? {
                    image.names.extend(names);
                    return Ok(Some(image));
                }
            }
            return Ok(None);
        }
        let bytes = self.bytes(&name)?;
        if Digest::of(&bytes) != descriptor.digest {
            return Err(ArchiveError::Forged { digest: descriptor.digest.clone() });
        }
        let manifest: Manifest = parse(&name, &bytes)?;
        let mut blobs = BTreeMap::new();
        for part in std::iter::once(&manifest.config).chain(&manifest.layers) {
            let (offset, size) = self.place(&blob(&part.digest)?)?;
            blobs.insert(part.digest.clone(), Blob::File { offset, size });
        }
        let media_type = if manifest.media_type.is_empty() { MANIFEST } else { &manifest.media_type };
        Ok(Some(Image {
            names: names(descriptor),
            media_type: media_type.to_owned(),
            config: manifest.config.digest,
            layers: manifest.layers.into_iter().map(|layer| layer.digest).collect(),
            manifest: Bytes::from(bytes),
            blobs,
        }))
    }

    /// An image in Docker's form, which names no digests: they are found by reading.
    fn saved(&self, saved: &Saved) -> Result<Image, ArchiveError> {
        let mut blobs = BTreeMap::new();
        let mut describe = |name: &str, media_type: &str| -> Result<Descriptor, ArchiveError> {
            let (offset, size) = self.place(name)?;
            let digest = self.digest(offset, size)?;
            blobs.insert(digest.clone(), Blob::File { offset, size });
            let media_type = media_type.to_owned();
            Ok(Descriptor { media_type, digest, size, annotations: BTreeMap::new(), platform: None })
        };
        let config = describe(&saved.config, CONFIG)?;
        let layers = saved.layers.iter().map(|name| describe(name, self.layer_type(name)?));
        let layers: Vec<Descriptor> = layers.collect::<Result<_, _>>()?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            config: config.clone(),
            layers: layers.clone(),
        };
        let wrong = |source| ArchiveError::Document { name: "manifest.json".to_owned(), source };
        Ok(Image {
            names: saved.names.clone().unwrap_or_default(),
            manifest: Bytes::from(serde_json::to_vec(&manifest).map_err(wrong)?),
            media_type: MANIFEST.to_owned(),
            config: config.digest,
            layers: layers.into_iter().map(|layer| layer.digest).collect(),
            blobs,
        })
    }

    fn layer_type(&self, name: &str) -> Result<&'static str, ArchiveError> {
        let (offset, size) = self.place(name)?;
        let mut magic = [0; 4];
        self.read_at(offset, &mut magic[..usize::try_from(size.min(4)).unwrap_or(0)])?;
        Ok(match magic {
            [0x1f, 0x8b, ..] => LAYER_GZIP,
            [0x28, 0xb5, 0x2f, 0xfd] => LAYER_ZSTD,
            _ => LAYER,
        })
    }

    fn digest(&self, offset: u64, size: u64) -> Result<Digest, ArchiveError> {
        let mut hasher = Hasher::default();
        let mut buffer = vec![0; 1 << 20];
        let mut done = 0;
        while done < size {
            let part = usize::try_from((size - done).min(buffer.len() as u64)).unwrap_or(buffer.len());
            let part = buffer.get_mut(..part).unwrap_or_default();
            self.read_at(offset + done, part)?;
            hasher.add(part);
            done += part.len() as u64;
        }
        Ok(hasher.finish())
    }

    fn document<T: DeserializeOwned>(&self, name: &str) -> Result<T, ArchiveError> {
        parse(name, &self.bytes(name)?)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let (offset, size) = self.place(name)?;
        if size > DOCUMENT {
            return Err(ArchiveError::TooLarge { name: name.to_owned() });
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn place(&self, name: &str) -> Result<(u64, u64), ArchiveError> {
        let found = self.entries.get(&plain(Path::new(name))).copied();
        found.ok_or_else(|| ArchiveError::Missing { name: name.to_owned() })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ArchiveError> {
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer));
        read.map_err(|source| ArchiveError::Read { path: self.path.clone(), source })
    }
}

fn parse<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, ArchiveError> {
    serde_json::from_slice(bytes).map_err(|source| ArchiveError::Document { name: name.to_owned(), source })
}

/// A name as a list of its parts, whatever dots it was written with.
fn plain(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            std::path::Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    parts.join("/")
}

fn blob(digest: &Digest) -> Result<String, ArchiveError> {
    let letters = digest.letters().ok_or_else(|| ArchiveError::Forged { digest: digest.clone() })?;
    Ok(format!("blobs/sha256/{letters}"))
}

fn names(descriptor: &Descriptor) -> Vec<String> {
    let whole = descriptor.annotations.get(NAME);
    whole.or_else(|| descriptor.annotations.get(REFERENCE)).cloned().into_iter().collect()
}

#[cfg(test)]
mod tests;
