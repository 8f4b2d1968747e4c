//! The role of `kedge agent`: a further node of a cluster whose servers are elsewhere. It goes on while no server answers, and leaves
//! this machine as it found it when its node is deleted.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_cli::Beside;
use kedge_clock::Clock;
use kedge_pki::{PkiError, Shown};
use tokio::sync::watch;

use crate::agent::{self, CleanupError, Ended, Role, absolute};
use crate::door::{Asked, NodeCertificate};
use crate::hatch::Hatch;
use crate::join::{JoinError, Membership, folder, forget, has_joined};
use crate::notify;
use crate::ranges;
use crate::settings::AgentSettings;
use crate::shutdown::{Machine, stop_signal};

/// Whoever holds it runs a node on the data beside it.
pub(crate) const LOCK: &str = "agent.lock";

#[derive(Debug, thiserror::Error)]
pub(crate) enum MemberError {
    #[error("cannot use the data folder {}", path.display())]
    Data { path: PathBuf, source: io::Error },
    #[error("an agent runs on {} already", path.display())]
    InUse { path: PathBuf },
    #[error("{} is a server's data folder: give this node another with --data-dir", path.display())]
    ServersData { path: PathBuf },
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error("this machine is no node, as the log says why")]
    Failed,
    #[error("the node was deleted, but something of it is left")]
    Left(#[from] CleanupError),
    #[error("the node was deleted, but its identity could not be removed")]
    Forget(#[source] PkiError),
}

/// Runs until it is told to stop, or the node is deleted.
pub(crate) async fn run(settings: AgentSettings) -> Result<(), MemberError> {
    let clock = Clock::system();
    let data = absolute(&settings.node.data());
    if data.join("store").exists() {
        return Err(MemberError::ServersData { path: data });
    }
    let _held = lock(&data)?;
    let machine = Machine::new(settings.node.shutdown_grace_period.map(|grace| grace.0));
    let mut stop = stop_signal(machine.clone()).map_err(MemberError::Signals)?;
    let beside = Beside::new(looking(&settings, has_joined(&data)));
    let started = tokio::select! {
        started = start(&settings, &data, machine, &clock) => started?,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    drop(beside);
    let (member, role) = started;
    let name = role.name.clone();
    tracing::info!("kedge is the node {name} of the cluster");
    let hatch = Hatch {
        role: "agent",
        data: data.clone(),
        node: Some(name.clone()),
        servers: member.servers.all().iter().map(ToString::to_string).collect(),
        store: None,
    };
    let hatch = tokio::spawn(hatch.serve());
    notify::ready();
    let ended = tokio::select! {
        ended = agent::run(role) => Some(ended),
        () = async { member.keep().await; std::future::pending().await } => None,
        _ = stop.wait_for(|stop| *stop) => None,
    };
    notify::stopping();
    hatch.abort();
    match ended {
        None => tracing::info!("kedge has stopped; what runs on this node runs on"),
        Some(Ended::Failed) => return Err(MemberError::Failed),
        Some(Ended::Left) => {
            agent::take_away(&data).await?;
            forget(&data).map_err(MemberError::Forget)?;
            tracing::info!(
                "this machine is no longer part of the cluster; nothing of the node is left but its data"
            );
        }
    }
    Ok(())
}

/// What takes so long before this machine is a node.
fn looking(settings: &AgentSettings, again: bool) -> impl Fn() -> String + Send + 'static {
    let servers: Vec<String> = settings.server.iter().map(ToString::to_string).collect();
    let what = if again { "looking for the cluster" } else { "joining the cluster" };
    let told = if servers.is_empty() { what.to_owned() } else { format!("{what} at {}", servers.join(", ")) };
    move || told.clone()
}

async fn start(
    settings: &AgentSettings,
    data: &Path,
    machine: Machine,
    clock: &Clock,
) -> Result<(Membership, Role), JoinError> {
    let member = Membership::open(settings, data, clock).await?;
    member.check_name().await?;
    let cluster = member.cluster().await?;
    if settings.node.connects_pods() {
        ranges::free(&cluster)?;
    }
    let certificate = Asked {
        node: member.node.clone(),
        folder: folder(data),
        authority: member.authority.clone(),
        servers: member.servers.all().into_iter().map(|place| place.host).collect(),
        shown: Arc::new(Shown::default()),
        clock: clock.clone(),
    };
    let role = Role {
        name: member.node.clone(),
        data: data.to_owned(),
        client: member.servers.client(),
        servers: Some(member.servers.clone()),
        settings: settings.node.clone(),
        cluster,
        server: None,
        certificate: Ok(NodeCertificate::Asked(certificate)),
        key: Some(member.key()?),
        machine,
        carried: kedge_proxy::Figures::default(),
        taken: watch::Sender::default(),
        clock: clock.clone(),
    };
    Ok((member, role))
}

/// Nobody else runs a node on this data while the file is held.
fn lock(data: &Path) -> Result<File, MemberError> {
    let failed = |source| MemberError::Data { path: data.to_owned(), source };
    // Pods' secrets lie below it.
    DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(failed)?;
    let file =
        File::options().create(true).truncate(false).write(true).open(data.join(LOCK)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(MemberError::InUse { path: data.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
