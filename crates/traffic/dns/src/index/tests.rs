use serde_json::json;

use super::*;
use crate::testing::service;
use crate::wire::kind;

fn index_of(services: usize) -> Index {
    let mut index = Index::new(Name::parse("cluster.local").unwrap(), Vec::new());
    for number in 0..services {
        put(&mut index, number, &format!("10.96.{}.{}", number / 250, number % 250));
    }
    index
}

fn put(index: &mut Index, number: usize, address: &str) {
    let name = format!("s{number}");
    let spec = json!({"clusterIP": address, "clusterIPs": [address]});
    let service = serde_json::from_value(service("default", &name, spec)).unwrap();
    let entry = index.compile(&service, &[]);
    index.set_service("default", &name, entry);
}

fn ask(index: &Index, name: &str) -> Option<Find> {
    let name = Name::parse(name).unwrap();
    let part = name.before(index.zone())?;
    Some(index.find(&name, part, kind::A, 0))
}

#[test]
fn whoever_reads_an_index_is_not_disturbed_by_the_next() {
    let before = index_of(1000);
    let mut after = before.clone();
    put(&mut after, 7, "10.97.0.1");
    after.set_service("default", "s8", None);
    let name = "s7.default.svc.cluster.local";
    assert_ne!(ask(&before, name), ask(&after, name));
    assert_eq!(ask(&before, "s9.default.svc.cluster.local"), ask(&after, "s9.default.svc.cluster.local"));
    assert_eq!(ask(&after, "s8.default.svc.cluster.local"), Some(Find::Missing));
    assert!(matches!(ask(&before, "s8.default.svc.cluster.local"), Some(Find::Records { .. })));
    assert_eq!(after.names_of("10.96.0.7".parse().unwrap()).count(), 0);
    assert_eq!(after.names_of("10.97.0.1".parse().unwrap()).count(), 1);
}

#[test]
fn an_address_that_changed_hands_stays_with_its_new_pod() {
    let mut index = index_of(0);
    let address: IpAddr = "10.244.0.1".parse().unwrap();
    index.add_pod("one", "a", &[address]);
    index.add_pod("two", "b", &[address]);
    index.remove_pod("one", "a", &[address]);
    assert_eq!(index.namespace_of(address), Name::parse("two").as_ref());
    index.remove_pod("two", "b", &[address]);
    assert_eq!(index.namespace_of(address), None);
}
