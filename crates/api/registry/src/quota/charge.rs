//! What one write costs, and what that does to each quota of the namespace. Decides; commits nothing.

use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_store::{Draft, Entry, Expect, Key, Snapshot, Txn};
use serde_json::Value;

use super::amounts::Amounts;
use super::gate::Quotas;
use super::measure::{Measure, Requirement};
use super::{Change, PREFIX, pod};
use crate::encode::encode;
use crate::registry::parse;
use crate::{key, object};

/// A write as quotas see it.
pub(super) struct Bill<'a> {
    change: Change<'a>,
    measure: Measure,
    pub(super) now: Timestamp,
    namespace: &'a str,
    /// Where the namespace's quotas lie.
    prefix: String,
    /// The object itself, which may be a quota.
    own: String,
}

/// A quota with what it says and has counted.
pub(super) struct Quota<'s> {
    pub(super) key: &'s Key,
    pub(super) entry: &'s Entry,
    pub(super) object: Value,
    pub(super) hard: Amounts,
    pub(super) used: Amounts,
}

/// The object falls under the quota: these of its resources are counted.
struct Match<'q, 's> {
    quota: &'q Quota<'s>,
    covers_new: bool,
    covers_old: bool,
}

impl<'s> Quota<'s> {
    pub(super) fn read(key: &'s Key, entry: &'s Entry) -> Result<Self, Status> {
        let object = parse(entry)?;
        let status = |field| Amounts::of(object::at(&object, &["status", field]));
        Ok(Self { hard: status("hard"), used: status("used"), key, entry, object })
    }

    pub(super) fn name(&self) -> &str {
        object::meta_text(&self.object, "name")
    }

    /// Every part of its scope. All of them must hold.
    pub(super) fn requirements(&self) -> Vec<Requirement<'_>> {
        let named =
            object::at(&self.object, &["spec", "scopes"]).and_then(Value::as_array).into_iter().flatten();
        let named = named.filter_map(Value::as_str);
        let chosen = object::at(&self.object, &["spec", "scopeSelector", "matchExpressions"]);
        let chosen = chosen.and_then(Value::as_array).into_iter().flatten();
        let named = named.map(|scope| Requirement { scope, operator: "Exists", values: Vec::new() });
        let chosen = chosen.map(|one| Requirement {
            scope: object::text(one, &["scopeName"]),
            operator: object::text(one, &["operator"]),
            values: (one.get("values").and_then(Value::as_array).into_iter().flatten())
                .filter_map(Value::as_str)
                .collect(),
        });
        named.chain(chosen).collect()
    }

    fn covers(&self, measure: Measure, object: Option<&Value>) -> bool {
        object.is_some_and(|object| self.requirements().iter().all(|one| measure.is_in_scope(object, one)))
    }
}

impl<'a> Bill<'a> {
    pub(super) fn new(change: Change<'a>, measure: Measure, now: Timestamp) -> Option<Self> {
        let namespace = change.at.namespace.as_deref()?;
        let object = change.new.or(change.old)?;
        let own = key::object(&change.at.kind, Some(namespace), object::meta_text(object, "name"));
        let prefix = format!("{PREFIX}{namespace}/");
        Some(Self { change, measure, now, namespace, prefix, own })
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.namespace
    }

    pub(super) fn has_quotas(&self, snapshot: &Snapshot) -> bool {
        snapshot.range(&self.prefix, None).next().is_some()
    }

    pub(super) fn is_for_a_quota(&self) -> bool {
        super::is_quota(&self.change.at.kind) && self.change.old.is_some()
    }

    /// The key is that of a quota which this is charged to.
    pub(super) fn is_to(&self, key: &str) -> bool {
        key != self.own && key.starts_with(&self.prefix)
    }

    /// The changes of quotas that go with the write, or why one of them does not allow it.
    pub(super) fn charge(&self, newest: &Snapshot) -> Result<Txn, Status> {
        let mut txn = Txn::new();
        let quotas: Vec<Quota<'_>> = newest
            .range(&self.prefix, None)
            .filter(|(key, _)| key.as_str() != self.own)
            .map(|(key, entry)| Quota::read(key, entry))
            .collect::<Result<_, _>>()?;
        if quotas.is_empty() {
            return Ok(txn);
        }
        let kind = &*self.change.at.kind;
        let usage = |object: Option<&Value>| {
            object.map(|object| self.measure.usage(kind, object, self.now, newest)).unwrap_or_default()
        };
        let (after, before) = (usage(self.change.new), usage(self.change.old));
        let judged = self.change.new.filter(|new| {
            self.measure.may_refuse(self.change.at.subresource.as_deref(), self.change.old, new)
        });
        let matched = self.matched(&quotas, newest, judged)?;
        for Match { quota, covers_new, covers_old } in matched {
            let gained = if covers_new { after.clone() } else { Amounts::default() };
            let lost = if covers_old { before.clone() } else { Amounts::default() };
            if judged.is_some() {
                self.fits(quota, &gained, &lost)?;
            }
            let mut used = quota.used.clone();
            used.add(&gained.only(|name| quota.used.has(name)));
            used.take_off(&lost);
            if used != quota.used {
                let draft = with_used(quota.object.clone(), &used);
                txn = txn.put(quota.key, Expect::At(quota.entry.modified()), draft);
            }
        }
        Ok(txn)
    }

    /// The quotas that the object falls under. What one of them must know and can't is refused before anything is added.
    fn matched<'q, 's>(
        &self,
        quotas: &'q [Quota<'s>],
        newest: &Snapshot,
        judged: Option<&Value>,
    ) -> Result<Vec<Match<'q, 's>>, Status> {
        let mut matched = Vec::new();
        for quota in quotas {
            let counts = |name: &&str| self.measure.counts(&self.change.at.kind, name, newest);
            let restricted: Vec<&str> = quota.hard.names().filter(counts).collect();
            if restricted.is_empty() {
                continue;
            }
            let covers_new = quota.covers(self.measure, self.change.new);
            let covers_old = quota.covers(self.measure, self.change.old);
            if let Some(new) = judged.filter(|_| covers_new) {
                let missing =
                    if self.measure == Measure::Pods { pod::missing(new, &restricted) } else { None };
                if let Some(missing) = missing {
                    return Err(self.refusal(&format!("failed quota: {}: {missing}", quota.name())));
                }
                if restricted.iter().any(|name| !quota.used.has(name)) {
                    let names = restricted.join(",");
                    return Err(self.refusal(&format!(
                        "status unknown for quota: {}, resources: {names}",
                        quota.name()
                    )));
                }
            }
            matched.push(Match { quota, covers_new, covers_old });
        }
        Ok(matched)
    }

    /// What a write adds must fit; what it leaves as it was or takes away always does, even above the limit.
    fn fits(&self, quota: &Quota<'_>, gained: &Amounts, lost: &Amounts) -> Result<(), Status> {
        if let Some(name) = gained.iter().find(|(_, amount)| amount.is_negative()).map(|(name, _)| name) {
            return Err(self.refusal(&format!("quota usage is negative for resource(s): {name}")));
        }
        let mut added = gained.only(|name| quota.hard.has(name));
        added.take_off(lost);
        added.retain(|name, amount| {
            let used = quota.used.get(name).copied().unwrap_or_default();
            !amount.is_zero() && quota.hard.get(name).is_some_and(|most| used.plus(amount) > *most)
        });
        if added.is_empty() {
            return Ok(());
        }
        let exceeded = |amounts: &Amounts| amounts.only(|name| added.has(name));
        Err(self.refusal(&format!(
            "exceeded quota: {}, requested: {added}, used: {}, limited: {}",
            quota.name(),
            exceeded(&quota.used),
            exceeded(&quota.hard)
        )))
    }

    fn refusal(&self, why: &str) -> Status {
        let name = self.change.new.map_or("", |new| object::meta_text(new, "name"));
        Status::forbidden(&self.change.at.kind, name, why)
    }

    /// After the write: what time alone will change, and what only counting anew can tell.
    pub(super) fn tell(&self, quotas: &Quotas, snapshot: &Snapshot) {
        if !self.has_quotas(snapshot) {
            return;
        }
        if self.change.old.is_some_and(|old| self.measure.is_uncertain(old, self.now)) {
            quotas.count_anew(self.namespace);
        }
        if self.measure == Measure::Pods
            && let Some(then) = self.change.new.and_then(pod::given_up_at)
        {
            quotas.count_anew_at(then, self.namespace);
        }
    }
}

/// The quota with other figures. Who owns them doesn't change with every charge.
pub(super) fn with_used(mut quota: Value, used: &Amounts) -> Draft {
    object::map_mut(&mut quota, "status").insert("used".to_owned(), used.to_json());
    let encoded = encode(&quota);
    Draft::with_revision_at(encoded.bytes, encoded.hole)
}
