//! A namespace's LimitRanges: what containers get that ask for nothing, and the least and most that containers, pods and
//! claims may ask for. Knows nothing of what others in the namespace use; that is the quota's.

use std::sync::Arc;

use kedge_kinds::quantity::{Format, Quantity};
use kedge_kinds::{Meta, Status};
use serde_json::{Map, Value};

use super::{Operation, Plugin, View, forbidden};
use crate::object;
use crate::quota::amounts::{Amounts, amount};
use crate::quota::pod::{self, Side};

pub(super) struct LimitRanger;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// The largest amount that is compared in thousandths.
const MAX_IN_MILLI: i64 = i64::MAX / 1000;

impl Plugin for LimitRanger {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Pod") || view.is("", "PersistentVolumeClaim") || is_resize(view)
    }

    fn mutate(
        &self,
        view: &View<'_>,
        object: &mut Value,
        old: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        if &*view.at.kind.kind == "Pod" && !is_leaving(old) {
            for range in ranges(view)? {
                fill(object, &range);
            }
        }
        Ok(())
    }

    fn validate(&self, view: &View<'_>, object: &Value, old: Option<&Value>) -> Result<(), Status> {
        if is_leaving(old) {
            return Ok(());
        }
        for range in ranges(view)? {
            let mut wrong = Vec::new();
            for item in items(&range) {
                match object::text(item, &["type"]) {
                    "PersistentVolumeClaim" if view.is("", "PersistentVolumeClaim") => {
                        claim(item, object, &mut wrong);
                    }
                    "Container" if &*view.at.kind.kind == "Pod" => {
                        let containers = pod::list(object, "spec", "containers");
                        for one in containers.iter().chain(pod::list(object, "spec", "initContainers")) {
                            let of = |side| pod::of_container(one, side);
                            asked(item, "Container", &of(Side::Requests), &of(Side::Limits), &mut wrong);
                        }
                    }
                    "Pod" if &*view.at.kind.kind == "Pod" => {
                        asked(
                            item,
                            "Pod",
                            &total(object, Side::Requests),
                            &total(object, Side::Limits),
                            &mut wrong,
                        );
                    }
                    _ => {}
                }
            }
            if let Some(why) = together(wrong) {
                return Err(forbidden(&view.at.kind, object, &why));
            }
        }
        Ok(())
    }
}

fn is_resize(view: &View<'_>) -> bool {
    view.operation == Operation::Update
        && view.at.subresource.as_deref() == Some("resize")
        && &*view.at.kind.kind == "Pod"
        && view.at.kind.gv.group.is_empty()
}

fn is_leaving(old: Option<&Value>) -> bool {
    old.is_some_and(|old| Meta::of(old).is_leaving())
}

fn ranges(view: &View<'_>) -> Result<Vec<Arc<Value>>, Status> {
    view.all(&format!("limitranges/{}", view.at.namespace.as_deref().unwrap_or_default()))
}

fn items(range: &Value) -> &[Value] {
    pod::list(range, "spec", "limits")
}

/// Gives each container what it does not ask for itself, and writes down what that was.
fn fill(pod: &mut Value, range: &Value) {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for item in items(range).iter().filter(|item| object::text(item, &["type"]) == "Container") {
        for (field, all) in [("defaultRequest", &mut requests), ("default", &mut limits)] {
            let given = item.get(field).and_then(Value::as_object).into_iter().flatten();
            all.extend(given.map(|(name, amount)| (name.clone(), amount.clone())));
        }
    }
    let mut said = Vec::new();
    for (list, words) in [("containers", "container"), ("initContainers", "init container")] {
        let containers =
            pod.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = object::text(container, &["name"]).to_owned();
            for (field, words_for, defaults) in
                [("requests", "request", &requests), ("limits", "limit", &limits)]
            {
                let set = fill_one(container, field, defaults);
                if !set.is_empty() {
                    said.push(format!("{} {words_for} for {words} {name}", set.join(", ")));
                }
            }
        }
    }
    if !said.is_empty() {
        let annotations = object::meta_mut(pod).entry("annotations").or_insert_with(|| Map::new().into());
        let text = format!("LimitRanger plugin set: {}", said.join("; "));
        object::as_map(annotations).insert(ANNOTATION.to_owned(), text.into());
    }
}

/// The names of what was missing, in order.
fn fill_one(container: &mut Value, field: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let asked = object::at(container, &["resources", field]).and_then(Value::as_object);
    let missing = |name: &&String| asked.is_none_or(|asked| !asked.contains_key(*name));
    let mut set: Vec<String> = defaults.keys().filter(missing).cloned().collect();
    set.sort_unstable();
    if !set.is_empty() {
        let amounts =
            object::map_mut(container, "resources").entry(field).or_insert_with(|| Map::new().into());
        let amounts = object::as_map(amounts);
        for name in &set {
            amounts.insert(name.clone(), defaults.get(name).cloned().unwrap_or_default());
        }
    }
    set
}

/// What the pod asks for as a whole.
fn total(object: &Value, side: Side) -> Amounts {
    let mut total = pod::of_containers(object, |container, _| pod::of_container(container, side));
    pod::override_with_own(&mut total, object, side, |name| matches!(name, "cpu" | "memory"));
    total
}

fn asked(item: &Value, what: &str, requests: &Amounts, limits: &Amounts, wrong: &mut Vec<String>) {
    for (name, least) in Amounts::of(item.get("min")).iter() {
        let (request, limit) = (requests.get(name), limits.get(name));
        let words = format!("minimum {name} usage per {what} is {least}");
        wrong.extend(match (request, limit) {
            (None, _) => Some(format!("{words}.  No request is specified")),
            (Some(request), _) if below(request, least, limit) => {
                Some(format!("{words}, but request is {request}"))
            }
            (Some(request), Some(limit)) if below(limit, least, Some(request)) => {
                Some(format!("{words}, but limit is {limit}"))
            }
            _ => None,
        });
    }
    for (name, most) in Amounts::of(item.get("max")).iter() {
        let (request, limit) = (requests.get(name), limits.get(name));
        let words = format!("maximum {name} usage per {what} is {most}");
        wrong.extend(match (request, limit) {
            (_, None) => Some(format!("{words}.  No limit is specified")),
            (_, Some(limit)) if below(most, limit, request) => Some(format!("{words}, but limit is {limit}")),
            (Some(request), Some(limit)) if below(most, request, Some(limit)) => {
                Some(format!("{words}, but request is {request}"))
            }
            _ => None,
        });
    }
    for (name, most) in Amounts::of(item.get("maxLimitRequestRatio")).iter() {
        wrong.extend(ratio(name, what, most, requests.get(name), limits.get(name)));
    }
}

fn ratio(
    name: &str,
    what: &str,
    most: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let words = format!("{name} max limit to request ratio per {what} is {most}");
    let (Some(request), true) = (request, request.is_some_and(|request| !request.is_zero())) else {
        return Some(format!("{words}, but no request is specified or request is 0"));
    };
    let (Some(limit), true) = (limit, limit.is_some_and(|limit| !limit.is_zero())) else {
        return Some(format!("{words}, but no limit is specified or limit is 0"));
    };
    let in_milli = [request, limit, most].into_iter().all(|one| one.value() <= MAX_IN_MILLI);
    let number = |one: &Quantity| if in_milli { one.milli_value() } else { one.value() } as f64;
    let found = number(limit) / number(request);
    let (compared, most_allowed) = if most.value() <= MAX_IN_MILLI {
        (found * 1000.0, most.milli_value() as f64)
    } else {
        (found, most.value() as f64)
    };
    (compared > most_allowed).then(|| format!("{words}, but provided ratio is {found:.6}"))
}

fn claim(item: &Value, claim: &Value, wrong: &mut Vec<String>) {
    let request = object::at(claim, &["spec", "resources", "requests"]);
    let request = |name: &str| request.and_then(|all| all.get(name)).map(amount);
    for (field, words) in [("min", "minimum"), ("max", "maximum")] {
        for (name, bound) in Amounts::of(item.get(field)).iter() {
            let words = format!("{words} {name} usage per PersistentVolumeClaim is {bound}");
            let Some(asked) = request(name) else {
                wrong.push(format!("{words}.  No request is specified"));
                continue;
            };
            let (low, high) = if field == "min" { (&asked, bound) } else { (bound, &asked) };
            if below(low, high, None) {
                wrong.push(format!("{words}, but request is {asked}"));
            }
        }
    }
}

/// Compared in thousandths as long as all three can be counted in them.
fn below(one: &Quantity, other: &Quantity, beside: Option<&Quantity>) -> bool {
    let beside = beside.copied().unwrap_or(Quantity::of(0, Format::DecimalSi));
    if [one, other, &beside].into_iter().all(|amount| amount.value() <= MAX_IN_MILLI) {
        one.milli_value() < other.milli_value()
    } else {
        one.value() < other.value()
    }
}

/// One reason as it is, several in brackets, none twice.
fn together(reasons: Vec<String>) -> Option<String> {
    let mut once: Vec<String> = Vec::new();
    for reason in reasons {
        if !once.contains(&reason) {
            once.push(reason);
        }
    }
    match once.len() {
        0 => None,
        1 => once.pop(),
        _ => Some(format!("[{}]", once.join(", "))),
    }
}

#[cfg(test)]
mod tests;
