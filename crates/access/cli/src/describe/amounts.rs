//! What pods ask for and may use at most, counted together as the scheduler counts. Knows no node.

use std::collections::BTreeMap;

use kedge_kinds::Quantity;
use serde_json::Value;

use super::shown::{entries, is_there, items, quantity, text};

pub(super) type Amounts = BTreeMap<String, Quantity>;

/// `requests` or `limits`.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Requests,
    Limits,
}

impl Side {
    fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

pub(super) fn of_pod(pod: &Value, side: Side) -> Amounts {
    let spec = &pod["spec"];
    let mut sum = Amounts::new();
    for container in items(&spec["containers"]) {
        add(&mut sum, &of_container(container, &pod["status"]["containerStatuses"], side));
    }
    // Init containers run one after the other beside those that stay, so the largest moment counts.
    let (mut staying, mut most) = (Amounts::new(), Amounts::new());
    for container in items(&spec["initContainers"]) {
        let statuses = &pod["status"]["initContainerStatuses"];
        if container["restartPolicy"] == "Always" {
            let own = of_container(container, statuses, side);
            add(&mut sum, &own);
            add(&mut staying, &own);
            raise(&mut most, &staying);
        } else {
            let mut moment = of_container(container, &Value::Null, side);
            add(&mut moment, &staying);
            raise(&mut most, &moment);
        }
    }
    raise(&mut sum, &most);
    for (name, amount) in entries(&spec["resources"][side.field()]) {
        if matches!(name, "cpu" | "memory") || name.starts_with("hugepages-") {
            sum.insert(name.to_owned(), quantity(amount));
        }
    }
    for (name, amount) in entries(&spec["overhead"]) {
        let known = sum.contains_key(name);
        // Overhead raises a limit only where there is one.
        if matches!(side, Side::Requests) || known {
            add(&mut sum, &Amounts::from([(name.to_owned(), quantity(amount))]));
        }
    }
    sum
}

/// A container that is being resized counts with the larger of what it has and what it is to get.
fn of_container(container: &Value, statuses: &Value, side: Side) -> Amounts {
    let mut own = list(&container["resources"][side.field()]);
    let status = items(statuses).iter().find(|status| text(&status["name"]) == text(&container["name"]));
    if let Some(status) = status.filter(|status| is_there(&status["resources"])) {
        raise(&mut own, &list(&status["resources"][side.field()]));
        if matches!(side, Side::Requests) {
            raise(&mut own, &list(&status["allocatedResources"]));
        }
    }
    own
}

fn list(amounts: &Value) -> Amounts {
    entries(amounts).map(|(name, amount)| (name.to_owned(), quantity(amount))).collect()
}

pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let total = sum.entry(name.clone()).or_insert(Quantity::ZERO);
        *total = total.plus(amount);
    }
}

fn raise(to: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        let own = to.entry(name.clone()).or_insert(*amount);
        if *own < *amount {
            *own = *amount;
        }
    }
}
