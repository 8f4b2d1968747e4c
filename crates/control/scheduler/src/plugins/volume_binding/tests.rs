use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSIDriver, CSIStorageCapacity};
use kedge_children::testing::{hold, object};
use kedge_engine::World;
use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

const OUT_OF_REACH: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";

fn two(world: World) -> Cluster {
    cluster_in(world, [node("a", |_| ()), node("b", |_| ())], [])
}

fn by_hand() -> k8s_openapi::api::storage::v1::StorageClass {
    class("late", |class| class["provisioner"] = "kubernetes.io/no-provisioner".into())
}

#[test]
fn pods_run_where_their_bound_volumes_are() {
    let on_a = vec![format!("b: ! {OUT_OF_REACH}")];
    for (case, claims, volumes, pod, out) in [
        ("no claim", vec![], vec![], using("p", &[]), vec![]),
        ("anywhere", vec![bound("c", "v")], vec![volume("v", 1, |_| ())], using("p", &["c"]), vec![]),
        ("on one node", vec![bound("c", "v")], vec![volume("v", 1, local("a"))], using("p", &["c"]), on_a),
        (
            "the volume is gone",
            vec![bound("c", "v")],
            vec![],
            using("p", &["c"]),
            ["a", "b"]
                .map(|node| {
                    format!(
                        "{node}: ! node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
                    )
                })
                .into(),
        ),
    ] {
        assert_eq!(rejected(&VolumeBinding, &pod, &two(stored(claims, volumes, vec![]))), out, "{case}");
    }
}

#[test]
fn claims_that_are_of_no_use_reject_every_node() {
    let immediate = |class: &mut Value| class["volumeBindingMode"] = "Immediate".into();
    let own = pod("p", |pod| {
        pod["spec"]["volumes"] = json!([{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]);
    });
    for (case, claims, classes, pod, reason) in [
        ("missing", vec![], vec![], using("p", &["c"]), "persistentvolumeclaim \"c\" not found"),
        (
            "its own, not made yet",
            vec![],
            vec![],
            own.clone(),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-own\"",
        ),
        (
            "its own, made for another",
            vec![claim("p-own", |_| ())],
            vec![],
            own,
            "PVC n/p-own was not created for pod n/p (pod is not owner)",
        ),
        (
            "lost",
            vec![claim("c", |claim| {
                claim["spec"]["volumeName"] = "v".into();
                claim["status"]["phase"] = "Lost".into();
            })],
            vec![],
            using("p", &["c"]),
            "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"",
        ),
        (
            "being deleted",
            vec![claim("c", |claim| claim["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into())],
            vec![],
            using("p", &["c"]),
            "persistentvolumeclaim \"c\" is being deleted",
        ),
        (
            "to be bound at once, and not bound",
            vec![claim("c", |_| ())],
            vec![class("late", immediate)],
            using("p", &["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            "of a class that is not there",
            vec![claim("c", |_| ())],
            vec![],
            using("p", &["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            "it names a volume and is not bound yet",
            vec![claim("c", |claim| claim["spec"]["volumeName"] = "v".into())],
            vec![class("late", |_| ())],
            using("p", &["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ] {
        let cluster = two(stored(claims, vec![], classes));
        assert_eq!(rejected(&VolumeBinding, &pod, &cluster), [format!("all: ! {reason}")], "{case}");
    }
}

#[test]
fn a_claim_that_waits_takes_a_volume_that_is_there() {
    let small = |claim: &mut Value| claim["spec"]["resources"]["requests"]["storage"] = "1Gi".into();
    for (case, claim, volumes, passes) in [
        ("on its node", claim("c", small), vec![volume("v", 1, local("a"))], "a"),
        ("none", claim("c", small), vec![], ""),
        (
            "too small",
            claim("c", |claim| claim["spec"]["resources"]["requests"]["storage"] = "2Gi".into()),
            vec![volume("v", 1, local("a"))],
            "",
        ),
        (
            "another class",
            claim("c", small),
            vec![volume("v", 1, |volume| volume["spec"]["storageClassName"] = "x".into())],
            "",
        ),
        (
            "another mode",
            claim("c", small),
            vec![volume("v", 1, |volume| volume["spec"]["volumeMode"] = "Block".into())],
            "",
        ),
        (
            "other ways of access",
            claim("c", |claim| claim["spec"]["accessModes"] = json!(["ReadWriteMany"])),
            vec![volume("v", 1, |_| ())],
            "",
        ),
        (
            "not available",
            claim("c", small),
            vec![volume("v", 1, |volume| volume["status"]["phase"] = "Released".into())],
            "",
        ),
        (
            "leaving",
            claim("c", small),
            vec![volume("v", 1, |volume| {
                volume["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into()
            })],
            "",
        ),
        (
            "somebody else's",
            claim("c", small),
            vec![volume("v", 1, |volume| {
                volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "d"})
            })],
            "",
        ),
        (
            "set aside for it, whatever its phase",
            claim("c", small),
            vec![
                volume("v", 1, |volume| {
                    local("b")(volume);
                    volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "c", "uid": "c"});
                    volume["status"]["phase"] = "Bound".into();
                }),
                volume("w", 1, local("a")),
            ],
            "b",
        ),
        (
            "labels",
            claim("c", |claim| claim["spec"]["selector"] = json!({"matchLabels": {"x": "y"}})),
            vec![volume("v", 1, |_| ())],
            "",
        ),
        (
            "the right labels",
            claim("c", |claim| claim["spec"]["selector"] = json!({"matchLabels": {"x": "y"}})),
            vec![volume("v", 1, |volume| volume["metadata"]["labels"] = json!({"x": "y"}))],
            "a b",
        ),
    ] {
        let cluster = two(stored(vec![claim], volumes, vec![by_hand()]));
        assert_eq!(passing(&VolumeBinding, &using("p", &["c"]), &cluster), passes, "{case}");
    }
}

#[test]
fn two_claims_need_two_volumes() {
    let claims = || vec![claim("c", |_| ()), claim("d", |_| ())];
    let pod = using("p", &["c", "d"]);
    let one = two(stored(claims(), vec![volume("v", 1, local("a"))], vec![by_hand()]));
    assert_eq!(
        rejected(&VolumeBinding, &pod, &one),
        [format!("a: ! {NO_VOLUME}"), format!("b: ! {NO_VOLUME}")]
    );
    let both =
        two(stored(claims(), vec![volume("v", 1, local("a")), volume("w", 5, local("a"))], vec![by_hand()]));
    assert_eq!(passing(&VolumeBinding, &pod, &both), "a");
}

#[test]
fn a_volume_can_be_made_where_the_class_allows() {
    let only_a = |class: &mut Value| {
        class["allowedTopologies"] =
            json!([{"matchLabelExpressions": [{"key": "kubernetes.io/hostname", "values": ["a"]}]}]);
    };
    let chosen = |claim: &mut Value| claim["metadata"]["annotations"] = json!({SELECTED_NODE: "b"});
    for (case, claim, class, passes) in [
        ("anywhere", claim("c", |_| ()), class("late", |_| ()), "a b"),
        ("where it is allowed", claim("c", |_| ()), class("late", only_a), "a"),
        ("where it is being made", claim("c", chosen), class("late", |_| ()), "b"),
        ("nobody makes it", claim("c", |_| ()), by_hand(), ""),
    ] {
        let cluster = two(stored(vec![claim], vec![], vec![class]));
        assert_eq!(passing(&VolumeBinding, &using("p", &["c"]), &cluster), passes, "{case}");
    }
}

#[test]
fn a_driver_that_keeps_track_of_space_has_to_have_some() {
    let capacity = |size: &str| {
        json!({
            "metadata": {"name": "c", "namespace": "n"}, "storageClassName": "late", "capacity": size,
            "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "a"}},
        })
    };
    for (case, tracks, sizes, passes) in [
        ("nobody keeps track", false, vec![], "a b"),
        ("no space anywhere", true, vec![], ""),
        ("enough on one node", true, vec!["2Gi"], "a"),
        ("not enough", true, vec!["1Mi"], ""),
    ] {
        let world = stored(vec![claim("c", |_| ())], vec![], vec![class("late", |_| ())]);
        hold::<CSIDriver>(
            &world,
            vec![object(json!({"metadata": {"name": "maker"}, "spec": {"storageCapacity": tracks}}))],
        );
        hold::<CSIStorageCapacity>(&world, sizes.iter().map(|size| object(capacity(size))).collect());
        let cluster = two(world);
        assert_eq!(passing(&VolumeBinding, &using("p", &["c"]), &cluster), passes, "{case}");
    }
}

/// What is done before the pod is bound to the node `a`, as text.
fn before(claims: Vec<PersistentVolumeClaim>, volumes: Vec<PersistentVolume>) -> Option<Vec<String>> {
    let cluster = two(stored(claims, volumes, vec![class("late", |_| ())]));
    let pod = using("p", &["c"]);
    match VolumeBinding.look(&pod, cluster.node("a").unwrap(), &cluster).unwrap() {
        Before::Bind => None,
        Before::Await(actions) => Some(actions.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn claims_are_bound_before_the_pod() {
    let chosen = |claim: &mut Value| claim["metadata"]["annotations"] = json!({SELECTED_NODE: "a"});
    let taken =
        |volume: &mut Value| volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "c", "uid": "c"});
    let by_person = |volume: &mut Value| volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "c"});
    assert_eq!(before(vec![bound("c", "v")], vec![volume("v", 1, |_| ())]), None, "nothing is missing");
    for (case, claim, volumes, wanted) in [
        (
            "one is to be made for this node",
            claim("c", |_| ()),
            vec![],
            vec![
                r#"change PersistentVolumeClaim n/c {"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"a"}}}"#,
            ],
        ),
        ("it is being made", claim("c", chosen), vec![], vec![]),
        (
            "the smallest that is there is set aside",
            claim("c", |_| ()),
            vec![volume("v", 9, |_| ()), volume("w", 2, |_| ())],
            vec![concat!(
                r#"change PersistentVolume w {"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},"#,
                r#""spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"c","namespace":"n","#,
                r#""resourceVersion":"7","uid":"c"}}}"#,
            )],
        ),
        ("it has been set aside", claim("c", |_| ()), vec![volume("v", 1, taken)], vec![]),
        (
            "a person set it aside",
            claim("c", |_| ()),
            vec![volume("v", 1, by_person)],
            vec![
                r#"change PersistentVolume v {"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","resourceVersion":"7","uid":"c"}}}"#,
            ],
        ),
    ] {
        assert_eq!(
            before(vec![claim], volumes),
            Some(wanted.into_iter().map(str::to_owned).collect()),
            "{case}"
        );
    }
}

#[test]
fn its_claims_and_any_volume_help() {
    let pod = using("p", &["c"]);
    let of = |kind, namespace, name| Change::Storage { kind, namespace, name };
    for (case, change, helps) in [
        ("its claim", of("PersistentVolumeClaim", "n", "c"), true),
        ("another claim", of("PersistentVolumeClaim", "n", "d"), false),
        ("a claim of that name elsewhere", of("PersistentVolumeClaim", "m", "c"), false),
        ("a volume", of("PersistentVolume", "", "v"), true),
        ("a class", of("StorageClass", "", "late"), true),
        ("an attachment", of("VolumeAttachment", "", "x"), false),
        ("a pod that goes", Change::PodGone(&pod), false),
    ] {
        assert_eq!(VolumeBinding.helped_by(&pod, &change), helps, "{case}");
    }
}
