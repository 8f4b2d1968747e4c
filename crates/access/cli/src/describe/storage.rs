//! Storage: claims, volumes, classes, and what a node's drivers can carry.

use serde_json::Value;

use super::page::Page;
use super::shown::{Now, bracketed, is_there, items, labels, number, pairs, plain, plain_or, text, yes};
use super::{Given, labels_and_annotations, name, name_and_namespace, volumes};

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

pub(super) fn claim(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name_and_namespace(page, object);
    page.field(0, "StorageClass", class_of(object));
    phase(page, object, now);
    page.field(0, "Volume", text(&spec["volumeName"]));
    labels_and_annotations(page, object);
    page.field(0, "Finalizers", bracketed(&object["metadata"]["finalizers"]));
    let bound = is_there(&spec["volumeName"]);
    let capacity = if bound { plain_or(&status["capacity"]["storage"], "0") } else { String::new() };
    let modes = if bound { access_modes(&status["accessModes"]) } else { String::new() };
    wanted(page, spec, &capacity, &modes);
    let mut pods: Vec<&str> =
        given.related.pods.iter().flatten().map(|pod| text(&pod["metadata"]["name"])).collect();
    pods.sort_unstable();
    page.list(0, "Used By", pods);
    if is_there(&status["conditions"]) {
        page.head(0, "Conditions");
        page.line(1, "Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage");
        page.line(1, "----\t------\t-----------------\t------------------\t------\t-------");
        for one in items(&status["conditions"]) {
            let (probed, changed) = (now.date(&one["lastProbeTime"]), now.date(&one["lastTransitionTime"]));
            let (kind, state) = (text(&one["type"]), text(&one["status"]));
            let (reason, message) = (text(&one["reason"]), text(&one["message"]));
            page.line(1, format_args!("{kind} \t{state} \t{probed} \t{changed} \t{reason} \t{message}"));
        }
    }
}

/// A claim that is made together with its pod.
pub(super) fn claim_template(page: &mut Page, template: &Value) {
    page.field(0, "StorageClass", class_of(template));
    page.field(0, "Volume", text(&template["spec"]["volumeName"]));
    labels_and_annotations(page, template);
    wanted(page, &template["spec"], "", "");
}

fn wanted(page: &mut Page, spec: &Value, capacity: &str, modes: &str) {
    page.field(0, "Capacity", capacity);
    page.field(0, "Access Modes", modes);
    if is_there(&spec["volumeMode"]) {
        page.field(0, "VolumeMode", text(&spec["volumeMode"]));
    }
    let source = &spec["dataSource"];
    if is_there(source) {
        page.head(0, "DataSource");
        if is_there(&source["apiGroup"]) {
            page.field(1, "APIGroup", text(&source["apiGroup"]));
        }
        page.field(1, "Kind", text(&source["kind"]));
        page.field(1, "Name", text(&source["name"]));
    }
}

fn phase(page: &mut Page, object: &Value, now: &Now) {
    match &object["metadata"]["deletionTimestamp"] {
        Value::Null => page.field(0, "Status", text(&object["status"]["phase"])),
        leaves => page.field(0, "Status", format_args!("Terminating (lasts {})", now.since(leaves))),
    }
}

/// The storage class of a claim or a volume; an old annotation goes before the field.
pub(super) fn class_of(object: &Value) -> &str {
    match object["metadata"]["annotations"][CLASS_ANNOTATION].as_str() {
        Some(class) => class,
        None => text(&object["spec"]["storageClassName"]),
    }
}

fn access_modes(modes: &Value) -> String {
    let has = |mode: &str| items(modes).iter().any(|one| one == mode);
    [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .iter()
    .filter(|(mode, _)| has(mode))
    .map(|(_, short)| *short)
    .collect::<Vec<_>>()
    .join(",")
}

pub(super) fn volume(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let spec = &object["spec"];
    name(page, object);
    labels_and_annotations(page, object);
    page.field(0, "Finalizers", bracketed(&object["metadata"]["finalizers"]));
    page.field(0, "StorageClass", class_of(object));
    phase(page, object, given.now);
    let claim = match &spec["claimRef"] {
        Value::Null => String::new(),
        claim => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
    };
    page.field(0, "Claim", claim);
    page.field(0, "Reclaim Policy", text(&spec["persistentVolumeReclaimPolicy"]));
    page.field(0, "Access Modes", access_modes(&spec["accessModes"]));
    if is_there(&spec["volumeMode"]) {
        page.field(0, "VolumeMode", text(&spec["volumeMode"]));
    }
    page.field(0, "Capacity", plain_or(&spec["capacity"]["storage"], "0"));
    affinity(page, &spec["nodeAffinity"]["required"]);
    page.field(0, "Message", text(&object["status"]["message"]));
    page.head(0, "Source");
    volumes::source(page, spec);
}

fn affinity(page: &mut Page, required: &Value) {
    if required.is_null() {
        page.field(0, "Node Affinity", "<none>");
        return;
    }
    page.field(0, "Node Affinity", "");
    let terms = items(&required["nodeSelectorTerms"]);
    page.field(1, "Required Terms", if terms.is_empty() { "<none>" } else { "" });
    for (place, term) in terms.iter().enumerate() {
        let operator = |one: &Value| text(&one["operator"]).to_lowercase();
        let written = items(&term["matchExpressions"]).iter().map(|one| expression(one, &operator(one)));
        page.list(2, &format!("Term {place}"), written);
    }
}

fn expression(one: &Value, operator: &str) -> String {
    let values: Vec<String> = items(&one["values"]).iter().map(plain).collect();
    let values = if values.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
    format!("{} {operator}{values}", text(&one["key"]))
}

pub(super) fn class(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let annotations = &object["metadata"]["annotations"];
    name(page, object);
    let default = DEFAULT_CLASS.iter().any(|key| annotations[*key] == "true");
    page.field(0, "IsDefaultClass", if default { "Yes" } else { "No" });
    page.field(0, "Annotations", labels(annotations));
    page.field(0, "Provisioner", text(&object["provisioner"]));
    page.field(0, "Parameters", labels(&object["parameters"]));
    page.field(0, "AllowVolumeExpansion", yes(&object["allowVolumeExpansion"]));
    match items(&object["mountOptions"]) {
        [] => page.field(0, "MountOptions", "<none>"),
        options => {
            page.head(0, "MountOptions");
            options.iter().for_each(|option| page.line(1, text(option)));
        }
    }
    for (label, field) in [("ReclaimPolicy", "reclaimPolicy"), ("VolumeBindingMode", "volumeBindingMode")] {
        if is_there(&object[field]) {
            page.field(0, label, text(&object[field]));
        }
    }
    if let Some(terms) = object["allowedTopologies"].as_array() {
        page.field(0, "AllowedTopologies", if terms.is_empty() { "<none>" } else { "" });
        for (place, term) in terms.iter().enumerate() {
            let written = items(&term["matchLabelExpressions"]).iter().map(|one| expression(one, "in"));
            page.list(1, &format!("Term {place}"), written);
        }
    }
}

pub(super) fn attributes_class(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    page.field(0, "Annotations", labels(&object["metadata"]["annotations"]));
    page.field(0, "DriverName", text(&object["driverName"]));
    page.field(0, "Parameters", labels(&object["parameters"]));
}

pub(super) fn csi_node(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    page.list(0, "Labels", pairs(&object["metadata"]["labels"]));
    super::annotations(page, 0, &object["metadata"]["annotations"]);
    page.field(0, "CreationTimestamp", given.now.date(&object["metadata"]["creationTimestamp"]));
    page.head(0, "Spec");
    let Some(drivers) = object["spec"]["drivers"].as_array() else { return };
    page.head(1, "Drivers");
    for driver in drivers {
        page.head(2, text(&driver["name"]));
        page.field(3, "Node ID", text(&driver["nodeID"]));
        if is_there(&driver["allocatable"]["count"]) {
            page.head(3, "Allocatables");
            page.field(4, "Count", number(&driver["allocatable"]["count"]));
        }
        if !driver["topologyKeys"].is_null() {
            page.field(3, "Topology Keys", bracketed(&driver["topologyKeys"]));
        }
    }
}
