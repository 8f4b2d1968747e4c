use std::os::unix::fs::MetadataExt;

use super::*;
use crate::volume::{Content, HostKind};

fn file(path: &str, bytes: &str) -> Content {
    Content { path: path.to_owned(), mode: 0o640, bytes: bytes.as_bytes().to_vec() }
}

fn files(files: &[(&str, &str)]) -> Volume {
    Volume::Files { files: files.iter().map(|(path, bytes)| file(path, bytes)).collect() }
}

/// Mounts in a folder of its own; takes them away at the end, however it ends.
struct Scene {
    folder: tempfile::TempDir,
    mounts: Mounts,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mounts = Mounts::open(&folder.path().join("pods")).unwrap();
        Self { folder, mounts }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for mounted in mounts_below(&self.mounts.root).unwrap() {
            unmount(&mounted, UnmountFlags::DETACH).unwrap();
        }
    }
}

#[test]
fn files_change_all_at_once_and_only_when_they_differ() {
    let scene = Scene::new();
    let mounts = &scene.mounts;
    let place = mounts.prepare("pod", "v", &files(&[("a", "1"), ("deep/b", "2")])).unwrap();
    let read = |path: &str| fs::read_to_string(place.join(path)).ok();
    assert_eq!((read("a"), read("deep/b")), (Some("1".into()), Some("2".into())));
    assert_eq!(fs::metadata(place.join("a")).unwrap().mode() & 0o777, 0o640);
    let set = || fs::read_link(place.join("..data")).unwrap();
    let first = set();
    mounts.prepare("pod", "v", &files(&[("a", "1"), ("deep/b", "2")])).unwrap();
    assert_eq!(set(), first, "the same again is no change");
    mounts.prepare("pod", "v", &files(&[("a", "new"), ("c", "3")])).unwrap();
    assert_ne!(set(), first);
    assert_eq!((read("a"), read("deep/b"), read("c")), (Some("new".into()), None, Some("3".into())));
    let mut left: Vec<_> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left.len(), 4, "{left:?}: the set, the link to it, and two files");
}

#[test]
fn nothing_leads_out() {
    let scene = Scene::new();
    for path in ["", "/etc/passwd", "../x", "a/../../x", "..data", "./a"] {
        let told = scene.mounts.prepare("pod", "v", &files(&[(path, "1")]));
        assert!(matches!(told, Err(MountError::Outside { .. })), "{path:?}: {told:?}");
    }
    for name in ["", "..", "a/b"] {
        assert!(scene.mounts.prepare("pod", name, &files(&[])).is_err(), "{name:?}");
        assert!(scene.mounts.release(name).is_err(), "{name:?}");
    }
}

#[test]
fn an_empty_folder_may_be_in_memory_and_goes_with_its_pod() {
    let scene = Scene::new();
    let mounts = &scene.mounts;
    let disk = mounts.prepare("pod", "disk", &Volume::Empty { medium: Medium::Disk }).unwrap();
    let memory = Volume::Empty { medium: Medium::Memory { limit: Some(1 << 20) } };
    let memory_place = mounts.prepare("pod", "memory", &memory).unwrap();
    assert_eq!(mounts.prepare("pod", "memory", &memory).unwrap(), memory_place);
    assert!(!is_mounted(&disk).unwrap());
    assert!(is_mounted(&memory_place).unwrap());
    assert_eq!(fs::metadata(&memory_place).unwrap().mode() & 0o777, 0o777);
    fs::write(disk.join("x"), "x").unwrap();
    let full = fs::write(memory_place.join("x"), vec![0; 2 << 20]).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    mounts.release("pod").unwrap();
    mounts.release("pod").unwrap();
    assert!(!disk.exists() && !memory_place.exists());
    assert!(mounts_below(&scene.mounts.root.join("pod")).unwrap().is_empty());
}

#[test]
fn a_place_on_the_node_must_be_what_is_asked_for() {
    let scene = Scene::new();
    let at = |name: &str| scene.folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::create_dir(at("folder")).unwrap();
    for (name, kind, fine) in [
        ("folder", HostKind::Folder, true),
        ("file", HostKind::Folder, false),
        ("none", HostKind::Folder, false),
        ("made/deep", HostKind::FolderOrNew, true),
        ("file", HostKind::File, true),
        ("none", HostKind::File, false),
        ("new", HostKind::FileOrNew, true),
        ("folder", HostKind::FileOrNew, false),
        ("file", HostKind::Socket, false),
        ("file", HostKind::Any, true),
        ("made-by-any", HostKind::Any, true),
    ] {
        let told = scene.mounts.prepare("pod", "v", &Volume::Host { path: at(name), kind });
        assert_eq!(told.is_ok(), fine, "{name} as {kind:?}: {told:?}");
    }
    assert!(at("made/deep").is_dir() && at("new").is_file());
}

#[test]
fn names_of_mounts_are_read_as_they_are() {
    for (text, path) in [("/a", "/a"), (r"/a\040b", "/a b"), (r"/a\134b", r"/a\b"), (r"/a\9", r"/a\9")] {
        assert_eq!(unescaped(text), Path::new(path));
    }
}
