//! Whatever a store came to say about addresses and ports, the Services are right in the end.

use std::time::Duration;

use kedge_store::{Draft, Txn};
use serde_json::json;

use super::*;
use crate::ListQuery;
use crate::testing::{Api, api};

async fn service(api: &Api, name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["ports"] = json!([{"port": 80}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
    api.create("services", "default", service).await.unwrap()
}

async fn write(api: &Api, txn: Txn) {
    api.registry.store().commit(txn).await.unwrap();
}

async fn reasons(api: &Api) -> Vec<String> {
    let mut all = Vec::new();
    for name in api.names("events", "default", ListQuery::default()).await.unwrap() {
        all.push(api.get("events", "default", &name).await.unwrap()["reason"].as_str().unwrap().to_owned());
    }
    all.sort();
    all
}

fn taken_by(api: &Api, service: &Value) -> bool {
    let snapshot = api.registry.store().snapshot();
    taken(service).iter().all(|key| {
        let known = snapshot.get(key).map(|entry| record(key, entry).unwrap());
        let name = service["metadata"]["name"].as_str().unwrap().to_owned();
        known.is_some_and(|known| known.ours && known.owner == Some(("default".to_owned(), name)))
    })
}

#[tokio::test]
async fn what_is_missing_is_recorded_and_what_is_left_over_goes() {
    let api = api().await;
    let a = service(&api, "a", json!({"type": "NodePort"})).await;
    let b = service(&api, "b", json!({"type": "NodePort"})).await;
    let stray = Draft::new(&br#"{"namespace":"default","name":"gone"}"#[..]);
    let leaked = address_record_of("10.96.7.7", "gone");
    let mut txn = Txn::new().put(format!("{PORTS}30999"), Expect::Any, stray).put(
        format!("{ADDRESSES}10.96.7.7"),
        Expect::Any,
        leaked,
    );
    for key in taken(&a) {
        txn = txn.delete(key, Expect::Present);
    }
    // The records of the other one name somebody who is not there.
    for key in taken(&b) {
        let draft = match key.strip_prefix(ADDRESSES) {
            Some(address) => address_record_of(address, "gone"),
            None => Draft::new(&br#"{"namespace":"default","name":"gone"}"#[..]),
        };
        txn = txn.put(key, Expect::Present, draft);
    }
    write(&api, txn).await;
    everything(&api.registry).await.unwrap();
    assert!(taken_by(&api, &a) && taken_by(&api, &b));
    let snapshot = api.registry.store().snapshot();
    for key in [format!("{PORTS}30999"), format!("{ADDRESSES}10.96.7.7")] {
        assert!(snapshot.get(&key).is_none(), "{key}");
    }
    assert_eq!(
        reasons(&api).await,
        [
            "ClusterIPNotAllocated",
            "ClusterIPNotAllocated",
            "IPAddressNotAllocated",
            "PortNotAllocated",
            "PortNotAllocated"
        ]
    );
    let before = snapshot.revision();
    everything(&api.registry).await.unwrap();
    assert_eq!(api.registry.store().snapshot().revision(), before, "nothing is left to do");
}

fn address_record_of(address: &str, name: &str) -> Draft {
    let service = json!({"metadata": {
        "namespace": "default", "name": name, "creationTimestamp": "2030-01-01T00:00:00Z",
    }});
    super::super::address_record(address.parse().unwrap(), &service)
}

#[tokio::test]
async fn of_two_the_first_keeps_it_and_the_other_is_told() {
    let api = api().await;
    let a = service(&api, "a", json!({"type": "NodePort"})).await;
    let mut b = service(&api, "b", json!({"type": "NodePort"})).await;
    for field in ["clusterIP", "clusterIPs", "ports"] {
        b["spec"][field] = a["spec"][field].clone();
    }
    let encoded = crate::encode::encode(&b);
    let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
    write(&api, Txn::new().put(format!("{SERVICES}default/b"), Expect::Any, draft)).await;
    everything(&api.registry).await.unwrap();
    assert!(taken_by(&api, &a));
    let said = reasons(&api).await;
    assert!(said.contains(&"ClusterIPAlreadyAllocated".to_owned()), "{said:?}");
    assert!(said.contains(&"PortAlreadyAllocated".to_owned()), "{said:?}");
}

#[tokio::test]
async fn an_address_that_a_user_deletes_comes_back() {
    let api = api().await;
    let a = service(&api, "a", json!({})).await;
    let address = a["spec"]["clusterIP"].as_str().unwrap();
    let addresses = "networking.k8s.io/v1/ipaddresses";
    api.delete(addresses, "", address).await.unwrap();
    for _ in 0..2000 {
        if api.get(addresses, "", address).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(taken_by(&api, &a));
    let foreign = json!({"metadata": {"name": "192.0.2.9"}, "spec": {"parentRef": {
        "group": "example.test", "resource": "things", "namespace": "n", "name": "t",
    }}});
    api.create(addresses, "", foreign).await.unwrap();
    everything(&api.registry).await.unwrap();
    assert!(api.get(addresses, "", "192.0.2.9").await.is_ok(), "somebody else's is left alone");
}
