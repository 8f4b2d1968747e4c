//! Keeps the index in step with the world: looks again at what changed, and only at that. Decides no answer.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kedge_client::{Key, Listener, Seen, World};
use kedge_facts::{Namespace, Pod, Service, Slice};
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::index::{Entry, Index, has_hostnames};

const OF_SERVICE: &str = "kubernetes.io/service-name";

pub(crate) struct Feed {
    world: World,
    index: Arc<ArcSwap<Index>>,
    /// Held by whoever changes the index; says whether everything was looked at once.
    writing: Mutex<bool>,
    changed: Notify,
}

impl Feed {
    /// Listens from now on. What it hears before `fill` is left to that.
    pub(crate) fn new(world: World, index: Arc<ArcSwap<Index>>) -> Arc<Self> {
        let feed = Arc::new(Self {
            world: world.clone(),
            index,
            writing: Mutex::new(false),
            changed: Notify::new(),
        });
        world.listen(&feed);
        feed
    }

    /// Looks at everything, once all of it can be seen. Nothing changes meanwhile that would not be told afterwards: whoever
    /// is told waits for us, and was shown to the world before.
    pub(crate) fn fill(&self) -> Result<(), kedge_client::NotReady> {
        let services = self.world.cache::<Service>()?;
        let (namespaces, pods) = (self.world.cache::<Namespace>()?, self.world.cache::<Pod>()?);
        self.world.cache::<Slice>()?;
        let mut filled = self.writing.lock();
        // What was remembered of earlier is not taken for what is.
        let mut index = self.index.load().emptied();
        for namespace in namespaces.all() {
            index.set_namespace(&namespace.name_any(), true);
        }
        for pod in pods.all() {
            admit(&mut index, &pod);
        }
        for service in services.all() {
            self.look(&mut index, &Key::of(&*service));
        }
        index.complete = true;
        self.index.store(Arc::new(index));
        *filled = true;
        self.changed.notify_one();
        Ok(())
    }

    /// Waits until the index is another than when this was last waited for.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// A Service as the world shows it now, whoever said that something about it changed.
    fn look(&self, index: &mut Index, key: &Key) {
        let entry =
            self.world.get::<Service>(key).ok().flatten().and_then(|service| self.compile(index, &service));
        index.set_service(&key.namespace, &key.name, entry);
    }

    /// What a Service means with the endpoints that are known.
    pub(crate) fn compile(&self, index: &Index, service: &Service) -> Option<Entry> {
        let namespace = service.namespace().unwrap_or_default();
        let label = [(OF_SERVICE.to_owned(), service.name_any())].into();
        let slices = self.world.cache::<Slice>().map(|cache| cache.labelled(&namespace, &label));
        index.compile(service, &slices.unwrap_or_default())
    }

    fn change(&self, how: impl FnOnce(&mut Index)) {
        self.change_if(|_| true, how);
    }

    /// Whether it matters is asked under the lock too: what it depends on may just be changing.
    fn change_if(&self, matters: impl FnOnce(&Index) -> bool, how: impl FnOnce(&mut Index)) {
        let filled = self.writing.lock();
        let before = self.index.load();
        if *filled && matters(&before) {
            let mut index = Index::clone(&before);
            how(&mut index);
            self.index.store(Arc::new(index));
            self.changed.notify_one();
        }
    }

    fn saw_slice(&self, key: &Key, before: Option<&Slice>, now: Option<&Slice>) {
        let named = before.is_some_and(has_hostnames) || now.is_some_and(has_hostnames);
        let of = |slice: Option<&Slice>| slice.and_then(Slice::service).map(str::to_owned);
        let (was, is) = (of(before), of(now));
        for service in was.iter().chain(is.iter().filter(|is| Some(*is) != was.as_ref())) {
            // Most Services have an address of their own and don't ask who stands behind it.
            let headless = |index: &Index| {
                index.service(&key.namespace, service).is_some_and(|entry| entry.is_headless())
            };
            self.change_if(
                |index| named || headless(index),
                |index| self.look(index, &Key::new(&*key.namespace, &**service)),
            );
        }
    }
}

impl Listener for Feed {
    fn saw(&self, seen: &Seen<'_>) {
        if seen.is::<Service>() {
            self.change(|index| self.look(index, seen.key));
        } else if seen.is::<Slice>() {
            self.saw_slice(seen.key, seen.before(), seen.now());
        } else if seen.is::<Namespace>() {
            self.change(|index| index.set_namespace(&seen.key.name, seen.now::<Namespace>().is_some()));
        } else if seen.is::<Pod>() {
            let (before, now) = (seen.before::<Pod>(), seen.now::<Pod>());
            let known =
                |pod: Option<&Pod>| pod.filter(|pod| has_addresses(pod)).map(|pod| pod.addresses().to_vec());
            if known(before) != known(now) {
                self.change(|index| {
                    if let Some(before) = before {
                        index.remove_pod(&seen.key.namespace, &seen.key.name, before.addresses());
                    }
                    if let Some(now) = now {
                        admit(index, now);
                    }
                });
            }
        }
    }
}

fn admit(index: &mut Index, pod: &Pod) {
    if has_addresses(pod) {
        index.add_pod(&pod.namespace().unwrap_or_default(), &pod.name_any(), pod.addresses());
    }
}

/// Of its own, and still.
fn has_addresses(pod: &Pod) -> bool {
    !pod.is_on_host_network() && !pod.is_over()
}
