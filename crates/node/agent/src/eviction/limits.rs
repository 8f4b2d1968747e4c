//! A pod that keeps more files than it may has to go, however much room the disk has.

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::Quantity;

use crate::spec::resources;
use crate::usage::PodUse;

/// Whether anything limits what a pod may store; only then it is worth measuring.
pub(super) fn any(pod: &Pod) -> bool {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let limited = volumes
        .into_iter()
        .any(|volume| volume.empty_dir.as_ref().is_some_and(|empty| empty.size_limit.is_some()));
    limited || resources::limits(pod).contains_key("ephemeral-storage")
}

/// Why it has to go, if it has to.
pub(super) fn exceeded(pod: &Pod, used: &PodUse) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let is_over = |bytes: u64, limit: &Quantity| {
        !limit.is_zero() && !limit.is_negative() && i64::try_from(bytes).unwrap_or(i64::MAX) > limit.value()
    };
    for volume in spec.volumes.iter().flatten() {
        let limit = volume.empty_dir.as_ref().and_then(|empty| empty.size_limit.as_ref());
        let limit: Option<Quantity> = limit.and_then(|limit| limit.0.parse().ok());
        let stored = used.volumes.iter().find(|stored| stored.name == volume.name);
        if let (Some(limit), Some(stored)) = (limit, stored)
            && is_over(stored.stored.bytes, &limit)
        {
            return Some(format!(
                "Usage of EmptyDir volume {:?} exceeds the limit \"{limit}\". ",
                volume.name
            ));
        }
    }
    if let Some(limit) = resources::limits(pod).get("ephemeral-storage")
        && is_over(used.stored(true, true).bytes, limit)
    {
        return Some(format!(
            "Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
        ));
    }
    spec.containers.iter().find_map(|container| {
        let limits = container.resources.as_ref()?.limits.as_ref();
        let limit: Quantity = limits?.get("ephemeral-storage")?.0.parse().ok()?;
        let mine = used.containers.iter().find(|mine| mine.name == container.name)?;
        let bytes = mine.root.unwrap_or_default().bytes + mine.logs.unwrap_or_default().bytes;
        is_over(bytes, &limit).then(|| {
            format!("Container {} exceeded its local ephemeral storage limit \"{limit}\". ", container.name)
        })
    })
}
