//! Who we are to which registry: read from what `docker login` writes, found by an image's name. Knows no place where such
//! files are kept.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;

const USUAL_HOST: &str = "docker.io";
/// As older files name the usual registry.
const OLD_HOST: &str = "index.docker.io";

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("the credentials are not what docker login writes")]
    Document(#[source] serde_json::Error),
    #[error("the credentials of {place} are not base64 of name:password")]
    Auth { place: String },
}

/// Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials of {}", self.username)
    }
}

/// Credentials by the place for which they are good: a host that may have wildcards, and perhaps the beginning of a path.
#[derive(Clone, Debug, Default)]
pub struct Keyring(BTreeMap<String, Vec<Credentials>>);

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    auth: String,
}

impl Keyring {
    /// `.dockerconfigjson`.
    pub fn add_config(&mut self, text: &[u8]) -> Result<(), KeyringError> {
        let config: Config = serde_json::from_slice(text).map_err(KeyringError::Document)?;
        self.add_entries(config.auths)
    }

    /// `.dockercfg`, the older form.
    pub fn add_old_config(&mut self, text: &[u8]) -> Result<(), KeyringError> {
        self.add_entries(serde_json::from_slice(text).map_err(KeyringError::Document)?)
    }

    fn add_entries(&mut self, entries: BTreeMap<String, Entry>) -> Result<(), KeyringError> {
        for (place, entry) in entries {
            let credentials = match entry.auth.is_empty() {
                true => Credentials { username: entry.username, password: entry.password },
                false => decoded(&entry.auth).ok_or_else(|| KeyringError::Auth { place: place.clone() })?,
            };
            self.add(&place, credentials);
        }
        Ok(())
    }

    pub fn add(&mut self, place: &str, credentials: Credentials) {
        let place = place.strip_prefix("https://").or_else(|| place.strip_prefix("http://")).unwrap_or(place);
        let (host, path) = split(place);
        // `/v1/` and `/v2/` are where every registry begins.
        let path = path.strip_prefix("/v1/").or_else(|| path.strip_prefix("/v2/")).map_or(path, |rest| {
            let slash = path.len() - rest.len() - 1;
            path.get(slash..).unwrap_or_default()
        });
        let key = if matches!(path, "" | "/") { host.to_owned() } else { format!("{host}{path}") };
        self.0.entry(key).or_default().push(credentials);
    }

    /// Everything that may be good for a repository, the most fitting first.
    pub fn find(&self, repository: &str) -> Vec<&Credentials> {
        let found: Vec<_> = self
            .0
            .iter()
            .rev()
            .filter(|(place, _)| fits(place, repository))
            .flat_map(|(_, all)| all)
            .collect();
        let usual = split(repository).0 == USUAL_HOST;
        match self.0.get(OLD_HOST) {
            Some(old) if found.is_empty() && usual => old.iter().collect(),
            _ => found,
        }
    }
}

fn decoded(auth: &str) -> Option<Credentials> {
    let auth = auth.trim();
    let bytes = if auth.ends_with('=') { STANDARD.decode(auth) } else { STANDARD_NO_PAD.decode(auth) };
    let text = String::from_utf8(bytes.ok()?).ok()?;
    let (username, password) = text.split_once(':')?;
    Some(Credentials { username: username.to_owned(), password: password.to_owned() })
}

/// The host with its port, and the path with its slash.
fn split(place: &str) -> (&str, &str) {
    place.split_at(place.find('/').unwrap_or(place.len()))
}

/// The host's parts match one by one, the ports are the same, and the path begins with the place's.
fn fits(place: &str, repository: &str) -> bool {
    let ((wanted, begin), (host, path)) = (split(place), split(repository));
    let port = |host: &str| host.split_once(':').map(|(_, port)| port.to_owned());
    let name = |host: &str| host.split(':').next().unwrap_or_default().to_owned();
    let (wanted_name, host_name) = (name(wanted), name(host));
    let (wanted_parts, parts): (Vec<_>, Vec<_>) =
        (wanted_name.split('.').collect(), host_name.split('.').collect());
    port(wanted) == port(host)
        && wanted_parts.len() == parts.len()
        && path.starts_with(begin)
        && wanted_parts.iter().zip(&parts).all(|(wanted, part)| is_like(wanted.as_bytes(), part.as_bytes()))
}

/// `*` is anything, `?` any one letter.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            is_like(rest, text) || text.split_first().is_some_and(|(_, tail)| is_like(pattern, tail))
        }
        (Some((b'?', rest)), Some((_, tail))) => is_like(rest, tail),
        (Some((wanted, rest)), Some((letter, tail))) => wanted == letter && is_like(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
