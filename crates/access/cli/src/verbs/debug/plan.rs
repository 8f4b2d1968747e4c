//! What is sent to the server for a look into a pod or node: pure, and the same as kubectl would send.

use serde_json::{Value, json};

use super::profile::{Keep, Place, Profile};
use crate::error::CliError;
use crate::merge::{Form, patched};

/// What was asked for.
pub(super) struct Wish<'t> {
    pub(super) image: Option<&'t str>,
    pub(super) container: Option<&'t str>,
    pub(super) target: Option<&'t str>,
    pub(super) arguments: &'t [String],
    pub(super) arguments_only: bool,
    pub(super) stdin: bool,
    pub(super) tty: bool,
    pub(super) env: Vec<(String, String)>,
    pub(super) pull_policy: Option<&'t str>,
    pub(super) copy_to: Option<&'t str>,
    pub(super) share: Option<bool>,
    pub(super) same_node: bool,
    pub(super) images: Vec<(String, String)>,
    pub(super) profile: Profile,
    pub(super) keep: Keep,
    /// A part of a container that is merged into ours.
    pub(super) custom: Option<Value>,
    pub(super) quiet: bool,
}

/// The container that a pod gets.
pub(super) fn ephemeral(wish: &Wish<'_>, name: &str) -> Result<Value, CliError> {
    let mut container = json!({"name": name, "terminationMessagePolicy": "File"});
    fill(wish, &mut container);
    if let Some(target) = wish.target {
        container["targetContainerName"] = target.into();
    }
    wish.profile.rights(&mut container, Place::Pod);
    customised(wish, container)
}

pub(super) fn on_node(wish: &Wish<'_>, node: &str, name: &str, container: &str) -> Result<Value, CliError> {
    let mut own = json!({"name": container, "terminationMessagePolicy": "File"});
    fill(wish, &mut own);
    wish.profile.rights(&mut own, Place::Node);
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "kubectl-debug"}},
        "spec": {
            "containers": [own],
            "nodeName": node,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
        },
    });
    wish.profile.on_node(&mut pod);
    let place = &mut pod["spec"]["containers"][0];
    *place = customised(wish, place.take())?;
    Ok(pod)
}

/// A copy of a pod in which the container of this name is changed or added. Without a name only images change.
pub(super) fn copy(wish: &Wish<'_>, pod: &Value, name: &str) -> Result<Value, CliError> {
    let mut spec = pod["spec"].clone();
    if let Some(map) = spec.as_object_mut() {
        map.remove("ephemeralContainers");
        if !wish.same_node {
            map.remove("nodeName");
        }
    }
    if let Some(share) = wish.share {
        spec["shareProcessNamespace"] = share.into();
    }
    let image_of = |container: &str| {
        let named = |name: &str| wish.images.iter().rev().find(|(key, _)| key == name);
        named(container).or_else(|| named("*")).map(|(_, image)| image.clone())
    };
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        if let Some(image) = image_of(container["name"].as_str().unwrap_or_default()) {
            container["image"] = image.into();
        }
    }
    let mut metadata = json!({"name": wish.copy_to, "namespace": pod["metadata"]["namespace"]});
    for key in ["labels", "annotations"] {
        if !pod["metadata"][key].is_null() {
            metadata[key] = pod["metadata"][key].clone();
        }
    }
    let mut copy = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    if name.is_empty() {
        return Ok(copy);
    }
    let containers = copy["spec"]["containers"].as_array_mut();
    let containers = containers.ok_or_else(|| CliError::unmet("the pod has no containers to copy"))?;
    let at = match containers.iter().position(|container| container["name"] == name) {
        Some(at) => at,
        None if wish.image.is_none() => {
            return Err(CliError::usage("you must specify image when creating new container"));
        }
        None => {
            containers.push(json!({"name": name, "terminationMessagePolicy": "File"}));
            containers.len() - 1
        }
    };
    if let Some(container) = containers.get_mut(at) {
        fill(wish, container);
        wish.profile.rights(container, Place::Copy);
        *container = customised(wish, container.take())?;
    }
    wish.profile.in_copy(&mut copy, &wish.keep);
    Ok(copy)
}

/// What the flags say of a container. What they don't say stays.
fn fill(wish: &Wish<'_>, container: &mut Value) {
    match (wish.arguments, wish.arguments_only) {
        ([], _) => {}
        (arguments, true) => container["args"] = json!(arguments),
        (arguments, false) => {
            container["command"] = json!(arguments);
            if let Some(map) = container.as_object_mut() {
                map.remove("args");
            }
        }
    }
    if !wish.env.is_empty() {
        let variable = |(name, value): &(String, String)| json!({"name": name, "value": value});
        container["env"] = wish.env.iter().map(variable).collect::<Vec<_>>().into();
    }
    if let Some(image) = wish.image {
        container["image"] = image.into();
    }
    if let Some(policy) = wish.pull_policy {
        container["imagePullPolicy"] = policy.into();
    }
    for (key, wanted) in [("stdin", wish.stdin), ("tty", wish.tty)] {
        match (wanted, container.as_object_mut()) {
            (true, _) => container[key] = true.into(),
            (false, Some(map)) => drop(map.remove(key)),
            (false, None) => {}
        }
    }
}

fn customised(wish: &Wish<'_>, container: Value) -> Result<Value, CliError> {
    let Some(custom) = &wish.custom else { return Ok(container) };
    let pod = kedge_kinds::builtin().schema_of("", "v1", "Pod");
    let schema = pod.and_then(|pod| pod.key("spec")?.key("containers")?.item());
    patched(&container, custom, Form::Strategic, schema)
        .map_err(|wrong| CliError::unmet(format!("--custom cannot be merged: {wrong}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wish<'t>(arguments: &'t [String]) -> Wish<'t> {
        Wish {
            image: Some("busybox"),
            container: None,
            target: None,
            arguments,
            arguments_only: false,
            stdin: true,
            tty: false,
            env: vec![("A".to_owned(), "1".to_owned())],
            pull_policy: None,
            copy_to: Some("copy"),
            share: None,
            same_node: false,
            images: vec![("*".to_owned(), "other".to_owned()), ("app".to_owned(), "own".to_owned())],
            profile: Profile::General,
            keep: Keep {
                labels: false,
                annotations: true,
                liveness: false,
                readiness: true,
                startup: false,
                init_containers: true,
            },
            custom: Some(
                json!({"env": [{"name": "B", "value": "2"}], "resources": {"limits": {"cpu": "1"}}}),
            ),
            quiet: true,
        }
    }

    fn pod() -> Value {
        json!({
            "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "1"}, "annotations": {"b": "2"}},
            "spec": {
                "nodeName": "n1",
                "ephemeralContainers": [{"name": "old"}],
                "containers": [
                    {"name": "app", "image": "app", "args": ["run"], "tty": true, "livenessProbe": {}, "readinessProbe": {}},
                    {"name": "side", "image": "side"},
                ],
            },
        })
    }

    #[test]
    fn a_container_joins_a_pod_with_the_rights_of_its_profile() {
        let words = ["sh".to_owned()];
        let ptrace = json!({"capabilities": {"add": ["SYS_PTRACE"]}});
        for (profile, rights) in [
            (Profile::Legacy, Value::Null),
            (Profile::General, ptrace),
            (Profile::Baseline, Value::Null),
            (Profile::Netadmin, json!({"capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}})),
            (Profile::Sysadmin, json!({"privileged": true})),
        ] {
            let wish = Wish { profile, target: Some("app"), ..wish(&words) };
            let container = ephemeral(&wish, "d").unwrap();
            assert_eq!(container["securityContext"], rights, "{profile:?}");
            assert_eq!(container["targetContainerName"], "app");
            assert_eq!(container["command"], json!(["sh"]));
            assert_eq!(container["env"], json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
        }
    }

    #[test]
    fn a_copy_is_another_pod_that_nobody_takes_for_the_first() {
        let words = ["sh".to_owned()];
        let changed = copy(&wish(&words), &pod(), "app").unwrap();
        assert_eq!(
            changed["metadata"],
            json!({"name": "copy", "namespace": "shop", "annotations": {"b": "2"}})
        );
        let spec = &changed["spec"];
        assert_eq!((&spec["nodeName"], &spec["ephemeralContainers"]), (&Value::Null, &Value::Null));
        assert_eq!(spec["shareProcessNamespace"], true);
        let app = &spec["containers"][0];
        assert_eq!(
            (&app["image"], &app["command"], &app["args"]),
            (&json!("busybox"), &json!(["sh"]), &Value::Null)
        );
        assert_eq!((&app["stdin"], &app["tty"]), (&json!(true), &Value::Null));
        assert_eq!((&app["livenessProbe"], &app["readinessProbe"]), (&Value::Null, &json!({})));
        assert_eq!(spec["containers"][1]["image"], "other");
        let added = copy(&wish(&[]), &pod(), "d").unwrap();
        assert_eq!(added["spec"]["containers"][0]["image"], "own");
        assert_eq!(added["spec"]["containers"][2]["name"], "d");
        let images = copy(&Wish { image: None, ..wish(&[]) }, &pod(), "").unwrap();
        assert_eq!(images["spec"]["containers"].as_array().map(Vec::len), Some(2));
        assert!(copy(&Wish { image: None, ..wish(&[]) }, &pod(), "d").is_err());
    }

    #[test]
    fn a_pod_on_a_node_sees_as_much_as_its_profile_says() {
        for (profile, root, host) in [
            (Profile::General, true, true),
            (Profile::Sysadmin, true, true),
            (Profile::Netadmin, false, true),
            (Profile::Baseline, false, false),
            (Profile::Restricted, false, false),
        ] {
            let pod = on_node(&Wish { profile, ..wish(&[]) }, "n1", "p", "debugger").unwrap();
            let spec = &pod["spec"];
            assert_eq!(spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/host", root, "{profile:?}");
            assert_eq!(spec["hostPID"] == true && spec["hostNetwork"] == true, host, "{profile:?}");
            assert_eq!((&spec["nodeName"], &spec["restartPolicy"]), (&json!("n1"), &json!("Never")));
        }
    }
}
