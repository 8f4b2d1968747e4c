//! Who owns whom, of everything there is. Holds only what the collector decides by.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_engine::{Key, Resource, Target};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// How many owners are remembered to be gone.
const ABSENT: usize = 10_000;

/// An object, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) resource: Arc<Resource>,
    pub(super) namespaced: bool,
    pub(super) key: Key,
    pub(super) uid: String,
    pub(super) revision: String,
    pub(super) owners: Vec<Reference>,
    pub(super) finalizers: Vec<String>,
    pub(super) is_leaving: bool,
}

/// What an object says about one of its owners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) controller: Option<bool>,
    pub(super) block_owner_deletion: Option<bool>,
}

impl Node {
    pub(super) fn of(resource: &Arc<Resource>, namespaced: bool, meta: &ObjectMeta) -> Self {
        let owners = meta.owner_references.iter().flatten().map(|owner| Reference {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        });
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            resource: resource.clone(),
            namespaced,
            key: Key::new(text(&meta.namespace), text(&meta.name)),
            uid: text(&meta.uid),
            revision: text(&meta.resource_version),
            owners: owners.collect(),
            finalizers: meta.finalizers.clone().unwrap_or_default(),
            is_leaving: meta.deletion_timestamp.is_some(),
        }
    }

    /// It lets its dependents go before it goes.
    pub(super) fn orphans(&self) -> bool {
        self.finalizers.iter().any(|name| name == ORPHAN)
    }

    /// It waits for its dependents to go before it goes.
    pub(super) fn waits(&self) -> bool {
        self.finalizers.iter().any(|name| name == FOREGROUND)
    }

    pub(super) fn target(&self) -> Target {
        Target {
            resource: (*self.resource).clone(),
            key: self.key.clone(),
            uid: self.uid.clone(),
            revision: self.revision.clone(),
        }
    }

    /// Whether this is what a reference in that namespace means.
    fn is_meant_by(&self, reference: &Reference, namespace: &str) -> bool {
        let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
        self.resource.kind == reference.kind
            && self.resource.group == group(&reference.api_version)
            && self.key.name == reference.name
            && (!self.namespaced || self.key.namespace == namespace)
    }
}

/// What is known of an owner.
pub(super) enum Owner<'g> {
    There(&'g Node),
    Gone,
    /// It lies in a namespace and what names it lies in none, so nobody can say whether it is there.
    Misplaced,
    Unknown,
}

#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<String, Node>,
    dependents: HashMap<String, HashSet<String>>,
    /// Owners that were looked for and not found. A uid never comes back.
    absent: HashSet<(String, String)>,
    /// Owners that can't be looked for, because what names them lies in no namespace and their kind does.
    misplaced: HashSet<(String, String)>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    pub(super) fn uids(&self, of: &Resource) -> Vec<String> {
        self.nodes.values().filter(|node| *node.resource == *of).map(|node| node.uid.clone()).collect()
    }

    /// Everything that names this owner, in a fixed order.
    pub(super) fn dependents(&self, uid: &str) -> Vec<&Node> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        let mut nodes: Vec<&Node> = uids.filter_map(|uid| self.nodes.get(uid)).collect();
        nodes.sort_by(|a, b| (&a.resource.kind, &a.key).cmp(&(&b.resource.kind, &b.key)));
        nodes
    }

    pub(super) fn owner(&self, reference: &Reference, namespace: &str) -> Owner<'_> {
        match self.nodes.get(&reference.uid) {
            Some(node) if node.is_meant_by(reference, namespace) => Owner::There(node),
            Some(node) if node.namespaced && namespace.is_empty() => Owner::Misplaced,
            // A uid that belongs to something else can't be this owner's.
            Some(_) => Owner::Gone,
            None if self.absent.contains(&absence(reference, namespace)) => Owner::Gone,
            None if self.misplaced.contains(&absence(reference, namespace)) => Owner::Misplaced,
            None => Owner::Unknown,
        }
    }

    /// The object came or changed. Gives those who should be looked at again.
    pub(super) fn put(&mut self, node: Node) -> Vec<String> {
        let uid = node.uid.clone();
        let before = self.nodes.insert(uid.clone(), node.clone());
        let owners = |node: &Node| node.owners.iter().map(|owner| owner.uid.clone()).collect::<HashSet<_>>();
        let (had, has) = (before.as_ref().map(owners).unwrap_or_default(), owners(&node));
        for gone in had.difference(&has) {
            self.disown(gone, &uid);
        }
        for owner in &has {
            self.dependents.entry(owner.clone()).or_default().insert(uid.clone());
        }
        let mut woken = vec![uid.clone()];
        // An owner that waits may be waiting for this one.
        woken.extend(
            had.union(&has)
                .filter(|owner| self.nodes.get(*owner).is_some_and(|owner| owner.is_leaving))
                .cloned(),
        );
        if node.is_leaving {
            woken.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
        }
        woken
    }

    /// The object went. Gives those who should be looked at again.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<String> {
        let Some(node) = self.nodes.remove(uid) else { return Vec::new() };
        let mut woken: Vec<String> = self.dependents.get(uid).into_iter().flatten().cloned().collect();
        for owner in &node.owners {
            self.disown(&owner.uid, uid);
            woken.push(owner.uid.clone());
        }
        woken
    }

    pub(super) fn note_absent(&mut self, owner: &Reference, namespace: &str) -> Vec<String> {
        if self.absent.len() >= ABSENT {
            self.absent.clear();
        }
        self.absent.insert(absence(owner, namespace));
        Vec::new()
    }

    pub(super) fn note_misplaced(&mut self, owner: &Reference, namespace: &str) -> Vec<String> {
        if self.misplaced.len() >= ABSENT {
            self.misplaced.clear();
        }
        self.misplaced.insert(absence(owner, namespace));
        Vec::new()
    }

    fn disown(&mut self, owner: &str, uid: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(uid);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

/// The same uid may be looked for in a namespace where it isn't.
fn absence(reference: &Reference, namespace: &str) -> (String, String) {
    (
        reference.uid.clone(),
        format!("{} {} {} {namespace}", reference.api_version, reference.kind, reference.name),
    )
}
