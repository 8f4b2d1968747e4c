//! Why a network could not be had.

use std::io;
use std::path::{Path, PathBuf};

use kedge_netlink::NetlinkError;
use kedge_range::Range;

#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("the kernel refuses")]
    Kernel(#[from] NetlinkError),
    #[error("cannot enter the network namespace {}", path.display())]
    Namespace { path: PathBuf, source: io::Error },
    #[error("cannot keep records in {}", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("the record {} makes no sense", path.display())]
    Unreadable { path: PathBuf, source: serde_json::Error },
    #[error("cannot set {}", path.display())]
    Setting { path: PathBuf, source: io::Error },
    #[error("no address is left in {range}")]
    Full { range: Range },
    #[error("port {port} of the node already leads to {container}")]
    Door { port: u16, container: String },
    #[error(
        "{link} already leads to {other}, which pods were to get of {range}: another network on this machine uses it, choose another --cluster-cidr"
    )]
    Taken { range: Range, link: String, other: Range },
    #[error(
        "another tunnel on this machine has UDP port {port} and our number: choose another --vxlan-port on all nodes"
    )]
    TunnelTaken { port: u16 },
}

impl NetworkError {
    pub(crate) fn record(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| NetworkError::Record { path: path.to_owned(), source }
    }
}
