//! One node's network as it is written down, for the runtime to hand it back with every call.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::owner::fnv;
use crate::range::Range;

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

    /// The folder below a node's data that everything of its network is in.
    pub fn records(data: &Path) -> PathBuf {
        data.join("network")
    }

    /// The file that the runtime reads; `program` is what it calls.
    pub fn config(&self, program: &str) -> String {
        let mut plugin = json!(self);
        plugin["type"] = json!(program);
        plugin["capabilities"] = json!({"portMappings": true});
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
        assert!(name("/a", "x").len() <= 15);
    }
}
