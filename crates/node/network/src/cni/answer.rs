//! What a runtime is answered, in the words of the version that it asked in.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use kedge_netlink::NetlinkError;
use kedge_range::width;
use serde_json::{Value, json};

use crate::attach::Attached;
use crate::error::NetworkError;
use crate::network::Network;
use crate::owner::Owner;

const VERSIONS: [&str; 5] = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

pub(crate) fn is_known(version: &str) -> bool {
    VERSIONS.contains(&version)
}

pub(crate) fn versions(asked: &str) -> Value {
    json!({"cniVersion": asked, "supportedVersions": VERSIONS})
}

/// How a container was connected.
pub(crate) fn added(
    version: &str,
    network: &Network,
    owner: &Owner,
    namespace: &Path,
    attached: &Attached,
) -> Value {
    let [a, b, c, d, e, f] = attached.mac;
    let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
    let addresses: Vec<_> = attached
        .addresses
        .iter()
        .map(|(address, gateway)| (format!("{address}/{}", width(*address)), Some(gateway.to_string())))
        .collect();
    let routes: Vec<Value> = attached.addresses.iter().map(|(_, gateway)| {
        json!({"dst": if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" }, "gw": gateway})
    }).collect();
    let mut interfaces = [
        json!({"name": network.bridge}),
        json!({"name": attached.wire}),
        json!({"name": owner.link, "mac": mac, "sandbox": namespace}),
    ];
    // Nobody had a word for it before.
    if version == "1.1.0" {
        interfaces.iter_mut().for_each(|interface| interface["mtu"] = json!(attached.mtu));
    }
    json!({
        "cniVersion": version,
        "interfaces": interfaces,
        "ips": ips(version, addresses.iter().map(|(address, gateway)| (address.as_str(), gateway.as_deref(), 2))),
        "routes": routes,
        "dns": {},
    })
}

/// Each with its gateway and the place of its link; older versions also name the family.
pub(crate) fn ips<'a>(
    version: &str,
    addresses: impl Iterator<Item = (&'a str, Option<&'a str>, usize)>,
) -> Vec<Value> {
    let named = version.starts_with("0.");
    let written = addresses.map(|(address, gateway, link)| {
        let mut ip = json!({"address": address, "interface": link});
        if let Some(gateway) = gateway {
            ip["gateway"] = json!(gateway);
        }
        if named {
            ip["version"] = json!(if address.contains(':') { "6" } else { "4" });
        }
        ip
    });
    written.collect()
}

/// Why a call failed, each with a number of the specification.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("version {0:?} of CNI is unknown here")]
    Version(String),
    #[error("the container is not connected")]
    Unknown,
    #[error("{0} is missing or wrong")]
    Variable(&'static str),
    #[error("the configuration cannot be read")]
    Unreadable(#[source] serde_json::Error),
    #[error("the configuration is wrong: {0}")]
    Config(&'static str),
    #[error("cannot enter {}", path.display())]
    Namespace { path: PathBuf, source: io::Error },
    #[error("the network is not what it was: {0}")]
    Lost(String),
    #[error("no container can be connected")]
    NotReady(#[source] NetworkError),
    #[error("the network cannot be had")]
    Network(#[from] NetworkError),
    #[error("the kernel refuses")]
    Kernel(#[from] NetlinkError),
}

impl Failure {
    pub(crate) fn no_namespace(path: &Path, source: io::Error) -> Self {
        Failure::Namespace { path: path.to_owned(), source }
    }

    fn code(&self) -> u32 {
        match self {
            Failure::Version(_) => 1,
            Failure::Unknown => 3,
            Failure::Variable(_) => 4,
            Failure::Unreadable(_) => 6,
            Failure::Config(_) => 7,
            Failure::Namespace { .. } => 5,
            Failure::NotReady(_) => 50,
            Failure::Lost(_) => 100,
            Failure::Network(NetworkError::Full { .. } | NetworkError::Door { .. }) => 11,
            Failure::Network(_) => 101,
            Failure::Kernel(_) => 102,
        }
    }

    pub(crate) fn told(&self, version: &str) -> String {
        let mut causes = Vec::new();
        let mut cause = self.source();
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        // Only the message reaches people in most runtimes, so it has the causes too.
        let message = std::iter::once(self.to_string()).chain(causes).collect::<Vec<_>>().join(": ");
        let version = if is_known(version) { version } else { "1.0.0" };
        json!({"cniVersion": version, "code": self.code(), "msg": message}).to_string()
    }
}
