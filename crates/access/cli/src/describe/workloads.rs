//! Controllers that keep pods running: deployments, replica sets, replication controllers, stateful sets, daemon sets.

use serde_json::Value;

use super::page::Page;
use super::pod::{counted, selects, template};
use super::shown::{
    controller, is_there, items, labels, number, owner, pairs, plain, selector_or_none, text,
};
use super::{Given, annotations, labels_and_annotations, name_and_namespace};

pub(super) fn deployment(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    page.field(0, "CreationTimestamp", now.date(&object["metadata"]["creationTimestamp"]));
    labels_and_annotations(page, object);
    page.field(0, "Selector", selects(object));
    page.field(
        0,
        "Replicas",
        format_args!(
            "{} desired | {} updated | {} total | {} available | {} unavailable",
            number(&spec["replicas"]),
            number(&status["updatedReplicas"]),
            number(&status["replicas"]),
            number(&status["availableReplicas"]),
            number(&status["unavailableReplicas"])
        ),
    );
    page.field(0, "StrategyType", text(&spec["strategy"]["type"]));
    page.field(0, "MinReadySeconds", number(&spec["minReadySeconds"]));
    let rolling = &spec["strategy"]["rollingUpdate"];
    if is_there(rolling) {
        let (less, more) = (plain(&rolling["maxUnavailable"]), plain(&rolling["maxSurge"]));
        page.field(0, "RollingUpdateStrategy", format_args!("{less} max unavailable, {more} max surge"));
    }
    template(page, &spec["template"], now);
    conditions(page, status);
    let (old, new) = generations(object, &given.related.replica_sets);
    if !old.is_empty() || new.is_some() {
        page.field(0, "OldReplicaSets", sets(&old));
        page.field(0, "NewReplicaSet", sets(new.as_slice()));
    }
}

/// Its replica sets: those of older templates, oldest first, and the one of today's.
fn generations<'s>(deployment: &Value, all: &'s [Value]) -> (Vec<&'s Value>, Option<&'s Value>) {
    let uid = &deployment["metadata"]["uid"];
    let mut own: Vec<&Value> =
        all.iter().filter(|set| owner(set).is_some_and(|owner| owner["uid"] == *uid)).collect();
    own.sort_by(|a, b| {
        let key = |set: &Value| {
            let meta = &set["metadata"];
            (text(&meta["creationTimestamp"]).to_owned(), text(&meta["name"]).to_owned())
        };
        key(a).cmp(&key(b))
    });
    let wanted = unhashed(&deployment["spec"]["template"]);
    let new = own.iter().copied().find(|set| unhashed(&set["spec"]["template"]) == wanted);
    own.retain(|set| new.is_none_or(|new| !std::ptr::eq(*set, new)));
    (own, new)
}

/// A template without the label that only a replica set's has.
fn unhashed(template: &Value) -> Value {
    let mut template = template.clone();
    let meta = template.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(meta) = meta {
        if let Some(labels) = meta.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove("pod-template-hash");
        }
        meta.retain(|_, value| is_there(value));
    }
    template
}

fn sets(sets: &[&Value]) -> String {
    if sets.is_empty() {
        return "<none>".to_owned();
    }
    let written = sets.iter().map(|set| {
        let (made, wanted) = (number(&set["status"]["replicas"]), number(&set["spec"]["replicas"]));
        format!("{} ({made}/{wanted} replicas created)", text(&set["metadata"]["name"]))
    });
    written.collect::<Vec<_>>().join(", ")
}

fn conditions(page: &mut Page, status: &Value) {
    if is_there(&status["conditions"]) {
        page.head(0, "Conditions");
        page.line(1, "Type\tStatus\tReason");
        page.line(1, "----\t------\t------");
        for one in items(&status["conditions"]) {
            let (kind, status, reason) = (text(&one["type"]), text(&one["status"]), text(&one["reason"]));
            page.line(1, format_args!("{kind} \t{status}\t{reason}"));
        }
    }
}

pub(super) fn replica_set(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name_and_namespace(page, object);
    page.field(0, "Selector", selector_or_none(&object["spec"]["selector"]));
    labels_and_annotations(page, object);
    if let Some(controller) = controller(object) {
        page.field(0, "Controlled By", controller);
    }
    replicas(page, given);
}

pub(super) fn replication_controller(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name_and_namespace(page, object);
    page.field(0, "Selector", labels(&object["spec"]["selector"]));
    labels_and_annotations(page, object);
    replicas(page, given);
}

fn replicas(page: &mut Page, given: &Given<'_>) {
    let (spec, status) = (&given.object["spec"], &given.object["status"]);
    let (have, want) = (number(&status["replicas"]), number(&spec["replicas"]));
    page.field(0, "Replicas", format_args!("{have} current / {want} desired"));
    match given.related.pods {
        Some(_) => page.field(0, "Pods Status", counted(given)),
        None => page.field(0, "Pods Status", "error in fetching pods: not authorized"),
    }
    template(page, &spec["template"], given.now);
    conditions(page, status);
}

pub(super) fn stateful_set(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    page.field(0, "CreationTimestamp", now.date(&object["metadata"]["creationTimestamp"]));
    page.field(0, "Selector", selects(object));
    labels_and_annotations(page, object);
    let (want, have) = (number(&spec["replicas"]), number(&status["replicas"]));
    page.field(0, "Replicas", format_args!("{want} desired | {have} total"));
    let strategy = &spec["updateStrategy"];
    page.field(0, "Update Strategy", text(&strategy["type"]));
    let rolling = &strategy["rollingUpdate"];
    if let Some(partition) = rolling["partition"].as_i64() {
        page.field(1, "Partition", partition);
        if is_there(&rolling["maxUnavailable"]) {
            page.field(1, "MaxUnavailable", plain(&rolling["maxUnavailable"]));
        }
    }
    page.field(0, "Pods Status", counted(given));
    template(page, &spec["template"], now);
    claims(page, &spec["volumeClaimTemplates"]);
}

fn claims(page: &mut Page, templates: &Value) {
    if !is_there(templates) {
        page.field(0, "Volume Claims", "<none>");
        return;
    }
    page.head(0, "Volume Claims");
    for claim in items(templates) {
        let (meta, spec) = (&claim["metadata"], &claim["spec"]);
        page.field(1, "Name", text(&meta["name"]));
        page.field(1, "StorageClass", super::storage::class_of(claim));
        page.list(1, "Labels", pairs(&meta["labels"]));
        page.list(1, "Annotations", pairs(&meta["annotations"]));
        let wanted = &spec["resources"]["requests"]["storage"];
        page.field(1, "Capacity", super::shown::plain_or(wanted, "<default>"));
        page.field(1, "Access Modes", super::shown::bracketed(&spec["accessModes"]));
    }
}

pub(super) fn daemon_set(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    page.field(0, "Selector", selects(object));
    page.field(0, "Node-Selector", labels(&spec["template"]["spec"]["nodeSelector"]));
    page.list(0, "Labels", pairs(&object["metadata"]["labels"]));
    annotations(page, 0, &object["metadata"]["annotations"]);
    for (label, field) in [
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        page.line(0, format_args!("{label}: {}", number(&status[field])));
    }
    page.field(0, "Pods Status", counted(given));
    template(page, &spec["template"], given.now);
}
