use std::fs;

use super::*;

fn archive(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.tar");
    let mut tar = tar::Builder::new(File::create(&path).unwrap());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.finish().unwrap();
    (folder, path)
}

#[test]
fn what_is_no_archive_of_images_is_said_to_be_none() {
    let manifest = br#"[{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l.tar"]}]"#;
    let forged = format!(
        r#"{{"manifests": [{{"mediaType": "{MANIFEST}", "digest": "{}", "size": 2}}]}}"#,
        Digest::of(b"something else")
    );
    let forged_blob = format!("blobs/sha256/{}", Digest::of(b"something else").letters().unwrap());
    let outside = r#"{"manifests": [{"mediaType": "m", "digest": "sha256:../../etc/passwd", "size": 2}]}"#;
    type Files<'a> = &'a [(&'a str, &'a [u8])];
    let cases: [(&str, Files<'_>, &str); 6] = [
        ("nothing in it", &[("a", b"b")], "it has neither index.json nor manifest.json"),
        ("broken document", &[("manifest.json", b"[")], "manifest.json in the archive is wrong"),
        ("no config", &[("manifest.json", manifest)], "the archive has no c.json"),
        ("no layer", &[("manifest.json", manifest), ("c.json", b"{}")], "the archive has no l.tar"),
        ("forged", &[("index.json", forged.as_bytes()), (&forged_blob, b"{}")], "is something else"),
        ("a name that leads out", &[("index.json", outside.as_bytes())], "is something else"),
    ];
    for (case, files, told) in cases {
        let (_folder, path) = archive(files);
        let error = Archive::open(&path).unwrap().images().unwrap_err().to_string();
        assert!(error.contains(told), "{case}: {error}");
    }
}

#[test]
fn what_cannot_be_read_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar.gz");
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Read { .. })));
    fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Read { .. })));
    fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Compressed { .. })));
}

#[test]
fn packed_piped_or_in_a_folder_it_is_the_same_image() {
    let manifest = br#"[{"Config": "c.json", "RepoTags": ["a:1"], "Layers": []}]"#;
    let (folder, path) = archive(&[("manifest.json", manifest), ("c.json", b"{}")]);
    let plain = fs::read(&path).unwrap();
    let packed = folder.path().join("x.tar.gz");
    let mut gzip =
        flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::default());
    io::Write::write_all(&mut gzip, &plain).unwrap();
    gzip.finish().unwrap();
    let layout = folder.path().join("layout");
    fs::create_dir(&layout).unwrap();
    fs::write(layout.join("manifest.json"), manifest).unwrap();
    fs::write(layout.join("c.json"), b"{}").unwrap();
    for opened in [
        Archive::open(&path),
        Archive::open(&packed),
        Archive::open(&layout),
        Archive::read(&plain[..], "standard input"),
        Archive::read(&fs::read(&packed).unwrap()[..], "standard input"),
    ] {
        let images = opened.unwrap().images().unwrap();
        assert_eq!(images[0].config, Digest::of(b"{}"));
    }
}

#[test]
fn dockers_form_gets_its_digests_by_reading() {
    let manifest = br#"[{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l/layer.tar"]}]"#;
    let (_folder, path) =
        archive(&[("manifest.json", manifest), ("c.json", b"{}"), ("l/layer.tar", b"\x1f\x8b...")]);
    let images = Archive::open(&path).unwrap().images().unwrap();
    assert_eq!(images[0].names, ["a:1"]);
    assert_eq!(images[0].config, Digest::of(b"{}"));
    assert_eq!(images[0].layers, [Digest::of(b"\x1f\x8b...")]);
    let manifest: Manifest = serde_json::from_slice(&images[0].manifest).unwrap();
    assert_eq!(manifest.layers[0].media_type, LAYER_GZIP);
}
