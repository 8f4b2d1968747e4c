//! With whose credentials images were fetched: an image that needed a pod's own is not for a pod that has none, although it is
//! here. Images that came otherwise are for everybody. Keeps fingerprints of credentials, never credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use parking_lot::Mutex;

pub(crate) struct Pulled {
    file: PathBuf,
    /// Those who may have an image, by its id. One that is not listed is for everybody.
    owners: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

impl Pulled {
    /// Goes on from what the file says.
    pub(crate) fn read(file: PathBuf) -> Self {
        let owners = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Self { file, owners: Mutex::new(owners.unwrap_or_default()) }
    }

    /// Whether everybody may have it.
    pub(crate) fn is_open(&self, image: &str) -> bool {
        !self.owners.lock().contains_key(image)
    }

    pub(crate) fn is_known(&self, image: &str, owner: Option<&str>) -> bool {
        let owners = self.owners.lock();
        match owners.get(image) {
            None => true,
            Some(known) => owner.is_some_and(|owner| known.contains(owner)),
        }
    }

    /// An image was fetched with these credentials, or with none that are a pod's own.
    pub(crate) fn note(&self, image: &str, owner: Option<String>) {
        let mut owners = self.owners.lock();
        let changed = match owner {
            Some(owner) => owners.entry(image.to_owned()).or_default().insert(owner),
            None => owners.remove(image).is_some(),
        };
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

    fn write(&self, owners: &BTreeMap<String, BTreeSet<String>>) {
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
        let pulled = Pulled::read(file.clone());
        assert!(pulled.is_open("a") && pulled.is_known("a", None));
        pulled.note("a", Some("me".to_owned()));
        pulled.note("b", None);
        // Also after a restart.
        let pulled = Pulled::read(file.clone());
        for (image, owner, may) in [
            ("a", Some("me"), true),
            ("a", Some("you"), false),
            ("a", None, false),
            ("b", None, true),
            ("c", Some("you"), true),
        ] {
            assert_eq!(pulled.is_known(image, owner), may, "{image} {owner:?}");
        }
        // Once somebody could fetch it without credentials, it is open to everybody.
        pulled.note("a", None);
        assert!(pulled.is_open("a"));
        pulled.note("d", Some("me".to_owned()));
        pulled.keep(&BTreeSet::new());
        assert!(Pulled::read(file).is_open("d"));
    }
}
