//! One client, several servers: whoever lives is found, whoever is not trusted gets nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Node};
use kedge_clock::Clock;
use kedge_http::{Options, Tls, router, serve};
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use kedge_registry::Registry;
use kedge_store::Store;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::config::Kubeconfig;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;

struct Running {
    place: Place,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

async fn server(authority: &Arc<Authority>, folder: &std::path::Path, store: Store) -> Running {
    let clock = Clock::system();
    let registry = Registry::start(store, clock.clone(), kedge_registry::Options::default()).await.unwrap();
    let key = kedge_pki::new_key().unwrap();
    let router = router(registry, Options::new(key)).unwrap();
    let names = Names {
        common_name: "kube-apiserver".to_owned(),
        organization: None,
        hosts: vec!["127.0.0.1".to_owned()],
    };
    let leaf = Leaf::new(folder, "server", names, Purpose::Server);
    let serving = Serving::start(leaf, authority, clock.now()).unwrap();
    let tls = Tls::new(serving, authority.clients().unwrap()).unwrap();
    let listener = TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await.unwrap();
    let place = Place::new("127.0.0.1", listener.local_addr().unwrap().port());
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        serve(listener, tls, router, stopped).await;
    });
    Running { place, stop, task }
}

fn ties(authority: &Authority) -> Ties {
    let names = Names {
        common_name: "admin".to_owned(),
        organization: Some("system:masters".to_owned()),
        hosts: Vec::new(),
    };
    let issued = authority.issue(&names, Purpose::Client, Clock::system().now()).unwrap();
    Ties::Certificate {
        authority: authority.pem().to_owned(),
        certificate: issued.certificate,
        key: issued.key,
    }
}

#[tokio::test]
async fn the_next_server_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(Authority::open(folder.path(), "ca", &Clock::system()).unwrap());
    let store = Store::memory();
    let first = server(&authority, folder.path(), store.clone()).await;
    let second = server(&authority, folder.path(), store).await;
    let nobody = Place::new("127.0.0.1", 1);
    let all = vec![nobody.clone(), first.place.clone(), second.place.clone()];
    let servers = Servers::new(all, &ties(&authority)).unwrap();
    let namespaces = Api::<Namespace>::all(servers.client());
    namespaces.get("default").await.unwrap();
    assert_eq!(
        servers.all(),
        [first.place.clone(), nobody.clone(), second.place.clone()],
        "who answers is asked first"
    );

    first.stop.send_replace(true);
    first.task.await.unwrap();
    // Nobody has to ask again, whether the end of the connection was already noticed or not.
    namespaces.get("default").await.unwrap();
    assert_eq!(servers.all().first(), Some(&second.place));
    servers.set(vec![nobody.clone(), second.place.clone()]);
    assert_eq!(servers.all(), [second.place.clone(), nobody]);
    second.stop.send_replace(true);
    second.task.await.unwrap();
    let told = format!("{:?}", namespaces.get("default").await.unwrap_err());
    assert!(told.contains("no server can be reached") && told.contains(&second.place.to_string()), "{told}");
}

#[tokio::test]
async fn only_the_true_authority_is_trusted() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let authority = Arc::new(Authority::open(folder.path(), "ca", &Clock::system()).unwrap());
    let strange = Authority::open(other.path(), "ca", &Clock::system()).unwrap();
    let running = server(&authority, folder.path(), Store::memory()).await;
    let get = async |ties: &Ties| {
        let client = Servers::new(vec![running.place.clone()], ties).unwrap().client();
        Api::<Namespace>::all(client).get("default").await.map(|_| ()).map_err(|error| match error {
            kube::Error::Api(status) => status.code.to_string(),
            other => format!("{other:?}"),
        })
    };
    assert_eq!(get(&ties(&authority)).await, Ok(()));
    let told = get(&ties(&strange)).await.unwrap_err();
    assert!(told.contains("certificate"), "{told}");
    // Who looks at no certificate shows none either, and is nobody.
    assert_eq!(get(&Ties::Blind).await, Err("403".to_owned()));
    let token =
        Ties::Token { authority: authority.pem().to_owned(), token: "abcdef.0123456789abcdef".to_owned() };
    assert_eq!(get(&token).await, Err("401".to_owned()), "nobody knows this token");
}

/// A kubeconfig that lists these servers, and its files.
fn kubeconfig(folder: &std::path::Path, ties: &Ties, places: &[Place]) -> Kubeconfig {
    let Ties::Certificate { authority, certificate, key } = ties else { panic!("a certificate is needed") };
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    serde_json::from_value(json!({
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": places[0].to_string(),
            "certificate-authority": file("trusted.pem", authority),
            "extensions": [{"name": Servers::EXTENSION, "extension": {
                "servers": places.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }}],
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate": file("admin.pem", certificate),
            "client-key": file("admin-key.pem", key),
        }}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
    }))
    .unwrap()
}

#[test]
fn a_kubeconfigs_client_outlives_the_server_that_it_uses() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(Authority::open(folder.path(), "ca", &Clock::system()).unwrap());
    // Each server has a runtime of its own, so that it can die at once with every connection that it has.
    let (own, one, other) = (runtime(), runtime(), runtime());
    let store = own.block_on(async { Store::memory() });
    let first = one.block_on(server(&authority, folder.path(), store.clone()));
    let second = other.block_on(server(&authority, folder.path(), store));
    let places = [first.place.clone(), second.place.clone()];
    let kubeconfig = kubeconfig(folder.path(), &ties(&authority), &places);
    own.block_on(async {
        let client = crate::https(kubeconfig).await.unwrap();
        let nodes = Api::<Node>::all(client.clone());
        let world = crate::World::new(client, Clock::system());
        world.watch::<Node>();
        within("the world was read", world.ready()).await;
        one.shutdown_background();
        assert!(nodes.list(&ListParams::default()).await.unwrap().items.is_empty());
        let node = serde_json::from_value(json!({"metadata": {"name": "n1"}})).unwrap();
        let made = nodes.create(&PostParams::default(), &node).await.unwrap();
        let revision = crate::Revision::of(&made.metadata).unwrap();
        within("the world heard of the node", world.catch_up_to::<Node>(revision)).await.unwrap();
        assert_eq!(world.cache::<Node>().unwrap().len(), 1);
    });
}

async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let most = Duration::from_secs(20);
    tokio::time::timeout(most, wait).await.unwrap_or_else(|_| panic!("still untrue: {what}"))
}
