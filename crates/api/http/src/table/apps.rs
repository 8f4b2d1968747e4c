//! Deployments, replica sets, stateful sets, daemon sets and their revisions as rows.

use serde_json::{Value, json};

use super::selector::{labels, requirements, selector};
use super::{Column, Printer, age, containers, items, name, number, text};

const CONTAINERS: Column = Column::text("Containers").wide();
const IMAGES: Column = Column::text("Images").wide();
const SELECTOR: Column = Column::text("Selector").wide();

pub(super) const REPLICAS: &[Column] = &[
    Column::name(),
    Column::int("Desired"),
    Column::int("Current"),
    Column::int("Ready"),
    Column::age(),
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) fn printer(kind: &str) -> Option<Printer> {
    Some(match kind {
        "Deployment" => DEPLOYMENT,
        "ReplicaSet" => REPLICA_SET,
        "StatefulSet" => STATEFUL_SET,
        "DaemonSet" => DAEMON_SET,
        "ControllerRevision" => REVISION,
        _ => return None,
    })
}

const DEPLOYMENT: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Ready"),
        Column::text("Up-to-date"),
        Column::text("Available"),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let [names, images] = containers(&spec["template"]["spec"]["containers"]);
        vec![
            name(object),
            ready_of(object),
            number(&status["updatedReplicas"]).into(),
            number(&status["availableReplicas"]).into(),
            age(object, now),
            names,
            images,
            requirements(&spec["selector"]).into(),
        ]
    },
);

const REPLICA_SET: Printer = Printer::new(REPLICAS, |object, now| {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]["containers"]);
    vec![
        name(object),
        number(&spec["replicas"]).into(),
        number(&status["replicas"]).into(),
        number(&status["readyReplicas"]).into(),
        age(object, now),
        names,
        images,
        selector(&spec["selector"]).into(),
    ]
});

const STATEFUL_SET: Printer = Printer::new(
    &[Column::name(), Column::text("Ready"), Column::age(), CONTAINERS, IMAGES],
    |object, now| {
        let [names, images] = containers(&object["spec"]["template"]["spec"]["containers"]);
        vec![name(object), ready_of(object), age(object, now), names, images]
    },
);

const DAEMON_SET: Printer = Printer::new(
    &[
        Column::name(),
        Column::int("Desired"),
        Column::int("Current"),
        Column::int("Ready"),
        Column::int("Up-to-date"),
        Column::int("Available"),
        Column::text("Node Selector"),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let pod = &spec["template"]["spec"];
        let [names, images] = containers(&pod["containers"]);
        vec![
            name(object),
            number(&status["desiredNumberScheduled"]).into(),
            number(&status["currentNumberScheduled"]).into(),
            number(&status["numberReady"]).into(),
            number(&status["updatedNumberScheduled"]).into(),
            number(&status["numberAvailable"]).into(),
            labels(&pod["nodeSelector"]).into(),
            age(object, now),
            names,
            images,
            selector(&spec["selector"]).into(),
        ]
    },
);

const REVISION: Printer = Printer::new(
    &[Column::name(), Column::text("Controller"), Column::text("Revision"), Column::age()],
    |object, now| {
        let owners = items(&object["metadata"]["ownerReferences"]);
        let controller = owners.iter().find(|owner| owner["controller"] == json!(true));
        let controller = controller.map_or_else(|| "<none>".to_owned(), owner);
        vec![name(object), controller.into(), number(&object["revision"]).into(), age(object, now)]
    },
);

/// `statefulset.apps/web`
fn owner(reference: &Value) -> String {
    let kind = reference["kind"].as_str().unwrap_or_default().to_lowercase();
    let group = reference["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    let dotted = group.map_or_else(String::new, |(group, _)| format!(".{group}"));
    format!("{kind}{dotted}/{}", reference["name"].as_str().unwrap_or_default())
}

/// `2/3`: how many of the wanted replicas are ready.
fn ready_of(object: &Value) -> Value {
    format!("{}/{}", number(&object["status"]["readyReplicas"]), number(&object["spec"]["replicas"])).into()
}

/// Replication controllers are older than this group and select by a plain map.
pub(super) const REPLICATION_CONTROLLER: Printer = Printer::new(REPLICAS, |object, now| {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]["containers"]);
    vec![
        text(&object["metadata"]["name"]),
        number(&spec["replicas"]).into(),
        number(&status["replicas"]).into(),
        number(&status["readyReplicas"]).into(),
        age(object, now),
        names,
        images,
        labels(&spec["selector"]).into(),
    ]
});
