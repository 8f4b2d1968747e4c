//! The network of this node's pods: once the cluster has said which addresses are the node's, has them prepared and tells the
//! runtime, which calls for each sandbox from then on; and keeps the ways to pods of other nodes. Looks again when the node's object
//! or the others change, and when somebody changes what the kernel knows. Knows objects, not how packets go.

mod addresses;
mod changes;
mod site;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kedge_network::{Between, CONFIG_FILE, Member, Network, Range, concerns};
use tokio::sync::watch;

pub use self::addresses::Lookout;
use self::changes::Changes;
use self::site::{SetUpError, Site, Turned};
use crate::tools::Tools;

/// How a runtime finds us among its programs, and who else it asks for.
const PROGRAM: &str = "kedge";
const PROGRAMS: [&str; 2] = [PROGRAM, "loopback"];
/// After something went wrong.
const PAUSE: Duration = Duration::from_secs(1);
/// After the kernel told of a change, until it told of all of them; and how often that doubles at most.
const SETTLED: Duration = Duration::from_millis(50);
const MOST_DISPUTES: u32 = 7;
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
    /// Where the node is reached, if nobody said so.
    pub lookout: Option<Lookout>,
}

#[derive(Clone, Debug)]
pub struct OwnNetwork {
    /// What the runtime calls: this very program.
    pub program: PathBuf,
    /// Where all pods of the cluster get their addresses from.
    pub cluster: Vec<Range>,
    /// How packets get to other nodes, and who they are, once that is known.
    pub between: Between,
    pub members: watch::Receiver<Option<Vec<Member>>>,
}

impl Networking {
    /// For a containerd of our own, below a node's data; nobody connects pods yet.
    pub fn below(data: &Path) -> Self {
        Self { own: None, programs: data.join("cni/bin"), config: data.join("cni/net.d"), lookout: None }
    }

    /// Puts our program where the runtime looks for it.
    pub(crate) fn install(&self) -> io::Result<()> {
        let Some(own) = &self.own else { return Ok(()) };
        // A runtime that begins to watch a folder must find it.
        for folder in [&self.programs, &self.config] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
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

/// Until it is dropped.
pub(crate) async fn keep(tools: &Tools, data: &Path, networking: &Networking) {
    tokio::join!(addresses::keep(tools, networking.lookout.as_ref()), keep_own(tools, data, networking));
}

async fn keep_own(tools: &Tools, data: &Path, networking: &Networking) {
    let Some(own) = &networking.own else { return std::future::pending().await };
    let mut node = tools.node.subscribe();
    let mut members = own.members.clone();
    let mut changes = Changes::open();
    let site = Site {
        data: data.to_owned(),
        node: tools.place.node.clone(),
        cluster: own.cluster.clone(),
        between: own.between,
        config: networking.config.clone(),
    };
    let (site, mut voice, mut disputes) = (Arc::new(site), Voice::default(), 0);
    let mut done: Option<Network> = None;
    loop {
        let ranges = node.borrow_and_update().as_deref().map(ranges).unwrap_or_default();
        let known = members.borrow_and_update().clone();
        if !ranges.is_empty() {
            let (working, before) = (site.clone(), done.clone());
            // The kernel takes its time to change its rules.
            let work = move || working.turn(before, ranges, known);
            let turned = tokio::task::spawn_blocking(work).await.map_err(SetUpError::Died);
            match turned.and_then(|turned| turned) {
                Ok(turned) => {
                    if voice.is_relieved() {
                        tools.board.write(|notes| drop(notes.troubles.remove(TROUBLE)));
                    }
                    voice.say(&turned);
                    disputes = if turned.is_changed { disputes + 1 } else { 0 };
                    done = Some(turned.network);
                    if turned.failed {
                        tools.clock.sleep(PAUSE).await;
                        continue;
                    }
                }
                Err(error) => {
                    let told = told(&error);
                    voice.complain(&told);
                    tools.board.write(|notes| drop(notes.troubles.insert(TROUBLE, told)));
                    tools.clock.sleep(PAUSE).await;
                    continue;
                }
            }
        }
        let members_changed = async {
            if members.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            changed = node.changed() => if changed.is_err() { return },
            () = members_changed => {}
            () = changes.next(|change| done.as_ref().is_some_and(|network| concerns(network, change))) => {
                // Many come at once. If somebody always undoes what we do, he need not be fought at full speed.
                tools.clock.sleep(SETTLED * (1 << disputes.min(MOST_DISPUTES))).await;
            }
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

/// Says everything once, until it changes.
#[derive(Default)]
struct Voice {
    complaint: Option<String>,
    lost: Vec<String>,
}

impl Voice {
    /// Whether there was something to complain about until now.
    fn is_relieved(&mut self) -> bool {
        self.complaint.take().is_some()
    }

    fn say(&mut self, turned: &Turned) {
        for lost in turned.lost.iter().filter(|lost| !self.lost.contains(lost)) {
            tracing::warn!("no way to {lost}");
        }
        self.lost.clone_from(&turned.lost);
    }

    fn complain(&mut self, told: &str) {
        if self.complaint.as_deref() != Some(told) {
            tracing::error!("{told}");
            self.complaint = Some(told.to_owned());
        }
    }
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
            networking.own = Some(OwnNetwork {
                program: program.into(),
                cluster: Vec::new(),
                between: Between::default(),
                members: watch::Sender::new(None).subscribe(),
            });
            networking.install().unwrap();
            for name in PROGRAMS {
                assert_eq!(fs::read_link(networking.programs.join(name)).unwrap(), Path::new(program));
            }
            assert_eq!(fs::read_dir(&networking.programs).unwrap().count(), 2);
        }
    }
}
