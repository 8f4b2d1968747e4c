//! What differs between kinds: a `Strategy` each, of a few pure lines. The generic path around it is the same for all.

use kedge_kinds::field::Errors;
use serde_json::Value;

/// A kind's own rules. Every method sees objects in the stored version, already checked against the schema.
/// The defaults are right for a kind with nothing special.
pub trait Strategy: Send + Sync {
    /// Fills in what the user left out. Runs on every write and must not change what it filled in before.
    fn default(&self, _object: &mut Value) {}

    /// Creation: what the user may not choose is cleared or set here. The generic path has already dropped `status`
    /// (where that is a subresource) and set the metadata.
    fn prepare_create(&self, _object: &mut Value) {}

    /// Update of the main resource: carries over what an update may not touch. `status` is already the old one's.
    fn prepare_update(&self, _new: &mut Value, _old: &Value) {}

    /// Update of `status`: everything else is already the old one's.
    fn prepare_status(&self, _new: &mut Value, _old: &Value) {}

    /// What is wrong with a new object (metadata is checked by the generic path).
    fn validate(&self, _object: &Value, _errors: &mut Errors) {}

    /// What is wrong with a change beyond `validate`, immutable fields foremost.
    fn validate_update(&self, _new: &Value, _old: &Value, _errors: &mut Errors) {}

    /// `validate_update` says everything about a change and `validate` isn't asked: what was wrong before may stay.
    fn judges_changes_whole(&self) -> bool {
        false
    }

    fn validate_status(&self, _new: &Value, _old: &Value, _errors: &mut Errors) {}

    /// Things that are legal and yet probably not meant; sent back as `Warning` headers.
    fn warnings(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Whether an update says its warnings, too: where generations are counted, only one that began a new one.
    fn warns_again(&self, new: &Value, old: &Value) -> bool {
        let generation = |object: &Value| object.pointer("/metadata/generation").and_then(Value::as_i64);
        !self.counts_generations() || generation(new) != generation(old)
    }

    /// How names of this kind are checked.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Fields besides `metadata.name` and `metadata.namespace` that a field selector may use, with how to read them.
    fn selectable(&self) -> &'static [Selectable] {
        &[]
    }

    /// A spec change raises `metadata.generation`. True for kinds that have one.
    fn counts_generations(&self) -> bool {
        false
    }

    /// PUT to a name that isn't there creates it (Lease and a few others).
    fn create_on_update(&self) -> bool {
        false
    }

    /// An update without `resourceVersion` is accepted.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// For how many seconds a deleted object stays for its owner to wind it down; 0 removes it at once.
    fn grace_seconds(&self, _object: &Value, _asked: Option<i64>) -> i64 {
        0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// DNS-1123 subdomain, the usual one.
    Subdomain,
    /// DNS-1123 label (Namespace).
    Label,
    /// DNS-1035 label (Service).
    Label1035,
    /// Anything that can be one segment of a path (RBAC kinds).
    PathSegment,
    /// An IP address in the one way to write it (IPAddress).
    Address,
}

/// A field that selectors may name: `spec.nodeName`. `pointer` is its place, `/spec/nodeName`.
#[derive(Clone, Copy, Debug)]
pub struct Selectable {
    pub field: &'static str,
    pub pointer: &'static str,
    /// What an absent field compares as.
    pub absent: &'static str,
}
