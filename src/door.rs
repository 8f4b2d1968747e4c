//! The door of this machine's node: its certificate, kept fresh, and where it listens.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kedge_agent::Agent;
use kedge_client::{Client, Objects};
use kedge_clock::Clock;
use kedge_door::{Listening, Tls, TlsError};
use kedge_pki::{Authority, Issued, Leaf, PkiError, Purpose, Serving, Shown};

use crate::certificate::{AskError, Signer, ask, names};

/// Where a node is usually reached.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 10250);
/// How long a request waits for its answer: an administrator may have to look at it.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// After it was refused, or the API was away.
const AGAIN: Duration = Duration::from_secs(10);
/// When a certificate of which nothing is known is looked at again.
const LATER: Duration = Duration::from_secs(3600);

#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    #[error("cannot make the node's certificate")]
    Pki(#[from] PkiError),
    #[error("cannot secure connections to the node")]
    Tls(#[from] TlsError),
    #[error("cannot listen on {at}")]
    Listen { at: SocketAddr, source: std::io::Error },
}

/// The certificate that a node shows.
pub(crate) enum NodeCertificate {
    /// Signed by the authority at hand.
    Issued { authority: Arc<Authority>, serving: Arc<Serving>, clock: Clock },
    /// Signed by an authority elsewhere.
    Asked(Asked),
}

/// A certificate that is asked for once the cluster knows where the node is.
pub(crate) struct Asked {
    pub(crate) node: String,
    /// Where it is kept, with its key.
    pub(crate) folder: PathBuf,
    /// The authority's certificate, PEM.
    pub(crate) authority: String,
    /// Names and addresses of the API's servers, which nobody else gets a certificate for.
    pub(crate) servers: Vec<String>,
    pub(crate) shown: Arc<Shown>,
    pub(crate) clock: Clock,
}

impl NodeCertificate {
    pub(crate) fn open(
        folder: &Path,
        authority: Arc<Authority>,
        node: &str,
        addresses: &[IpAddr],
        clock: Clock,
    ) -> Result<Self, PkiError> {
        let mut hosts = vec![node.to_owned()];
        hosts.extend(crate::network::host_name().filter(|name| name != node));
        hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        hosts.extend(addresses.iter().map(ToString::to_string).filter(|address| address != "127.0.0.1"));
        let leaf = Leaf::new(folder, "node", names(node, hosts), Purpose::Server);
        let serving = Serving::start(leaf, &authority, clock.now())?;
        Ok(Self::Issued { authority, serving, clock })
    }

    fn tls(&self) -> Result<Tls, DoorError> {
        Ok(match self {
            Self::Issued { authority, serving, .. } => Tls::new(serving.clone(), authority.clients()?)?,
            Self::Asked(asked) => Tls::new(asked.shown.clone(), kedge_pki::clients_of(&asked.authority)?)?,
        })
    }

    /// Where others are let in. A usual port that somebody else has is no reason to have no door: the node tells its port.
    async fn listen(&self, asked: Option<SocketAddr>) -> Result<Listening, DoorError> {
        let tls = self.tls()?;
        let at = asked.unwrap_or(LISTEN);
        match Listening::at(at, tls.clone()).await {
            Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
                let at = SocketAddr::new(at.ip(), 0);
                let found = Listening::at(at, tls).await;
                let found = found.map_err(|source| DoorError::Listen { at, source })?;
                tracing::warn!("port {} is taken; the node is reached at {}", LISTEN.port(), found.address());
                Ok(found)
            }
            outcome => outcome.map_err(|source| DoorError::Listen { at, source }),
        }
    }

    /// Renews it before it ends, for as long as it is polled.
    async fn keep_fresh(&self, client: &Client, addresses: &[IpAddr]) {
        match self {
            Self::Issued { authority, serving, clock } => {
                let report = |renewed: Result<(), PkiError>| match renewed {
                    Ok(()) => tracing::info!("renewed the node's certificate"),
                    Err(error) => {
                        tracing::error!(%error, "cannot renew the node's certificate; trying again in an hour");
                    }
                };
                serving.keep_fresh(authority, clock, report).await;
            }
            Self::Asked(asked) => asked.keep_fresh(client, addresses).await,
        }
    }
}

impl Asked {
    async fn keep_fresh(&self, client: &Client, addresses: &[IpAddr]) {
        let addresses = addresses.iter().map(ToString::to_string);
        let mut hosts = vec![self.node.clone()];
        hosts.extend(addresses.filter(|address| !self.servers.contains(address)));
        let mut told = None;
        loop {
            match self.current(client, &hosts).await {
                Ok(issued) => {
                    told = None;
                    if let Err(error) = self.shown.show(&issued) {
                        tracing::error!(%error, "the node's certificate cannot be used");
                    }
                    match kedge_pki::renew_at(&issued.certificate) {
                        Some(at) => self.clock.until(at).await,
                        None => self.clock.sleep(LATER).await,
                    }
                }
                Err(error) => {
                    let text = crate::told(&error);
                    if told.as_ref() != Some(&text) {
                        tracing::warn!(
                            "nobody can reach into this node yet, as it has no certificate: {text}"
                        );
                        told = Some(text);
                    }
                    self.clock.sleep(AGAIN).await;
                }
            }
        }
    }

    /// The one that is kept, if it is still good; or else a new one.
    async fn current(&self, client: &Client, hosts: &[String]) -> Result<Issued, AskError> {
        let (certificate_path, key_path) = (self.folder.join("node.crt"), self.folder.join("node.key"));
        let key = kedge_pki::read_or_make(&key_path, kedge_pki::new_key)?;
        if let Some(certificate) = kedge_pki::read(&certificate_path)?
            && kedge_pki::renew_at(&certificate).is_some_and(|at| self.clock.now() < at)
            && kedge_pki::has_hosts(&certificate, hosts)
            && kedge_pki::is_signed_by(&certificate, &self.authority)
        {
            return Ok(Issued { certificate, key });
        }
        self.known(client, &hosts[1..]).await?;
        let names = names(&self.node, hosts.to_vec());
        let certificate = ask(client, Signer::Serving, &names, &key, PATIENCE, &self.clock).await?;
        kedge_pki::write_private(&certificate_path, &certificate)?;
        Ok(Issued { certificate, key })
    }

    /// Waits until the cluster knows where this node is: it signs nothing else.
    async fn known(&self, client: &Client, addresses: &[String]) -> Result<(), AskError> {
        let nodes = Objects::<Node>::all(client);
        let is_known = |node: Option<&Node>| {
            let status = node.and_then(|node| node.status.as_ref());
            let known = status.and_then(|status| status.addresses.as_deref()).unwrap_or_default();
            node.is_some() && addresses.iter().all(|one| known.iter().any(|known| known.address == *one))
        };
        nodes.until(&self.node, is_known).await?;
        Ok(())
    }
}

/// Runs a node with its door, until it is no longer wanted. One whose door stays shut runs its pods all the same.
pub(crate) async fn run(
    agent: Agent,
    certificate: Result<NodeCertificate, PkiError>,
    client: &Client,
    addresses: Vec<IpAddr>,
    listen: Option<SocketAddr>,
) {
    let opened = match certificate {
        Ok(certificate) => certificate.listen(listen).await.map(|listening| (listening, certificate)),
        Err(error) => Err(DoorError::from(error)),
    };
    match opened {
        Ok((listening, certificate)) => {
            tokio::select! {
                () = Box::pin(agent.with_door(listening).run()) => {}
                () = certificate.keep_fresh(client, &addresses) => {}
            }
        }
        Err(error) => {
            tracing::error!("nobody can reach into this node: {}", crate::told(&error));
            Box::pin(agent.run()).await;
        }
    }
}
