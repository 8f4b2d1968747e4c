//! What a pod asks for and may use as a whole, and what of that a quota counts. Pure; the time is handed in.

use jiff::{SignedDuration, Timestamp};
use kedge_kinds::Meta;
use kedge_kinds::quantity::{Format, Quantity};
use serde_json::Value;

use super::amounts::Amounts;
use super::resource;
use crate::object;

/// Which side of a container's resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Requests,
    Limits,
}

impl Side {
    fn field(self) -> &'static str {
        match self {
            Side::Requests => "requests",
            Side::Limits => "limits",
        }
    }
}

pub(crate) fn list<'p>(pod: &'p Value, part: &str, field: &str) -> &'p [Value] {
    object::at(pod, &[part, field]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn of_container(container: &Value, side: Side) -> Amounts {
    Amounts::of(object::at(container, &["resources", side.field()]))
}

/// What its containers ask for together: all that run side by side, and at least what any moment of the start needs.
pub(crate) fn of_containers(pod: &Value, each: impl Fn(&Value, bool) -> Amounts) -> Amounts {
    let mut together = Amounts::default();
    for container in list(pod, "spec", "containers") {
        together.add(&each(container, true));
    }
    let (mut sidecars, mut start) = (Amounts::default(), Amounts::default());
    for container in list(pod, "spec", "initContainers") {
        let stays = object::text(container, &["restartPolicy"]) == "Always";
        let mut now = each(container, stays);
        if stays {
            together.add(&now);
            sidecars.add(&now);
            now = sidecars.clone();
        } else {
            now.add(&sidecars);
        }
        start.raise_to(&now);
    }
    together.raise_to(&start);
    together
}

/// What the pod as a whole says about itself stands above what its containers add up to.
pub(crate) fn override_with_own(total: &mut Amounts, pod: &Value, side: Side, counts: impl Fn(&str) -> bool) {
    let own = Amounts::of(object::at(pod, &["spec", "resources", side.field()]));
    for (name, amount) in own.iter().filter(|(name, _)| counts(name)) {
        total.set(name, *amount);
    }
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// The pod says as a whole what it needs, so its containers don't have to.
pub(super) fn speaks_for_itself(pod: &Value) -> bool {
    [Side::Requests, Side::Limits].into_iter().any(|side| {
        Amounts::of(object::at(pod, &["spec", "resources", side.field()])).names().any(is_pod_level)
    })
}

/// What the pod is charged for, its overhead included, and what it still holds while it is being resized.
fn total(pod: &Value, side: Side) -> Amounts {
    let infeasible = list(pod, "status", "conditions")
        .iter()
        .find(|one| object::text(one, &["type"]) == "PodResizePending")
        .is_some_and(|one| object::text(one, &["reason"]) == "Infeasible");
    let mut total = of_containers(pod, |container, resizable| {
        let wanted = of_container(container, side);
        let name = object::text(container, &["name"]);
        let statuses = ["containerStatuses", "initContainerStatuses"];
        let status = statuses
            .iter()
            .flat_map(|field| list(pod, "status", field))
            .find(|status| object::text(status, &["name"]) == name && status.get("resources").is_some());
        let Some(status) = status.filter(|_| resizable) else { return wanted };
        let mut held = of_container(status, side);
        if side == Side::Requests {
            held.raise_to(&Amounts::of(status.get("allocatedResources")));
        }
        if !infeasible {
            held.raise_to(&wanted);
        }
        held
    });
    override_with_own(&mut total, pod, side, is_pod_level);
    let overhead = Amounts::of(object::at(pod, &["spec", "overhead"]));
    match side {
        Side::Requests => total.add(&overhead),
        // A limit that isn't there, or is nothing, stays so.
        Side::Limits => {
            let limited = |name: &str| total.get(name).is_some_and(|limit| !limit.is_zero());
            let overhead = overhead.only(limited);
            total.add(&overhead);
        }
    }
    total
}

/// Pods that have ended, and those that should be gone, use nothing any more.
fn is_over(pod: &Value, now: Timestamp) -> bool {
    matches!(object::text(pod, &["status", "phase"]), "Failed" | "Succeeded")
        || given_up_at(pod).is_some_and(|then| now > then)
}

/// When a pod that is being deleted is no longer waited for.
pub(super) fn given_up_at(pod: &Value) -> Option<Timestamp> {
    let meta = Meta::of(pod);
    let deleted: Timestamp = meta.deletion_timestamp()?.parse().ok()?;
    let grace = SignedDuration::from_secs(meta.deletion_grace_period_seconds()?);
    Some(deleted.saturating_add(grace).unwrap_or(Timestamp::MAX))
}

pub(super) fn usage(pod: &Value, now: Timestamp) -> Amounts {
    let mut usage = if is_over(pod, now) {
        Amounts::default()
    } else {
        compute(&total(pod, Side::Requests), &total(pod, Side::Limits))
    };
    usage.count("count/pods", 1);
    usage
}

/// Requests and limits under the names that quotas know them by.
fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::default();
    usage.set("pods", Quantity::of(1, Format::DecimalSi));
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            usage.set(name, *request);
            usage.set(format!("requests.{name}"), *request);
        }
        if let Some(limit) = limits.get(name) {
            usage.set(format!("limits.{name}"), *limit);
        }
    }
    for (name, request) in requests.iter() {
        if name.starts_with("hugepages-") {
            usage.set(name, *request);
        }
        if name.starts_with("hugepages-") || resource::is_device(name) {
            usage.set(format!("requests.{name}"), *request);
        }
    }
    usage
}

/// Resources that every container has to name once a quota counts them.
const DEMANDED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// What containers leave open that a quota on `restricted` wants to know.
pub(super) fn missing(pod: &Value, restricted: &[&str]) -> Option<String> {
    if speaks_for_itself(pod) {
        return None;
    }
    let containers = || list(pod, "spec", "containers").iter().chain(list(pod, "spec", "initContainers"));
    let mut parts = Vec::new();
    for wanted in DEMANDED.into_iter().filter(|name| restricted.contains(name)) {
        let lacks = |container: &&Value| {
            let requests = of_container(container, Side::Requests);
            !compute(&requests, &of_container(container, Side::Limits)).has(wanted)
        };
        let mut names: Vec<&str> =
            containers().filter(lacks).map(|container| object::text(container, &["name"])).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            parts.push(format!("{wanted} for: {}", names.join(",")));
        }
    }
    (!parts.is_empty()).then(|| format!("must specify {}", parts.join("; ")))
}

/// The pod ends by itself after a time.
pub(super) fn has_deadline(pod: &Value) -> bool {
    object::at(pod, &["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64).is_some_and(|time| time >= 0)
}

/// One of its affinity terms looks at pods of other namespaces.
pub(super) fn looks_elsewhere(pod: &Value) -> bool {
    let term = |term: &Value| {
        let named = term.get("namespaces").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
        named || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
    };
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    ["podAffinity", "podAntiAffinity"].into_iter().any(|side| {
        let all = |field| {
            object::at(pod, &["spec", "affinity", side, field])
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        all(required).any(term) || all(preferred).filter_map(|one| one.get("podAffinityTerm")).any(term)
    })
}
