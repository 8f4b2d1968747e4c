//! A real etcd, started and stopped by the test that uses it, and what happens when it goes away.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kedge_store::{EtcdOptions, EtcdTls, Store, StoreError, WatchEnd};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::{contents, put, until};

pub(crate) struct Server {
    child: Child,
    data: TempDir,
    client: SocketAddr,
    peer: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Self {
        let (data, client, peer) = (tempfile::tempdir().unwrap(), free_address(), free_address());
        Server { child: run(&data, client, peer), data, client, peer }
    }

    /// Once etcd answers.
    pub(crate) async fn store(&self) -> Store {
        self.store_with(EtcdOptions::default()).await
    }

    async fn store_with(&self, options: EtcdOptions) -> Store {
        connect(&format!("http://{}", self.client), options).await
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = run(&self.data, self.client, self.peer);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn run(data: &TempDir, client: SocketAddr, peer: SocketAddr) -> Child {
    run_with(data, &format!("http://{client}"), peer, &[])
}

fn run_with(data: &TempDir, client: &str, peer: SocketAddr, more: &[String]) -> Child {
    let peer = format!("http://{peer}");
    Command::new("etcd")
        .arg("--data-dir")
        .arg(data.path())
        .args(["--name", "one", "--log-level", "fatal", "--logger", "zap"])
        .args(["--listen-client-urls", client, "--advertise-client-urls", client])
        .args(more)
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("one={peer}")])
        .args(["--heartbeat-interval", "20", "--election-timeout", "200"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need the program etcd: install Debian's package etcd-server")
}

async fn connect(endpoint: &str, options: EtcdOptions) -> Store {
    let mut last = None;
    for _ in 0..300 {
        match Store::etcd(&[endpoint.to_owned()], options.clone()).await {
            Ok(store) => return store,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("etcd did not answer within 15 seconds: {last:?}");
}

#[tokio::test]
async fn two_servers_see_each_others_writes() {
    let etcd = Server::start();
    let (one, other) = (etcd.store().await, etcd.store().await);
    let mut watch = other.watch("/registry/pods/", other.revision()).unwrap();
    for number in 0..20 {
        let revision = put(&one, "/registry/pods/ns/a", &number.to_string()).await.unwrap();
        // What one server acknowledged, another one reads when it asks for the latest.
        let latest = other.latest().await.unwrap();
        assert!(latest.revision() >= revision);
        assert_eq!(latest.get("/registry/pods/ns/a").unwrap().bytes(), &format!("{number}@{revision}"));
        assert_eq!(watch.next().await.unwrap().revision, revision);
    }
    assert_eq!(contents(&one), contents(&other));
}

#[tokio::test]
async fn a_new_server_loads_what_is_there() {
    let etcd = Server::start();
    let one = etcd.store().await;
    // More than a page.
    for number in 0..1100 {
        put(&one, &format!("/registry/pods/ns/{number}"), "x").await.unwrap();
    }
    let other = etcd.store().await;
    assert_eq!(contents(&one), contents(&other));
    assert_eq!(one.revision(), other.revision());
}

#[tokio::test]
async fn prefixes_do_not_mix_and_foreign_revisions_do_not_block() {
    let etcd = Server::start();
    let ours = etcd.store().await;
    let theirs =
        etcd.store_with(EtcdOptions { prefix: "/kedge2".to_owned(), ..EtcdOptions::default() }).await;
    put(&ours, "/registry/pods/ns/a", "ours").await.unwrap();
    let newest = put(&theirs, "/registry/pods/ns/a", "theirs").await.unwrap();
    assert!(ours.latest().await.unwrap().revision() >= newest, "progress without an event of ours");
    assert_eq!(contents(&ours)[0].1.split('@').next(), Some("ours"));
    assert_eq!((contents(&ours).len(), contents(&theirs).len()), (1, 1));
}

#[tokio::test]
async fn sealed_values_stand_sealed_in_etcd() {
    use super::sealed::toy;
    let etcd = Server::start();
    let sealed =
        async |seal| etcd.store_with(EtcdOptions { seal: Some(seal), ..EtcdOptions::default() }).await;
    let key = "/registry/secrets/ns/s";
    let plain = etcd.store().await;
    put(&plain, key, "hunter2").await.unwrap();
    put(&plain, "/registry/pods/ns/p", "x").await.unwrap();
    // A server with a seal writes anew what stood in the clear, and reads it as it was.
    let one = sealed(toy(7, None)).await;
    let value =
        |store: &Store| String::from_utf8_lossy(store.snapshot().get(key).unwrap().bytes()).into_owned();
    assert!(value(&one).starts_with("hunter2@"), "{}", value(&one));
    assert!(one.revision() > plain.revision() || value(&plain) != value(&one));
    let refused = Store::etcd(&[format!("http://{}", etcd.client)], EtcdOptions::default()).await.err();
    assert!(refused.is_some_and(|error| error.to_string().contains("the key for it is missing")));
    put(&one, key, "hunter3").await.unwrap();
    let two = sealed(toy(8, Some(7))).await;
    assert!(value(&two).starts_with("hunter3@"));
    let three = sealed(toy(8, None)).await;
    assert!(value(&three).starts_with("hunter3@"), "the old key is not needed any more");
    assert_eq!(contents(&three), contents(&two));
}

#[tokio::test]
async fn a_store_outlives_a_restart_of_etcd() {
    let mut etcd = Server::start();
    let patience = Duration::from_secs(1);
    let store = etcd.store_with(EtcdOptions { patience, ..EtcdOptions::default() }).await;
    let first = put(&store, "/registry/pods/ns/a", "x").await.unwrap();
    let mut watch = store.watch("/registry/pods/", first).unwrap();
    etcd.stop();
    let lost = put(&store, "/registry/pods/ns/b", "x").await;
    assert!(matches!(lost, Err(StoreError::Etcd { .. })), "{lost:?}");
    assert!(matches!(store.latest().await, Err(StoreError::Etcd { .. })));
    assert_eq!(contents(&store).len(), 1, "reading goes on");
    etcd.start_again();
    let mut written = None;
    for _ in 0..100 {
        written = put(&store, "/registry/pods/ns/c", "x").await.ok();
        if written.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let written = written.expect("no write succeeded after etcd came back");
    loop {
        // The watch goes on without a gap; a write that failed may have been repeated.
        let event = watch.next().await.unwrap();
        if event.revision == written {
            break;
        }
    }
}

/// Passes connections on until it is told to cut them.
struct Proxy {
    address: SocketAddr,
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Proxy {
    fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(Mutex::new(Some(Vec::new())));
        let shared = open.clone();
        std::thread::spawn(move || {
            for incoming in listener.incoming() {
                let (Ok(near), Ok(far)) = (incoming, TcpStream::connect(to)) else { continue };
                let mut open = shared.lock().unwrap();
                let Some(streams) = open.as_mut() else { continue };
                for (mut from, mut into) in [(&near, &far), (&far, &near)]
                    .map(|(from, into)| (from.try_clone().unwrap(), into.try_clone().unwrap()))
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut into);
                        let _ = into.shutdown(Shutdown::Both);
                    });
                }
                streams.extend([near, far]);
            }
        });
        Proxy { address, open }
    }

    fn cut(&self) {
        let open = self.open.lock().unwrap().take();
        for stream in open.into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.open.lock().unwrap() = Some(Vec::new());
    }
}

#[tokio::test]
async fn a_gap_in_etcds_history_ends_watches_and_loads_anew() {
    let etcd = Server::start();
    let proxy = Proxy::start(etcd.client);
    let compact_every = Duration::from_millis(30);
    let near = etcd.store_with(EtcdOptions { compact_every, ..EtcdOptions::default() }).await;
    let far = connect(&format!("http://{}", proxy.address), EtcdOptions::default()).await;
    put(&far, "/registry/pods/ns/a", "x").await.unwrap();
    let mut watch = far.watch("/registry/pods/", far.revision()).unwrap();

    // Cut off for a short time: nothing is missed.
    proxy.cut();
    let missed = put(&near, "/registry/pods/ns/b", "x").await.unwrap();
    proxy.mend();
    assert_eq!(watch.next().await.unwrap().revision, missed);

    // Cut off until etcd has forgotten what came next.
    proxy.cut();
    for _ in 0..50 {
        put(&near, "/registry/pods/ns/c", "x").await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    proxy.mend();
    assert_eq!(watch.next().await.unwrap_err(), WatchEnd::Lagged);
    until("the far mirror equals the near one", || contents(&far) == contents(&near)).await;
    assert!(matches!(far.watch("/registry/pods/", missed), Err(StoreError::Compacted { .. })));
    let next = put(&near, "/registry/pods/ns/d", "x").await.unwrap();
    far.reached(next).await;
    assert_eq!(contents(&far), contents(&near));
}

#[tokio::test]
async fn etcd_over_tls_with_a_client_certificate() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issue = || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        (params.signed_by(&key, &ca).unwrap().pem(), key.serialize_pem())
    };
    let (data, address, peer) = (tempfile::tempdir().unwrap(), free_address(), free_address());
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = files.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let (certificate, key) = issue();
    let more = [
        ("--cert-file", file("server.crt", &certificate)),
        ("--key-file", file("server.key", &key)),
        ("--trusted-ca-file", file("ca.crt", &ca.pem())),
    ]
    .map(|(flag, path)| format!("{flag}={path}"));
    let more: Vec<_> = more.into_iter().chain(["--client-cert-auth".to_owned()]).collect();
    let url = format!("https://{address}");
    let _server = Server { child: run_with(&data, &url, peer, &more), data, client: address, peer };

    let (certificate, key) = issue();
    let identity = Some((certificate.into_bytes(), key.into_bytes()));
    let tls = Some(EtcdTls { ca: ca.pem().into_bytes(), identity });
    let store = connect(&url, EtcdOptions { tls, ..EtcdOptions::default() }).await;
    put(&store, "/registry/pods/ns/a", "x").await.unwrap();
    assert_eq!(contents(&store).len(), 1);

    let stranger = Some(EtcdTls { ca: ca.pem().into_bytes(), identity: None });
    let refused = Store::etcd(&[url], EtcdOptions { tls: stranger, ..EtcdOptions::default() }).await;
    assert!(matches!(refused, Err(StoreError::Etcd { .. })), "a client without a certificate got in");
}
