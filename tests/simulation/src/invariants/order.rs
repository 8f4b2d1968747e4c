//! What holds for everybody at once: nothing lies in a namespace that is gone, quotas count what is there, and what is scaled by its
//! use has as many replicas as its load asks for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::ResourceExt;
use serde_json::Value;

use super::{All, is_active, same};
use crate::kinds::Head;

pub(super) fn check(all: &All<'_>, load: Option<i64>, wrong: &mut Vec<String>) {
    places(all, wrong);
    all.kind::<ResourceQuota>().iter().for_each(|quota| counted(all, quota, wrong));
    let autoscalers: Vec<Value> = all.values("HorizontalPodAutoscaler").collect();
    autoscalers.iter().for_each(|autoscaler| scaled(all, autoscaler, load.unwrap_or(0), wrong));
}

fn places(all: &All<'_>, wrong: &mut Vec<String>) {
    for bytes in all.objects.values().flatten() {
        let Some(head) = Head::of(bytes) else { continue };
        let Some(namespace) = head.metadata.namespace.filter(|namespace| !namespace.is_empty()) else {
            continue;
        };
        if !all.has("Namespace", &namespace) {
            let name = head.metadata.name.unwrap_or_default();
            wrong.push(format!("{} {name} lies in namespace {namespace}, which is gone", head.kind));
        }
    }
}

fn counted(all: &All<'_>, quota: &ResourceQuota, wrong: &mut Vec<String>) {
    let status = quota.status.clone().unwrap_or_default();
    let of = |amounts: &Option<BTreeMap<String, _>>, name: &str| -> Option<String> {
        amounts
            .as_ref()?
            .get(name)
            .map(|amount: &k8s_openapi::apimachinery::pkg::api::resource::Quantity| amount.0.clone())
    };
    let is_here = |namespace: Option<String>| namespace == quota.namespace();
    let pods = all.kind::<Pod>().iter().filter(|pod| is_here(pod.namespace()) && is_active(pod)).count();
    let sets = all
        .values("ReplicaSet")
        .filter(|set| is_here(set["metadata"]["namespace"].as_str().map(str::to_owned)));
    for (name, there) in [("pods", pods), ("count/replicasets.apps", sets.count())] {
        same(
            wrong,
            quota,
            &format!("what is used of {name}"),
            of(&status.used, name),
            Some(there.to_string()),
        );
        let asked = of(&quota.spec.as_ref().and_then(|spec| spec.hard.clone()), name);
        same(wrong, quota, &format!("the limit of {name}"), of(&status.hard, name), asked);
    }
}

fn scaled(all: &All<'_>, autoscaler: &Value, load: i64, wrong: &mut Vec<String>) {
    let (spec, status) = (&autoscaler["spec"], &autoscaler["status"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&autoscaler["metadata"]["name"]);
    let condition = |type_: &str| {
        let all = status["conditions"].as_array().into_iter().flatten();
        let known = all.into_iter().find(|one| one["type"] == type_);
        known.map_or_else(String::new, |one| format!("{} {}", text(&one["status"]), text(&one["reason"])))
    };
    let mut expect = |what: &str, is: String, wanted: String| {
        if is != wanted {
            wrong.push(format!("HorizontalPodAutoscaler {name}: {what} is {is} instead of {wanted}"));
        }
    };
    let target =
        all.values(&text(&spec["scaleTargetRef"]["kind"])).find(|one| one["metadata"]["name"] == *name);
    let Some(target) = target else {
        return expect("AbleToScale", condition("AbleToScale"), "False FailedGetScale".to_owned());
    };
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let replicas = target["spec"]["replicas"].as_i64().unwrap_or(1);
    expect("status.currentReplicas", number(&status["currentReplicas"]).to_string(), replicas.to_string());
    if replicas == 0 {
        return expect("ScalingActive", condition("ScalingActive"), "False ScalingDisabled".to_owned());
    }
    expect("status.desiredReplicas", number(&status["desiredReplicas"]).to_string(), replicas.to_string());
    expect("ScalingActive", condition("ScalingActive"), "True ValidMetricFound".to_owned());
    let percent = load / replicas;
    let (least, most) = (number(&spec["minReplicas"]), number(&spec["maxReplicas"]));
    let asked = (percent * replicas + 49) / 50;
    let fits = (45..=55).contains(&percent) && (least..=most).contains(&replicas);
    if !fits {
        expect("how many there are", replicas.to_string(), asked.clamp(least, most).to_string());
    }
}
