//! The owners of new objects, against those that a stock API server recorded for the same objects.

use super::super::super::element;
use super::*;

/// What the server itself sets after owners are noted, so that the recorded object has it and nobody owns it.
const SET_BY_THE_SERVER: [&str; 17] = [
    ".spec.clusterIP",
    ".spec.clusterIPs",
    ".spec.ipFamilies",
    ".spec.ipFamilyPolicy",
    ".spec.healthCheckNodePort",
    ".spec.ports[",
    ".spec.preemptionPolicy",
    ".spec.serviceAccount",
    ".spec.priority",
    ".spec.tolerations",
    ".spec.finalizers",
    ".spec.selector",
    ".metadata.finalizers",
    ".metadata.labels",
    ".spec.template.metadata.labels",
    ".metadata.ownerReferences[uid=\"<uid>\"]",
    ".spec.nodeName",
];

#[test]
fn a_new_object_is_owned_as_on_a_stock_server() {
    let answers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/agreement/answers");
    let mut compared = 0;
    for file in std::fs::read_dir(answers).unwrap() {
        let file = file.unwrap().path();
        // What admission adds belongs to nobody.
        if file.ends_with("admission-policies.json") || file.ends_with("limit-range.json") {
            continue;
        }
        let answers: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        for answer in answers.iter().filter(|answer| answer["status"] == 201) {
            let body = &answer["body"];
            let entries = body.pointer("/metadata/managedFields").and_then(Value::as_array);
            let Some([entry]) = entries.map(|entries| &entries[..]) else { continue };
            let api_version = body["apiVersion"].as_str().unwrap();
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let kind = builtin().by_kind(group, version, body["kind"].as_str().unwrap());
            let (Some(kind), true) = (kind, entry["operation"] == "Update") else { continue };

            let mut object = body.clone();
            take_managed_fields(&mut object);
            let object = put(kind, None, object, &Who { api_version, ..who("m", Operation::Update, NOON) });
            let set = |entry: &Value| {
                FieldSet::decode(entry["fieldsV1"].as_object().cloned().unwrap_or_default()).unwrap()
            };
            let (ours, theirs) = (set(&object["metadata"]["managedFields"][0]), set(entry));
            let (mut more, mut less) = (ours.clone(), theirs.clone());
            more.subtract(&theirs);
            less.subtract(&ours);
            let printed = |set: &FieldSet| -> Vec<String> {
                set.paths().iter().map(|path| element::print_path(path)).collect()
            };
            let excused = |path: &String| SET_BY_THE_SERVER.iter().any(|start| path.starts_with(start));
            // A list that was sent empty is owned, and stored as none.
            let sent_empty =
                |path: &String| body.pointer(&path.replace('.', "/")).is_some_and(Value::is_null);
            let more: Vec<String> = printed(&more).into_iter().filter(|path| !excused(path)).collect();
            let less: Vec<String> = printed(&less)
                .into_iter()
                .filter(|path| !path.starts_with(".metadata.ownerReferences") && !sent_empty(path))
                .collect();
            assert!(
                more.is_empty() && less.is_empty(),
                "{} {}: we add {more:?}, lack {less:?}",
                kind.kind,
                answer["name"]
            );
            compared += 1;
        }
    }
    assert!(compared > 50, "only {compared} recorded objects were found");
}
