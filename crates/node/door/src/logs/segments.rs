//! The files of one log: the one that is written, and those before it that were put aside.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Those that were put aside, the oldest first. Their names carry the time.
pub(super) fn aside(log: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name().and_then(OsStr::to_str)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?.file_name();
        let stamp = entry.to_str().and_then(|entry| entry.strip_prefix(name)?.strip_prefix('.'));
        if stamp.is_some_and(is_stamp) {
            found.push(folder.join(entry));
        }
    }
    found.sort();
    Ok(found)
}

/// `20060102-150405`, and three digits more where one second was not enough.
fn is_stamp(text: &str) -> bool {
    let (day, time) = text.split_once('-').unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    day.len() == 8 && time.len() >= 6 && digits(day) && digits(time)
}
