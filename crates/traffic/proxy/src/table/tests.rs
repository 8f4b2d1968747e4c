use serde_json::{Value, json};

use super::*;
use crate::choose::Here;
use crate::wanted::wanted;
use kedge_facts::{Service, Slice};

fn here() -> Here {
    Here { node: "here".to_owned(), zone: None }
}

fn service(name: &str, ip: &str, since: u8, edit: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "n", "creationTimestamp": format!("2030-01-01T00:00:{since:02}Z")},
        "spec": {"clusterIP": ip, "clusterIPs": [ip], "ports": [{"port": 80}]},
    });
    edit(&mut value["spec"]);
    serde_json::from_value(value).unwrap()
}

fn slice(addresses: &[&str]) -> Slice {
    let endpoints: Vec<Value> =
        addresses.iter().map(|address| json!({"addresses": [address], "nodeName": "there"})).collect();
    serde_json::from_value(json!({
        "metadata": {}, "addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "", "port": 8080}],
    }))
    .unwrap()
}

/// What changes when these, and only these, are looked at.
fn changed(table: &mut Table, services: &[(&Service, &[&str])]) -> Vec<String> {
    let mut wishes = BTreeMap::new();
    for (service, addresses) in services {
        let key = Key::new("n", service.metadata.name.clone().unwrap());
        let wish = wanted(service, &[&slice(addresses)], &here());
        table.claim(&key, &wish);
        wishes.insert(key, wish);
    }
    let step = table.step(wishes);
    step.changes.shown()
}

fn gone(table: &mut Table, name: &str) -> Vec<String> {
    let key = Key::new("n", name);
    table.claim(&key, &Wanted::default());
    table.step(BTreeMap::from([(key, Wanted::default())])).changes.shown()
}

#[test]
fn one_change_is_small() {
    let web = service("web", "10.96.0.7", 0, |_| ());
    let mut table = Table::default();
    for (case, addresses, expected) in [
        (
            "new, with two",
            &["10.0.0.1", "10.0.0.2"][..],
            &["+addresses4", "+front4", "+front-ends4", "+front-ends4"][..],
        ),
        ("the same again", &["10.0.0.2", "10.0.0.1"][..], &[][..]),
        ("one for another", &["10.0.0.1", "10.0.0.3"][..], &["~front-ends4"][..]),
        ("one more", &["10.0.0.1", "10.0.0.3", "10.0.0.4"][..], &["~front4", "+front-ends4"][..]),
        ("the first goes", &["10.0.0.3", "10.0.0.4"][..], &["~front4", "~front-ends4", "-front-ends4"][..]),
        ("nobody is left", &[][..], &["~front4", "-front-ends4", "-front-ends4"][..]),
    ] {
        assert_eq!(changed(&mut table, &[(&web, addresses)]), expected, "{case}");
    }
    assert_eq!(gone(&mut table, "web"), ["-addresses4", "-front4"]);
    table.entries(|place, _| panic!("{place:?} is left"));
}

#[test]
fn the_older_one_has_the_door() {
    let outside = |spec: &mut Value| spec["externalIPs"] = json!(["192.0.2.1"]);
    let old = service("old", "10.96.0.1", 1, outside);
    let young = service("young", "10.96.0.2", 2, outside);
    let ends: &[&str] = &["10.0.0.1"];
    let mut table = Table::default();
    let door = |changes: &[String]| changes.iter().any(|change| change.ends_with("doors4"));

    assert!(door(&changed(&mut table, &[(&young, &["10.0.0.2"])])), "alone it has it");
    // Who is older takes it; the other is looked at in the same step.
    let young_key = Key::new("n", "young");
    let wish = wanted(&old, &[&slice(ends)], &here());
    assert_eq!(table.claim(&Key::new("n", "old"), &wish).iter().collect::<Vec<_>>(), [&young_key]);
    let changes = changed(&mut table, &[(&old, ends), (&young, &["10.0.0.2"])]);
    assert!(changes.contains(&"~front-ends4".to_owned()), "{changes:?}");
    assert!(!door(&changes), "what is done at the door stays the same: {changes:?}");
    // Once it leaves, the one that waited is told.
    assert_eq!(table.claim(&Key::new("n", "old"), &Wanted::default()), [young_key]);
}

#[test]
fn an_address_in_the_cluster_is_nobody_elses() {
    let victim = service("victim", "10.96.0.1", 9, |_| ());
    let thief = service("thief", "10.96.0.2", 1, |spec| spec["externalIPs"] = json!(["10.96.0.1"]));
    let ends: &[&str] = &["10.0.0.1"];
    let mut table = Table::default();
    changed(&mut table, &[(&victim, ends)]);
    let changes = changed(&mut table, &[(&thief, ends)]);
    assert_eq!(changes.iter().filter(|change| change.contains("front4")).count(), 1, "{changes:?}");
    assert!(!changes.iter().any(|change| change.contains("doors4")), "{changes:?}");
}

#[test]
fn slots_that_the_kernel_had_are_kept() {
    let web = service("web", "10.96.0.7", 0, |_| ());
    let mut first = Table::default();
    changed(&mut first, &[(&web, &["10.0.0.1", "10.0.0.2", "10.0.0.3"])]);
    changed(&mut first, &[(&web, &["10.0.0.3", "10.0.0.2"])]);
    let pool = |table: &Table| table.get(&Key::new("n", "web")).unwrap().pools[0].clone();
    let had = pool(&first);
    let mut second = Table::default();
    let (key, wish) = (Key::new("n", "web"), wanted(&web, &[&slice(&["10.0.0.2", "10.0.0.3"])], &here()));
    second.claim(&key, &wish);
    let behind = behind(&wish, &had.id).unwrap();
    second.fill(BTreeMap::from([(key, wish)]), &HashMap::from([(behind, had.targets.clone())]));
    assert_eq!(pool(&second), had);
}

#[test]
fn who_is_behind_two_services_is_one() {
    let mut table = Table::default();
    let near = |name: &str, ip: &str| {
        let slice: Slice = serde_json::from_value(json!({
            "metadata": {}, "addressType": "IPv4", "ports": [{"name": "", "port": 8080}],
            "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "here"}],
        }))
        .unwrap();
        (Key::new("n", name), wanted(&service(name, ip, 0, |_| ()), &[&slice], &here()))
    };
    let mut count = |wish: (Key, Wanted)| {
        table.claim(&wish.0, &wish.1);
        let shown = table.step(BTreeMap::from([wish])).changes.shown();
        shown.iter().filter(|change| change.ends_with("self4")).count()
    };
    assert_eq!(count(near("a", "10.96.0.1")), 1);
    assert_eq!(count(near("b", "10.96.0.2")), 0);
    assert_eq!(count((Key::new("n", "a"), Wanted::default())), 0);
    assert_eq!(count((Key::new("n", "b"), Wanted::default())), 1);
}
