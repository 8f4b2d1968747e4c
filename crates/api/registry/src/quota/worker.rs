//! Counts what is used under a quota that is new, was changed or may be wrong; between counts every write keeps the
//! figures itself. Whatever wakes it only says where to look. Sleeps until it is woken or a time has come.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_kinds::Status;
use kedge_kinds::quantity::Quantity;
use kedge_store::{Change, Draft, Expect, Key, Snapshot, StoreError, Txn, Watch};
use serde_json::Value;

use super::amounts::Amounts;
use super::charge::Quota;
use super::measure::Measure;
use super::{PREFIX, pod};
use crate::encode::encode;
use crate::registry::{Registry, parse};
use crate::request::{At, WriteOptions};
use crate::{failure, key, object};

/// How long after it a namespace that could not be counted is tried again. In a shared store each new quota gets a second
/// count after this time: another server may not have known of it when it wrote.
const AGAIN: Duration = Duration::from_secs(5);

/// Starts the worker. It ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    tokio::spawn(work(registry.clone()));
}

async fn work(registry: Registry) {
    let quotas = &registry.inner().quotas;
    let mut due: BTreeSet<Arc<str>> = with_quotas(&registry.store().snapshot());
    // One server hears of quotas from its own writes; in a shared store others make them too.
    let prefix = if registry.store().is_shared() { PREFIX } else { "/registry/resourcequotas-end/" };
    let Some(mut heard) = listen(&registry, prefix) else { return };
    loop {
        for namespace in std::mem::take(&mut due) {
            count_now(&registry, &namespace).await;
        }
        let next = quotas.due.lock().later.first().map(|(then, _)| *then);
        let timer = async {
            match next {
                Some(then) => registry.clock().until(then).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = heard.next() => match event {
                Ok(event) => due.extend(is_news(&event.change).then(|| namespace_of(&event.key)).flatten()),
                Err(kedge_store::WatchEnd::Stopped) => return,
                Err(kedge_store::WatchEnd::Lagged) => {
                    quotas.count_all_anew();
                    match listen(&registry, prefix) {
                        Some(again) => heard = again,
                        None => return,
                    }
                }
            },
            () = quotas.wake.notified() => {}
            () = timer => {}
        }
        let now = registry.clock().now();
        let mut asked = quotas.due.lock();
        due.append(&mut asked.now);
        while let Some((then, namespace)) = asked.later.pop_first() {
            if then > now {
                asked.later.insert((then, namespace));
                break;
            }
            due.insert(namespace);
        }
        if std::mem::take(&mut asked.all) {
            due.append(&mut with_quotas(&registry.store().snapshot()));
        }
    }
}

fn listen(registry: &Registry, prefix: &str) -> Option<Watch> {
    registry.store().watch(prefix, registry.store().revision()).ok()
}

/// A quota came, or asks for something else than what it was counted for.
fn is_news(change: &Change) -> bool {
    let Change::Put { now, before } = change else { return false };
    let asks = |entry: &kedge_store::Entry| parse(entry).ok().map(|quota| quota.get("spec").cloned());
    before.as_ref().is_none_or(|before| asks(before) != asks(now))
}

fn namespace_of(key: &Key) -> Option<Arc<str>> {
    let (namespace, _) = key.as_str().strip_prefix(PREFIX)?.split_once('/')?;
    Some(namespace.into())
}

fn with_quotas(snapshot: &Snapshot) -> BTreeSet<Arc<str>> {
    snapshot.range(PREFIX, None).filter_map(|(key, _)| namespace_of(key)).collect()
}

fn soon(registry: &Registry) -> Timestamp {
    let wait = SignedDuration::try_from(AGAIN).unwrap_or_default();
    registry.clock().now().saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// Counts, or sees to it that it is tried again.
pub(super) async fn count_now(registry: &Registry, namespace: &str) {
    if let Err(status) = count(registry, namespace).await {
        tracing::warn!(namespace, "cannot count what quotas limit yet: {status}");
        registry.inner().quotas.count_anew_at(soon(registry), namespace);
    }
}

/// Brings every quota of the namespace to what is true. Nothing of this server's is written there meanwhile.
async fn count(registry: &Registry, namespace: &str) -> Result<(), Status> {
    let quotas = &registry.inner().quotas;
    let _alone = quotas.alone(namespace).await;
    let snapshot = registry.store().latest().await.map_err(failure::status)?;
    let now = registry.clock().now();
    for (key, entry) in snapshot.range(&format!("{PREFIX}{namespace}/"), None) {
        let quota = Quota::read(key, entry)?;
        let hard = Amounts::of(object::at(&quota.object, &["spec", "hard"]));
        let (counted, next) = usage(registry, &snapshot, namespace, &quota, &hard, now)?;
        if let Some(then) = next {
            quotas.count_anew_at(then, namespace);
        }
        // What nobody can count keeps the figure that someone gave it.
        let mut used = quota.used.only(|name| hard.has(name) && !counted.has(name));
        used.add(&counted);
        if quota.hard == hard
            && quota.used == used
            && object::at(&quota.object, &["status", "hard"]).is_some()
        {
            continue;
        }
        if registry.store().is_shared() && quota.hard.is_empty() {
            quotas.count_anew_at(soon(registry), namespace);
        }
        let draft = with_status(registry, &quota.object, namespace, &used);
        match registry.store().commit(Txn::new().put(key, Expect::At(entry.modified()), draft)).await {
            Ok(_) => {}
            // Another server was there.
            Err(StoreError::Conflict { .. }) => quotas.count_anew(namespace),
            Err(error) => return Err(failure::status(error)),
        }
    }
    Ok(())
}

/// What is used of each resource that the quota limits and that can be counted, and when time alone will change it.
fn usage(
    registry: &Registry,
    snapshot: &Snapshot,
    namespace: &str,
    quota: &Quota<'_>,
    hard: &Amounts,
    now: Timestamp,
) -> Result<(Amounts, Option<Timestamp>), Status> {
    let (requirements, mut next) = (quota.requirements(), None::<Timestamp>);
    let mut used = Amounts::default();
    for kind in registry.catalog().stored() {
        let Some(measure) = Measure::of(kind) else { continue };
        let counted: Vec<&str> = hard.names().filter(|name| measure.counts(kind, name, snapshot)).collect();
        if counted.is_empty() {
            continue;
        }
        let mut total = Amounts::default();
        counted.iter().for_each(|name| total.set(*name, Quantity::ZERO));
        let prefix = key::prefix(kind, Some(namespace));
        if measure == Measure::Count {
            // Nothing but their number matters, so none of them has to be read. No scope speaks of them.
            let number = if requirements.is_empty() { snapshot.count(&prefix) } else { 0 };
            counted.iter().for_each(|name| total.count(*name, i64::try_from(number).unwrap_or(i64::MAX)));
        } else {
            for (_, entry) in snapshot.range(&prefix, None) {
                let object = parse(entry)?;
                if requirements.iter().all(|one| measure.is_in_scope(&object, one)) {
                    let usage = measure.usage(kind, &object, now, snapshot);
                    total.add(&usage.only(|name| total.has(name)));
                }
                let given_up = Some(&object).filter(|_| measure == Measure::Pods).and_then(pod::given_up_at);
                next = next.into_iter().chain(given_up.filter(|then| *then >= now)).min();
            }
        }
        used.add(&total);
    }
    Ok((used, next))
}

fn with_status(registry: &Registry, quota: &Value, namespace: &str, used: &Amounts) -> Draft {
    let mut counted = quota.clone();
    let hard =
        object::at(quota, &["spec", "hard"]).cloned().unwrap_or_else(|| Value::Object(Default::default()));
    let status = object::map_mut(&mut counted, "status");
    status.insert("hard".to_owned(), hard);
    status.insert("used".to_owned(), used.to_json());
    if let Some(kind) = registry.catalog().kind("", "v1", "resourcequotas") {
        let at = At {
            kind: kind.clone(),
            namespace: Some(namespace.into()),
            name: None,
            subresource: Some("status".into()),
        };
        let options = WriteOptions { manager: "kedge".to_owned(), ..WriteOptions::default() };
        registry.own(&at, &mut counted, Some(quota), &options, Some("status"));
    }
    let encoded = encode(&counted);
    Draft::with_revision_at(encoded.bytes, encoded.hole)
}
