use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kedge_facts::Service;
use serde_json::json;

use crate::run::Settings;
use crate::testing::{Cluster, Other, Says, service, settings, slice, small, stub};
use crate::wire::{Code, Data, Name, Record, Reply, kind};

#[test]
fn names_of_the_cluster() {
    let cluster = Cluster::new(&small());
    for (name, asked, answer) in [
        ("web.default.svc.cluster.local", kind::A, "0 A 10.96.0.7"),
        ("WEB.Default.svc.cluster.LOCAL", kind::A, "0 A 10.96.0.7"),
        ("web.default.svc.cluster.local", kind::AAAA, "0 | SOA"),
        ("web.default.svc.cluster.local", 15, "0 | SOA"),
        ("both.shop.svc.cluster.local", kind::A, "0 A 10.96.0.8"),
        ("both.shop.svc.cluster.local", kind::AAAA, "0 AAAA fd00::8"),
        ("web.shop.svc.cluster.local", kind::A, "3 | SOA"),
        ("none.default.svc.cluster.local", kind::A, "3 | SOA"),
        ("default.svc.cluster.local", kind::A, "0 | SOA"),
        ("nowhere.svc.cluster.local", kind::A, "3 | SOA"),
        ("svc.cluster.local", kind::A, "0 | SOA"),
        ("cluster.local", kind::A, "0 | SOA"),
        ("cluster.local", kind::SOA, "0 SOA"),
        ("cluster.local", kind::NS, "0 NS ns.dns.cluster.local. | A 10.96.0.10"),
        ("ns.dns.cluster.local", kind::A, "0 A 10.96.0.10"),
        ("dns-version.cluster.local", kind::TXT, "0 TXT 1.1.0"),
        ("other.cluster.local", kind::A, "3 | SOA"),
        // Ports.
        (
            "_http._tcp.web.default.svc.cluster.local",
            kind::SRV,
            "0 SRV 100 80 web.default.svc.cluster.local. | A 10.96.0.7",
        ),
        ("_http._tcp.web.default.svc.cluster.local", kind::A, "0 | SOA"),
        ("_http._udp.web.default.svc.cluster.local", kind::SRV, "3 | SOA"),
        ("_none._tcp.web.default.svc.cluster.local", kind::SRV, "3 | SOA"),
        ("_tcp.web.default.svc.cluster.local", kind::A, "0 | SOA"),
        ("_sctp.web.default.svc.cluster.local", kind::A, "3 | SOA"),
        // Hosts of a headless one.
        ("db.default.svc.cluster.local", kind::A, "0 A 10.244.0.2 A 10.244.0.1"),
        ("db-0.db.default.svc.cluster.local", kind::A, "0 A 10.244.0.1"),
        ("db-0.db.default.svc.cluster.local", kind::AAAA, "0 | SOA"),
        ("10-244-0-2.db.default.svc.cluster.local", kind::A, "0 A 10.244.0.2"),
        ("10-244-0-3.db.default.svc.cluster.local", kind::A, "3 | SOA"),
        (
            "_sql._tcp.db.default.svc.cluster.local",
            kind::SRV,
            "0 SRV 50 15432 10-244-0-2.db.default.svc.cluster.local. SRV 50 15432 db-0.db.default.svc.cluster.local. | A 10.244.0.2 A 10.244.0.1",
        ),
        ("empty.default.svc.cluster.local", kind::A, "0 | SOA"),
        // Pods by their addresses.
        ("10-244-7-7.default.pod.cluster.local", kind::A, "0 A 10.244.7.7"),
        ("10-244-7-7.default.pod.cluster.local", kind::AAAA, "0 | SOA"),
        ("fd00--7.default.pod.cluster.local", kind::AAAA, "0 AAAA fd00::7"),
        ("10-244-7-7.nowhere.pod.cluster.local", kind::A, "3 | SOA"),
        ("client.default.pod.cluster.local", kind::A, "3 | SOA"),
        // Back from addresses.
        ("7.0.96.10.in-addr.arpa", kind::PTR, "0 PTR web.default.svc.cluster.local."),
        ("7.0.96.10.in-addr.arpa", kind::A, "0 | SOA"),
        ("1.0.244.10.in-addr.arpa", kind::PTR, "0 PTR db-0.db.default.svc.cluster.local."),
        ("2.0.244.10.in-addr.arpa", kind::PTR, "3 | SOA"),
        ("77.0.96.10.in-addr.arpa", kind::PTR, "3 | SOA"),
        ("outside.default.svc.cluster.local", kind::CNAME, "0 CNAME example.org."),
        ("outside.default.svc.cluster.local", kind::A, "later"),
        ("cluster.local", kind::AXFR, "5"),
    ] {
        assert_eq!(cluster.ask(name, asked), answer, "{name} {asked}");
    }
}

#[test]
fn changes_are_followed_one_by_one() {
    let cluster = Cluster::new(&small());
    let ports = json!([{"name": "sql", "port": 1}]);
    cluster.put_slice(slice("db", "db-2", ports.clone(), json!([{"addresses": ["10.244.0.5"]}])));
    let all = "0 A 10.244.0.2 A 10.244.0.5 A 10.244.0.1";
    assert_eq!(cluster.ask("db.default.svc.cluster.local", kind::A), all, "a second slice");
    cluster.put_slice(slice("empty", "db-2", ports, json!([{"addresses": ["10.244.0.5"]}])));
    assert_eq!(
        cluster.ask("db.default.svc.cluster.local", kind::A),
        "0 A 10.244.0.2 A 10.244.0.1",
        "it left"
    );
    assert_eq!(cluster.ask("empty.default.svc.cluster.local", kind::A), "0 A 10.244.0.5", "and came here");

    cluster.put_service(service(
        "default",
        "web",
        json!({"clusterIP": "10.96.0.70", "clusterIPs": ["10.96.0.70"]}),
    ));
    assert_eq!(cluster.ask("web.default.svc.cluster.local", kind::A), "0 A 10.96.0.70");
    assert_eq!(cluster.ask("7.0.96.10.in-addr.arpa", kind::PTR), "3 | SOA");
    cluster.put_service(service(
        "default",
        "web",
        json!({"type": "ExternalName", "externalName": "db.default.svc.cluster.local"}),
    ));
    assert_eq!(
        cluster.ask("web.default.svc.cluster.local", kind::CNAME),
        "0 CNAME db.default.svc.cluster.local."
    );
    let gone: Service = serde_json::from_value(service("default", "web", json!({}))).unwrap();
    cluster.world.feed::<Service>().remove(gone);
    assert_eq!(cluster.ask("web.default.svc.cluster.local", kind::A), "3 | SOA");
}

#[test]
fn unready_hosts_are_named_if_their_service_says_so() {
    let mut objects = small();
    objects.push(service(
        "default",
        "all",
        json!({
            "clusterIP": "None", "clusterIPs": ["None"], "publishNotReadyAddresses": true,
        }),
    ));
    let unready = json!([{"addresses": ["10.244.0.3"], "conditions": {"ready": false}}]);
    objects.push(slice("all", "all-1", json!([]), unready));
    let cluster = Cluster::new(&objects);
    assert_eq!(cluster.ask("all.default.svc.cluster.local", kind::A), "0 A 10.244.0.3");
}

#[test]
fn host_names_lead_to_the_gateway() {
    let cluster = Cluster::new(&small());
    cluster.hosts.set(["Shop.example", "not..a.name", "web.default.svc.cluster.local"]);
    for (name, asked, answer) in [
        ("shop.example", kind::A, "0 A 10.96.0.20"),
        ("shop.example", kind::AAAA, "0 | SOA"),
        ("www.shop.example", kind::A, "later"),
        // Nobody takes a Service's name.
        ("web.default.svc.cluster.local", kind::A, "0 A 10.96.0.7"),
    ] {
        assert_eq!(cluster.ask(name, asked), answer, "{name}");
    }
    cluster.hosts.set([]);
    assert_eq!(cluster.ask("shop.example", kind::A), "later");
}

#[tokio::test]
async fn aliases_are_followed_in_the_cluster_and_outside() {
    let other = Other::start().await;
    other.has("example.org", "192.0.2.1", 60);
    let cluster = Cluster::asking(other.at);
    for (name, asked, answer) in [
        ("inside.default.svc.cluster.local", kind::A, "0 CNAME web.default.svc.cluster.local. A 10.96.0.7"),
        ("inside.default.svc.cluster.local", kind::AAAA, "0 CNAME web.default.svc.cluster.local. | SOA"),
        ("outside.default.svc.cluster.local", kind::A, "0 CNAME example.org. A 192.0.2.1"),
        ("outside.default.svc.cluster.local", kind::AAAA, "3 CNAME example.org. | SOA"),
    ] {
        assert_eq!(cluster.wait(name, asked).await, answer, "{name} {asked}");
    }
    cluster.put_service(service(
        "default",
        "inside",
        json!({
            "type": "ExternalName", "externalName": "inside.default.svc.cluster.local",
        }),
    ));
    let circle = cluster.wait("inside.default.svc.cluster.local", kind::A).await;
    assert_eq!(circle, "2 CNAME inside.default.svc.cluster.local.", "a name that is its own");
}

#[tokio::test]
async fn the_search_path_is_gone_in_one_question() {
    let other = Other::start().await;
    other.has("www.example.org", "192.0.2.1", 60);
    other.has("cdn.example.net", "192.0.2.2", 60);
    let owner = Name::parse("moved.example.org").unwrap();
    let to = Name::parse("cdn.example.net").unwrap();
    let moved = Reply {
        answers: vec![
            Record::new(&owner, 60, Data::Cname(to.clone())),
            Record::address(&to, 60, "192.0.2.2".parse().unwrap()),
        ],
        ..Reply::default()
    };
    other.tell("moved.example.org", kind::A, Says::Reply(moved));
    other.tell("www.example.org", kind::AAAA, Says::Reply(Reply::default()));
    let cluster = Cluster::asking(other.at);
    cluster.hosts.set(["mini.example"]);
    let elsewhere = "10.244.0.77";
    for (case, name, asked, from, answer) in [
        (
            "outside",
            "www.example.org.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME www.example.org. A 192.0.2.1",
        ),
        (
            "no address of this sort",
            "www.example.org.default.svc.cluster.local",
            kind::AAAA,
            None,
            "0 CNAME www.example.org.",
        ),
        (
            "another name's",
            "moved.example.org.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME moved.example.org. CNAME cdn.example.net. A 192.0.2.2",
        ),
        (
            "a host of the gateway",
            "mini.example.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME mini.example. A 10.96.0.20",
        ),
        (
            "in another namespace",
            "both.shop.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME both.shop.svc.cluster.local. A 10.96.0.8",
        ),
        (
            "a whole name of the cluster",
            "web.default.svc.cluster.local.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME web.default.svc.cluster.local. A 10.96.0.7",
        ),
        (
            "a whole name that is not there",
            "none.default.svc.cluster.local.default.svc.cluster.local",
            kind::A,
            None,
            "3 | SOA",
        ),
        (
            "half a name of the cluster",
            "web.default.svc.default.svc.cluster.local",
            kind::A,
            None,
            "0 CNAME web.default.svc.cluster.local. A 10.96.0.7",
        ),
        (
            "of this family there is none",
            "web.default.default.svc.cluster.local",
            kind::AAAA,
            None,
            "3 | SOA",
        ),
        ("not in that namespace", "none.shop.default.svc.cluster.local", kind::A, None, "3 | SOA"),
        ("nor there", "none.shop.svc.default.svc.cluster.local", kind::A, None, "3 | SOA"),
        ("nowhere", "none.example.org.default.svc.cluster.local", kind::A, None, "3 | SOA"),
        ("below a Service", "db-7.db.default.svc.cluster.local", kind::A, None, "3 | SOA"),
        ("not the first of the path", "www.example.org.svc.cluster.local", kind::A, None, "3 | SOA"),
        ("another's namespace", "www.example.org.shop.svc.cluster.local", kind::A, None, "3 | SOA"),
        (
            "a pod that is not known yet",
            "www.example.org.shop.svc.cluster.local",
            kind::A,
            Some(elsewhere),
            "0 CNAME www.example.org. A 192.0.2.1",
        ),
        ("no such namespace", "www.example.org.none.svc.cluster.local", kind::A, Some(elsewhere), "3 | SOA"),
        ("no address", "www.example.org.default.svc.cluster.local", kind::TXT, None, "3 | SOA"),
    ] {
        let from = from.unwrap_or(crate::testing::CLIENT).parse().unwrap();
        assert_eq!(cluster.wait_from(name, asked, from).await, answer, "{case}: {name}");
    }
    let asked = other.asked();
    assert!(asked.iter().all(|asked| !asked.contains("cluster.local")), "{asked:?}");
    let of_the_cluster = ["db-7", "web", "none.shop", "none.default"];
    assert!(
        !asked.iter().any(|asked| of_the_cluster.iter().any(|name| asked.starts_with(name))),
        "{asked:?}"
    );
}

#[tokio::test]
async fn what_nobody_answers_is_not_there_as_far_as_the_path_goes() {
    let cluster = Cluster::new(&small());
    assert_eq!(cluster.wait("www.example.org.default.svc.cluster.local", kind::A).await, "3 | SOA");
    assert_eq!(cluster.wait("www.example.org", kind::A).await, "2");
}

#[tokio::test]
async fn the_api_is_asked_before_a_service_is_said_to_be_missing() {
    let found: Service = serde_json::from_value(service(
        "shop",
        "new",
        json!({
            "clusterIP": "10.96.0.99", "clusterIPs": ["10.96.0.99"],
        }),
    ))
    .unwrap();
    let asked = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let log = asked.clone();
    let look: crate::dns::Look = Arc::new(move |key| {
        log.lock().push(key.to_string());
        let found = Some(found.clone()).filter(|_| key.name == "new");
        async move { found }.boxed()
    });
    let cluster = Cluster::with(settings(), &small(), Some(look));
    for (name, answer, looked) in [
        ("new.shop.svc.cluster.local", "0 A 10.96.0.99", Some("shop/new")),
        ("old.shop.svc.cluster.local", "3 | SOA", Some("shop/old")),
        // Nothing that could be one.
        ("web.default.svc.cluster.local", "0 A 10.96.0.7", None),
        ("new.nowhere.svc.cluster.local", "3 | SOA", None),
        ("_x.shop.svc.cluster.local", "3 | SOA", None),
    ] {
        assert_eq!(cluster.wait(name, kind::A).await, answer, "{name}");
        assert_eq!(std::mem::take(&mut *asked.lock()), Vec::from_iter(looked.map(str::to_owned)), "{name}");
    }
}

#[tokio::test]
async fn who_repeats_a_wrong_name_does_not_load_the_api() {
    let asked = Arc::new(parking_lot::Mutex::new(0));
    let counted = asked.clone();
    let look: crate::dns::Look = Arc::new(move |_| {
        *counted.lock() += 1;
        std::future::ready(None).boxed()
    });
    let cluster = Cluster::with(settings(), &small(), Some(look));
    let name = "wrong.shop.svc.cluster.local";
    for (case, kind, wait, looks) in [
        ("the first time", kind::A, 0, 1),
        ("the other family", kind::AAAA, 0, 1),
        ("again", kind::A, 900, 1),
        ("a moment later", kind::A, 200, 2),
    ] {
        cluster.clock.advance(Duration::from_millis(wait));
        assert_eq!(cluster.wait(name, kind).await, "3 | SOA", "{case}");
        assert_eq!(*asked.lock(), looks, "{case}");
    }
    // What the world shows is answered, whatever was said before.
    cluster.put_service(service(
        "shop",
        "wrong",
        json!({"clusterIP": "10.96.0.98", "clusterIPs": ["10.96.0.98"]}),
    ));
    assert_eq!(cluster.wait(name, kind::A).await, "0 A 10.96.0.98");
}

#[tokio::test]
async fn an_api_that_is_silent_is_not_waited_for() {
    let look: crate::dns::Look = Arc::new(|_| std::future::pending().boxed());
    let cluster = Cluster::with(settings(), &small(), Some(look));
    let asking = cluster.wait("new.shop.svc.cluster.local", kind::A);
    let turning = async {
        loop {
            tokio::task::yield_now().await;
            cluster.clock.advance(Duration::from_millis(50));
        }
    };
    let answer = tokio::select! { answer = asking => answer, () = turning => unreachable!() };
    assert_eq!(answer, "3 | SOA");
}

#[tokio::test]
async fn domains_with_servers_of_their_own() {
    let (usual, corp, deep) = (Other::start().await, Other::start().await, Other::start().await);
    usual.has("example.org", "192.0.2.1", 60);
    corp.has("a.corp.example", "192.0.2.2", 60);
    deep.has("a.deep.corp.example", "192.0.2.3", 60);
    let settings = Settings {
        upstreams: crate::run::Upstreams::These(vec![usual.at]),
        stubs: vec![stub("corp.example", corp.at), stub("deep.corp.example.", deep.at)],
        ..settings()
    };
    let cluster = Cluster::with(settings, &small(), None);
    for (name, answer) in [
        ("example.org", "0 A 192.0.2.1"),
        ("a.corp.example", "0 A 192.0.2.2"),
        ("a.deep.corp.example", "0 A 192.0.2.3"),
        ("xcorp.example", "3 | SOA"),
    ] {
        assert_eq!(cluster.wait(name, kind::A).await, answer, "{name}");
    }
    assert_eq!(usual.asked(), ["example.org. 1", "xcorp.example. 1"]);
}

#[test]
fn nothing_is_said_to_be_missing_before_everything_was_read() {
    let world = kedge_client::World::by_hand();
    let clock = kedge_clock::Clock::system();
    let dns = crate::run::start(&settings(), world, crate::Hosts::default(), None, clock).unwrap();
    let query =
        crate::wire::Query::read(&crate::testing::packet(1, "web.default.svc.cluster.local", kind::A, None))
            .unwrap();
    let answer = dns.quick(&query, crate::testing::CLIENT.parse().unwrap(), 512).unwrap();
    assert_eq!(crate::testing::shown(&answer), (Code::Failed as u8).to_string());
    assert!(dns.fill().is_err());
}
