//! However pods, nodes and namespaces come, change and go: what is counted step by step is what counting anew gives, and
//! decisions are those of a cluster that was built in one go.

use kedge_engine::World;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::Cluster;
use super::*;
use crate::node::NodeFacts;
use crate::plugins::testing::{node, pod, rejected, scores};
use crate::plugins::{Parts, make};
use crate::select::Requirement;
use crate::term::Who;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const APPS: [&str; 3] = ["web", "db", "cache"];
const NAMESPACES: [&str; 2] = ["n", "m"];
const ZONES: [&str; 3] = ["x", "y", ""];

#[derive(Clone, Debug)]
enum Step {
    PutPod { pod: usize, node: usize, app: usize, namespace: usize, leaving: bool, terms: usize },
    RemovePod(usize),
    PutNode { node: usize, zone: usize },
    RemoveNode(usize),
    Namespace { namespace: usize, team: usize },
    Ask(usize),
    NamespaceGone(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0..8_usize, 0..5_usize, 0..3_usize, 0..2_usize, any::<bool>(), 0..6_usize).prop_map(
        |(pod, node, app, namespace, leaving, terms)| Step::PutPod {
            pod,
            node,
            app,
            namespace,
            leaving: leaving && pod % 2 == 0,
            terms,
        },
    );
    let step = prop_oneof![
        6 => put,
        2 => (0..8_usize).prop_map(Step::RemovePod),
        2 => (0..4_usize, 0..3_usize).prop_map(|(node, zone)| Step::PutNode { node, zone }),
        1 => (0..4_usize).prop_map(Step::RemoveNode),
        1 => (0..2_usize, 0..2_usize).prop_map(|(namespace, team)| Step::Namespace { namespace, team }),
        1 => (0..2_usize).prop_map(Step::NamespaceGone),
        4 => (0..8_usize).prop_map(Step::Ask),
    ];
    prop::collection::vec(step, 1..60)
}

fn a_node(number: usize, zone: usize) -> NodeFacts {
    node(&format!("node{number}"), |node| {
        if !ZONES[zone].is_empty() {
            node["metadata"]["labels"][ZONE] = ZONES[zone].into();
        }
    })
}

fn team(number: usize) -> Labels {
    [("team".to_owned(), number.to_string())].into()
}

/// Terms of many sorts, by number.
fn affinity(number: usize) -> Value {
    let term =
        |app: &str, key: &str| json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key});
    let anywhere = json!({
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        "namespaceSelector": {"matchLabels": {"team": "1"}},
        "topologyKey": ZONE,
    });
    match number {
        0 => {
            json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("web", HOSTNAME)]}})
        }
        1 => {
            json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("db", ZONE), term("db", HOSTNAME)]}})
        }
        2 => json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 3, "podAffinityTerm": term("cache", ZONE)},
        ]}}),
        3 => json!({"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [anywhere],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term("web", HOSTNAME)}],
        }}),
        _ => json!({}),
    }
}

fn a_pod(number: usize, app: usize, namespace: usize, leaving: bool, terms: usize) -> PodView {
    pod(&format!("pod{number}"), |pod| {
        pod["metadata"]["namespace"] = NAMESPACES[namespace].into();
        pod["metadata"]["labels"]["app"] = APPS[app].into();
        if leaving {
            pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
        }
        pod["spec"]["affinity"] = affinity(terms);
    })
}

fn groups() -> Vec<Group> {
    let app = |app: &str| Selector::All(vec![Requirement::is("app", app)]);
    let by_team = Who {
        namespaces: BTreeSet::new(),
        namespace_selector: Selector::of_map(&team(1)),
        selector: app("web"),
    };
    let everywhere = Who {
        namespaces: BTreeSet::new(),
        namespace_selector: Selector::everything(),
        selector: Selector::everything(),
    };
    vec![
        Group::of(Who::within("n", app("web"))),
        Group { who: vec![Who::within("n", app("web"))], with_leaving: false },
        Group::of(Who::within("m", app("db"))),
        Group { who: vec![Who::within("n", Selector::everything())], with_leaving: false },
        Group::of(by_team.clone()),
        Group { who: vec![by_team, everywhere.clone()], with_leaving: true },
        Group::of(everywhere),
        Group::of(Who::within("n", Selector::Nothing)),
    ]
}

/// Pods to be placed, with constraints and terms of all sorts.
fn probes() -> Vec<PodView> {
    let spreading = |key: &str, when: &str, app: &str| {
        json!([{
            "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": {"app": app}},
        }])
    };
    let mut all: Vec<_> =
        (0..5).map(|terms| a_pod(100 + terms, terms % 3, terms % 2, false, terms)).collect();
    for (number, (key, when)) in
        [(ZONE, "DoNotSchedule"), (HOSTNAME, "DoNotSchedule"), (ZONE, "ScheduleAnyway")].iter().enumerate()
    {
        all.push(pod(&format!("spread{number}"), |pod| {
            pod["metadata"]["labels"]["app"] = "web".into();
            pod["spec"]["topologySpreadConstraints"] = spreading(key, when, "web");
        }));
    }
    all
}

/// The state of things, kept in the simplest way.
#[derive(Default)]
struct Plain {
    nodes: BTreeMap<usize, usize>,
    pods: BTreeMap<usize, Arc<PodView>>,
    namespaces: BTreeMap<usize, usize>,
}

impl Plain {
    fn take(&mut self, step: &Step, cluster: &mut Cluster) {
        match *step {
            Step::PutPod { pod, node, app, namespace, leaving, terms } => {
                let placed = a_pod(pod, app, namespace, leaving, terms).placed_on(&format!("node{node}"));
                let placed = Arc::new(placed);
                self.pods.insert(pod, placed.clone());
                cluster.put_pod(placed);
            }
            Step::RemovePod(pod) => {
                self.pods.remove(&pod);
                cluster.remove_pod(&format!("pod{pod}"));
            }
            Step::PutNode { node, zone } => {
                self.nodes.insert(node, zone);
                cluster.put_node(a_node(node, zone));
            }
            Step::RemoveNode(node) => {
                self.nodes.remove(&node);
                cluster.remove_node(&format!("node{node}"));
            }
            Step::Namespace { namespace, team: number } => {
                self.namespaces.insert(namespace, number);
                cluster.put_namespace(NAMESPACES[namespace], Some(team(number)));
            }
            Step::NamespaceGone(namespace) => {
                self.namespaces.remove(&namespace);
                cluster.put_namespace(NAMESPACES[namespace], None);
            }
            Step::Ask(group) => drop(cluster.matching(&groups()[group])),
        }
    }

    fn built_in_one_go(&self) -> Cluster {
        let mut cluster = Cluster::new(World::by_hand());
        for (namespace, number) in &self.namespaces {
            cluster.put_namespace(NAMESPACES[*namespace], Some(team(*number)));
        }
        for (node, zone) in &self.nodes {
            cluster.put_node(a_node(*node, *zone));
        }
        for pod in self.pods.values() {
            cluster.put_pod(pod.clone());
        }
        cluster
    }
}

/// One by one.
fn counted_anew(cluster: &Cluster, group: &Group) -> BTreeMap<String, u32> {
    let contained = |node: &&crate::node::Node| {
        let pods = node.pods.iter().filter(|pod| group.contains(pod, cluster.namespaces())).count();
        (node.name.to_string(), u32::try_from(pods).unwrap())
    };
    cluster.nodes().map(|node| contained(&node)).collect()
}

fn counted(cluster: &Cluster, group: &Group) -> BTreeMap<String, u32> {
    let counts = cluster.matching(group);
    let of = |node: &crate::node::Node| counts.get(node.slot).copied().unwrap_or_default();
    cluster.nodes().map(|node| (node.name.to_string(), of(node))).collect()
}

fn carried(cluster: &Cluster) -> Vec<String> {
    let mut all = Vec::new();
    for (carried, term, slots) in cluster.all_carriers() {
        for (slot, pods) in slots {
            let node = cluster.at(*slot).map(|node| node.name.to_string());
            all.push(format!("{carried:?} {term:?} {node:?} {pods}"));
        }
    }
    all.sort();
    all
}

fn plugins() -> [Parts; 2] {
    ["PodTopologySpread", "InterPodAffinity"].map(|name| make(name, &Value::Null).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counting_step_by_step_is_counting_anew(steps in steps()) {
        let mut cluster = Cluster::new(World::by_hand());
        let mut plain = Plain::default();
        for step in &steps {
            plain.take(step, &mut cluster);
            if let Step::Ask(group) = step {
                let group = &groups()[*group];
                prop_assert_eq!(counted(&cluster, group), counted_anew(&cluster, group), "{:?}", group);
            }
        }
        for group in groups() {
            prop_assert_eq!(counted(&cluster, &group), counted_anew(&cluster, &group), "{:?}", group);
        }
        prop_assert_eq!(carried(&cluster), carried(&plain.built_in_one_go()));
        for probe in probes() {
            let means = |term: &Term| term.who.matches(&probe, cluster.namespaces());
            let met = cluster.carriers(&probe).filter(|(_, term, _)| means(term)).count();
            prop_assert_eq!(met, cluster.all_carriers().filter(|(_, term, _)| means(term)).count(), "{:?}", probe.key);
        }
    }

    #[test]
    fn decisions_depend_on_what_is_not_on_how_it_came_about(steps in steps()) {
        let mut cluster = Cluster::new(World::by_hand());
        let mut plain = Plain::default();
        for step in &steps {
            plain.take(step, &mut cluster);
        }
        let fresh = plain.built_in_one_go();
        for plugin in plugins() {
            let (filter, score) = (plugin.filter.unwrap(), plugin.score.unwrap());
            for probe in probes() {
                prop_assert_eq!(rejected(&*filter, &probe, &cluster), rejected(&*filter, &probe, &fresh), "{:?}", probe.key);
                prop_assert_eq!(scores(&*score, &probe, &cluster), scores(&*score, &probe, &fresh), "{:?}", probe.key);
            }
        }
    }

    #[test]
    fn what_if_is_what_it_would_be(steps in steps(), removed in 0..8_usize) {
        let mut cluster = Cluster::new(World::by_hand());
        let mut plain = Plain::default();
        for step in &steps {
            plain.take(step, &mut cluster);
        }
        let Some(victim) = plain.pods.remove(&removed) else { return Ok(()) };
        let Some(node) = victim.node.as_deref().and_then(|name| cluster.node(name)) else { return Ok(()) };
        let without = plain.built_in_one_go();
        for plugin in plugins() {
            let filter = plugin.filter.unwrap();
            for probe in probes() {
                let Ok(mut prepared) = filter.prepare(&probe, &cluster) else { continue };
                let before = crate::plugins::testing::rejected_by(&*prepared, &cluster);
                prepared.remove(&victim, node);
                let then = crate::plugins::testing::rejected_by(&*prepared, &cluster);
                prop_assert_eq!(then, rejected(&*filter, &probe, &without), "{:?}", probe.key);
                prepared.add(&victim, node);
                prop_assert_eq!(crate::plugins::testing::rejected_by(&*prepared, &cluster), before, "{:?}", probe.key);
            }
        }
    }
}

#[test]
fn what_is_forgotten_is_counted_again() {
    let mut groups = Groups { slots: REMEMBERED / 2, ..Groups::default() };
    let namespaces = Namespaces::default();
    let web = Group::of(Who::within("n", Selector::everything()));
    groups.count(&a_pod(1, 0, 0, false, 9), 3, &namespaces, true);
    assert_eq!(groups.counts(&web, &namespaces)[3], 1);
    for number in 0..9 {
        groups.counts(&Group::of(Who::within(&number.to_string(), Selector::everything())), &namespaces);
        assert!(groups.places.len() <= 2, "{} are remembered", groups.places.len());
    }
    groups.count(&a_pod(2, 0, 0, false, 9), 3, &namespaces, true);
    assert_eq!(groups.counts(&web, &namespaces)[3], 2);
}
