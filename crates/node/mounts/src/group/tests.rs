use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn mode(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.gid(), found.mode() & 0o7777)
}

fn file(path: &Path, mode: u32) {
    fs::write(path, "x").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn everything_becomes_the_groups_and_links_are_not_followed() {
    for (read_only, folder, plain, program) in [(false, 0o2770, 0o660, 0o4771), (true, 0o2750, 0o640, 0o4751)]
    {
        let scene = tempfile::tempdir().unwrap();
        let (root, outside) = (scene.path().join("volume"), scene.path().join("outside"));
        fs::create_dir_all(root.join("deep")).unwrap();
        for folder in [&root, &root.join("deep")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        file(&outside, 0o600);
        file(&root.join("plain"), 0o600);
        file(&root.join("deep/program"), 0o4711);
        symlink(&outside, root.join("link")).unwrap();
        give(&root, Group { id: 1234, trust_root: false }, read_only).unwrap();
        assert_eq!(mode(&root), (1234, folder));
        assert_eq!(mode(&root.join("deep")), (1234, folder));
        assert_eq!(mode(&root.join("plain")), (1234, plain));
        assert_eq!(mode(&root.join("deep/program")), (1234, program));
        assert_eq!(mode(&root.join("link")).0, 1234);
        assert_eq!(mode(&outside), (0, 0o600), "what a link leads to is nobody's business");
    }
}

#[test]
fn a_root_that_is_right_is_trusted_only_if_asked() {
    let scene = tempfile::tempdir().unwrap();
    let inside = scene.path().join("x");
    let group = |trust_root| Group { id: 77, trust_root };
    give(scene.path(), group(true), false).unwrap();
    file(&inside, 0o600);
    give(scene.path(), group(true), false).unwrap();
    assert_eq!(mode(&inside), (77, 0o600), "the group was inherited, the mode is its maker's");
    give(scene.path(), group(false), false).unwrap();
    assert_eq!(mode(&inside), (77, 0o660));
    // Another group is a mismatch.
    give(scene.path(), Group { id: 78, trust_root: true }, false).unwrap();
    assert_eq!(mode(&inside), (78, 0o660));
}
