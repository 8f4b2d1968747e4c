//! The network of this node's pods: once the cluster has said which addresses are the node's, has them prepared and tells the
//! runtime, which calls for each sandbox from then on. Knows the node's object, not how packets go.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kedge_network::{CONFIG_FILE, Network, NetworkError, Range, outward_mtu, prepare, reap};

use crate::tools::Tools;

/// How a runtime finds us among its programs, and who else it asks for.
const PROGRAM: &str = "kedge";
const PROGRAMS: [&str; 2] = [PROGRAM, "loopback"];
/// After something went wrong.
const PAUSE: Duration = Duration::from_secs(1);
/// Under this name the board has what is wrong.
const TROUBLE: &str = "network";

/// Who connects this node's pods, and where the runtime looks for it.
#[derive(Clone, Debug)]
pub struct Networking {
    /// We do, unless another does.
    pub own: Option<OwnNetwork>,
    /// The folders of the runtime's network programs and of their configuration.
    pub programs: PathBuf,
    pub config: PathBuf,
}

#[derive(Clone, Debug)]
pub struct OwnNetwork {
    /// What the runtime calls: this very program.
    pub program: PathBuf,
    /// Where all pods of the cluster get their addresses from.
    pub cluster: Vec<Range>,
}

impl Networking {
    /// For a containerd of our own, below a node's data; nobody connects pods yet.
    pub fn below(data: &Path) -> Self {
        Self { own: None, programs: data.join("cni/bin"), config: data.join("cni/net.d") }
    }

    /// Puts our program where the runtime looks for it.
    pub(crate) fn install(&self) -> io::Result<()> {
        let Some(own) = &self.own else { return Ok(()) };
        fs::create_dir_all(&self.programs)?;
        // A runtime that begins to watch a folder must find it.
        fs::create_dir_all(&self.config)?;
        for name in PROGRAMS {
            let link = self.programs.join(name);
            if fs::read_link(&link).is_ok_and(|target| target == own.program) {
                continue;
            }
            // At no moment is there none: a sandbox may just be made.
            let new = self.programs.join(format!(".{name}.new"));
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => symlink(&own.program, &new)?,
            }
            fs::rename(&new, &link)?;
        }
        Ok(())
    }
}

/// The network that a node with this data was given, if it was.
pub(crate) fn given(data: &Path) -> Option<Network> {
    let text = fs::read_to_string(Network::records(data).join(CONFIG_FILE)).ok()?;
    Network::read(&text).ok()?
}

#[derive(Debug, thiserror::Error)]
enum SetUpError {
    #[error("cannot prepare the network of pods")]
    Network(#[from] NetworkError),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("what prepares the network of pods did not live to do it")]
    Died(#[from] tokio::task::JoinError),
}

/// Until it is dropped.
pub(crate) async fn keep(tools: &Tools, data: &Path, networking: &Networking) {
    let Some(own) = &networking.own else { return std::future::pending().await };
    let mut node = tools.node.subscribe();
    let (mut done, mut said) = (Vec::new(), None);
    loop {
        let ranges = node.borrow_and_update().as_deref().map(ranges).unwrap_or_default();
        if !ranges.is_empty() && ranges != done {
            match set_up(tools, data, own, networking.config.clone(), ranges.clone()).await {
                Ok(()) => {
                    tools.board.write(|notes| drop(notes.troubles.remove(TROUBLE)));
                    (done, said) = (ranges, None);
                }
                Err(error) => {
                    let told = told(&error);
                    if said.as_ref() != Some(&told) {
                        tracing::error!("{told}");
                        said = Some(told.clone());
                    }
                    tools.board.write(|notes| drop(notes.troubles.insert(TROUBLE, told)));
                    tools.clock.sleep(PAUSE).await;
                    continue;
                }
            }
        }
        if node.changed().await.is_err() {
            return;
        }
    }
}

/// The node's ranges: one for each family.
fn ranges(node: &Node) -> Vec<Range> {
    let spec = node.spec.as_ref();
    let many = spec.and_then(|spec| spec.pod_cidrs.clone()).unwrap_or_default();
    let one = spec.and_then(|spec| spec.pod_cidr.clone());
    let all = if many.is_empty() { one.into_iter().collect() } else { many };
    all.iter().filter_map(|range| range.parse().ok()).collect()
}

async fn set_up(
    tools: &Tools,
    data: &Path,
    own: &OwnNetwork,
    folder: PathBuf,
    ranges: Vec<Range>,
) -> Result<(), SetUpError> {
    let (data, node, cluster) = (data.to_owned(), tools.place.node.clone(), own.cluster.clone());
    // The kernel takes its time to change its rules.
    let work = move || {
        let network = Network::new(&data, &node, outward_mtu()?, ranges, cluster);
        prepare(&network)?;
        // Once for whoever clears up after us, and once for the runtime.
        for folder in [&network.records, &folder] {
            let path = folder.join(CONFIG_FILE);
            write(&path, &network.config(PROGRAM)).map_err(|source| SetUpError::Write { path, source })?;
        }
        reap(&network)?;
        Ok(())
    };
    tokio::task::spawn_blocking(work).await?
}

/// The runtime reads the file as soon as it sees it, so it must see all of it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    // Not a name that a runtime takes for a configuration.
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

/// The error and what it came from, in one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::NodeSpec;

    #[test]
    fn the_ranges_of_a_node() {
        for (case, one, many, expected) in [
            ("none yet", None, None, ""),
            ("one family", Some("10.0.1.0/24"), Some(vec!["10.0.1.0/24"]), "10.0.1.0/24"),
            ("both", Some("10.0.1.0/24"), Some(vec!["10.0.1.0/24", "fd00::/64"]), "10.0.1.0/24 fd00::/64"),
            ("by the older field alone", Some("10.0.1.0/24"), None, "10.0.1.0/24"),
        ] {
            let spec = NodeSpec {
                pod_cidr: one.map(str::to_owned),
                pod_cidrs: many.map(|many| many.into_iter().map(str::to_owned).collect()),
                ..NodeSpec::default()
            };
            let ranges = ranges(&Node { spec: Some(spec), ..Node::default() });
            let shown: Vec<String> = ranges.iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" "), expected, "{case}");
        }
    }

    #[test]
    fn our_program_is_where_it_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut networking = Networking::below(folder.path());
        networking.install().unwrap();
        assert!(!networking.programs.exists(), "another looks after it");
        for program in ["/bin/first", "/bin/second", "/bin/second"] {
            networking.own = Some(OwnNetwork { program: program.into(), cluster: Vec::new() });
            networking.install().unwrap();
            for name in PROGRAMS {
                assert_eq!(fs::read_link(networking.programs.join(name)).unwrap(), Path::new(program));
            }
            assert_eq!(fs::read_dir(&networking.programs).unwrap().count(), 2);
        }
    }
}
