use k8s_openapi::api::apps::v1::DaemonSet;
use kedge_children::testing::{hold, object};

use super::*;

fn set(image: &str, edit: impl FnOnce(&mut Value)) -> DaemonSet {
    let mut value = json!({
        "metadata": {
            "name": "web", "namespace": "n", "uid": "set", "resourceVersion": "5",
            "annotations": {"kubernetes.io/change-cause": "why"},
        },
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "revisionHistoryLimit": 1,
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        },
    });
    edit(&mut value);
    object(value)
}

fn revision(image: &str, number: i64, edit: impl FnOnce(&mut Value)) -> ControllerRevision {
    let mut value = json!({
        "metadata": {
            "name": format!("web-{image}-{number}"), "namespace": "n", "uid": format!("{image}{number}"),
            "labels": {"app": "web"}, "resourceVersion": "1",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "uid": "set", "controller": true},
            ],
        },
        "revision": number,
        "data": {"spec": {"template": {
            "$patch": "replace",
            "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": image}]},
        }}},
    });
    edit(&mut value);
    object(value)
}

fn found(set: &DaemonSet, known: Vec<ControllerRevision>) -> Found {
    let world = World::by_hand();
    hold(&world, known);
    history(set, &world).unwrap()
}

fn known(set: &DaemonSet, known: Vec<ControllerRevision>) -> History {
    match found(set, known) {
        Found::Known(history) => history,
        Found::Taken => panic!("the name is taken"),
    }
}

#[test]
fn the_present_template_has_the_highest_number() {
    let plain = |image, number| revision(image, number, |_| {});
    let orphan =
        |image, number| revision(image, number, |value| value["metadata"]["ownerReferences"] = json!([]));
    for (case, revisions, newest, actions) in [
        ("none yet", vec![], 1, "create"),
        ("a new one", vec![plain("a", 1), plain("b", 4)], 5, "create"),
        ("it is there", vec![plain("a", 1), plain("x", 2)], 2, ""),
        ("it comes back", vec![plain("x", 1), plain("a", 2)], 3, "change"),
        ("of two the last", vec![plain("x", 1), plain("x", 2)], 2, ""),
        ("never two of one number", vec![plain("a", 2), plain("x", 2)], 3, "change"),
        ("one of nobody is taken in", vec![orphan("x", 1)], 1, "change"),
        ("taken in and numbered", vec![orphan("x", 1), plain("a", 1)], 2, "change change"),
    ] {
        let history = known(&set("x", |_| {}), revisions);
        let verbs: Vec<String> = history
            .actions
            .iter()
            .map(|action| action.to_string().split(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!((history.newest.revision, verbs.join(" ")), (newest, actions.to_owned()), "{case}");
    }
}

#[test]
fn a_revision_can_be_made_into_its_template_again() {
    let history = known(&set("x", |_| {}), vec![]);
    let made = &*history.newest;
    assert_eq!(made.data.as_ref().unwrap().0["spec"]["template"]["$patch"], "replace");
    assert!(is_of(made, &set("x", |_| {})));
    assert!(!is_of(made, &set("y", |_| {})));
    assert_eq!(made.annotations()["kubernetes.io/change-cause"], "why");
    let hash = &made.labels()[POD_LABEL];
    assert_eq!(made.name_any(), format!("web-{hash}"));
    let other = known(&set("y", |_| {}), vec![]);
    assert_ne!(other.newest.name_any(), made.name_any());
}

#[test]
fn a_taken_name_is_stepped_round() {
    let made = known(&set("x", |_| {}), vec![]).newest.name_any();
    let stranger = revision("y", 1, |value| {
        value["metadata"]["name"] = made.clone().into();
        value["metadata"]["ownerReferences"][0]["uid"] = "other".into();
    });
    assert!(matches!(found(&set("x", |_| {}), vec![stranger.clone()]), Found::Taken));
    let collided = set("x", |value| {
        value["status"] = json!({
            "collisionCount": 1, "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0,
            "numberReady": 0,
        });
    });
    assert_ne!(known(&collided, vec![stranger]).newest.name_any(), made);
}

#[test]
fn the_oldest_unused_ones_go() {
    let older = ["a", "b", "c"].into_iter().zip(1..).map(|(image, number)| revision(image, number, |_| {}));
    let older: Vec<_> = older.map(Arc::new).collect();
    let gone = |is_live: fn(&ControllerRevision) -> bool| -> Vec<String> {
        surplus(&set("x", |_| {}), &older, is_live).iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        gone(|_| false),
        ["delete ControllerRevision n/web-a-1", "delete ControllerRevision n/web-b-2"]
    );
    assert_eq!(
        gone(|one| one.revision == 1),
        ["delete ControllerRevision n/web-b-2", "delete ControllerRevision n/web-c-3"]
    );
}
