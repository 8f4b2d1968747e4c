//! Keys in a file and values sealed with them: AES-256-GCM, each value bound to its name and marked with its key.
//! Knows nothing of Kubernetes nor of where sealed values are kept.
//!
//! The file has one key a line, 64 hexadecimal digits. The first seals; all of them open. Rotating puts a new one in front,
//! has everything sealed anew, and then drops the others.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::{digest, rand};

const KEY: usize = 32;
const ID: usize = 8;
const NONCE: usize = 12;

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("cannot read the keys in {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the keys to {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is wrong in line {line}: a key is 64 hexadecimal digits", path.display())]
    Line { path: PathBuf, line: usize },
    #[error("{} holds no key", path.display())]
    Empty { path: PathBuf },
    #[error("the system gives no random numbers for a key")]
    Random,
}

/// Why a sealed value stays shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It was sealed with a key that is not here.
    NoKey,
    /// It was changed, or has another name.
    Changed,
}

/// The keys of one file; the first seals.
pub struct Keys {
    keys: Vec<Key>,
    name: String,
}

struct Key {
    secret: [u8; KEY],
    id: [u8; ID],
    cipher: RandomizedNonceKey,
}

impl Key {
    fn new(secret: [u8; KEY]) -> Option<Self> {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &secret).ok()?;
        let digest = digest::digest(&digest::SHA256, &secret);
        let id = *digest.as_ref().first_chunk()?;
        Some(Self { secret, id, cipher })
    }

    fn random() -> Result<Self, SealError> {
        let mut secret = [0; KEY];
        rand::fill(&mut secret).map_err(|_| SealError::Random)?;
        Self::new(secret).ok_or(SealError::Random)
    }
}

impl Keys {
    /// Reads the keys in `path`; none if there is no such file.
    pub fn read(path: &Path) -> Result<Option<Self>, SealError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SealError::Read { path: path.to_owned(), source }),
        };
        let mut keys = Vec::new();
        for (i, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || SealError::Line { path: path.to_owned(), line: i + 1 };
            keys.push(unhex(line).and_then(Key::new).ok_or_else(wrong)?);
        }
        if keys.is_empty() {
            return Err(SealError::Empty { path: path.to_owned() });
        }
        Ok(Some(Self::of(keys)))
    }

    /// Reads the keys in `path`, or makes the first.
    pub fn read_or_make(path: &Path) -> Result<Self, SealError> {
        if let Some(keys) = Self::read(path)? {
            return Ok(keys);
        }
        let keys = Self::of(vec![Key::random()?]);
        keys.write(path)?;
        Ok(keys)
    }

    /// These keys behind a new one, in the file too: what is sealed from now on needs the new one, the rest opens still.
    pub fn rotated(mut self, path: &Path) -> Result<Self, SealError> {
        self.keys.insert(0, Key::random()?);
        let keys = Self::of(self.keys);
        keys.write(path)?;
        Ok(keys)
    }

    /// Only the key that seals, in the file too. To be called once nothing needs the others.
    pub fn without_old(mut self, path: &Path) -> Result<Self, SealError> {
        self.keys.truncate(1);
        self.write(path)?;
        Ok(self)
    }

    fn of(keys: Vec<Key>) -> Self {
        let name = keys.first().map(|key| hex(&key.id)).unwrap_or_default();
        Self { keys, name }
    }

    /// Of the key that seals; says nothing about the key itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value, bound to `of`; none if the system gives no random numbers.
    pub fn seal(&self, of: &str, value: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys.first()?;
        let mut body = value.to_vec();
        let nonce = key.cipher.seal_in_place_append_tag(Aad::from(of.as_bytes()), &mut body).ok()?;
        let mut sealed = Vec::with_capacity(ID + NONCE + body.len());
        sealed.extend_from_slice(&key.id);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&body);
        Some(sealed)
    }

    pub fn open(&self, of: &str, sealed: &[u8]) -> Result<Vec<u8>, Shut> {
        let (id, rest) = sealed.split_first_chunk::<ID>().ok_or(Shut::Changed)?;
        let key = self.keys.iter().find(|key| key.id == *id).ok_or(Shut::NoKey)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>().ok_or(Shut::Changed)?;
        let mut body = body.to_vec();
        let aad = Aad::from(of.as_bytes());
        let len = match key.cipher.open_in_place(Nonce::from(nonce), aad, &mut body) {
            Ok(value) => value.len(),
            Err(_) => return Err(Shut::Changed),
        };
        body.truncate(len);
        Ok(body)
    }

    /// Whether it was sealed with another key than the first.
    pub fn is_old(&self, sealed: &[u8]) -> bool {
        self.keys.first().is_none_or(|key| !sealed.starts_with(&key.id))
    }

    fn write(&self, path: &Path) -> Result<(), SealError> {
        let lines: String = self.keys.iter().map(|key| hex(&key.secret) + "\n").collect();
        replace(path, &lines).map_err(|source| SealError::Write { path: path.to_owned(), source })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({}, {} in all)", self.name, self.keys.len())
    }
}

/// A reader sees the old file or the new one: losing a key loses everything that was sealed with it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; KEY]> {
    let mut bytes = [0; KEY];
    if text.len() != 2 * KEY || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
