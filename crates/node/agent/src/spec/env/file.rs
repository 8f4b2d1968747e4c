//! Variables that a container left in a file of a volume, for the others of its pod: `NAME='value'`, one after the other, as a shell
//! would read them. Values stand in single quotes and may have several lines; `#` begins a comment.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

/// Larger files are no lists of variables.
const LARGEST: u64 = 1 << 20;

/// What is wrong with a file; the line is counted from one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    #[error("invalid environment variable format at line {0}: missing '='")]
    NoSign(usize),
    #[error("invalid environment variable format at line {0}: empty variable name")]
    NoName(usize),
    #[error("invalid environment variable format at line {0}: whitespace before '=' is not allowed")]
    Space(usize),
    #[error("invalid environment variable format at line {0}: value must be enclosed in single quotes")]
    NoQuote(usize),
    #[error("invalid environment variable format at line {0}: unexpected content after closing quote")]
    After(usize),
    #[error("invalid environment variable format starting at line {0}: unclosed single quote")]
    Open(usize),
}

/// The text of a file below a volume. What containers leave there, links above all, must not lead out of it.
pub(crate) fn text(volume: &Path, path: &str) -> io::Result<String> {
    let root = open(volume, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    // Nobody writes to the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat2(&root, path, flags, Mode::empty(), inside)?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// The value of a key, if the text gives it one. What stands behind it is not looked at.
pub(crate) fn value(text: &str, key: &str) -> Result<Option<String>, FormError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((number, line)) = lines.next() {
        let line = line.trim_start_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, rest) = line.split_once('=').ok_or(FormError::NoSign(number))?;
        match name.trim_end_matches([' ', '\t']) {
            "" => return Err(FormError::NoName(number)),
            trimmed if trimmed != name => return Err(FormError::Space(number)),
            _ => {}
        }
        // To a shell the value has ended before it began.
        if rest.starts_with([' ', '\t']) {
            if name == key {
                return Ok(None);
            }
            continue;
        }
        let mut rest = rest.strip_prefix('\'').ok_or(FormError::NoQuote(number))?;
        let (mut found, mut last) = (String::new(), number);
        let after = loop {
            if let Some((end, after)) = rest.split_once('\'') {
                found.push_str(end);
                break after;
            }
            found.push_str(rest);
            found.push('\n');
            (last, rest) = lines.next().ok_or(FormError::Open(number))?;
        };
        let after = after.trim_start_matches([' ', '\t']);
        if !after.is_empty() && !after.starts_with('#') {
            return Err(FormError::After(last));
        }
        if name == key {
            return Ok(Some(found).filter(|found| !found.is_empty()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn values_stand_in_quotes() {
        for (case, text, expected) in [
            ("plain", "A='1'\nK='v'", Ok(Some("v"))),
            ("the first one counts", "K='v'\nK='w'", Ok(Some("v"))),
            ("comments and blanks", "# K='x'\n\n \t\n  K='v' # why\n", Ok(Some("v"))),
            ("several lines", "A='1\nK=2'\nK='v\n # w'\n", Ok(Some("v\n # w"))),
            ("nothing is replaced", "K='$A\\n'", Ok(Some("$A\\n"))),
            ("empty", "K=''", Ok(None)),
            ("behind a space", "K= 'v'\n", Ok(None)),
            ("another one", "KK='v'", Ok(None)),
            ("behind it is not looked", "K='v'\nwrong", Ok(Some("v"))),
            ("no sign", "A='1'\nwrong\nK='v'", Err(FormError::NoSign(2))),
            ("no name", "='v'", Err(FormError::NoName(1))),
            ("a space before", "A ='v'", Err(FormError::Space(1))),
            ("no quotes", "A=v", Err(FormError::NoQuote(1))),
            ("more behind", "A='1\n'b", Err(FormError::After(2))),
            ("never closed", "\nA='1\n2\n", Err(FormError::Open(2))),
        ] {
            assert_eq!(value(text, "K"), expected.map(|found| found.map(str::to_owned)), "{case}");
        }
    }

    #[test]
    fn links_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path().join("volume");
        std::fs::create_dir_all(volume.join("a")).unwrap();
        std::fs::write(folder.path().join("secret"), "K='s'").unwrap();
        std::fs::write(volume.join("a/env"), "K='v'").unwrap();
        symlink("/a/env", volume.join("inside")).unwrap();
        symlink("../secret", volume.join("outside")).unwrap();
        assert_eq!(text(&volume, "a/env").unwrap(), "K='v'");
        assert_eq!(text(&volume, "inside").unwrap(), "K='v'");
        for wrong in ["outside", "../secret", "a", "none"] {
            assert!(text(&volume, wrong).is_err(), "{wrong}");
        }
    }
}
