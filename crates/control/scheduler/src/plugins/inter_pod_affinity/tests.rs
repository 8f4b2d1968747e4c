use serde_json::{Value, json};

use super::*;
use crate::node::{Node, NodeFacts};
use crate::plugin::{Change, Filter};
use crate::plugins::testing::*;
use crate::select::Labels;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const NOT_NEAR: &str = "! node(s) didn't match pod affinity rules";
const TOO_NEAR: &str = "node(s) didn't match pod anti-affinity rules";
const UNWELCOME: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

fn plugin(arguments: Value) -> InterPodAffinity {
    InterPodAffinity::new(serde_json::from_value(arguments).unwrap())
}

fn usual() -> InterPodAffinity {
    plugin(json!({}))
}

/// Pods of an app, in the same value of a label.
fn term(app: &str, key: &str) -> Value {
    json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key})
}

fn weighted(weight: i32, term: Value) -> Value {
    json!({"weight": weight, "podAffinityTerm": term})
}

/// A pod of the app `app` with terms of one sort: `podAffinity` or `podAntiAffinity`.
fn with(name: &str, kind: &str, sort: &str, terms: Value) -> PodView {
    pod(name, |pod| {
        pod["metadata"]["labels"] = json!({"app": kind});
        pod["spec"]["affinity"][sort]["requiredDuringSchedulingIgnoredDuringExecution"] = terms;
    })
}

fn near(name: &str, kind: &str, terms: Value) -> PodView {
    with(name, kind, "podAffinity", terms)
}

fn far(name: &str, kind: &str, terms: Value) -> PodView {
    with(name, kind, "podAntiAffinity", terms)
}

fn preferring(name: &str, kind: &str, sort: &str, terms: Value) -> PodView {
    pod(name, |pod| {
        pod["metadata"]["labels"] = json!({"app": kind});
        pod["spec"]["affinity"][sort]["preferredDuringSchedulingIgnoredDuringExecution"] = terms;
    })
}

/// `xa` and `xb` in one zone, `ya` in another.
fn three() -> [NodeFacts; 3] {
    [node_in("x", "xa"), node_in("x", "xb"), node_in("y", "ya")]
}

#[test]
fn required_company_is_kept() {
    let db = || on("xa", &app("q", "db"));
    for (case, pods, pod, out) in [
        (
            "near in the zone",
            vec![db()],
            near("p", "web", json!([term("db", ZONE)])),
            vec![format!("ya: {NOT_NEAR}")],
        ),
        (
            "near on the node",
            vec![db()],
            near("p", "web", json!([term("db", HOSTNAME)])),
            vec![format!("xb: {NOT_NEAR}"), format!("ya: {NOT_NEAR}")],
        ),
        (
            "nobody to be near to",
            vec![],
            near("p", "web", json!([term("db", ZONE)])),
            vec![format!("xa: {NOT_NEAR}"), format!("xb: {NOT_NEAR}"), format!("ya: {NOT_NEAR}")],
        ),
        ("the first of its group", vec![], near("p", "web", json!([term("web", ZONE)])), vec![]),
        (
            "the second of its group",
            vec![on("xa", &app("q", "web"))],
            near("p", "web", json!([term("web", ZONE)])),
            vec![format!("ya: {NOT_NEAR}")],
        ),
        (
            "all terms must be met by the same pod",
            vec![db(), on("xa", &app("r", "cache"))],
            near("p", "web", json!([term("db", ZONE), term("cache", ZONE)])),
            vec![format!("xa: {NOT_NEAR}"), format!("xb: {NOT_NEAR}"), format!("ya: {NOT_NEAR}")],
        ),
        (
            "far in the zone",
            vec![db()],
            far("p", "web", json!([term("db", ZONE)])),
            vec![format!("xa: {TOO_NEAR}"), format!("xb: {TOO_NEAR}")],
        ),
        (
            "far on the node",
            vec![db()],
            far("p", "web", json!([term("db", HOSTNAME)])),
            vec![format!("xa: {TOO_NEAR}")],
        ),
        (
            "any term is enough to keep away",
            vec![db(), on("ya", &app("r", "cache"))],
            far("p", "web", json!([term("db", HOSTNAME), term("cache", ZONE)])),
            vec![format!("xa: {TOO_NEAR}"), format!("ya: {TOO_NEAR}")],
        ),
        (
            "others want to be far from it",
            vec![on("xa", &far("q", "db", json!([term("web", ZONE)])))],
            app("p", "web"),
            vec![format!("xa: {UNWELCOME}"), format!("xb: {UNWELCOME}")],
        ),
        (
            "others want to be far from somebody else",
            vec![on("xa", &far("q", "db", json!([term("cache", ZONE)])))],
            app("p", "web"),
            vec![],
        ),
        (
            "leaving pods still count",
            vec![on("xa", &PodView { leaving: true, ..app("q", "db") })],
            far("p", "web", json!([term("db", HOSTNAME)])),
            vec![format!("xa: {TOO_NEAR}")],
        ),
    ] {
        assert_eq!(rejected(&usual(), &pod, &cluster(three(), pods)), out, "{case}");
    }
}

#[test]
fn nodes_without_the_label_are_near_to_nobody() {
    let nodes = || [node_in("x", "xa"), node("z", |_| ())];
    let cluster = || cluster(nodes(), [on("xa", &app("q", "db")), on("z", &app("r", "db"))]);
    assert_eq!(passing(&usual(), &near("p", "web", json!([term("db", ZONE)])), &cluster()), "xa");
    assert_eq!(passing(&usual(), &far("p", "web", json!([term("db", ZONE)])), &cluster()), "z");
    // The first of a group goes only where the label is.
    assert_eq!(passing(&usual(), &near("p", "web", json!([term("web", ZONE)])), &cluster()), "xa");
}

#[test]
fn namespaces_are_named_or_selected() {
    let foreign = |name: &str| {
        pod(name, |pod| {
            pod["metadata"]["labels"] = json!({"app": "db"});
            pod["metadata"]["namespace"] = "other".into();
        })
    };
    let scoped = |edit: fn(&mut Value)| {
        let mut term = term("db", HOSTNAME);
        edit(&mut term);
        far("p", "web", json!([term]))
    };
    for (case, pod, passes) in [
        ("its own namespace unless it says so", scoped(|_| ()), "xa xb ya"),
        ("by name", scoped(|term| term["namespaces"] = json!(["other"])), "xb ya"),
        (
            "by labels",
            scoped(|term| term["namespaceSelector"] = json!({"matchLabels": {"team": "a"}})),
            "xb ya",
        ),
        (
            "by labels that it lacks",
            scoped(|term| term["namespaceSelector"] = json!({"matchLabels": {"team": "b"}})),
            "xa xb ya",
        ),
        ("all of them", scoped(|term| term["namespaceSelector"] = json!({})), "xb ya"),
    ] {
        let mut cluster = cluster(three(), [on("xa", &foreign("q"))]);
        cluster.put_namespace("other", Some([("team".to_owned(), "a".to_owned())].into()));
        assert_eq!(passing(&usual(), &pod, &cluster), passes, "{case}");
    }
}

#[test]
fn a_namespace_that_changes_its_labels_changes_who_counts() {
    let mut term = term("web", HOSTNAME);
    term["namespaceSelector"] = json!({"matchLabels": {"team": "a"}});
    let mut cluster = cluster(three(), [on("xa", &far("q", "db", json!([term])))]);
    cluster.put_namespace("n", Some(Labels::new()));
    assert_eq!(passing(&usual(), &app("p", "web"), &cluster), "xa xb ya");
    cluster.put_namespace("n", Some([("team".to_owned(), "a".to_owned())].into()));
    assert_eq!(passing(&usual(), &app("p", "web"), &cluster), "xb ya");
}

#[test]
fn keys_tell_revisions_and_tenants_apart() {
    let of = |name: &str, version: &str, keys: &str| {
        let mut term = term("web", HOSTNAME);
        term[keys] = json!(["version"]);
        let mut pod = far(name, "web", json!([]));
        pod.labels.insert("version".to_owned(), version.to_owned());
        pod.anti_affinity =
            vec![crate::term::Term::of(&serde_json::from_value(term).unwrap(), "n", &pod.labels)];
        pod
    };
    let there = |keys: &str| cluster(three(), [on("xa", &of("q", "1", keys))]);
    for (case, keys, version, passes) in [
        ("far from the same version", "matchLabelKeys", "1", "xb ya"),
        ("not from another", "matchLabelKeys", "2", "xa xb ya"),
        ("not from the same", "mismatchLabelKeys", "1", "xa xb ya"),
        ("far from another version", "mismatchLabelKeys", "2", "xb ya"),
    ] {
        assert_eq!(passing(&usual(), &of("p", version, keys), &there(keys)), passes, "{case}");
    }
}

#[test]
fn what_if_pods_came_and_went() {
    let hostile = on("xa", &far("q", "db", json!([term("web", ZONE)])));
    let friend = on("ya", &app("r", "web"));
    let cluster = cluster(three(), [hostile.clone(), friend.clone()]);
    let pod = near("p", "web", json!([term("web", ZONE)]));
    let (xa, ya) = (cluster.node("xa").unwrap(), cluster.node("ya").unwrap());
    let plugin = usual();
    let mut prepared = Filter::prepare(&plugin, &pod, &cluster).ok().unwrap();
    let first = vec![format!("xa: {NOT_NEAR}"), format!("xb: {NOT_NEAR}")];
    assert_eq!(rejected_by(&*prepared, &cluster), first);
    prepared.remove(&friend, ya);
    assert_eq!(rejected_by(&*prepared, &cluster), [format!("xa: {UNWELCOME}"), format!("xb: {UNWELCOME}")]);
    prepared.remove(&hostile, xa);
    assert!(rejected_by(&*prepared, &cluster).is_empty());
    prepared.add(&hostile, xa);
    prepared.add(&friend, ya);
    assert_eq!(rejected_by(&*prepared, &cluster), first);
}

#[test]
fn preferred_company_scores() {
    let db = || on("xa", &app("q", "db"));
    let hard = || on("xa", &near("q", "db", json!([term("web", HOSTNAME)])));
    for (case, arguments, pods, pod, wanted) in [
        (
            "near",
            json!({}),
            vec![db()],
            preferring("p", "web", "podAffinity", json!([weighted(5, term("db", ZONE))])),
            "xa=100 xb=100 ya=0",
        ),
        (
            "far",
            json!({}),
            vec![db()],
            preferring("p", "web", "podAntiAffinity", json!([weighted(5, term("db", ZONE))])),
            "xa=0 xb=0 ya=100",
        ),
        (
            "both add up",
            json!({}),
            vec![db()],
            preferring(
                "p",
                "web",
                "podAffinity",
                json!([weighted(5, term("db", ZONE)), weighted(15, term("db", HOSTNAME))]),
            ),
            "xa=100 xb=25 ya=0",
        ),
        (
            "others prefer it",
            json!({}),
            vec![on("ya", &preferring("q", "db", "podAffinity", json!([weighted(5, term("web", ZONE))])))],
            app("p", "web"),
            "xa=0 xb=0 ya=100",
        ),
        (
            "others would rather not",
            json!({}),
            vec![on(
                "ya",
                &preferring("q", "db", "podAntiAffinity", json!([weighted(5, term("web", ZONE))])),
            )],
            app("p", "web"),
            "xa=100 xb=100 ya=0",
        ),
        ("others require it", json!({}), vec![hard()], app("p", "web"), "xa=100 xb=0 ya=0"),
        (
            "which counts for nothing if so configured",
            json!({"hardPodAffinityWeight": 0}),
            vec![hard()],
            app("p", "web"),
            "-",
        ),
        (
            "preferences of others are ignored if so configured",
            json!({"ignorePreferredTermsOfExistingPods": true}),
            vec![on("ya", &preferring("q", "db", "podAffinity", json!([weighted(5, term("web", ZONE))])))],
            app("p", "web"),
            "-",
        ),
        ("nobody cares", json!({}), vec![db()], app("p", "web"), "-"),
    ] {
        assert_eq!(scored(&plugin(arguments), &pod, &cluster(three(), pods)), wanted, "{case}");
    }
}

#[test]
fn those_concerned_help_by_coming_and_going() {
    let lonely = near("p", "web", json!([term("db", ZONE)]));
    let shy = far("p", "web", json!([term("db", ZONE)]));
    let (db, other, hostile) = (app("q", "db"), app("r", "cache"), far("s", "x", json!([term("web", ZONE)])));
    let (zoned, bare) = (Node::new(0, node_in("x", "a")), Node::new(0, node("a", |_| ())));
    for (case, waiting, change, helps) in [
        ("company comes", &lonely, Change::PodPlaced(&db), true),
        ("a stranger comes", &lonely, Change::PodPlaced(&other), false),
        ("a pod becomes company", &lonely, Change::PodChanged { before: &other, now: &db }, true),
        ("whom it avoids goes", &shy, Change::PodGone(&db), true),
        ("whom it avoids becomes another", &shy, Change::PodChanged { before: &db, now: &other }, true),
        ("who avoids it goes", &lonely, Change::PodGone(&hostile), true),
        ("a stranger goes", &shy, Change::PodGone(&other), false),
        ("a node of the right sort", &lonely, Change::NodeAdded(&zoned), true),
        ("a node without the label", &lonely, Change::NodeAdded(&bare), false),
        ("a node where nobody is", &shy, Change::NodeAdded(&bare), true),
        ("a node got its label", &lonely, Change::NodeChanged { before: &bare, now: &zoned }, true),
        ("a node stays", &lonely, Change::NodeChanged { before: &zoned, now: &zoned }, false),
    ] {
        assert_eq!(usual().helped_by(waiting, &change), helps, "{case}");
    }
}
