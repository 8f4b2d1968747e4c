//! How registries are reached: mirrors, plain HTTP, certificates and credentials, from one file of ours to the small files
//! that containerd reads at every pull. The file has the form that users of small clusters know:
//!
//! ```yaml
//! mirrors:
//!   docker.io: {endpoint: ["https://mirror.example"]}   # asked first, one after the other; "*" is every registry
//!   "r.example:5000": {endpoint: ["http://r.example:5000"]}   # without encryption
//! configs:
//!   mirror.example:
//!     auth: {username: me, password: secret}
//!     tls: {ca_file: /etc/ca.pem, insecure_skip_verify: false}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::keyring::{Credentials, Keyring};

/// The first line of what is ours; other files are left alone.
const MARK: &str = "# Written by kedge from its registries file; changes are lost.";
const FILE: &str = "hosts.toml";

#[derive(Debug, thiserror::Error)]
pub enum RegistriesError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is wrong", path.display())]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("{endpoint:?} of {registry} is no address: it begins neither with http:// nor with https://")]
    Endpoint { registry: String, endpoint: String },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Registries {
    mirrors: BTreeMap<String, Mirror>,
    configs: BTreeMap<String, Config>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Mirror {
    #[serde(alias = "endpoints")]
    endpoint: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    auth: Option<Auth>,
    tls: Tls,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Auth {
    username: String,
    password: String,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Auth of {}", self.username)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tls {
    ca_file: Option<PathBuf>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    insecure_skip_verify: bool,
}

impl Registries {
    /// A file that is not there says nothing.
    pub fn read(path: &Path) -> Result<Self, RegistriesError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(RegistriesError::Read { path: path.to_owned(), source }),
        };
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(&text)
            .map_err(|source| RegistriesError::Parse { path: path.to_owned(), source: Box::new(source) })
    }

    /// The credentials that every pod of the node may use.
    pub fn keyring(&self) -> Keyring {
        let mut ring = Keyring::default();
        for (registry, config) in &self.configs {
            if let Some(Auth { username, password }) = config.auth.clone() {
                ring.add(registry, Credentials { username, password });
            }
        }
        ring
    }

    /// Makes the folder's files say what this says. Files of others stay.
    pub fn write(&self, folder: &Path) -> Result<(), RegistriesError> {
        let registries: BTreeSet<&String> = self.mirrors.keys().chain(self.configs.keys()).collect();
        let mut written = BTreeSet::new();
        for registry in registries {
            let place = folder.join(if registry == "*" { "_default" } else { registry.as_str() });
            let path = place.join(FILE);
            written.insert(place.clone());
            if is_anothers(&path) {
                continue;
            }
            let text = self.text(registry)?;
            if fs::read_to_string(&path).ok().as_deref() == Some(&*text) {
                continue;
            }
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&place);
            let put = || {
                let mut options = fs::File::options();
                options
                    .create(true)
                    .truncate(true)
                    .write(true)
                    .mode(0o600)
                    .open(&path)?
                    .write_all(text.as_bytes())
            };
            made.and_then(|()| put()).map_err(|source| RegistriesError::Write { path, source })?;
        }
        // What the file told of once and no longer does.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path().join(FILE);
            if !written.contains(&entry.path()) && path.exists() && !is_anothers(&path) {
                fs::remove_dir_all(entry.path()).map_err(|source| RegistriesError::Write { path, source })?;
            }
        }
        Ok(())
    }

    fn text(&self, registry: &str) -> Result<String, RegistriesError> {
        let endpoints = self.mirrors.get(registry).map(|mirror| &mirror.endpoint[..]).unwrap_or_default();
        for endpoint in endpoints {
            if host_of(endpoint).is_none() {
                let (registry, endpoint) = (registry.to_owned(), endpoint.clone());
                return Err(RegistriesError::Endpoint { registry, endpoint });
            }
        }
        let own = endpoints.iter().find(|endpoint| host_of(endpoint) == Some(registry));
        let mut text = format!("{MARK}\n");
        match (own, registry) {
            (Some(own), _) => text.push_str(&format!("server = {}\n", quoted(own))),
            (None, "*") => {}
            (None, "docker.io") => text.push_str("server = \"https://registry-1.docker.io\"\n"),
            (None, registry) => {
                text.push_str(&format!("server = {}\n", quoted(&format!("https://{registry}"))))
            }
        }
        if let Some(config) = self.configs.get(registry) {
            text.push_str(&tls(&config.tls));
        }
        for endpoint in endpoints.iter().filter(|endpoint| Some(*endpoint) != own) {
            text.push_str(&format!(
                "\n[host.{}]\ncapabilities = [\"pull\", \"resolve\"]\n",
                quoted(endpoint)
            ));
            let config = host_of(endpoint).and_then(|host| self.configs.get(host));
            let Some(config) = config else { continue };
            text.push_str(&tls(&config.tls));
            if let Some(Auth { username, password }) = &config.auth {
                // What a pull brings along is for the registry itself and is not shown to its mirrors.
                let value = format!("Basic {}", STANDARD.encode(format!("{username}:{password}")));
                let (host, value) = (quoted(endpoint), quoted(&value));
                text.push_str(&format!("[host.{host}.header]\nAuthorization = {value}\n"));
            }
        }
        Ok(text)
    }
}

fn is_anothers(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| !text.starts_with(MARK))
}

fn host_of(endpoint: &str) -> Option<&str> {
    let rest = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"))?;
    rest.split('/').next().filter(|host| !host.is_empty())
}

fn tls(tls: &Tls) -> String {
    let mut text = String::new();
    if let Some(file) = &tls.ca_file {
        text.push_str(&format!("ca = {}\n", quoted(&file.to_string_lossy())));
    }
    if let (Some(certificate), Some(key)) = (&tls.cert_file, &tls.key_file) {
        let (certificate, key) = (quoted(&certificate.to_string_lossy()), quoted(&key.to_string_lossy()));
        text.push_str(&format!("client = [[{certificate}, {key}]]\n"));
    }
    if tls.insecure_skip_verify {
        text.push_str("skip_verify = true\n");
    }
    text
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
