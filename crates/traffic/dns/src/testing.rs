//! Questions and answers as text, a small cluster to ask about, and another server that says what it is told to.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Pod, Service, Slice};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use crate::dns::{Dns, Look};
use crate::hosts::Hosts;
use crate::run::{Settings, Stub, Upstreams, start};
use crate::wire::{Data, Name, Query, Record, Reply, encode, kind, skim};

/// A question as a client sends it; `size` is what it says of datagrams, if anything.
pub(crate) fn packet(id: u16, name: &str, kind: u16, size: Option<u16>) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    octets.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(size.is_some())]);
    for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
        octets.push(label.len() as u8);
        octets.extend(label.as_bytes());
    }
    octets.push(0);
    octets.extend(kind.to_be_bytes());
    octets.extend([0, 1]);
    if let Some(size) = size {
        octets.extend([0, 0, 41]);
        octets.extend(size.to_be_bytes());
        octets.extend([0; 6]);
    }
    octets
}

/// `0 A 10.96.0.1 | SOA`: how it went and what came, the sections apart; `TC` if something is missing.
pub(crate) fn shown(message: &[u8]) -> String {
    let found = skim(message).expect("an answer can be read");
    let mut text = found.code().to_string();
    if found.is_truncated() {
        text += " TC";
    }
    let mut section = None;
    for place in found.places.iter().filter(|place| place.kind != kind::OPT) {
        if section.is_some_and(|section| section != place.section)
            || (section.is_none() && place.section != crate::wire::Section::Answer)
        {
            text += " |";
        }
        section = Some(place.section);
        text += &match place.kind {
            kind::A => format!(
                " A {}",
                message[place.data..place.end].iter().map(u8::to_string).collect::<Vec<_>>().join(".")
            ),
            kind::AAAA => {
                let octets: [u8; 16] = message[place.data..place.end].try_into().expect("sixteen octets");
                format!(" AAAA {}", std::net::Ipv6Addr::from(octets))
            }
            kind::CNAME | kind::PTR | kind::NS => {
                let word = match place.kind {
                    kind::CNAME => "CNAME",
                    kind::PTR => "PTR",
                    _ => "NS",
                };
                format!(" {word} {}", Name::read(message, place.data).expect("a name").0)
            }
            kind::SRV => {
                let number =
                    |at: usize| u16::from_be_bytes([message[place.data + at], message[place.data + at + 1]]);
                let (target, _) = Name::read(message, place.data + 6).expect("a target");
                format!(" SRV {} {} {target}", number(2), number(4))
            }
            kind::SOA => " SOA".to_owned(),
            kind::TXT => format!(" TXT {}", message[place.data + 1..place.end].escape_ascii()),
            other => format!(" TYPE{other}"),
        };
    }
    text
}

pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) dns: Dns,
    pub(crate) hosts: Hosts,
    pub(crate) clock: Clock,
}

/// Where the pod `client` of `default` asks from.
pub(crate) const CLIENT: &str = "10.244.0.9";

pub(crate) fn settings() -> Settings {
    Settings {
        zone: "cluster.local".to_owned(),
        addresses: vec!["10.96.0.10".parse().unwrap()],
        port: 53,
        note: PathBuf::new(),
        memory: None,
        ranges: vec!["10.96.0.0/16".parse().unwrap(), "10.244.0.0/16".parse().unwrap()],
        upstreams: Upstreams::These(Vec::new()),
        stubs: Vec::new(),
    }
}

impl Cluster {
    pub(crate) fn new(objects: &[Value]) -> Self {
        Self::with(settings(), objects, None)
    }

    pub(crate) fn asking(upstream: SocketAddr) -> Self {
        let settings = Settings { upstreams: Upstreams::These(vec![upstream]), ..settings() };
        Self::with(settings, &small(), None)
    }

    /// Nothing of it has been read yet.
    pub(crate) fn unread(settings: Settings, look: Option<Look>) -> Self {
        let (world, hosts) = (World::by_hand(), Hosts::default());
        let clock = Clock::manual(Timestamp::from_second(1_700_000_000).unwrap());
        let dns =
            start(&settings, world.clone(), hosts.clone(), look, clock.clone()).expect("the names are names");
        Self { world, dns, hosts, clock }
    }

    pub(crate) fn with(settings: Settings, objects: &[Value], look: Option<Look>) -> Self {
        let cluster = Self::unread(settings, look);
        let world = &cluster.world;
        world.feed::<Service>().replace(of(objects, "Service"), Revision(1));
        world.feed::<Slice>().replace(of(objects, "EndpointSlice"), Revision(1));
        world.feed::<Namespace>().replace(of(objects, "Namespace"), Revision(1));
        world.feed::<Pod>().replace(of(objects, "Pod"), Revision(1));
        cluster.dns.fill().expect("everything was read");
        cluster
    }

    pub(crate) fn put_service(&self, object: Value) {
        self.world.feed::<Service>().put(serde_json::from_value(object).unwrap());
    }

    pub(crate) fn put_slice(&self, object: Value) {
        self.world.feed::<Slice>().put(serde_json::from_value(object).unwrap());
    }

    /// What is answered at once.
    pub(crate) fn ask(&self, name: &str, kind: u16) -> String {
        let query = Query::read(&packet(0, name, kind, Some(1232))).expect("a question");
        let answer = self.dns.quick(&query, client(), query.room());
        answer.map_or("later".to_owned(), |answer| shown(&answer))
    }

    /// What is answered in the end.
    pub(crate) async fn wait(&self, name: &str, kind: u16) -> String {
        self.wait_from(name, kind, client()).await
    }

    pub(crate) async fn wait_from(&self, name: &str, kind: u16, from: IpAddr) -> String {
        let query = Query::read(&packet(0, name, kind, Some(1232))).expect("a question");
        shown(&self.dns.slow(&query, from, query.room()).await)
    }
}

pub(crate) fn stub(domain: &str, at: SocketAddr) -> Stub {
    Stub { domain: domain.to_owned(), servers: vec![at] }
}

fn client() -> IpAddr {
    CLIENT.parse().unwrap()
}

fn of<K: serde::de::DeserializeOwned>(objects: &[Value], kind: &str) -> Vec<K> {
    let wanted = objects.iter().filter(|object| object["kind"] == kind);
    wanted.map(|object| serde_json::from_value(object.clone()).unwrap()).collect()
}

pub(crate) fn service(namespace: &str, name: &str, spec: Value) -> Value {
    json!({"kind": "Service", "metadata": {"namespace": namespace, "name": name, "resourceVersion": "1"}, "spec": spec})
}

pub(crate) fn slice(service: &str, name: &str, ports: Value, endpoints: Value) -> Value {
    json!({
        "kind": "EndpointSlice", "addressType": "IPv4", "ports": ports, "endpoints": endpoints,
        "metadata": {
            "namespace": "default", "name": name, "resourceVersion": "1", "labels": {"kubernetes.io/service-name": service},
        },
    })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"kind": "Namespace", "metadata": {"name": name}})
}

/// Two namespaces, a Service of each sort, and a pod that asks.
pub(crate) fn small() -> Vec<Value> {
    vec![
        namespace("default"),
        namespace("shop"),
        namespace("kube-system"),
        json!({
            "kind": "Pod", "metadata": {"namespace": "default", "name": "client"},
            "status": {"phase": "Running", "podIPs": [{"ip": CLIENT}]},
        }),
        service(
            "default",
            "web",
            json!({
                "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
                "ports": [{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}, {"port": 99}],
            }),
        ),
        service("shop", "both", json!({"clusterIP": "10.96.0.8", "clusterIPs": ["10.96.0.8", "fd00::8"]})),
        service(
            "default",
            "db",
            json!({"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"name": "sql", "port": 5432}]}),
        ),
        slice(
            "db",
            "db-1",
            json!([{"name": "sql", "port": 15432}]),
            json!([
                {"addresses": ["10.244.0.1"], "hostname": "db-0"},
                {"addresses": ["10.244.0.2"]},
                {"addresses": ["10.244.0.3"], "conditions": {"ready": false}},
            ]),
        ),
        service("default", "empty", json!({"clusterIP": "None", "clusterIPs": ["None"]})),
        service("default", "outside", json!({"type": "ExternalName", "externalName": "example.org"})),
        service(
            "default",
            "inside",
            json!({"type": "ExternalName", "externalName": "web.default.svc.cluster.local."}),
        ),
        service(
            "kube-system",
            "kedge-gateway",
            json!({"clusterIP": "10.96.0.20", "clusterIPs": ["10.96.0.20"]}),
        ),
    ]
}

/// What another server says to a question.
#[derive(Clone)]
pub(crate) enum Says {
    Reply(Reply),
    /// In a datagram that there is more, and this over a connection.
    MoreThan(Reply),
    Nothing,
}

/// Another server on loopback. Says that there is no such name to what it was told nothing of.
#[derive(Clone)]
pub(crate) struct Other {
    pub(crate) at: SocketAddr,
    says: Arc<Mutex<HashMap<(Name, u16), Says>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Other {
    pub(crate) async fn start() -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = tcp.local_addr().unwrap();
        let udp = UdpSocket::bind(at).await.unwrap();
        let other = Self { at, says: Arc::default(), asked: Arc::default() };
        let (by_datagram, by_connection) = (other.clone(), other.clone());
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = udp.recv_from(&mut buffer).await {
                if let Some(answer) = by_datagram.answer(&buffer[..length], false) {
                    udp.send_to(&answer, from).await.unwrap();
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let length = stream.read_u16().await.unwrap();
                let mut packet = vec![0; usize::from(length)];
                stream.read_exact(&mut packet).await.unwrap();
                let answer = by_connection.answer(&packet, true).unwrap();
                stream.write_u16(answer.len() as u16).await.unwrap();
                stream.write_all(&answer).await.unwrap();
            }
        });
        other
    }

    pub(crate) fn tell(&self, name: &str, kind: u16, says: Says) {
        self.says.lock().insert((Name::parse(name).unwrap(), kind), says);
    }

    pub(crate) fn has(&self, name: &str, address: &str, ttl: u32) {
        let owner = Name::parse(name).unwrap();
        let answers = vec![Record::address(&owner, ttl, address.parse().unwrap())];
        self.tell(name, kind::A, Says::Reply(Reply { answers, ..Reply::default() }));
    }

    /// Every question since the last time, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }

    fn answer(&self, packet: &[u8], connected: bool) -> Option<Vec<u8>> {
        let query = Query::read(packet).unwrap();
        let way = if connected { " by connection" } else { "" };
        self.asked.lock().push(format!("{} {}{way}", query.name, query.kind));
        let says = self.says.lock().get(&(query.name.clone(), query.kind)).cloned();
        match says {
            Some(Says::Nothing) => None,
            Some(Says::MoreThan(_)) if !connected => {
                let mut answer = encode(&query, &Reply::default(), 1232);
                answer[2] |= 0x02;
                Some(answer)
            }
            Some(Says::Reply(reply) | Says::MoreThan(reply)) => Some(encode(&query, &reply, 60_000)),
            None => Some(encode(&query, &missing(60), 1232)),
        }
    }
}

/// There is no such name, and that is true for so long.
pub(crate) fn missing(seconds: u32) -> Reply {
    let name = Name::parse("org").unwrap();
    let data = Data::Soa {
        server: name.clone(),
        mailbox: name.clone(),
        serial: 1,
        refresh: 1,
        retry: 1,
        expire: 1,
        minimum: seconds,
    };
    let authority = vec![Record::new(&name, 3600, data)];
    Reply { code: crate::wire::Code::NoSuchName, authority, ..Reply::default() }
}
