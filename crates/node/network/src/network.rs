//! One node's network as it is written down, for the runtime to hand it back with every call.

use std::path::{Path, PathBuf};

use kedge_range::Range;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::owner::fnv;

/// How the file is called among the runtime's network configurations.
pub const CONFIG_FILE: &str = "10-kedge.conflist";
/// From 0.4.0 on, a runtime gives a pod's network back only if it can read what it noted when it made it. One that was killed while
/// it wrote that down could never give it back; ours needs no such note.
const CNI_VERSION: &str = "0.3.1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    pub bridge: String,
    /// The one table that all our packet rules are in.
    pub table: String,
    pub mtu: u32,
    /// Where this node's pods get their addresses from: one for each family.
    pub ranges: Vec<Range>,
    /// Where all pods of the cluster are: whoever goes there goes as himself.
    pub cluster: Vec<Range>,
    /// Who has which address is kept below it.
    pub records: PathBuf,
}

#[derive(Deserialize)]
struct List {
    plugins: Vec<Network>,
}

impl Network {
    /// Several nodes on one machine get names of their own, from where their data is and what they are called.
    pub fn new(data: &Path, node: &str, mtu: u32, ranges: Vec<Range>, cluster: Vec<Range>) -> Self {
        let name = Self::name(data, node);
        Self { bridge: name.clone(), table: name, mtu, ranges, cluster, records: Self::records(data) }
    }

    /// What the names of all of this node's links and tables begin with.
    pub fn name(data: &Path, node: &str) -> String {
        let hash = fnv(&[data.as_os_str().as_encoded_bytes(), node.as_bytes()]);
        format!("kedge-{:08x}", hash >> 32)
    }

    /// The link that carries packets to nodes beyond.
    pub fn tunnel(&self) -> String {
        format!("{}v", self.bridge)
    }

    /// The same on every node of a cluster, and another on those of another that happens to meet it.
    pub(crate) fn tunnel_id(&self) -> u32 {
        let mut ranges: Vec<String> = self.cluster.iter().map(ToString::to_string).collect();
        ranges.sort();
        let parts: Vec<&[u8]> = ranges.iter().map(String::as_bytes).collect();
        // It has 24 bits; small ones are what people choose.
        ((fnv(&parts) >> 40) as u32 & 0x00ff_ffff) | 0x1000
    }

    /// By which this node's routes are told from those of another node of this machine.
    pub(crate) fn mark(&self) -> u32 {
        (fnv(&[self.bridge.as_bytes()]) >> 40) as u32 | 0x1000
    }

    /// The folder below a node's data that everything of its network is in.
    pub fn records(data: &Path) -> PathBuf {
        data.join("network")
    }

    /// The file that the runtime reads; `program` is what it calls.
    pub fn config(&self, program: &str) -> String {
        let mut plugin = json!(self);
        plugin["type"] = json!(program);
        plugin["capabilities"] = json!({"portMappings": true, "bandwidth": true});
        let list = json!({"cniVersion": CNI_VERSION, "name": "kedge", "plugins": [plugin]});
        format!("{list:#}\n")
    }

    /// Back from such a file.
    pub fn read(text: &str) -> Result<Option<Self>, serde_json::Error> {
        let list: List = serde_json::from_str(text)?;
        Ok(list.plugins.into_iter().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(data: &str, node: &str) -> Network {
        let ranges = vec!["10.244.1.0/24".parse().unwrap(), "fd00:1::/64".parse().unwrap()];
        Network::new(Path::new(data), node, 1500, ranges, vec!["10.244.0.0/16".parse().unwrap()])
    }

    #[test]
    fn the_file_says_everything() {
        let network = network("/var/lib/kedge", "here");
        let text = network.config("kedge");
        assert_eq!(Network::read(&text).unwrap(), Some(network));
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list["plugins"][0]["type"], "kedge");
        assert_eq!(list["plugins"][0]["ranges"], json!(["10.244.1.0/24", "fd00:1::/64"]));
    }

    #[test]
    fn nodes_on_one_machine_do_not_meet() {
        let name = |data, node| network(data, node).bridge;
        assert_eq!(name("/a", "x"), name("/a", "x"));
        assert_ne!(name("/a", "x"), name("/b", "x"));
        assert_ne!(name("/a", "x"), name("/a", "y"));
        assert!(network("/a", "x").tunnel().len() <= 15);
        assert_ne!(network("/a", "x").mark(), network("/a", "y").mark());
        assert_eq!(
            network("/a", "x").tunnel_id(),
            network("/b", "y").tunnel_id(),
            "nodes of one cluster meet"
        );
        let mut other = network("/a", "x");
        other.cluster.push("fd00::/48".parse().unwrap());
        assert_ne!(other.tunnel_id(), network("/a", "x").tunnel_id());
        assert!(other.tunnel_id() < 1 << 24);
    }
}
