//! The task that keeps the rules: it hears of policies, of pods before the API shows them, and of what others do to the table.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kedge_client::{Key, Revision, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::Socket;
use kedge_netlink::nft::Batch;
use kedge_policy::{Arrivals, Settings, run};
use serde_json::json;

use crate::place::{PATIENCE, Place, on_a_thread};
use crate::scene::{TABLE, policy};

/// Addresses to which others may not come, as the kernel has them; `None` without a table.
fn isolated() -> Option<Vec<Vec<u8>>> {
    let mut socket = Socket::netfilter().unwrap();
    let has_table = socket.tables().unwrap().iter().any(|table| table == TABLE);
    has_table.then(|| {
        let elements = socket.elements(TABLE, "into4").unwrap_or_default();
        elements.into_iter().map(|element| element.key.to_vec()).collect()
    })
}

async fn until(what: &str, wanted: Option<&[[u8; 4]]>) {
    let wanted = wanted.map(|keys| keys.iter().map(|key| key.to_vec()).collect::<Vec<_>>());
    let start = Instant::now();
    loop {
        let mut found = isolated();
        found.iter_mut().for_each(|keys| keys.sort());
        if found == wanted {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: {found:?} in the place of {wanted:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn pod(name: &str, address: Option<&str>) -> Pod {
    let ips: Vec<_> = address.iter().map(|ip| json!({"ip": ip})).collect();
    let pod = json!({
        "metadata": {"namespace": "x", "name": name, "uid": name},
        "spec": {"nodeName": "n"},
        "status": {"podIPs": ips},
    });
    serde_json::from_value(pod).unwrap()
}

#[test]
fn the_rules_follow_the_world() {
    on_a_thread(|| {
        let _node = Place::enter_new();
        // One thread, as its namespace is the node's.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(follow());
    });
}

async fn follow() {
    let world = World::by_hand();
    let (policies, pods) = (world.feed::<NetworkPolicy>(), world.feed::<Pod>());
    let arrivals = Arrivals::new(Clock::system());
    let settings = Settings { node: "n".to_owned(), table: TABLE.to_owned() };
    let task = tokio::spawn(run(settings, world.clone(), arrivals.clone(), Clock::system()));
    let address = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
    let deny = || serde_json::from_value::<NetworkPolicy>(policy("x", json!({"podSelector": {}}))).unwrap();

    policies.replace(vec![], Revision(1));
    assert!(arrivals.isolated(Key::new("x", "a"), Some("a".to_owned()), address("10.0.0.1")).await);
    assert_eq!(isolated(), None, "nobody isolates anybody");

    pods.replace(vec![pod("a", Some("10.0.0.1")), pod("b", None)], Revision(1));
    world.feed::<Namespace>().replace(vec![], Revision(1));
    policies.put(deny());
    until("a policy came", Some(&[[10, 0, 0, 1]])).await;

    assert!(arrivals.isolated(Key::new("x", "b"), Some("b".to_owned()), address("10.0.0.2")).await);
    until("b has an address that the API does not show", Some(&[[10, 0, 0, 1], [10, 0, 0, 2]])).await;
    let late = arrivals.isolated(Key::new("x", "c"), Some("c".to_owned()), address("10.0.0.3"));
    let shown = async { pods.put(pod("c", None)) };
    assert!(tokio::join!(late, shown).0, "c is waited for until the API shows it");
    until("c came", Some(&[[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]])).await;
    pods.remove(pod("c", None));
    pods.put(pod("b", Some("10.0.0.2")));
    until("c went", Some(&[[10, 0, 0, 1], [10, 0, 0, 2]])).await;

    let mut batch = Batch::of(TABLE);
    batch.without_table();
    Socket::netfilter().unwrap().apply(&mut batch).unwrap();
    until("somebody removed the table", Some(&[[10, 0, 0, 1], [10, 0, 0, 2]])).await;

    policies.remove(deny());
    until("the policy went", None).await;
    task.abort();
}
