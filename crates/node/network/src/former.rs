//! What the machine's own settings were before pods had a network, so that it can have them again. Of the settings that concern all its
//! links: those of our own links go with them.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kedge_netlink::Socket;
use serde::{Deserialize, Serialize};

use crate::error::NetworkError;
use crate::network::Network;

const SETTINGS: &str = "/proc/sys/net";
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// What makes a router of the machine. The kernel sets more by them, so they come first.
const FORWARDING: [&str; 2] = ["ipv4/ip_forward", "ipv6/conf/all/forwarding"];

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Former {
    /// A machine that was started anew has its settings from elsewhere.
    boot: String,
    settings: BTreeMap<String, String>,
}

/// Notes what a machine is set to, before it is set otherwise; what was noted before counts until somebody else sets it.
pub fn remember(network: &Network) -> Result<(), NetworkError> {
    let (path, boot) = (place(network), boot());
    let known = read(&path)?;
    let mut former = Former { boot, settings: BTreeMap::new() };
    for (name, ours) in wanted(network)? {
        match now(&name) {
            Some(now) if now != ours => drop(former.settings.insert(name, now)),
            // It may be so because of us.
            Some(_) if known.boot == former.boot => {
                former
                    .settings
                    .extend(known.settings.get_key_value(&name).map(|(n, v)| (n.clone(), v.clone())));
            }
            _ => {}
        }
    }
    if former == known {
        return Ok(());
    }
    let failed = |error| NetworkError::record(&path)(error);
    let text = serde_json::to_vec(&former).map_err(|error| failed(error.into()))?;
    let new = path.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(failed)
}

/// Sets everything back that is still as we set it. A machine with other bridges goes on forwarding: whoever made them may have found
/// it so and rely on it.
pub fn give_back(network: &Network) -> Result<(), NetworkError> {
    let path = place(network);
    let former = read(&path)?;
    if former.boot == boot() {
        let others = Socket::route()?.links()?;
        let is_shared = others.iter().any(|link| link.is_bridge && link.name != network.bridge);
        let mut all = wanted(network)?;
        all.sort_by_key(|(name, _)| !FORWARDING.contains(&&**name));
        for (name, ours) in all {
            let Some(value) = former.settings.get(&name) else { continue };
            if now(&name).as_ref() != Some(&ours) || (is_shared && FORWARDING.contains(&&*name)) {
                continue;
            }
            let path = Path::new(SETTINGS).join(&name);
            fs::write(&path, value).map_err(|source| NetworkError::Setting { path, source })?;
        }
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(NetworkError::record(&path)(error)),
        _ => Ok(()),
    }
}

/// Beside the records, which go with the network.
fn place(network: &Network) -> PathBuf {
    network.records.with_extension("former")
}

fn read(path: &Path) -> Result<Former, NetworkError> {
    match fs::read(path) {
        // One that a crash left half written has nothing to say.
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Former::default()),
        Err(error) => Err(NetworkError::record(path)(error)),
    }
}

fn boot() -> String {
    fs::read_to_string(BOOT).unwrap_or_default().trim().to_owned()
}

fn now(name: &str) -> Option<String> {
    fs::read_to_string(Path::new(SETTINGS).join(name)).ok().map(|text| text.trim().to_owned())
}

/// What a node with these ranges sets, and to what.
fn wanted(network: &Network) -> Result<Vec<(String, String)>, NetworkError> {
    let has = |is_v4: bool| network.ranges.iter().any(|range| range.gateway().is_ipv4() == is_v4);
    let mut wanted = Vec::new();
    let mut want = |name: String, value: &str| wanted.push((name, value.to_owned()));
    if has(true) {
        want("ipv4/ip_forward".to_owned(), "1");
        want("ipv4/conf/all/send_redirects".to_owned(), "0");
    }
    if has(false) {
        want("ipv6/conf/all/forwarding".to_owned(), "1");
        for link in Socket::route()?.links()? {
            want(format!("ipv6/conf/{}/accept_ra", link.name), "2");
        }
    }
    Ok(wanted)
}
