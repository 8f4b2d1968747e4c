//! The cluster as decisions see it: nodes with what is on them, kept up to date change by change. Knows no queue and no API.

mod count;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kedge_engine::{Key, World};
use parking_lot::Mutex;

pub use self::count::{Carried, Counts, Topology};
use self::count::{Carriers, Groups};
use crate::node::{Node, NodeFacts};
use crate::pod::PodView;
use crate::select::Labels;
use crate::term::{Group, Namespaces, Term};

pub struct Cluster {
    /// Everything that isn't counted here: claims, volumes, classes, services, budgets.
    pub world: World,
    nodes: Vec<Option<Node>>,
    slots: HashMap<Arc<str>, usize>,
    free: Vec<usize>,
    /// All nodes in the order in which they are tried: neighbours are in different zones.
    order: Vec<usize>,
    /// Pods on nodes that we don't know (yet), by node.
    strays: HashMap<Arc<str>, Vec<Arc<PodView>>>,
    /// Pods on nodes, known ones or not, by uid.
    placed: HashMap<String, Arc<PodView>>,
    /// Pods without a node for which room is being made, by node.
    nominated: HashMap<Arc<str>, Vec<Arc<PodView>>>,
    users: HashMap<Key, Vec<Arc<PodView>>>,
    namespaces: Namespaces,
    carriers: Carriers,
    groups: Mutex<Groups>,
    topologies: Mutex<HashMap<String, Arc<Topology>>>,
}

impl Cluster {
    pub fn new(world: World) -> Self {
        Self {
            world,
            nodes: Vec::new(),
            slots: HashMap::new(),
            free: Vec::new(),
            order: Vec::new(),
            strays: HashMap::new(),
            placed: HashMap::new(),
            nominated: HashMap::new(),
            users: HashMap::new(),
            namespaces: Namespaces::default(),
            carriers: Carriers::default(),
            groups: Mutex::default(),
            topologies: Mutex::default(),
        }
    }

    /// In the order in which they are tried.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        static NOBODY: std::sync::LazyLock<Node> = std::sync::LazyLock::new(Node::default);
        self.order.iter().map(|slot| self.at(*slot).unwrap_or(&NOBODY))
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.at(*self.slots.get(name)?)
    }

    pub fn at(&self, slot: usize) -> Option<&Node> {
        self.nodes.get(slot)?.as_ref()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// How many pods of this group are on each node. The first question costs a look at every pod, the next ones nothing.
    pub fn matching(&self, group: &Group) -> Counts {
        let placed = self.nodes.iter().flatten();
        let placed = placed.flat_map(|node| node.pods.iter().map(|pod| (node.slot, &**pod)));
        self.groups.lock().counts(group, &self.namespaces, placed)
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

    /// The different terms that pods on nodes carry, with how many pods of each slot do.
    pub fn carriers(&self, carried: Carried) -> impl Iterator<Item = (&Term, &BTreeMap<usize, u32>)> {
        self.carriers.of(carried)
    }

    /// The same for terms of every sort.
    pub fn all_carriers(&self) -> impl Iterator<Item = (Carried, &Term, &BTreeMap<usize, u32>)> {
        self.carriers.all()
    }

    /// The pods on nodes that use a claim.
    pub fn users_of(&self, claim: &Key) -> &[Arc<PodView>] {
        self.users.get(claim).map_or(&[], Vec::as_slice)
    }

    /// Pods without a node for which room is being made on this one.
    pub fn nominated_to(&self, node: &str) -> &[Arc<PodView>] {
        self.nominated.get(node).map_or(&[], Vec::as_slice)
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
            if moved {
                self.topologies.get_mut().clear();
                self.reorder();
            }
            return Some(before);
        }
        let name = facts.name.clone();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() - 1
        });
        self.nodes[slot] = Some(Node::new(slot, facts));
        self.slots.insert(name.clone(), slot);
        self.topologies.get_mut().clear();
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
        self.nodes[slot] = None;
        self.free.push(slot);
        self.topologies.get_mut().clear();
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
            self.nominated.retain(|_, pods| {
                pods.retain(|pod| pod.uid != uid);
                !pods.is_empty()
            });
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

    pub fn put_namespace(&mut self, name: &str, labels: Option<Labels>) {
        let before = match labels.clone() {
            Some(labels) => self.namespaces.0.insert(name.to_owned(), labels),
            None => self.namespaces.0.remove(name),
        };
        if before != labels {
            self.groups.get_mut().forget_those_asking_namespaces();
        }
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

    fn reorder(&mut self) {
        self.order = self.nodes.iter().flatten().map(|node| node.slot).collect();
    }
}

fn drop_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, Vec<Arc<PodView>>>, key: &K, uid: &str) {
    if let Some(pods) = map.get_mut(key) {
        pods.retain(|pod| pod.uid != uid);
        if pods.is_empty() {
            map.remove(key);
        }
    }
}
