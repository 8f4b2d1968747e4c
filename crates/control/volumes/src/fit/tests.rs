use serde_json::{Value, json};

use super::*;
use crate::testing::{claim, volume};

fn chosen(edit: impl FnOnce(&mut Value), waits: bool, volumes: Vec<PersistentVolume>) -> String {
    let claim = claim("c", "2Gi", edit);
    let found = best(&claim, volumes.into_iter().map(Arc::new).collect(), waits);
    found.map(|volume| volume.metadata.name.clone().unwrap()).unwrap_or_default()
}

fn plain(name: &str, size: &str) -> PersistentVolume {
    volume(name, size, |_| {})
}

#[test]
fn the_smallest_that_fits_is_taken() {
    let with = |name: &str, pointer: &str, value: Value| {
        volume(name, "2Gi", |volume| {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            volume.pointer_mut(parent).unwrap()[field] = value;
        })
    };
    let mine = json!({"namespace": "n", "name": "c"});
    for (case, volumes, expected) in [
        ("none", vec![], ""),
        ("too small", vec![plain("a", "1Gi")], ""),
        ("the same size in other words", vec![plain("a", "2048Mi")], "a"),
        ("the smaller", vec![plain("a", "9Gi"), plain("b", "3Gi")], "b"),
        ("another mode", vec![with("a", "/spec/volumeMode", json!("Block"))], ""),
        ("another access", vec![with("a", "/spec/accessModes", json!(["ReadWriteMany"]))], ""),
        (
            "fewer uses go before less room",
            vec![with("a", "/spec/accessModes", json!(["ReadWriteOnce", "ReadOnlyMany"])), plain("b", "5Gi")],
            "b",
        ),
        ("another class", vec![with("a", "/spec/storageClassName", json!("fast"))], ""),
        ("not there yet", vec![with("a", "/status/phase", json!("Pending"))], ""),
        ("left behind", vec![with("a", "/status/phase", json!("Released"))], ""),
        ("leaving", vec![with("a", "/metadata/deletionTimestamp", json!("2030-01-01T00:00:00Z"))], ""),
        ("another's", vec![with("a", "/spec/claimRef", json!({"namespace": "n", "name": "d"}))], ""),
        ("reserved goes first", vec![plain("a", "2Gi"), with("b", "/spec/claimRef", mine.clone())], "b"),
        (
            "reserved for its namesake",
            vec![with("b", "/spec/claimRef", json!({"namespace": "n", "name": "c", "uid": "old"}))],
            "",
        ),
    ] {
        assert_eq!(chosen(|_| {}, false, volumes), expected, "{case}");
    }
    let reserved = || with("b", "/spec/claimRef", mine.clone());
    assert_eq!(chosen(|_| {}, true, vec![plain("a", "2Gi"), reserved()]), "b", "the scheduler's choice");
    assert_eq!(chosen(|_| {}, true, vec![plain("a", "2Gi")]), "", "no choice before the scheduler's");
}

#[test]
fn labels_decide_if_asked() {
    let labelled = volume("a", "2Gi", |volume| volume["metadata"]["labels"] = json!({"disk": "ssd"}));
    for (selector, expected) in [
        (json!({"matchLabels": {"disk": "ssd"}}), "a"),
        (json!({"matchLabels": {"disk": "hdd"}}), ""),
        (json!({"matchExpressions": [{"key": "disk", "operator": "Exists"}]}), "a"),
        (json!({"matchExpressions": [{"key": "disk", "operator": "NoSuch"}]}), ""),
    ] {
        let edit = |claim: &mut Value| claim["spec"]["selector"] = selector.clone();
        assert_eq!(chosen(edit, false, vec![labelled.clone()]), expected, "{selector}");
    }
}

#[test]
fn a_misfit_is_named() {
    for (field, value, expected) in [
        ("capacity", json!({"storage": "1Gi"}), Some("requested PV is too small")),
        ("storageClassName", json!("fast"), Some("storageClassName does not match")),
        ("volumeMode", json!("Block"), Some("incompatible volumeMode")),
        ("accessModes", json!(["ReadWriteMany"]), Some("incompatible accessMode")),
        ("volumeAttributesClassName", json!("x"), Some("volumeAttributesClassName does not match")),
        ("accessModes", json!(["ReadWriteMany", "ReadWriteOnce"]), None),
    ] {
        let volume = volume("a", "2Gi", |volume| volume["spec"][field] = value);
        assert_eq!(misfit(&volume, &claim("c", "2Gi", |_| {})).as_deref(), expected, "{field}");
    }
}

#[test]
fn equals_are_shared_out() {
    let volumes: Vec<_> = (0..100).map(|at| Arc::new(plain(&format!("v{at}"), "1Gi"))).collect();
    let taken: std::collections::BTreeSet<_> = (0..100)
        .map(|at| {
            let claim = claim(&format!("c{at}"), "1Gi", |_| {});
            best(&claim, volumes.clone(), false).unwrap().metadata.name.clone()
        })
        .collect();
    assert!(taken.len() > 40, "100 claims want {} volumes", taken.len());
}
