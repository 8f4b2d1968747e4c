//! What a runtime wants, read from the environment and from its configuration.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::answer::Failure;
use crate::doors::{Door, protocol};
use crate::network::Network;
use crate::owner::Owner;
use crate::pace::Limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Add,
    Delete,
    Check,
    Collect,
    Status,
    Version,
}

pub(crate) struct Call {
    pub(crate) command: Command,
    pub(crate) config: Config,
    owner: Option<Owner>,
    namespace: Option<PathBuf>,
}

impl Call {
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>, config: Config) -> Result<Self, Failure> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let command = given("CNI_COMMAND");
        let command = match command.as_deref() {
            Some("ADD") => Command::Add,
            Some("DEL") => Command::Delete,
            Some("CHECK") => Command::Check,
            Some("GC") => Command::Collect,
            Some("STATUS") => Command::Status,
            Some("VERSION") => Command::Version,
            _ => return Err(Failure::Variable("CNI_COMMAND")),
        };
        let owner = match (given("CNI_CONTAINERID"), given("CNI_IFNAME")) {
            (Some(container), Some(link)) => Some(
                Owner::new(&container, &link).ok_or(Failure::Variable("CNI_CONTAINERID or CNI_IFNAME"))?,
            ),
            _ => None,
        };
        Ok(Self { command, config, owner, namespace: given("CNI_NETNS").map(PathBuf::from) })
    }

    pub(crate) fn owner(&self) -> Result<&Owner, Failure> {
        self.owner.as_ref().ok_or(Failure::Variable("CNI_CONTAINERID or CNI_IFNAME"))
    }

    /// Not needed to disconnect: it may be gone by then.
    pub(crate) fn namespace(&self) -> Result<&Path, Failure> {
        self.namespace.as_deref().ok_or(Failure::Variable("CNI_NETNS"))
    }
}

/// The configuration, of which only a call says which parts are needed.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) version: String,
    /// Who else may stay, when the rest is to be collected.
    pub(crate) valid: Vec<Owner>,
    ports: Value,
    bandwidth: Value,
    /// What came of connecting it, told again by whoever wants to know whether that is still so.
    pub(crate) before: Option<Before>,
    whole: Value,
}

/// An earlier answer, of which the addresses count.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Before {
    ips: Vec<BeforeIp>,
}

#[derive(Debug, Deserialize)]
struct BeforeIp {
    address: String,
}

impl Before {
    /// Without how many bits of each count.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.ips.iter().filter_map(|ip| ip.address.split('/').next()?.parse().ok())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    #[serde(default)]
    cni_version: String,
    #[serde(default)]
    runtime_config: Runtime,
    #[serde(default, rename = "cni.dev/valid-attachments")]
    valid: Vec<Attachment>,
    #[serde(default)]
    prev_result: Option<Before>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Runtime {
    port_mappings: Value,
    bandwidth: Value,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(rename = "containerID")]
    container: String,
    #[serde(rename = "ifname")]
    link: String,
}

/// Written either way: containerd begins each word with a capital, the specification only the later ones.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    #[serde(default, alias = "HostPort")]
    host_port: i64,
    #[serde(alias = "ContainerPort")]
    container_port: i64,
    #[serde(default, alias = "Protocol")]
    protocol: String,
    #[serde(default, rename = "hostIP", alias = "HostIP")]
    host_ip: String,
}

impl Config {
    pub(crate) fn read(input: &[u8]) -> Result<Self, Failure> {
        let whole: Value = serde_json::from_slice(input).map_err(Failure::Unreadable)?;
        let frame = Frame::deserialize(&whole).map_err(Failure::Unreadable)?;
        let owner = |one: Attachment| {
            Owner::new(&one.container, &one.link)
                .ok_or(Failure::Config("a valid attachment has a wrong name"))
        };
        let valid = frame.valid.into_iter().map(owner).collect::<Result<_, _>>()?;
        // The first version had no such field.
        let version = if frame.cni_version.is_empty() { "0.1.0".to_owned() } else { frame.cni_version };
        let Runtime { port_mappings: ports, bandwidth } = frame.runtime_config;
        Ok(Self { version, valid, ports, bandwidth, before: frame.prev_result, whole })
    }

    pub(crate) fn network(&self) -> Result<Network, Failure> {
        let network = Network::deserialize(&self.whole).map_err(Failure::Unreadable)?;
        if network.ranges.is_empty() {
            return Err(Failure::Config("there are no ranges"));
        }
        Ok(network)
    }

    /// Read only by whoever sets them, as are doors.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        let limits = Option::<Limits>::deserialize(&self.bandwidth).map_err(Failure::Unreadable)?;
        let limits = limits.unwrap_or_default();
        if limits.is_sound() { Ok(limits) } else { Err(Failure::Config("a bandwidth is less than 1k")) }
    }

    /// Read only by whoever opens them: they must not keep anybody from being disconnected.
    pub(crate) fn doors(&self) -> Result<Vec<Door>, Failure> {
        let ports = Option::<Vec<Port>>::deserialize(&self.ports).map_err(Failure::Unreadable)?;
        // Zero is a port that nobody asked to be opened.
        ports.unwrap_or_default().iter().filter(|port| port.host_port > 0).map(Port::door).collect()
    }
}

impl Port {
    fn door(&self) -> Result<Door, Failure> {
        let number = |port: i64| {
            u16::try_from(port)
                .ok()
                .filter(|port| *port > 0)
                .ok_or(Failure::Config("a port has a wrong number"))
        };
        let at = match self.host_ip.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| Failure::Config("hostIP is no address"))?),
        };
        Ok(Door {
            protocol: protocol(&self.protocol).ok_or(Failure::Config("a port has an unknown protocol"))?,
            at,
            port: number(self.host_port)?,
            to: number(self.container_port)?,
        })
    }
}
