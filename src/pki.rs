//! The keys and certificates of one server, and the administrator's kubeconfig; keeps both fresh.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use kedge_http::{FrontProxy, NodeClient};
use kedge_pki::{Authority, Leaf, Names, PkiError, Purpose, Serving};
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::kubeconfig;
use crate::network::{host_name, outward};
use crate::settings::Settings;

/// Keys and certificates of one server.
pub(crate) struct Pki {
    pub(crate) authority: Arc<Authority>,
    pub(crate) serving: Arc<Serving>,
    /// Every name and address under which clients may look for the API.
    pub(crate) names: Vec<String>,
    admin: Leaf,
    pub(crate) front_proxy: Arc<FrontProxy>,
    pub(crate) node_client: Arc<NodeClient>,
    pub(crate) signing_key: String,
    clock: Clock,
}

impl Pki {
    pub(crate) fn open(
        folder: &Path,
        settings: &Settings,
        cluster: &Cluster,
        listen: SocketAddr,
        clock: Clock,
    ) -> Result<Self, PkiError> {
        let authority = Arc::new(Authority::open(folder, "kedge-ca", &clock)?);
        let hosts = hosts(settings, cluster, listen);
        let names =
            Names { common_name: "kube-apiserver".to_owned(), organization: None, hosts: hosts.clone() };
        let serving = Leaf::new(folder, "server", names, Purpose::Server);
        let admin = Names {
            common_name: "kubernetes-admin".to_owned(),
            organization: Some("system:masters".to_owned()),
            hosts: Vec::new(),
        };
        Ok(Self {
            serving: Serving::start(serving, &authority, clock.now())?,
            names: hosts,
            admin: Leaf::new(folder, "admin", admin, Purpose::Client),
            front_proxy: Arc::new(FrontProxy::open(&folder.join("front-proxy"), &clock)?),
            node_client: Arc::new(NodeClient::new(folder, authority.clone())),
            signing_key: kedge_pki::read_or_make(&folder.join("service-account.key"), kedge_pki::new_key)?,
            authority,
            clock,
        })
    }

    /// Renews what nears its end, for as long as the server runs.
    pub(crate) async fn keep_fresh(&self, admin: &Admin) {
        let serving = self.serving.keep_fresh(&self.authority, &self.clock, |renewed| match renewed {
            Ok(()) => tracing::info!("renewed the server's certificate"),
            Err(error) => {
                tracing::error!(%error, "cannot renew the server's certificate; trying again in an hour")
            }
        });
        tokio::join!(serving, self.keep_admin_fresh(admin));
    }

    async fn keep_admin_fresh(&self, admin: &Admin) {
        loop {
            match self.admin.current(&self.authority, self.clock.now()) {
                Ok((_, renew_at)) => self.clock.until(renew_at).await,
                Err(error) => {
                    tracing::error!(%error, "cannot renew the administrator's certificate; trying again in an hour");
                    self.clock.sleep(Duration::from_secs(3600)).await;
                }
            }
            if let Err(error) = admin.write(self) {
                tracing::error!(%error, "cannot write the kubeconfig");
            }
        }
    }
}

fn hosts(settings: &Settings, cluster: &Cluster, listen: SocketAddr) -> Vec<String> {
    let domain = &cluster.domain;
    let mut hosts: Vec<String> =
        ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default"].map(str::to_owned).into();
    hosts.push("kubernetes.default.svc".to_owned());
    hosts.push(format!("kubernetes.default.svc.{domain}"));
    hosts.extend(cluster.services.iter().map(|range| range.at(1).to_string()));
    hosts.push(settings.node.name());
    hosts.extend(host_name());
    if listen.ip().is_unspecified() {
        hosts.extend(outward().map(|address| address.to_string()));
    } else {
        hosts.push(listen.ip().to_string());
    }
    hosts.extend(settings.tls_san.iter().cloned());
    let mut seen = std::collections::HashSet::new();
    hosts.retain(|host| seen.insert(host.clone()));
    hosts
}

/// The administrator's way in.
pub(crate) struct Admin {
    pub(crate) server: String,
    pub(crate) files: Vec<PathBuf>,
    /// All servers of the cluster, where there are several.
    servers: watch::Sender<Vec<String>>,
}

impl Admin {
    pub(crate) fn new(server: String, files: Vec<PathBuf>) -> Self {
        Self { server, files, servers: watch::Sender::default() }
    }

    /// Whether that is new.
    pub(crate) fn know(&self, servers: Vec<String>) -> bool {
        self.servers.send_if_modified(|known| {
            let is_new = *known != servers;
            *known = servers;
            is_new
        })
    }

    pub(crate) fn write(&self, pki: &Pki) -> Result<(), PkiError> {
        let (issued, _) = pki.admin.current(&pki.authority, pki.clock.now())?;
        let text = kubeconfig::text(&self.server, &self.servers.borrow(), pki.authority.pem(), &issued);
        self.files.iter().try_for_each(|file| kedge_pki::write_private(file, &text))
    }

    /// The file that the user named, or else ours.
    pub(crate) fn shown(&self) -> String {
        self.files.last().map(|file| file.display().to_string()).unwrap_or_default()
    }
}
