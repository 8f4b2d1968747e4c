//! The definitions that are served here, each compiled once: a change of one leaves all others as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_kinds::field::Errors;
use kedge_kinds::kind::{Column, Conversion, ScalePaths};
use kedge_kinds::{Kind, Meta, Rules};
use kedge_store::Revision;
use parking_lot::Mutex;
use serde_json::Value;

use crate::catalog::Catalog;
use crate::object;

/// By name of the definition: `widgets.example.com`.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// Kinds that this server has besides those that every server has.
    own: &'static [Arc<Kind>],
    held: Mutex<BTreeMap<Arc<str>, Held>>,
}

#[derive(Debug)]
struct Held {
    /// What the kinds were compiled from; the rest of a definition doesn't concern them.
    uid: String,
    generation: i64,
    names: Value,
    kinds: Vec<Arc<Kind>>,
    since: Arc<AtomicU64>,
}

impl Definitions {
    pub(crate) fn beside(own: &'static [Arc<Kind>]) -> Self {
        Self { own, held: Mutex::default() }
    }

    /// Serves a definition as it was written at `revision`. True if that changed anything.
    pub(super) fn put(&self, name: &Arc<str>, definition: &Value, names: &Value, revision: Revision) -> bool {
        let meta = Meta::of(definition);
        let (uid, generation) = (meta.uid().to_owned(), meta.generation());
        let same = |held: &Held| held.uid == uid && held.generation == generation && held.names == *names;
        if self.held.lock().get(name).is_some_and(same) {
            return false;
        }
        let mut named = Cow::Borrowed(definition);
        if object::at(definition, &["status", "acceptedNames"]) != Some(names) {
            object::map_mut(named.to_mut(), "status").insert("acceptedNames".to_owned(), names.clone());
        }
        let since = Arc::new(AtomicU64::new(revision.get()));
        let compiled = kedge_custom::compile(&named).into_iter().filter_map(Arc::into_inner);
        let kinds = compiled.map(|kind| watched(kind, &since)).collect();
        let held = Held { uid, generation, names: names.clone(), kinds, since };
        self.held.lock().insert(name.clone(), held);
        true
    }

    /// True if it was there.
    pub(super) fn remove(&self, name: &str) -> bool {
        self.held.lock().remove(name).is_some()
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.held.lock().keys().cloned().collect()
    }

    /// All that is served: what every server has, what this one has, and what was defined. Nobody defines the former anew.
    pub(crate) fn catalog(&self) -> Catalog {
        let builtin = || kedge_kinds::builtin().kinds.iter().chain(self.own);
        let held = self.held.lock();
        let is_new = |kind: &&Arc<Kind>| !builtin().any(|own| own.gv == kind.gv);
        let defined = held.values().flat_map(|held| &held.kinds).filter(is_new);
        Catalog::of(builtin().chain(defined).cloned())
    }

    /// A write that began under an earlier definition was finished under this one: what it wrote is not as this one
    /// would have it.
    pub(crate) fn wrote(&self, kind: &Kind, revision: Revision) {
        let held = self.held.lock();
        let Some(held) = held.get(&*kind.qualified_plural()) else { return };
        let used = |known: &&Arc<Kind>| std::ptr::eq(Arc::as_ptr(known), kind);
        if !held.kinds.iter().any(|known| used(&known)) {
            held.since.fetch_max(revision.get(), Ordering::Relaxed);
        }
    }
}

/// Adds to a kind's rules what follows from its definition as a stored object.
fn watched(kind: Kind, since: &Arc<AtomicU64>) -> Arc<Kind> {
    let Some(rules) = kind.rules.clone() else { return Arc::new(kind) };
    Arc::new(Kind { rules: Some(Arc::new(Watched { rules, since: since.clone() })), ..kind })
}

/// A definition's rules, and since when they hold.
#[derive(Debug)]
struct Watched {
    rules: Arc<dyn Rules>,
    since: Arc<AtomicU64>,
}

impl Rules for Watched {
    fn prune(&self, object: &mut Value) -> Vec<String> {
        self.rules.prune(object)
    }

    fn default(&self, object: &mut Value) {
        self.rules.default(object);
    }

    fn validate(&self, object: &Value, old: Option<&Value>, errors: &mut Errors) {
        self.rules.validate(object, old, errors);
    }

    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors) {
        self.rules.validate_status(object, old, errors);
    }

    fn scale(&self) -> Option<&ScalePaths> {
        self.rules.scale()
    }

    fn selectable(&self) -> &[Arc<str>] {
        self.rules.selectable()
    }

    fn columns(&self) -> &[Column] {
        self.rules.columns()
    }

    fn conversion(&self) -> &Conversion {
        self.rules.conversion()
    }

    fn openapi_v3(&self) -> Value {
        self.rules.openapi_v3()
    }

    fn openapi_v2(&self) -> Value {
        self.rules.openapi_v2()
    }

    fn deprecation(&self) -> Option<&str> {
        self.rules.deprecation()
    }

    fn is_settled(&self, revision: u64) -> bool {
        revision > self.since.load(Ordering::Relaxed)
    }
}
