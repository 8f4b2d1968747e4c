//! The cluster as decisions see it: nodes with what is on them, kept up to date change by change. Knows no queue and no API.

mod count;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use kedge_engine::{Key, World};
use parking_lot::Mutex;

pub use self::count::{Carried, Counts, Topology};
use self::count::{Carriers, Groups};
use crate::amounts::Amounts;
use crate::node::{Node, NodeFacts};
use crate::pod::PodView;
use crate::select::Labels;
use crate::term::{Group, Namespaces, Term};

const REGION: &str = "topology.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";

pub struct Cluster {
    /// Everything that isn't counted here: claims, volumes, classes, services, budgets.
    pub world: World,
    nodes: Vec<Option<Node>>,
    slots: HashMap<Arc<str>, usize>,
    free: Vec<usize>,
    /// All nodes in the order in which they are tried; made when it is needed.
    order: OnceLock<Vec<usize>>,
    /// Pods on nodes that we don't know (yet), by node.
    strays: HashMap<Arc<str>, Vec<Arc<PodView>>>,
    /// Pods on nodes, known ones or not, by uid.
    placed: HashMap<String, Arc<PodView>>,
    /// Pods without a node for which room is being made, by node.
    nominated: HashMap<Arc<str>, Vec<Arc<PodView>>>,
    /// Where, by uid.
    nominees: HashMap<String, Arc<str>>,
    users: HashMap<Key, Vec<Arc<PodView>>>,
    namespaces: Namespaces,
    measured: HashMap<String, Amounts>,
    carriers: Carriers,
    groups: Mutex<Groups>,
    topologies: Mutex<HashMap<String, Arc<Topology>>>,
    /// How many nodes have an image.
    images: HashMap<String, usize>,
}

impl Cluster {
    pub fn new(world: World) -> Self {
        Self {
            world,
            nodes: Vec::new(),
            slots: HashMap::new(),
            free: Vec::new(),
            order: OnceLock::new(),
            strays: HashMap::new(),
            placed: HashMap::new(),
            nominated: HashMap::new(),
            nominees: HashMap::new(),
            users: HashMap::new(),
            namespaces: Namespaces::default(),
            measured: HashMap::new(),
            carriers: Carriers::default(),
            groups: Mutex::default(),
            topologies: Mutex::default(),
            images: HashMap::new(),
        }
    }

    /// In the order in which they are tried: neighbours are in different zones.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes_from(0)
    }

    /// The same, beginning with one of them.
    pub fn nodes_from(&self, first: usize) -> impl Iterator<Item = &Node> {
        let order = self.order.get_or_init(|| in_turn(self.nodes.iter().flatten()));
        let (before, after) = order.split_at(first.min(order.len()));
        after.iter().chain(before).filter_map(|slot| self.at(*slot))
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.at(*self.slots.get(name)?)
    }

    pub fn at(&self, slot: usize) -> Option<&Node> {
        self.nodes.get(slot)?.as_ref()
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// How many pods of this group are on each node. The first question costs a look at every sort of pod, the next ones
    /// nothing.
    pub fn matching(&self, group: &Group) -> Counts {
        self.groups.lock().counts(group, &self.namespaces)
    }

    /// The values that a label has on the nodes.
    pub fn topology(&self, key: &str) -> Arc<Topology> {
        let mut known = self.topologies.lock();
        if let Some(topology) = known.get(key) {
            return topology.clone();
        }
        let topology = Arc::new(Topology::of(key, self.nodes.iter().flatten()));
        known.insert(key.to_owned(), topology.clone());
        topology
    }

    /// The different terms that pods on nodes carry and that may mean this pod, with how many pods of each slot do.
    pub fn carriers(&self, pod: &PodView) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        self.carriers.met_by(&pod.labels)
    }

    #[cfg(test)]
    pub(crate) fn all_carriers(&self) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        self.carriers.all()
    }

    pub fn nodes_with_image(&self, name: &str) -> usize {
        self.images.get(name).copied().unwrap_or_default()
    }

    /// How much of a node is in use, where somebody measures it.
    pub fn measured(&self, node: &str) -> Option<&Amounts> {
        self.measured.get(node)
    }

    /// A whole new measurement, by node.
    pub fn measure(&mut self, measured: HashMap<String, Amounts>) {
        self.measured = measured;
    }

    /// The pods on nodes that use a claim.
    pub fn users_of(&self, claim: &Key) -> &[Arc<PodView>] {
        self.users.get(claim).map_or(&[], Vec::as_slice)
    }

    /// Pods without a node for which room is being made on this one.
    pub fn nominated_to(&self, node: &str) -> &[Arc<PodView>] {
        self.nominated.get(node).map_or(&[], Vec::as_slice)
    }

    /// The node on which room is being made for a pod.
    pub fn nominee(&self, uid: &str) -> Option<&Arc<str>> {
        self.nominees.get(uid)
    }

    pub fn placed(&self, uid: &str) -> Option<&Arc<PodView>> {
        self.placed.get(uid)
    }

    /// The node came or changed. Returns what it was.
    pub fn put_node(&mut self, facts: NodeFacts) -> Option<Arc<NodeFacts>> {
        let slot = self.slots.get(&facts.name).copied();
        if let Some(node) = slot.and_then(|slot| self.nodes.get_mut(slot)?.as_mut()) {
            let moved = node.facts.labels != facts.labels;
            let before = std::mem::replace(&mut node.facts, Arc::new(facts));
            if before.images != node.facts.images {
                let now = node.facts.clone();
                self.count_images(&before, false);
                self.count_images(&now, true);
            }
            if moved {
                self.reorder();
            }
            return Some(before);
        }
        let name = facts.name.clone();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() - 1
        });
        self.count_images(&facts, true);
        self.nodes[slot] = Some(Node::new(slot, facts));
        self.slots.insert(name.clone(), slot);
        for pod in self.strays.remove(&name).unwrap_or_default() {
            self.settle(slot, pod);
        }
        self.reorder();
        None
    }

    pub fn remove_node(&mut self, name: &str) {
        let Some((name, slot)) = self.slots.remove_entry(name) else { return };
        let pods = self.nodes[slot].as_ref().map(|node| node.pods.clone()).unwrap_or_default();
        for pod in &pods {
            self.unsettle(slot, &pod.uid);
        }
        if !pods.is_empty() {
            self.strays.insert(name, pods);
        }
        if let Some(node) = self.nodes[slot].take() {
            self.count_images(&node.facts, false);
        }
        self.free.push(slot);
        self.reorder();
    }

    /// The pod as it is now, on its node or without one. Returns what it was on a node.
    pub fn put_pod(&mut self, pod: Arc<PodView>) -> Option<Arc<PodView>> {
        let before = self.remove_pod(&pod.uid);
        if pod.ended {
            return before;
        }
        let Some(name) = pod.node.clone() else {
            if let Some(name) = pod.nominated.clone() {
                self.nominees.insert(pod.uid.clone(), name.clone());
                self.nominated.entry(name).or_default().push(pod);
            }
            return before;
        };
        self.placed.insert(pod.uid.clone(), pod.clone());
        for claim in &pod.claims {
            let claim = Key::new(pod.key.namespace.clone(), claim.clone());
            self.users.entry(claim).or_default().push(pod.clone());
        }
        match self.slots.get(&name) {
            Some(slot) => self.settle(*slot, pod),
            None => self.strays.entry(name).or_default().push(pod),
        }
        before
    }

    /// Returns what it was, if it was on a node.
    pub fn remove_pod(&mut self, uid: &str) -> Option<Arc<PodView>> {
        let Some(pod) = self.placed.remove(uid) else {
            if let Some(node) = self.nominees.remove(uid) {
                drop_from(&mut self.nominated, &node, uid);
            }
            return None;
        };
        for claim in &pod.claims {
            let claim = Key::new(pod.key.namespace.clone(), claim.clone());
            drop_from(&mut self.users, &claim, uid);
        }
        if let Some(name) = &pod.node {
            match self.slots.get(name) {
                Some(slot) => self.unsettle(*slot, uid),
                None => drop_from(&mut self.strays, name, uid),
            }
        }
        Some(pod)
    }

    /// Returns whether its labels are others than before.
    pub fn put_namespace(&mut self, name: &str, labels: Option<Labels>) -> bool {
        let before = match labels.clone() {
            Some(labels) => self.namespaces.0.insert(name.to_owned(), labels),
            None => self.namespaces.0.remove(name),
        };
        let differs = before != labels;
        if differs {
            self.groups.get_mut().forget_those_asking_namespaces();
        }
        differs
    }

    fn settle(&mut self, slot: usize, pod: Arc<PodView>) {
        self.groups.get_mut().count(&pod, slot, &self.namespaces, true);
        self.carriers.count(&pod, slot, true);
        if let Some(Some(node)) = self.nodes.get_mut(slot) {
            node.add(pod);
        }
    }

    fn unsettle(&mut self, slot: usize, uid: &str) {
        let Some(Some(node)) = self.nodes.get_mut(slot) else { return };
        if let Some(pod) = node.remove(uid) {
            self.groups.get_mut().count(&pod, slot, &self.namespaces, false);
            self.carriers.count(&pod, slot, false);
        }
    }

    fn count_images(&mut self, node: &NodeFacts, comes: bool) {
        for image in node.images.keys() {
            if comes {
                *self.images.entry(image.clone()).or_default() += 1;
            } else if let Some(nodes) = self.images.get_mut(image) {
                *nodes -= 1;
                if *nodes == 0 {
                    self.images.remove(image);
                }
            }
        }
    }

    fn reorder(&mut self) {
        self.order.take();
        self.topologies.get_mut().clear();
    }
}

/// One node of each zone after the other, zones and nodes by name.
fn in_turn<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<usize> {
    let mut zones: BTreeMap<(&str, &str), Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        let label = |key| node.labels.get(key).map_or("", String::as_str);
        zones.entry((label(REGION), label(ZONE))).or_default().push(node);
    }
    let mut zones: Vec<_> = zones.into_values().collect();
    for zone in &mut zones {
        zone.sort_by(|a, b| b.name.cmp(&a.name));
    }
    let mut order = Vec::new();
    while !zones.is_empty() {
        order.extend(zones.iter_mut().filter_map(Vec::pop).map(|node| node.slot));
        zones.retain(|zone| !zone.is_empty());
    }
    order
}

fn drop_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, Vec<Arc<PodView>>>, key: &K, uid: &str) {
    if let Some(pods) = map.get_mut(key) {
        pods.retain(|pod| pod.uid != uid);
        if pods.is_empty() {
            map.remove(key);
        }
    }
}
