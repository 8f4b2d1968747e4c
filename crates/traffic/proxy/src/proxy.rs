//! One node's Services: looks at what changed, and has the kernel follow. Reads the world and writes the kernel; waits for nobody.

use std::collections::{BTreeMap, BTreeSet};

use kedge_client::{Key, NotReady, World};
use kedge_facts::{Node, Service, Slice};
use kedge_netlink::NetlinkError;

use crate::Settings;
use crate::choose::Here;
use crate::flows::Answers;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::wanted::{Health, Wanted, wanted};

/// By which slices say whose they are.
const SERVICE: &str = "kubernetes.io/service-name";
const ZONE: &str = "topology.kubernetes.io/zone";

#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("the kernel does not take our rules for Services")]
    Kernel(#[from] NetlinkError),
    #[error("nothing can be said about Services yet")]
    World(#[from] NotReady),
}

pub(crate) struct Proxy {
    settings: Settings,
    world: World,
    table: Table,
    kernel: Kernel,
    /// Who answers where something changed a moment ago.
    recent: Answers,
}

/// What a beginning found and did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// There was no table of ours, or another one.
    Anew,
    /// So many entries went and came.
    Repaired(usize, usize),
}

impl Proxy {
    /// Makes the kernel right for the world as it is now, by as little as will do.
    pub(crate) fn begin(settings: Settings, world: World) -> Result<(Self, Begun), ProxyError> {
        let mut kernel = Kernel::open(&settings.table, &settings.cluster)?;
        let found = kernel.read()?;
        let slots = found.as_ref().map(|found| found.slots()).unwrap_or_default();
        let mut proxy = Self { settings, world, table: Table::default(), kernel, recent: Answers::default() };
        let everybody = proxy.everybody()?;
        let wishes = proxy.wishes(everybody)?;
        proxy.table.fill(wishes, &slots);
        drop(slots);
        let begun = match proxy.kernel.repair(&proxy.table, found)? {
            None => Begun::Anew,
            Some((gone, come)) => Begun::Repaired(gone, come),
        };
        let mut answers = Answers::default();
        proxy.table.services().for_each(|(_, wanted)| answers.are(wanted));
        answers.enforce(proxy.kernel.socket())?;
        Ok((proxy, begun))
    }

    /// How many Services are carried.
    pub(crate) fn count(&self) -> usize {
        self.table.len()
    }

    /// All Services, those of now and those of before.
    pub(crate) fn everybody(&self) -> Result<BTreeSet<Key>, ProxyError> {
        let now = self.world.cache::<Service>()?.all();
        let before = self.table.services().map(|(key, _)| key.clone());
        Ok(now.iter().map(|service| Key::of(&**service)).chain(before).collect())
    }

    /// Looks again at some Services.
    pub(crate) fn turn(&mut self, keys: BTreeSet<Key>) -> Result<(), ProxyError> {
        let wishes = self.wishes(keys)?;
        let (mut before, mut after) = (Answers::default(), Answers::default());
        let keys: Vec<Key> = wishes.keys().cloned().collect();
        for old in keys.iter().filter_map(|key| self.table.get(key)) {
            before.are(old);
            after.were(old);
        }
        let step = self.table.step(wishes);
        if !step.changes.is_empty() {
            match self.kernel.apply(step) {
                // Somebody else was at our table; what is wanted is known, so it is made what it should be.
                Err(NetlinkError::Refused { .. }) => self.repair()?,
                done => done?,
            }
        }
        keys.iter().filter_map(|key| self.table.get(key)).for_each(|new| after.are(new));
        after.since(&before);
        if after.is_urgent() {
            after.enforce(self.kernel.socket())?;
        }
        self.recent.and(after);
        Ok(())
    }

    /// Some time after a change: whoever sets up a firewall anew may have taken all tables away, and a packet that was under way when
    /// something changed may have begun a flow by what was before.
    pub(crate) fn check(&mut self) -> Result<(), ProxyError> {
        if !self.kernel.is_there()? {
            self.repair()?;
        }
        Ok(std::mem::take(&mut self.recent).enforce(self.kernel.socket())?)
    }

    /// Reads the kernel back and changes what differs from what is wanted.
    pub(crate) fn repair(&mut self) -> Result<(), ProxyError> {
        let found = self.kernel.read()?;
        match self.kernel.repair(&self.table, found)? {
            None => tracing::warn!("the table {} was not ours any more: made anew", self.settings.table),
            Some((0, 0)) => {}
            Some((gone, come)) => {
                let table = &self.settings.table;
                tracing::warn!(
                    "the table {table} was changed by others: {gone} entries removed, {come} added"
                );
            }
        }
        Ok(())
    }

    pub(crate) fn health(&self, key: &Key) -> Option<Health> {
        self.table.get(key)?.health
    }

    /// What these want, and all others whose doors they take or leave.
    fn wishes(&mut self, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, Wanted>, ProxyError> {
        let here = self.here()?;
        let mut wishes: BTreeMap<Key, Wanted> = BTreeMap::new();
        let mut queue: Vec<Key> = keys.into_iter().collect();
        while let Some(key) = queue.pop() {
            let wish = self.wish(&key, &here)?;
            queue.extend(self.table.claim(&key, &wish));
            wishes.insert(key, wish);
        }
        Ok(wishes)
    }

    fn wish(&self, key: &Key, here: &Here) -> Result<Wanted, ProxyError> {
        let Some(service) = self.world.get::<Service>(key)? else { return Ok(Wanted::default()) };
        let label = BTreeMap::from([(SERVICE.to_owned(), key.name.clone())]);
        let slices = self.world.cache::<Slice>()?.labelled(&key.namespace, &label);
        let slices: Vec<&Slice> = slices.iter().map(|slice| &**slice).collect();
        Ok(wanted(&service, &slices, here))
    }

    fn here(&self) -> Result<Here, ProxyError> {
        let node = self.world.get::<Node>(&Key::new("", &self.settings.node))?;
        let zone = node.as_deref().and_then(zone).map(str::to_owned);
        Ok(Here { node: self.settings.node.clone(), zone })
    }
}

pub(crate) fn zone(node: &Node) -> Option<&str> {
    node.metadata.labels.as_ref()?.get(ZONE).map(String::as_str)
}
