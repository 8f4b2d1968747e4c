//! `scripts/prepare` on machines that lack something: it names exactly the packages that are missing. Installs nothing.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// What every Debian has, of which the script itself makes use.
const BASE: [&str; 8] = ["bash", "cat", "cut", "env", "head", "id", "sort", "true"];
const RUN: &str = "curl kubectl containerd runc";

/// A folder of programs that all succeed, among them the base's own.
fn machine(programs: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in BASE {
        let real = [Path::new("/usr/bin"), Path::new("/bin")].map(|place| place.join(name));
        symlink(real.iter().find(|path| path.exists()).unwrap(), folder.path().join(name)).unwrap();
    }
    program(folder.path(), "cargo", "exit 0");
    program(folder.path(), "rustc", "echo 'rustc 1.95.0 (0 2026-01-01)'");
    for name in programs.split_whitespace() {
        program(folder.path(), name, "cat >/dev/null");
    }
    folder
}

fn program(folder: &Path, name: &str, does: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/bash\n{does}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Without apt-get nothing can be installed, so what is missing is said instead.
fn prepare(machine: &Path) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/prepare");
    let said = Command::new(script).env("PATH", machine).output().unwrap();
    let told = String::from_utf8(said.stderr).unwrap().trim().to_owned();
    // Debian's lies in `/usr/sbin`, where the script looks in any case.
    let told = told.strip_suffix(" runc").unwrap_or(&told).to_owned();
    (said.status.success(), told)
}

#[test]
fn what_is_missing_is_named() {
    for (programs, told) in [
        ("", "Please install: gcc libc6-dev curl kubernetes-client containerd"),
        ("cc curl containerd runc", "Please install: kubernetes-client"),
        (&format!("cc {RUN}"), ""),
    ] {
        let machine = machine(programs);
        assert_eq!(prepare(machine.path()), (told.is_empty(), told.to_owned()), "{programs}");
    }
}

/// As Debian's gcc does without the files of the C library, which it only recommends.
#[test]
fn a_compiler_that_cannot_link_is_none() {
    let machine = machine(RUN);
    program(machine.path(), "cc", "echo 'cannot open Scrt1.o' >&2; exit 1");
    assert_eq!(prepare(machine.path()), (false, "Please install: gcc libc6-dev".to_owned()));
}

#[test]
fn an_old_rust_is_refused() {
    for (version, fine) in [("1.94.1", false), ("1.95.0", true), ("1.100.0", true), ("2.0.0-nightly", true)] {
        let machine = machine(&format!("cc {RUN}"));
        program(machine.path(), "rustc", &format!("echo 'rustc {version} (0 2026-01-01)'"));
        let (went, told) = prepare(machine.path());
        assert_eq!(went, fine, "{version}: {told}");
        assert!(fine || told.contains("too old") && told.contains("https://rustup.rs"), "{told}");
    }
}
