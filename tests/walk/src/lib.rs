//! Which crate may use which: the table of ARCHITECTURE.md beside the manifests. Knows manifests, not code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `folder → folders it may use` inside `crates/`, as ARCHITECTURE.md has it. `lib/*` is open to all and stands on nothing of
/// ours but `lib/*`.
pub fn arrows(page: &str) -> BTreeMap<String, Vec<String>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let rows = rows.filter(|(folder, _)| folder.contains('/'));
    rows.map(|(folder, rest)| {
        let last = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
        let used = last.split(',').map(|used| used.trim().to_owned()).filter(|used| used.contains('/'));
        (folder.to_owned(), used.collect())
    })
    .collect()
}

/// Folder of each of our packages, by package name, and what it depends on outside tests.
pub fn packages(root: &Path) -> std::io::Result<BTreeMap<String, Package>> {
    let mut packages = BTreeMap::new();
    for parent in [
        "crates/access",
        "crates/api",
        "crates/control",
        "crates/node",
        "crates/traffic",
        "crates/workloads",
        "lib",
    ] {
        let Ok(entries) = std::fs::read_dir(root.join(parent)) else { continue };
        for entry in entries {
            let folder = entry?.path();
            let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
            let package = Package::read(root, &folder, &manifest);
            packages.insert(package.name.clone(), package);
        }
    }
    Ok(packages)
}

#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// `api/store`, `lib/clock`
    pub folder: String,
    /// Names of our own packages under `[dependencies]`.
    pub uses: Vec<String>,
}

impl Package {
    fn read(root: &Path, folder: &Path, manifest: &str) -> Self {
        let folder: PathBuf = folder.strip_prefix(root).unwrap_or(folder).to_owned();
        let folder = folder.strip_prefix("crates").unwrap_or(&folder).to_string_lossy().into_owned();
        let (mut section, mut name, mut uses) = ("", String::new(), Vec::new());
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            } else if section == "[package]" && line.starts_with("name") {
                name = line.split('"').nth(1).unwrap_or_default().to_owned();
            } else if section == "[dependencies]" && line.starts_with("kedge-") {
                uses.extend(line.split(['.', ' ', '=']).next().map(str::to_owned));
            }
        }
        Self { name, folder, uses }
    }
}
