//! A whole API server in this process, on a memory store, reachable both ways.

use std::sync::Arc;

use kedge_clock::Clock;
use kedge_http::{Router, Tls, router, serve};
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use kedge_registry::{Registry, User};
use kedge_store::Store;
use kube::Client;
use kube::config::Kubeconfig;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) struct Server {
    router: Router,
    kubeconfig: Kubeconfig,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::on(Store::memory()).await
    }

    pub(crate) async fn on(store: Store) -> Self {
        let clock = Clock::system();
        let registry =
            Registry::start(store, clock.clone(), kedge_registry::Options::default()).await.unwrap();
        let router = router(registry, kedge_http::Options::new(kedge_pki::new_key().unwrap())).unwrap();

        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), "test", &clock).unwrap();
        let names = |name: &str, organization: Option<&str>, hosts: &[&str]| Names {
            common_name: name.to_owned(),
            organization: organization.map(str::to_owned),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        };
        let leaf = Leaf::new(folder.path(), "server", names("server", None, &["127.0.0.1"]), Purpose::Server);
        let serving: Arc<Serving> = Serving::start(leaf, &authority, clock.now()).unwrap();
        let admin = authority
            .issue(&names("admin", Some("system:masters"), &[]), Purpose::Client, clock.now())
            .unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let kubeconfig = serde_json::from_value(json!({
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": format!("https://{}", listener.local_addr().unwrap()),
                "certificate-authority": file("authority.pem", authority.pem()),
            }}],
            "users": [{"name": "admin", "user": {
                "client-certificate": file("admin.pem", &admin.certificate),
                "client-key": file("admin-key.pem", &admin.key),
            }}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }))
        .unwrap();
        let (stop, stopped) = watch::channel(false);
        let tls = Tls::new(serving, authority.clients().unwrap()).unwrap();
        tokio::spawn(serve(listener, tls, router.clone(), stopped));
        Self { router, kubeconfig, _stop: stop, _folder: folder }
    }

    pub(crate) fn in_process(&self) -> Client {
        kedge_client::in_process(self.admin())
    }

    pub(crate) fn admin(&self) -> Router {
        let groups = ["system:masters", "system:authenticated"].map(str::to_owned).to_vec();
        self.router.acting_as(User { name: "admin".to_owned(), groups, ..User::default() })
    }

    pub(crate) async fn https(&self) -> Client {
        kedge_client::https(self.kubeconfig.clone()).await.unwrap()
    }
}
