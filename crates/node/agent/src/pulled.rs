//! With whose credentials images were fetched: an image that needed a pod's own is not for a pod that has none, although it is
//! here. Images that came otherwise are for everybody. Keeps fingerprints of credentials, never credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use kedge_runtime::wire::Image;
use parking_lot::Mutex;

/// Those who may have an image from a repository, by the image's id and the repository. What is not listed is for everybody.
type Owners = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

pub(crate) struct Pulled {
    file: PathBuf,
    owners: Mutex<Owners>,
}

/// Who may have an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Everybody,
    /// Whose credentials have one of these fingerprints.
    Owners(BTreeSet<String>),
}

impl Pulled {
    /// Goes on from what the file says.
    pub(crate) fn read(file: PathBuf) -> Self {
        let owners = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Self { file, owners: Mutex::new(owners.unwrap_or_default()) }
    }

    /// Who may have an image that was asked for by the name of a repository.
    pub(crate) fn access(&self, image: &Image, repository: &str) -> Access {
        let owners = self.owners.lock();
        let Some(known) = owners.get(&image.id) else { return Access::Everybody };
        if let Some(owners) = known.get(repository) {
            return Access::Owners(owners.clone());
        }
        // The same image may have come under another name, and nobody needed anything for that one. Whoever asks for it by
        // what is none of its names is not let in by that.
        let names = image.repo_tags.iter().chain(&image.repo_digests);
        let is_named = |name: &String| {
            let rest = name.strip_prefix(repository);
            rest.is_some_and(|rest| rest.starts_with([':', '@']))
        };
        match names.into_iter().any(is_named) {
            true => Access::Everybody,
            false => Access::Owners(known.values().flatten().cloned().collect()),
        }
    }

    /// An image was fetched with these credentials, or with none that are a pod's own.
    pub(crate) fn note(&self, id: &str, repository: &str, owner: Option<String>) {
        let mut owners = self.owners.lock();
        let changed = match owner {
            Some(owner) => {
                let known = owners.entry(id.to_owned()).or_default();
                known.entry(repository.to_owned()).or_default().insert(owner)
            }
            None => owners.get_mut(id).is_some_and(|known| known.remove(repository).is_some()),
        };
        owners.retain(|_, known| !known.is_empty());
        if changed {
            self.write(&owners);
        }
    }

    /// Only these images are left.
    pub(crate) fn keep(&self, images: &BTreeSet<String>) {
        let mut owners = self.owners.lock();
        let before = owners.len();
        owners.retain(|image, _| images.contains(image));
        if owners.len() != before {
            self.write(&owners);
        }
    }

    fn write(&self, owners: &Owners) {
        let new = self.file.with_extension("new");
        let written = serde_json::to_vec(owners)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &self.file));
        if let Err(error) = written {
            tracing::warn!(%error, "cannot write down who may have which image");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_for_those_who_brought_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pulled.json");
        let image = |id: &str, tag: &str| Image {
            id: id.to_owned(),
            repo_tags: vec![tag.to_owned(), "open.io/x:1".to_owned()],
            ..Image::default()
        };
        let (closed, open) = (image("1", "closed.io/x:1"), image("2", "closed.io/y:1"));
        let pulled = Pulled::read(file.clone());
        assert_eq!(pulled.access(&closed, "closed.io/x"), Access::Everybody);
        pulled.note("1", "closed.io/x", Some("me".to_owned()));
        pulled.note("1", "open.io/x", None);
        pulled.note("2", "closed.io/y", None);
        // Also after a restart.
        let pulled = Pulled::read(file.clone());
        let mine = || Access::Owners(BTreeSet::from(["me".to_owned()]));
        for (case, image, repository, access) in [
            ("with credentials", &closed, "closed.io/x", mine()),
            ("the same image under an open name", &closed, "open.io/x", Access::Everybody),
            ("by its id", &closed, "docker.io/library/sha256", mine()),
            ("without credentials", &open, "closed.io/y", Access::Everybody),
        ] {
            assert_eq!(pulled.access(image, repository), access, "{case}");
        }
        // Once somebody could fetch it without credentials, it is open to everybody.
        pulled.note("1", "closed.io/x", None);
        assert_eq!(pulled.access(&closed, "closed.io/x"), Access::Everybody);
        pulled.note("3", "r", Some("me".to_owned()));
        pulled.keep(&BTreeSet::new());
        assert_eq!(Pulled::read(file).access(&image("3", "r:1"), "r"), Access::Everybody);
    }
}
