//! A machine and a server, over HTTPS: how one becomes part of the other's cluster, stays it and comes back.

use std::net::Ipv4Addr;
use std::sync::Arc;

use kedge_client::Event;
use kedge_http::{Options, Tls, router, serve};
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use kedge_registry::{Registry, User};
use kedge_store::Store;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::settings::{NodeSettings, Settings};

struct Server {
    place: Place,
    /// Everything may be done with it.
    admin: Client,
    token: String,
    _folder: TempDir,
    _stop: watch::Sender<bool>,
}

impl Server {
    async fn start() -> Self {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Clock::system());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let place = Place::new("127.0.0.1", listener.local_addr().unwrap().port());
        let authority = Arc::new(Authority::open(folder.path(), "kedge-ca", &clock).unwrap());
        let registry = Registry::start(Store::memory(), clock.clone(), kedge_registry::Options::default())
            .await
            .unwrap();
        let mut options = Options::new(kedge_pki::new_key().unwrap());
        options.address = place.to_string();
        let router = router(registry, options).unwrap();
        let names = Names {
            common_name: "kube-apiserver".to_owned(),
            organization: None,
            hosts: vec!["127.0.0.1".to_owned()],
        };
        let leaf = Leaf::new(folder.path(), "server", names, Purpose::Server);
        let serving = Serving::start(leaf, &authority, clock.now()).unwrap();
        let tls = Tls::new(serving, authority.clients().unwrap()).unwrap();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(serve(listener, tls, router.clone(), stopped));
        tokio::spawn(router.clone().upkeep(authority.clone()));
        let admin =
            User { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() };
        let (data, pem) = (folder.path().to_owned(), authority.pem().to_owned());
        let cluster = Cluster::of(&Settings::default());
        crate::token::welcome(router.clone(), cluster, pem, data, clock).await;
        let token = std::fs::read_to_string(folder.path().join("node-token")).unwrap();
        let admin = kedge_client::in_process(router.acting_as(admin));
        Self { place, admin, token, _folder: folder, _stop: stop }
    }

    fn settings(&self, name: Option<&str>, token: Option<&str>) -> AgentSettings {
        AgentSettings {
            server: vec![self.place.clone()],
            token: token.map(|token| token.parse().unwrap()),
            token_file: None,
            node: NodeSettings { node_name: name.map(str::to_owned), ..NodeSettings::default() },
        }
    }

    /// Joins; `cluster-info` comes a moment after the server.
    async fn join(&self, name: &str, data: &Path) -> Result<Membership, JoinError> {
        let settings = self.settings(Some(name), Some(&self.token));
        for _ in 0..500 {
            match Membership::open(&settings, data, &Clock::system()).await {
                Err(JoinError::Info(_)) => Clock::system().sleep(Duration::from_millis(20)).await,
                outcome => return outcome,
            }
        }
        panic!("the server never said where the cluster is");
    }
}

fn refused(outcome: Result<Membership, JoinError>) -> String {
    outcome.err().map(|error| crate::told(&error)).unwrap_or_else(|| panic!("it joined"))
}

#[tokio::test]
async fn a_machine_joins_once_and_stays() {
    let (server, data, clock) = (Server::start().await, tempfile::tempdir().unwrap(), Clock::system());
    let member = server.join("n1", data.path()).await.unwrap();
    assert_eq!(member.node, "n1");
    assert_eq!(member.cluster().await.unwrap(), Cluster::of(&Settings::default()));
    // As the node that it is now it may do what a node does.
    let nodes = Api::<Node>::all(member.servers.client());
    let mut node = Node::default();
    node.metadata.name = Some("n1".to_owned());
    node.metadata.annotations = Some([(KEY.to_owned(), member.key().unwrap())].into());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let slices = Api::<EndpointSlice>::all(member.servers.client());
    slices.list(&Default::default()).await.unwrap();
    let secrets =
        Api::<k8s_openapi::api::core::v1::Secret>::namespaced(member.servers.client(), "kube-system");
    assert!(secrets.list(&Default::default()).await.is_err(), "secrets are none of its business");

    // A new certificate for the same key is used at once.
    let before = std::fs::read_to_string(certificate_file(data.path())).unwrap();
    let renewed = member.renewed().await.unwrap();
    assert_ne!(before, renewed);
    nodes.get("n1").await.unwrap();

    // From now on it needs neither token nor name nor server.
    let mut settings = server.settings(None, None);
    settings.server.clear();
    let again = Membership::open(&settings, data.path(), &clock).await.unwrap();
    assert_eq!((again.node.as_str(), again.certificate.as_str()), ("n1", renewed.as_str()));
    again.check_name().await.unwrap();
    assert_eq!(again.cluster().await.unwrap().domain, "cluster.local");
    let told = refused(Membership::open(&server.settings(Some("n2"), None), data.path(), &clock).await);
    assert!(told.contains("this machine is n1 in its cluster, not n2"), "{told}");
    let other = Server::start().await;
    let told = refused(other.join("n1", data.path()).await);
    assert!(told.contains("part of another cluster"), "{told}");
}

#[tokio::test]
async fn what_a_server_shows_at_its_start_lets_a_machine_in() {
    let (server, data, clock) = (Server::start().await, tempfile::tempdir().unwrap(), Clock::system());
    let shown = crate::token::invitation(&server.admin, &clock).await;
    let (_, command) = shown.split_once("\n  KEDGE_TOKEN=").unwrap();
    let (token, rest) = command.split_once(' ').unwrap();
    assert!(rest.starts_with(&format!("kedge agent --server {}\n", server.place)), "{shown}");
    assert_ne!(token, server.token.trim(), "that one does not end");
    let listed = crate::token::list(&server.admin, clock.now()).await.unwrap();
    assert!(listed.lines().any(|line| line.contains("Shown when") && !line.contains("never")), "{listed}");
    Membership::open(&server.settings(Some("n1"), Some(token)), data.path(), &clock).await.unwrap();
}

#[tokio::test]
async fn nobody_takes_a_nodes_place() {
    let (server, clock) = (Server::start().await, Clock::system());
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let member = server.join("n1", data.path()).await.unwrap();
    let nodes = Api::<Node>::all(server.admin.clone());
    let mut node = Node::default();
    node.metadata.name = Some("n1".to_owned());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    // A node of which no key is known is nobody's to take, a key of another machine is not ours.
    for key in [None, Some("another".to_owned())] {
        let patch = json!({"metadata": {"annotations": {KEY: key}}});
        nodes.patch("n1", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        let told = refused(server.join("n1", other.path()).await);
        assert!(told.contains("there is a node n1 already, on another machine"), "{told}");
    }
    let told = member.check_name().await.unwrap_err().to_string();
    assert!(told.contains("there is a node n1 in the cluster, on another machine"), "{told}");

    // The machine that has the key comes back, also after it lost its certificate.
    let patch = json!({"metadata": {"annotations": {KEY: member.key().unwrap()}}});
    nodes.patch("n1", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    std::fs::remove_file(certificate_file(data.path())).unwrap();
    let told = refused(Membership::open(&server.settings(None, None), data.path(), &clock).await);
    assert!(told.contains("no part of a cluster yet"), "{told}");
    server.join("n1", data.path()).await.unwrap();
    forget(data.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder(data.path())).unwrap().count(), 0);
}

#[test]
fn servers_with_ports_of_their_own_are_all_known() {
    let slice = |name: &str, port: u16, address: &str| -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": {"name": name}, "addressType": "IPv4", "ports": [{"port": port}],
            "endpoints": [{"addresses": [address]}],
        }))
        .unwrap()
    };
    let mut known = Known::default();
    known.hear(Event::All(vec![slice("a", 6443, "10.0.0.1"), slice("b", 7443, "10.0.0.1")]));
    assert_eq!(shown(&known.places()), "https://10.0.0.1:6443, https://10.0.0.1:7443");
    known.hear(Event::Put(slice("b", 7443, "10.0.0.2")));
    assert_eq!(shown(&known.places()), "https://10.0.0.1:6443, https://10.0.0.2:7443");
    known.hear(Event::Gone(slice("a", 6443, "10.0.0.1")));
    assert_eq!(shown(&known.places()), "https://10.0.0.2:7443");
}

#[test]
fn servers_are_where_the_api_says() {
    let slice: EndpointSlice = serde_json::from_value(json!({
        "addressType": "IPv4", "ports": [{"port": 6443}],
        "endpoints": [
            {"addresses": ["10.0.0.1"]},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": true}},
            {"addresses": ["10.0.0.3"], "conditions": {"ready": false}},
        ],
    }))
    .unwrap();
    let mut places = vec![Place::new("10.0.0.2", 6443)];
    extend(&mut places, listed(&slice));
    assert_eq!(shown(&places), "https://10.0.0.2:6443, https://10.0.0.1:6443");
}
