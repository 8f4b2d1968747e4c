use std::os::unix::fs::{MetadataExt, symlink};

use rustix::fs::statvfs;

use super::*;
use crate::volume::{Content, Files, HostKind};

fn file(path: &str, bytes: &str) -> Content {
    Content { path: path.to_owned(), mode: 0o640, bytes: bytes.as_bytes().to_vec(), owner: None }
}

fn files(files: &[(&str, &str)]) -> Volume {
    let files = files.iter().map(|(path, bytes)| file(path, bytes)).collect();
    Volume::Files(Files { files, ..Files::default() })
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

    fn prepare(&self, name: &str, volume: &Volume) -> Result<PathBuf, MountError> {
        self.mounts.prepare("pod", name, volume, None)
    }

    fn part(&self, volume: &Path, path: &str) -> Result<PathBuf, MountError> {
        self.mounts.part("pod", volume, Sub { volume: "v", container: "c", index: 0, path })
    }

    fn left(&self) -> Vec<PathBuf> {
        let points = table::below(&self.mounts.root.join("pod")).unwrap();
        points.into_iter().map(|point| point.path).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        table::clear(&self.mounts.root).unwrap();
    }
}

fn mode(path: &Path) -> (u32, u32) {
    let found = fs::metadata(path).unwrap();
    (found.gid(), found.mode() & 0o7777)
}

#[test]
fn files_change_all_at_once_and_only_when_they_differ() {
    let scene = Scene::new();
    let place = scene.prepare("v", &files(&[("a", "1"), ("deep/b", "2")])).unwrap();
    let read = |path: &str| fs::read_to_string(place.join(path)).ok();
    assert_eq!((read("a"), read("deep/b")), (Some("1".into()), Some("2".into())));
    assert_eq!(fs::metadata(place.join("a")).unwrap().mode() & 0o777, 0o640);
    let set = || fs::read_link(place.join("..data")).unwrap();
    let first = set();
    scene.prepare("v", &files(&[("a", "1"), ("deep/b", "2")])).unwrap();
    assert_eq!(set(), first, "the same again is no change");
    scene.prepare("v", &files(&[("a", "new"), ("c", "3")])).unwrap();
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
        let told = scene.prepare("v", &files(&[(path, "1")]));
        assert!(matches!(told, Err(MountError::Outside { .. })), "{path:?}: {told:?}");
    }
    for name in ["", "..", "a/b"] {
        assert!(scene.prepare(name, &files(&[])).is_err(), "{name:?}");
        assert!(scene.mounts.release(name).is_err(), "{name:?}");
    }
}

#[test]
fn an_empty_folder_may_be_in_memory_and_goes_with_its_pod() {
    let scene = Scene::new();
    let disk = scene.prepare("disk", &Volume::Empty { medium: Medium::Disk }).unwrap();
    let memory = Volume::Empty { medium: Medium::Memory { limit: Some(1 << 20) } };
    let memory_place = scene.prepare("memory", &memory).unwrap();
    assert_eq!(scene.prepare("memory", &memory).unwrap(), memory_place);
    assert_eq!(scene.left(), [&*memory_place], "one is mounted, and once");
    assert_eq!((mode(&disk), mode(&memory_place)), ((0, 0o777), (0, 0o1777)));
    let size = statvfs(&memory_place).unwrap();
    assert_eq!(size.f_blocks * size.f_frsize, 1 << 20);
    // What containers make of their folder is theirs, also if it is asked for again.
    fs::set_permissions(&disk, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(disk.join("x"), "x").unwrap();
    scene.prepare("disk", &Volume::Empty { medium: Medium::Disk }).unwrap();
    assert_eq!((mode(&disk), disk.join("x").exists()), ((0, 0o700), true));
    let full = fs::write(memory_place.join("x"), vec![0; 2 << 20]).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    scene.mounts.release("pod").unwrap();
    scene.mounts.release("pod").unwrap();
    assert!(!disk.exists() && !memory_place.exists() && scene.left().is_empty());
}

#[test]
fn a_group_shares_what_it_is_given() {
    let scene = Scene::new();
    let group = Some(Group { id: 123, trust_root: false });
    let mut secret = file("deep/token", "t");
    secret.mode = 0o600;
    secret.owner = Some(1000);
    let files = Files { files: vec![file("a", "1"), secret], in_memory: true, ..Files::default() };
    let local = scene.folder.path().join("local");
    for (name, volume, found) in [
        ("disk", Volume::Empty { medium: Medium::Disk }, 0o2777),
        ("memory", Volume::Empty { medium: Medium::Memory { limit: None } }, 0o3777),
        ("files", Volume::Files(files.clone()), 0o3777),
        ("local", Volume::Local { path: local.clone(), make: true }, 0o2777),
    ] {
        let place = scene.mounts.prepare("pod", name, &volume, group).unwrap();
        assert_eq!(mode(&place), (123, found), "{name}");
        if name == "files" {
            assert_eq!(mode(&place.join("a")), (123, 0o640));
            assert_eq!(mode(&place.join("deep/token")), (123, 0o640));
            assert_eq!(fs::metadata(place.join("deep/token")).unwrap().uid(), 1000);
            let set = fs::read_link(place.join("..data")).unwrap();
            scene.mounts.prepare("pod", name, &volume, group).unwrap();
            assert_eq!(fs::read_link(place.join("..data")).unwrap(), set, "the same again is no change");
        }
    }
    let none = Volume::Local { path: scene.folder.path().join("none"), make: false };
    let told = scene.mounts.prepare("pod", "none", &none, group).unwrap_err().to_string();
    assert!(told.ends_with("/none\" does not exist"), "{told}");
}

#[test]
fn places_for_other_mounts_stay_when_files_change() {
    let scene = Scene::new();
    let volume = |bytes: &str| {
        let files = vec![file("a", bytes)];
        Volume::Files(Files { files, in_memory: true, folders: vec!["inner/most".to_owned()] })
    };
    let place = scene.prepare("v", &volume("1")).unwrap();
    assert!(place.join("inner/most").is_dir());
    fs::create_dir(place.join("made by somebody")).unwrap();
    scene.prepare("v", &volume("2")).unwrap();
    assert_eq!(fs::read(place.join("a")).unwrap(), b"2");
    assert!(place.join("inner/most").is_dir() && place.join("made by somebody").is_dir());
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
        let told = scene.prepare("v", &Volume::Host { path: at(name), kind });
        assert_eq!(told.is_ok(), fine, "{name} as {kind:?}: {told:?}");
    }
    assert!(at("made/deep").is_dir() && at("new").is_file());
}

#[test]
fn a_part_of_a_volume_stays_inside() {
    let scene = Scene::new();
    let volume = scene.prepare("v", &Volume::Empty { medium: Medium::Disk }).unwrap();
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o3777)).unwrap();
    let outside = scene.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(volume.join("real")).unwrap();
    fs::write(volume.join("real/x"), "x").unwrap();
    symlink("real", volume.join("inward")).unwrap();
    symlink("../v/real", volume.join("round about")).unwrap();
    symlink(&outside, volume.join("outward")).unwrap();
    symlink("../../../../outside", volume.join("upward")).unwrap();
    symlink("nowhere", volume.join("dangling")).unwrap();
    for (path, fine) in [
        ("real", true),
        ("./real", true),
        ("real/x", true),
        ("inward", true),
        ("inward/x", true),
        ("new/deep", true),
        ("inward/new", true),
        ("round about", false),
        ("outward", false),
        ("outward/new", false),
        ("upward", false),
        ("dangling", false),
        ("real/x/y", false),
        ("../v", false),
        ("/etc", false),
    ] {
        let told = scene.part(&volume, path);
        assert_eq!(told.is_ok(), fine, "{path}: {told:?}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was made outside");
    assert_eq!(mode(&volume.join("new/deep")), (0, 0o3777), "what is made is like the volume");
    scene.mounts.release("pod").unwrap();
    assert!(scene.left().is_empty());
}

#[test]
fn a_part_is_what_it_was_until_it_is_asked_for_again() {
    let scene = Scene::new();
    let volume = scene.prepare("v", &files(&[("a", "1")])).unwrap();
    let place = scene.part(&volume, "a").unwrap();
    scene.prepare("v", &files(&[("a", "2")])).unwrap();
    assert_eq!(fs::read(&place).unwrap(), b"1");
    assert_eq!(scene.part(&volume, "a").unwrap(), place);
    assert_eq!(fs::read(&place).unwrap(), b"2");
    scene.part(&volume, "a").unwrap();
    assert_eq!(scene.left().len(), 1, "mounted once");
    // What was a file may be a folder later.
    scene.part(&volume, "new").unwrap();
    assert!(place.is_dir());
    scene.mounts.release("pod").unwrap();
    assert!(scene.left().is_empty() && !place.exists());
}

#[test]
fn others_data_outlives_the_pod() {
    let scene = Scene::new();
    let theirs = scene.folder.path().join("theirs");
    fs::create_dir_all(theirs.join("inner")).unwrap();
    fs::write(theirs.join("inner/x"), "x").unwrap();
    scene.part(&theirs, "inner").unwrap();
    scene.mounts.read_only("pod", &theirs, "c", 0).unwrap();
    scene.mounts.release("pod").unwrap();
    assert!(theirs.join("inner/x").exists() && scene.left().is_empty());
}

#[test]
fn read_only_is_read_only_all_the_way_down() {
    let scene = Scene::new();
    let memory = Volume::Empty { medium: Medium::Memory { limit: None } };
    let volume = scene.prepare("v", &memory).unwrap();
    fs::create_dir(volume.join("inner")).unwrap();
    tmpfs(&volume.join("inner"), "mode=777").unwrap();
    for _ in 0..2 {
        let place = scene.mounts.read_only("pod", &volume, "c", 0).unwrap();
        for path in ["x", "inner/x"] {
            assert!(fs::write(volume.join(path), "x").is_ok(), "{path}");
            let refused = fs::write(place.join(path), "y").unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ReadOnlyFilesystem, "{path}");
        }
    }
    scene.mounts.release("pod").unwrap();
    assert!(scene.left().is_empty());
}

#[test]
fn layers_are_seen_as_one_and_only_read() {
    let scene = Scene::new();
    let [upper, lower] = ["upper", "lower"].map(|name| scene.folder.path().join(name));
    for (layer, name) in [(&lower, "both"), (&lower, "low"), (&upper, "both"), (&upper, "high")] {
        fs::create_dir_all(layer.join("deep")).unwrap();
        fs::write(layer.join("deep").join(name), layer.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    for (case, layers, seen) in [
        ("two", vec![upper.clone(), lower.clone()], [("both", "upper"), ("low", "lower"), ("high", "upper")]),
        ("one", vec![lower.clone()], [("both", "lower"), ("low", "lower"), ("high", "")]),
    ] {
        let place = scene.prepare(&format!("v.{case}"), &Volume::Layers(layers.clone())).unwrap();
        for (name, content) in seen {
            let read = fs::read_to_string(place.join("deep").join(name)).unwrap_or_default();
            assert_eq!(read, content, "{case}: {name}");
        }
        let refused = fs::write(place.join("new"), "").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ReadOnlyFilesystem, "{case}");
        let flags = statvfs(&place).unwrap().f_flag;
        assert!(flags.contains(rustix::fs::StatVfsMountFlags::NOEXEC), "{case}");
        // The same once more is the same.
        assert_eq!(scene.prepare(&format!("v.{case}"), &Volume::Layers(layers)).unwrap(), place);
        assert!(scene.part(&place, "deep").unwrap().join("both").exists(), "{case}");
        assert!(matches!(scene.part(&place, "none"), Err(MountError::Io { .. })), "{case}");
    }
    let mut names = scene.mounts.layered().unwrap();
    names.sort();
    assert_eq!(names, ["v.one", "v.two"]);
    let mut closed = scene.mounts.close_layers("pod").unwrap();
    closed.sort();
    assert_eq!(closed, names, "the names are there until everything is released");
    scene.mounts.release("pod").unwrap();
    assert_eq!((scene.left(), scene.mounts.layered().unwrap()), (vec![], vec![]));
    assert!(lower.join("deep/low").exists());
}

/// As one of another machine is, whose server may be gone.
#[test]
fn what_is_mounted_is_taken_away_by_another_process_too() {
    let scene = Scene::new();
    let place = scene.folder.path().join("pods/a b");
    fs::create_dir(&place).unwrap();
    tmpfs(&place, "mode=777").unwrap();
    let held = fs::File::create(place.join("file")).unwrap();
    nfs::unmount(&place).unwrap();
    assert!(!table::is_listed(&place).unwrap() && !place.join("file").exists());
    // What is gone is gone.
    nfs::unmount(&place).unwrap();
    drop(held);
}

#[test]
fn what_is_below_a_folder_goes_and_the_folder_stays() {
    let scene = Scene::new();
    let memory = Volume::Empty { medium: Medium::Memory { limit: None } };
    scene.prepare("v", &memory).unwrap();
    scene.prepare("w", &memory).unwrap();
    table::clear_below(&scene.mounts.root).unwrap();
    assert!(scene.left().is_empty());
    assert!(table::is_listed(&scene.mounts.root).unwrap());
}
