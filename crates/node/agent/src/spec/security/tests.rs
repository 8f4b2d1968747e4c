use serde_json::{Value, json};

use super::*;

fn pod(spec: Value, context: Value) -> Pod {
    let mut spec = spec;
    spec["containers"] = json!([{"name": "c", "securityContext": context}]);
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}))
        .unwrap()
}

fn found(
    spec: Value,
    context: Value,
    image: &ImageUser,
) -> Result<LinuxContainerSecurityContext, SecurityError> {
    let pod = pod(spec, context);
    of_container(
        &pod,
        &pod.spec.as_ref().unwrap().containers[0],
        image,
        None,
        None,
        Path::new("/data/seccomp"),
    )
}

fn image(uid: Option<i64>, name: &str) -> ImageUser {
    ImageUser { uid, name: name.to_owned() }
}

#[test]
fn whoever_must_not_be_root_is_not() {
    let root = "container's runAsUser breaks non-root policy (pod: \"p_n(u)\", container: c)";
    let image_root = "container has runAsNonRoot and image will run as root (pod: \"p_n(u)\", container: c)";
    let unknown = "container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root (pod: \
                   \"p_n(u)\", container: c)";
    let must = json!({"securityContext": {"runAsNonRoot": true}});
    for (case, spec, context, image, expected) in [
        ("nobody minds", json!({}), json!({}), image(Some(0), ""), Ok(None)),
        ("the image's", must.clone(), json!({}), image(Some(5), ""), Ok(None)),
        ("the image is root", must.clone(), json!({}), image(None, ""), Err(image_root)),
        ("the image's is a name", must.clone(), json!({}), image(None, "web"), Err(unknown)),
        ("asked for", must.clone(), json!({"runAsUser": 7}), image(None, "web"), Ok(Some(7))),
        ("root asked for", must.clone(), json!({"runAsUser": 0}), image(Some(5), ""), Err(root)),
        ("the container knows better", must, json!({"runAsNonRoot": false}), image(None, ""), Ok(None)),
    ] {
        let found = found(spec, context, &image);
        let found =
            found.map(|found| found.run_as_user.map(|user| user.value)).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{case}");
    }
}

#[test]
fn what_a_container_may_do_is_told() {
    let usual = found(json!({}), json!({}), &ImageUser::default()).unwrap();
    assert_eq!(usual.masked_paths, MASKED);
    assert_eq!(usual.readonly_paths, FIXED);
    assert!(!usual.no_new_privs && !usual.privileged && !usual.readonly_rootfs);

    let spec = json!({"hostNetwork": true, "shareProcessNamespace": true, "securityContext": {
        "fsGroup": 9, "supplementalGroups": [8], "supplementalGroupsPolicy": "Strict", "runAsGroup": 3,
        "seccompProfile": {"type": "RuntimeDefault"}, "seLinuxOptions": {"level": "s0"},
    }});
    let context = json!({
        "procMount": "Unmasked", "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"},
        "appArmorProfile": {"type": "Localhost", "localhostProfile": "mine"},
    });
    let strict = found(spec, context, &image(Some(4), "")).unwrap();
    assert!(strict.masked_paths.is_empty() && strict.no_new_privs && strict.readonly_rootfs);
    assert_eq!(strict.seccomp.unwrap().localhost_ref, "/data/seccomp/a/b.json");
    assert_eq!(strict.apparmor.unwrap().localhost_ref, "mine");
    assert_eq!(strict.supplemental_groups, [8, 9]);
    assert_eq!(strict.supplemental_groups_policy, i32::from(SupplementalGroupsPolicy::Strict));
    assert_eq!((strict.run_as_user.unwrap().value, strict.run_as_group.unwrap().value), (4, 3));
    assert_eq!(strict.selinux_options.unwrap().level, "s0");
    let namespaces = strict.namespace_options.unwrap();
    assert_eq!((namespaces.network(), namespaces.pid()), (NamespaceMode::Node, NamespaceMode::Pod));
    let capabilities = strict.capabilities.unwrap();
    assert_eq!(
        (capabilities.add_capabilities, capabilities.drop_capabilities),
        (vec!["NET_ADMIN".to_owned()], vec!["ALL".to_owned()])
    );

    let nameless = found(json!({}), json!({"seccompProfile": {"type": "Localhost"}}), &ImageUser::default());
    assert_eq!(nameless.unwrap_err(), SecurityError::NoProfile);
    for (spec, own) in
        [(json!({"hostUsers": false}), true), (json!({"hostUsers": true}), false), (json!({}), false)]
    {
        assert_eq!(has_own_users(&pod(spec.clone(), json!({}))), own, "{spec}");
    }
}
