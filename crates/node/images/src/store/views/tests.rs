//! What can be known without a containerd; the rest is in the crate's real tests.

use std::collections::BTreeMap;

use super::*;

fn layer(number: u8) -> Descriptor {
    Descriptor {
        media_type: String::new(),
        digest: Digest::of(&[number]),
        size: 1,
        annotations: BTreeMap::new(),
        platform: None,
    }
}

#[test]
fn layers_are_named_by_what_is_below_them() {
    let contents = [Digest::of(b"a"), Digest::of(b"b"), Digest::of(b"c")];
    let layers = chained((0..3).map(layer).collect(), contents.to_vec()).unwrap();
    let two = Digest::of(format!("{} {}", contents[0], contents[1]).as_bytes());
    let three = Digest::of(format!("{two} {}", contents[2]).as_bytes());
    let chains: Vec<_> = layers.into_iter().map(|layer| layer.chain).collect();
    assert_eq!(chains, [contents[0].to_string(), two.to_string(), three.to_string()]);
    assert!(matches!(chained(vec![layer(0)], Vec::new()), Err(ViewError::Torn { layers: 1, contents: 0 })));
    assert!(matches!(chained(Vec::new(), Vec::new()), Err(ViewError::Empty)));
}

#[test]
fn what_is_offered_is_read_as_folders() {
    let mount = |kind: &str, options: &[&str]| Mount {
        kind: kind.to_owned(),
        source: "/one".to_owned(),
        target: String::new(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    };
    for (case, mounts, read) in [
        ("one layer", vec![mount("bind", &["ro", "rbind"])], Some(vec!["/one"])),
        ("several", vec![mount("overlay", &["index=off", "lowerdir=/b:/a"])], Some(vec!["/b", "/a"])),
        ("an overlay of nothing", vec![mount("overlay", &["index=off"])], None),
        ("another kind", vec![mount("erofs", &[])], None),
        ("nothing", vec![], None),
        ("two", vec![mount("bind", &[]), mount("bind", &[])], None),
    ] {
        let read = read.map(|folders| folders.into_iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(folders(&mounts).ok(), read, "{case}");
    }
}
