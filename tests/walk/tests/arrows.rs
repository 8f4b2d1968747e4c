//! Fails on an arrow that the table doesn't have, and on a crate that the table or ARCHITECTURE.md doesn't name.

use std::path::Path;

use kedge_walk::{ARROWS, packages};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn crates_use_only_what_the_table_allows() {
    let packages = packages(root()).expect("the crates can be read");
    assert!(packages.len() > 5, "only {} packages were found", packages.len());
    for package in packages.values() {
        let allowed =
            ARROWS.iter().find(|(folder, _)| *folder == package.folder).map(|(_, allowed)| *allowed);
        let is_lib = package.folder.starts_with("lib/");
        assert!(allowed.is_some() || is_lib, "{} stands in no row of the table", package.folder);
        for used in &package.uses {
            let Some(used) = packages.get(used) else { panic!("{} uses unknown {used}", package.folder) };
            let fine =
                used.folder.starts_with("lib/") || allowed.is_some_and(|list| list.contains(&&*used.folder));
            assert!(fine, "{} uses {}: an arrow that the table doesn't have", package.folder, used.folder);
        }
    }
}

#[test]
fn the_architecture_page_names_every_folder() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md can be read");
    for package in packages(root()).expect("the crates can be read").values() {
        assert!(
            page.contains(&format!("`{}`", package.folder)),
            "ARCHITECTURE.md does not name `{}`",
            package.folder
        );
    }
}
