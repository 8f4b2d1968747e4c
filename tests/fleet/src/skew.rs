//! The clock of one process, set apart from this machine's: a small library stands between it and the C library, and adds to the wall clock
//! what a file says. As with a real clock that jumps, what only counts on (`CLOCK_MONOTONIC`) does not. Programs that don't ask the C
//! library, such as containerd, keep the machine's time.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands between.
const SOURCE: &str = include_str!("skew.c");

#[derive(Debug)]
pub struct Skew {
    library: PathBuf,
    file: PathBuf,
}

impl Skew {
    pub fn new(folder: &Path) -> Self {
        let (source, library) = (folder.join("skew.c"), folder.join("skew.so"));
        fs::write(&source, SOURCE).unwrap();
        let mut command = Command::new("cc");
        let made =
            command.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let skew = Self { library, file: folder.join("skew") };
        skew.set(0);
        skew
    }

    /// The program's wall clock shows what this says, from now on and whenever it changes.
    pub fn wear(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("SKEW_FILE", &self.file);
    }

    /// By how many seconds it is ahead from now on.
    pub fn set(&self, seconds: i64) {
        // Never cut short, since whoever wears it has it mapped.
        let file = File::options().create(true).truncate(false).write(true).open(&self.file).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}
