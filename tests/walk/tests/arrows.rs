//! Fails on an arrow that ARCHITECTURE.md's table doesn't have, and on a crate or a row without the other.

use std::path::Path;

use kedge_walk::{arrows, packages};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md can be read");
    let arrows = arrows(&page);
    let packages = packages(root()).expect("the crates can be read");
    assert!(packages.len() > 5, "only {} packages were found", packages.len());
    for package in packages.values() {
        let Some(allowed) = arrows.get(&package.folder) else {
            panic!("{} stands in no row of the table", package.folder)
        };
        for used in &package.uses {
            let Some(used) = packages.get(used) else { panic!("{} uses unknown {used}", package.folder) };
            let fine = used.folder.starts_with("lib/") || allowed.contains(&used.folder);
            assert!(fine, "{} uses {}: an arrow that the table doesn't have", package.folder, used.folder);
        }
    }
    for folder in arrows.keys() {
        let there = packages.values().any(|package| package.folder == *folder);
        assert!(there, "the table has {folder}, the folders don't");
    }
}
