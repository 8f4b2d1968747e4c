//! Places are told apart, and archives stay where they belong.

use std::path::PathBuf;

use super::{Place, unpack};

#[test]
fn places_are_told_apart() {
    let there = |namespace: Option<&str>, pod: &str, path: &str| {
        Some(Place::There {
            namespace: namespace.map(str::to_owned),
            pod: pod.to_owned(),
            path: path.to_owned(),
        })
    };
    for (word, place) in [
        ("file", Some(Place::Here(PathBuf::from("file")))),
        ("./a:b", Some(Place::Here(PathBuf::from("./a:b")))),
        ("/a:b", Some(Place::Here(PathBuf::from("/a:b")))),
        ("web:/etc/x", there(None, "web", "/etc/x")),
        ("ns/web:x", there(Some("ns"), "web", "x")),
        ("web:", None),
        (":x", None),
        ("a/b/c:x", None),
    ] {
        assert_eq!(Place::of(word).ok(), place, "{word}");
    }
}

#[test]
fn an_archive_is_unpacked_below_its_place_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("to");
    let mut archive = tar::Builder::new(Vec::new());
    // Names that the builder itself would refuse are written into the header by hand.
    let mut add = |name: &str, content: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, content).expect("an entry");
    };
    add("etc/app/a", b"1");
    add("etc/app/deep/b", b"2");
    add("etc/app/../../../out", b"3");
    add("elsewhere", b"4");
    let bytes = archive.into_inner().expect("an archive");
    let warnings = unpack::read(&bytes[..], "etc/app", &to).expect("unpacked");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let read = |path: &str| std::fs::read(to.join(path)).ok();
    assert_eq!(read("a").as_deref(), Some(&b"1"[..]));
    assert_eq!(read("deep/b").as_deref(), Some(&b"2"[..]));
    let beside: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|one| one.file_name()).collect();
    assert_eq!(beside, ["to"]);
}
