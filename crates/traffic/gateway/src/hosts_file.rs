//! A block of our own in `/etc/hosts`, for the programs of the node itself. All else in the file stays byte for byte as it is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::names::Names;

#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// One node's block in one file. Several nodes on one machine have one each.
#[derive(Clone, Debug)]
pub struct HostsFile {
    path: PathBuf,
    /// Tells our block from others'.
    id: String,
}

impl HostsFile {
    pub fn new(path: impl Into<PathBuf>, id: impl Into<String>) -> Self {
        Self { path: path.into(), id: id.into() }
    }

    /// Makes the block say these names; without names there is none. A file that says so already is not touched.
    pub fn write(&self, names: &Names) -> Result<(), HostsError> {
        let before = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && names.is_empty() => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|source| HostsError::Read { path: self.path.clone(), source })?,
        };
        let after = edited(&before, &self.id, names);
        if before == after {
            return Ok(());
        }
        replace(&self.path, &after).map_err(|source| HostsError::Write { path: self.path.clone(), source })
    }

    /// Takes the block away.
    pub fn clear(&self) -> Result<(), HostsError> {
        self.write(&Names::new())
    }
}

/// The file with our block and nothing else changed.
fn edited(before: &[u8], id: &str, names: &Names) -> Vec<u8> {
    let (begin, end) = (format!("# kedge begins {id}\n"), format!("# kedge ends {id}\n"));
    let mut block = String::new();
    if !names.is_empty() {
        block.push_str(&begin);
        for (name, addresses) in names {
            for address in addresses {
                block.push_str(&format!("{address}\t{name}\n"));
            }
        }
        block.push_str(&end);
    }
    let from = find(before, begin.as_bytes(), 0);
    let to = from.and_then(|from| find(before, end.as_bytes(), from)).map(|at| at + end.len());
    match (from, to) {
        (Some(from), Some(to)) => [&before[..from], block.as_bytes(), &before[to..]].concat(),
        _ if block.is_empty() => before.to_vec(),
        _ => {
            let gap: &[u8] = if before.is_empty() || before.ends_with(b"\n") { b"" } else { b"\n" };
            [before, gap, block.as_bytes()].concat()
        }
    }
}

/// Where a line begins that is exactly this.
fn find(text: &[u8], line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at + line.len() <= text.len() {
        if text[at..].starts_with(line) {
            return Some(at);
        }
        at += text[at..].iter().position(|byte| *byte == b'\n')? + 1;
    }
    None
}

/// At once, so that nobody reads half of it. Where another file cannot take its place, as in containers, it is written over.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".kedge");
    let temporary = PathBuf::from(temporary);
    let swap = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        if let Ok(old) = fs::metadata(&path) {
            file.set_permissions(fs::Permissions::from_mode(old.mode()))?;
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        } else {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    match swap() {
        Ok(()) => Ok(()),
        Err(_) => {
            let _gone = fs::remove_file(&temporary);
            fs::write(&path, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[(&str, &str)]) -> Names {
        list.iter().map(|(name, address)| ((*name).to_owned(), vec![address.parse().unwrap()])).collect()
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let block = "# kedge begins a\n10.96.0.9\tx.io\n# kedge ends a\n";
        let other = "# kedge begins b\n10.96.0.9\ty.io\n# kedge ends b\n";
        let x = names(&[("x.io", "10.96.0.9")]);
        for (case, before, names, after) in [
            ("nothing", String::new(), &x, block.to_owned()),
            (
                "no names",
                "127.0.0.1 localhost\r\n\u{e9}".to_owned(),
                &Names::new(),
                "127.0.0.1 localhost\r\n\u{e9}".to_owned(),
            ),
            (
                "a file without an end",
                "127.0.0.1 localhost".to_owned(),
                &x,
                format!("127.0.0.1 localhost\n{block}"),
            ),
            (
                "in the middle",
                "a\n# kedge begins a\n1.1.1.1 z\n# kedge ends a\nb\n".to_owned(),
                &x,
                format!("a\n{block}b\n"),
            ),
            ("gone again", format!("a\n{block}b\n"), &Names::new(), "a\nb\n".to_owned()),
            ("another's block", format!("{other}a\n"), &x, format!("{other}a\n{block}")),
            (
                "half a block",
                "# kedge begins a\nb\n".to_owned(),
                &Names::new(),
                "# kedge begins a\nb\n".to_owned(),
            ),
            (
                "words that look like it",
                "x # kedge begins a\n".to_owned(),
                &x,
                format!("x # kedge begins a\n{block}"),
            ),
        ] {
            let edited = edited(before.as_bytes(), "a", names);
            assert_eq!(String::from_utf8(edited).unwrap(), after, "{case}");
        }
    }

    #[test]
    fn a_file_keeps_its_mode_and_is_not_touched_in_vain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        fs::write(&path, "127.0.0.1 localhost\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let file = HostsFile::new(&path, "a");
        file.write(&names(&[("x.io", "10.96.0.9")])).unwrap();
        let written = fs::metadata(&path).unwrap();
        assert_eq!(written.mode() & 0o777, 0o640);
        file.write(&names(&[("x.io", "10.96.0.9")])).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), written.ino(), "the same again is no write");
        file.clear().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "127.0.0.1 localhost\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // Who has no file and nothing to say gets none.
        HostsFile::new(folder.path().join("none"), "a").clear().unwrap();
        assert!(!folder.path().join("none").exists());
    }
}
