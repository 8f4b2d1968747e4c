//! The images of this machine's node: brought in from files, listed, removed. Talks to the containerd of a data folder; the
//! server may or may not run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use kedge_cli::{Beside, bar};
use kedge_images::{Archive, ArchiveError, Image, ImportError, Store};
use kedge_runtime::{Runtime, RuntimeError};

use crate::status::bytes;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error("no containerd has its socket at {}: start the server with this data folder first", path.display())]
    NoSocket { path: PathBuf },
    #[error("only root, and the user who runs what runs on it, may use {}: use sudo", path.display())]
    Shut { path: PathBuf },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("the image in {file} has no name, or only the tag {found:?}: say what it is called with --name")]
    Nameless { file: String, found: String },
    #[error("{file} has {number} images, and --name is for one")]
    OneName { file: String, number: usize },
    #[error("cannot bring in the image of {file}")]
    Import { file: String, source: ImportError },
    #[error("cannot remove {name}")]
    Remove { name: String, source: ImportError },
    #[error("the runtime does not do it")]
    Runtime(#[from] RuntimeError),
    #[error("there is no image {name} on this node")]
    Absent { name: String },
    #[error("cannot ask the runtime")]
    Io(#[from] io::Error),
}

/// The socket of the containerd of a data folder, or the one that was told.
pub(crate) fn socket(data: &Path, told: Option<PathBuf>) -> Result<PathBuf, ImageError> {
    let path = told.unwrap_or_else(|| data.join("containerd/containerd.sock"));
    match path.try_exists() {
        Ok(true) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(ImageError::Shut { path }),
        _ => Err(ImageError::NoSocket { path }),
    }
}

/// Brings in the images of archives and answers what they are called. `-` is standard input.
pub(crate) async fn import(
    socket: &Path,
    files: &[PathBuf],
    name: Option<String>,
) -> Result<String, ImageError> {
    let store = Store::at(socket);
    let mut told = String::new();
    for path in files {
        let (whole, sent) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let _shown = shown(path.display().to_string(), whole.clone(), sent.clone());
        let (file, archive) = match path.to_str() {
            Some("-") => ("standard input".to_owned(), Archive::read(io::stdin().lock(), "standard input")?),
            _ => (path.display().to_string(), Archive::open(path)?),
        };
        let mut images = archive.images()?;
        if let Some(name) = &name {
            let number = images.len();
            let [image] = &mut images[..] else { return Err(ImageError::OneName { file, number }) };
            image.names = vec![name.clone()];
        }
        whole.store(images.iter().map(Image::size).sum(), Ordering::Relaxed);
        for image in images {
            // Some tools write only the tag; what it is the tag of, nobody knows.
            let only_tag = image.names.iter().find(|name| !name.contains(['/', ':']));
            if image.names.is_empty() || only_tag.is_some() {
                return Err(ImageError::Nameless { file, found: only_tag.cloned().unwrap_or_default() });
            }
            let count = |piece| {
                sent.fetch_add(piece, Ordering::Relaxed);
            };
            let names = store.import(&image, Some(archive.file()), Timestamp::now(), count).await;
            let names = names.map_err(|source| ImageError::Import { file: file.clone(), source })?;
            for name in names {
                told.push_str(&format!("imported {name} ({})\n", bytes(image.size())));
            }
        }
    }
    Ok(told)
}

pub(crate) async fn list(socket: &Path) -> Result<String, ImageError> {
    let images = Runtime::at(socket).images().await?;
    let mut lines: Vec<[String; 3]> = Vec::new();
    for image in images {
        let id = image.id.trim_start_matches("sha256:").chars().take(12).collect::<String>();
        let names = if image.repo_tags.is_empty() { image.repo_digests } else { image.repo_tags };
        let names = if names.is_empty() { vec!["<none>".to_owned()] } else { names };
        lines.extend(names.into_iter().map(|name| [name, id.clone(), bytes(image.size)]));
    }
    lines.sort();
    Ok(table(&["IMAGE", "ID", "SIZE"].map(str::to_owned), &lines))
}

pub(crate) async fn remove(socket: &Path, names: &[String]) -> Result<String, ImageError> {
    let (runtime, store) = (Runtime::at(socket), Store::at(socket));
    let mut told = String::new();
    for name in names {
        // A name takes away that name; an ID takes away the image with all its names.
        if !store.remove(name).await.map_err(|source| ImageError::Remove { name: name.clone(), source })? {
            if runtime.image_status(name).await?.is_none() {
                return Err(ImageError::Absent { name: name.clone() });
            }
            runtime.remove_image(name).await?;
        }
        told.push_str(&format!("removed {name}\n"));
    }
    Ok(told)
}

/// Where somebody looks on: how far it is. A packed archive is read before anybody knows how much there is.
fn shown(file: String, whole: Arc<AtomicU64>, sent: Arc<AtomicU64>) -> Beside {
    Beside::new(move || match (whole.load(Ordering::Relaxed), sent.load(Ordering::Relaxed)) {
        (0, _) => format!("reading {file}"),
        (whole, sent) => {
            format!("{} {} of {}, importing {file}", bar(sent, whole), bytes(sent), bytes(whole))
        }
    })
}

fn table(head: &[String; 3], lines: &[[String; 3]]) -> String {
    let all = || std::iter::once(head).chain(lines);
    let width = |column: usize| all().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    all().map(|[image, id, size]| format!("{image:first$}   {id:second$}   {size}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_in_columns() {
        let line = |name: &str| [name.to_owned(), "0123".to_owned(), bytes(1_500_000)];
        let text = table(&["IMAGE", "ID", "SIZE"].map(str::to_owned), &[line("a"), line("longer")]);
        assert_eq!(text, "IMAGE    ID     SIZE\na        0123   1.5 MB\nlonger   0123   1.5 MB\n");
    }

    #[test]
    fn a_folder_without_containerd_is_said_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = socket(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("start the server"), "{error}");
    }
}
