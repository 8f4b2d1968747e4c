//! The door of this machine's node: its certificate, kept fresh, and where it listens.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use kedge_agent::Agent;
use kedge_clock::Clock;
use kedge_door::{Listening, Tls, TlsError};
use kedge_pki::{Authority, Leaf, Names, PkiError, Purpose, Serving};

/// Where a node is usually reached.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 10250);

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
pub(crate) struct NodeCertificate {
    authority: Arc<Authority>,
    serving: Arc<Serving>,
    clock: Clock,
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
        let names = Names {
            common_name: format!("system:node:{node}"),
            organization: Some("system:nodes".to_owned()),
            hosts,
        };
        let leaf = Leaf::new(folder, "node", names, Purpose::Server);
        let serving = Serving::start(leaf, &authority, clock.now())?;
        Ok(Self { authority, serving, clock })
    }

    /// Where others are let in. A usual port that somebody else has is no reason to have no door: the node tells its port.
    pub(crate) async fn listen(&self, asked: Option<SocketAddr>) -> Result<Listening, DoorError> {
        let tls = Tls::new(self.serving.clone(), self.authority.clients()?)?;
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
    pub(crate) async fn keep_fresh(&self) {
        let report = |renewed: Result<(), PkiError>| match renewed {
            Ok(()) => tracing::info!("renewed the node's certificate"),
            Err(error) => {
                tracing::error!(%error, "cannot renew the node's certificate; trying again in an hour");
            }
        };
        self.serving.keep_fresh(&self.authority, &self.clock, report).await;
    }
}

/// Runs a node with its door. One whose door stays shut runs its pods all the same.
pub(crate) async fn run(
    agent: Agent,
    certificate: Result<NodeCertificate, PkiError>,
    listen: Option<SocketAddr>,
) {
    let opened = match certificate {
        Ok(certificate) => certificate.listen(listen).await.map(|listening| (listening, certificate)),
        Err(error) => Err(DoorError::from(error)),
    };
    match opened {
        Ok((listening, certificate)) => {
            tokio::join!(agent.with_door(listening).run(), certificate.keep_fresh());
        }
        Err(error) => {
            let told = crate::told(&error);
            tracing::error!(
                "nobody can reach into this node: {}",
                told.trim_start_matches("kedge: ").trim_end()
            );
            agent.run().await;
        }
    }
}
