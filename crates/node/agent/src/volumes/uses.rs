//! What a pod's containers do with its volumes: which ones they mount, where inside each other, and as whom. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod, Volume};

use crate::plan::as_container;

/// Every container that a pod may ever have had.
fn all(pod: &Pod) -> Vec<Container> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let listed = spec.init_containers.iter().flatten().chain(&spec.containers).cloned();
    listed.chain(spec.ephemeral_containers.iter().flatten().map(as_container)).collect()
}

/// The volumes that some container mounts or has as a device; the others are never made. Those that are images are made by
/// whoever fetches images.
pub(super) fn used(pod: &Pod) -> Vec<&Volume> {
    let containers = all(pod);
    let mounted = containers.iter().flat_map(|container| container.volume_mounts.iter().flatten());
    let devices = containers.iter().flat_map(|container| container.volume_devices.iter().flatten());
    let names: BTreeSet<&str> =
        mounted.map(|mount| &*mount.name).chain(devices.map(|device| &*device.name)).collect();
    let listed = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    listed.filter(|volume| volume.image.is_none() && names.contains(&*volume.name)).collect()
}

/// Whether some container mounts the volume, and whether some has it as a device.
pub(super) fn ways(pod: &Pod, volume: &str) -> (bool, bool) {
    let containers = all(pod);
    let mut mounts = containers.iter().flat_map(|container| container.volume_mounts.iter().flatten());
    let mut devices = containers.iter().flat_map(|container| container.volume_devices.iter().flatten());
    (mounts.any(|mount| mount.name == volume), devices.any(|device| device.name == volume))
}

/// The folders of a volume at which other volumes are mounted, in any container; of those inside each other only the outer.
pub(super) fn nested(pod: &Pod, volume: &str) -> Vec<String> {
    let mut folders = BTreeSet::new();
    for container in all(pod) {
        let mounts: Vec<_> = container.volume_mounts.iter().flatten().collect();
        let mut paths: Vec<&str> =
            mounts.iter().map(|mount| mount.mount_path.trim_end_matches('/')).collect();
        paths.sort_unstable();
        let mine = mounts.iter().filter(|mount| mount.name == volume && mount.sub_path.is_none());
        for mount in mine.filter(|mount| mount.sub_path_expr.is_none()) {
            let inside = format!("{}/", mount.mount_path.trim_end_matches('/'));
            let mut found: Vec<&str> = Vec::new();
            for path in paths.iter().filter_map(|path| path.strip_prefix(&inside)) {
                let outer = found.iter().any(|outer| {
                    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
                });
                if !outer {
                    found.push(path);
                }
            }
            folders.extend(found.into_iter().filter(|path| !path.is_empty()).map(str::to_owned));
        }
    }
    folders.into_iter().collect()
}

/// The user that all containers run as, if the pod says so.
pub(super) fn user(pod: &Pod) -> Option<u32> {
    let pods = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref()?.run_as_user);
    let mut users = all(pod).into_iter().map(|container| {
        let own = container.security_context.and_then(|context| context.run_as_user);
        own.or(pods)
    });
    let first = users.next()??;
    users.all(|user| user == Some(first)).then(|| u32::try_from(first).ok()).flatten()
}

/// The group that volumes are shared by, and whether a volume whose root is right is trusted.
pub(super) fn group(pod: &Pod) -> Option<kedge_mounts::Group> {
    let context = pod.spec.as_ref()?.security_context.as_ref()?;
    let id = u32::try_from(context.fs_group?).ok()?;
    let trust_root = context.fs_group_change_policy.as_deref() == Some("OnRootMismatch");
    Some(kedge_mounts::Group { id, trust_root })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(containers: Value, security: Value) -> Pod {
        let volumes = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
        let spec = json!({"containers": containers, "volumes": volumes, "securityContext": security});
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    fn container(mounts: &[(&str, &str)]) -> Value {
        let mounts: Vec<_> =
            mounts.iter().map(|(name, path)| json!({"name": name, "mountPath": path})).collect();
        json!({"name": "c", "volumeMounts": mounts})
    }

    #[test]
    fn what_nobody_mounts_is_not_made() {
        let mut with_device = container(&[("c", "/c")]);
        with_device["volumeDevices"] = json!([{"name": "a", "devicePath": "/dev/x"}]);
        let pod = pod(json!([with_device]), json!({}));
        let names: Vec<_> = used(&pod).into_iter().map(|volume| volume.name.clone()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!((ways(&pod, "a"), ways(&pod, "c")), ((false, true), (true, false)));
    }

    #[test]
    fn folders_for_other_mounts_are_found() {
        for (mounts, folders) in [
            (&[("a", "/x"), ("b", "/y")][..], &[][..]),
            (&[("a", "/x"), ("b", "/x/y")], &["y"]),
            (&[("a", "/x/"), ("b", "/x/y/z"), ("c", "/x/y/z/w")], &["y/z"]),
            (&[("a", "/x"), ("b", "/x/y"), ("c", "/x/y-z")], &["y", "y-z"]),
            (&[("b", "/x"), ("a", "/x/y")], &[]),
            (&[("a", "/xy"), ("b", "/x/y")], &[]),
        ] {
            let pod = pod(json!([container(mounts)]), json!({}));
            assert_eq!(nested(&pod, "a"), folders, "{mounts:?}");
        }
    }

    #[test]
    fn one_user_for_all_or_none() {
        let user_of = |users: &[Option<i64>], pods: Option<i64>| {
            let containers: Vec<_> = users
                .iter()
                .map(|user| json!({"name": "c", "securityContext": {"runAsUser": user}}))
                .collect();
            user(&pod(json!(containers), json!({"runAsUser": pods})))
        };
        for (users, pods, expected) in [
            (&[None, None][..], None, None),
            (&[None, None], Some(7), Some(7)),
            (&[Some(8), None], Some(7), None),
            (&[Some(8), Some(8)], None, Some(8)),
            (&[Some(8), None], None, None),
        ] {
            assert_eq!(user_of(users, pods), expected, "{users:?} {pods:?}");
        }
    }
}
