//! What one metric asks for: a number of replicas and what its status says, or why there is none. Pure.

use serde_json::{Value, json};

use crate::amount::Amount;
use crate::autoscaler::{Metric, Named, OfPods, Reference};
use crate::measured::Measured;
use crate::replicas::{Answer, Scene};

#[derive(Debug, PartialEq)]
pub(super) struct Proposal {
    pub(super) replicas: i32,
    /// What people call it: `cpu resource utilization (percentage of request)`.
    pub(super) name: String,
    pub(super) status: Value,
}

#[derive(Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) error: String,
    /// The error with what was attempted.
    pub(super) whole: String,
}

pub(super) fn propose(
    scene: &Scene<'_>,
    namespace: &str,
    metric: &Metric,
    measured: &Measured,
) -> Result<Proposal, Failure> {
    let (reason, attempted, proposed) = match metric {
        Metric::Resource { resource } => {
            let attempted = format!("failed to get {} resource metric value", resource.name);
            ("FailedGetResourceMetric", attempted, of_resource(scene, resource, "Resource", measured))
        }
        Metric::ContainerResource { resource } => {
            let container = resource.container.as_deref().unwrap_or_default();
            let attempted = format!("failed to get {container} container metric value");
            let proposed = of_resource(scene, resource, "ContainerResource", measured);
            ("FailedGetContainerResourceMetric", attempted, proposed)
        }
        Metric::Pods { pods } => {
            let attempted = "failed to get pods metric value".to_owned();
            ("FailedGetPodsMetric", attempted, of_pods(scene, pods, measured))
        }
        Metric::Object { object } => {
            let attempted = "failed to get object metric value".to_owned();
            ("FailedGetObjectMetric", attempted, of_object(scene, namespace, object, measured))
        }
        Metric::External { external } => {
            let attempted = format!("failed to get {} external metric value", external.metric.name);
            ("FailedGetExternalMetric", attempted, of_external(scene, namespace, external, measured))
        }
        Metric::Unknown => {
            let error = "unknown metric source type".to_owned();
            return Err(Failure { reason: "InvalidMetricSourceType", whole: error.clone(), error });
        }
    };
    proposed.map_err(|error| Failure { reason, whole: format!("{attempted}: {error}"), error })
}

fn of_resource(
    scene: &Scene<'_>,
    resource: &OfPods,
    class: &str,
    measured: &Measured,
) -> Result<Proposal, String> {
    let OfPods { name, container, target } = resource;
    let (what, words) = match (target.average_value, target.average_utilization) {
        (Some(_), _) => ("usage", format!("{name} resource")),
        (None, Some(_)) => {
            let whose = if container.is_some() { "container resource" } else { "resource" };
            ("utilization", format!("{name} {whose} utilization (percentage of request)"))
        }
        (None, None) => {
            return Err("invalid resource metric source: neither an average utilization target nor an \
                        average value (usage) target was set"
                .to_owned());
        }
    };
    let failed = |error: String| format!("failed to get {name} {what}: {error}");
    let samples = match measured {
        Measured::Pods(samples) => samples,
        Measured::Unknown(error) => {
            return Err(failed(format!("unable to get metrics for resource {name}: {error}")));
        }
        Measured::Values(_) => return Err(failed(nothing())),
    };
    let answer = match (target.average_value, target.average_utilization) {
        (Some(value), _) => scene.average(samples, name, value.0),
        (None, percent) => {
            scene.utilization(samples, name, container.as_deref(), percent.unwrap_or_default())
        }
    };
    let answer = answer.map_err(failed)?;
    let mut current = json!({"averageValue": Amount(answer.usage).written(name)});
    if let Some(percent) = answer.utilization {
        current["averageUtilization"] = percent.into();
    }
    let status = match container {
        None => json!({"type": class, "resource": {"name": name, "current": current}}),
        Some(container) => json!({
            "type": class,
            "containerResource": {"name": name, "container": container, "current": current},
        }),
    };
    Ok(Proposal { replicas: answer.replicas, name: words, status })
}

fn of_pods(scene: &Scene<'_>, pods: &Named, measured: &Measured) -> Result<Proposal, String> {
    let name = &pods.metric.name;
    let Some(target) = pods.target.average_value else {
        return Err("invalid pods metric source: no average value target was set".to_owned());
    };
    let samples = match measured {
        Measured::Pods(samples) => samples,
        Measured::Unknown(error) => return Err(format!("unable to get metric {name}: {error}")),
        Measured::Values(_) => return Err(nothing()),
    };
    let answer = scene.average(samples, "", target.0)?;
    let current = json!({"averageValue": Amount(answer.usage).written("")});
    let status = json!({"type": "Pods", "pods": {"metric": identifier(pods), "current": current}});
    Ok(Proposal { replicas: answer.replicas, name: format!("pods metric {name}"), status })
}

fn of_object(
    scene: &Scene<'_>,
    namespace: &str,
    object: &Named,
    measured: &Measured,
) -> Result<Proposal, String> {
    let (name, of) = (&object.metric.name, &object.described_object);
    let values = match measured {
        Measured::Values(values) => values,
        Measured::Unknown(error) => {
            let Reference { kind, name: of, .. } = of;
            return Err(format!("unable to get metric {name}: {error} on {kind} {namespace}/{of}"));
        }
        Measured::Pods(_) => return Err(nothing()),
    };
    let (answer, current, words) =
        match (&*object.target.class, object.target.value, object.target.average_value) {
            ("Value", Some(target), _) => {
                let answer = scene.whole(values, target.0)?;
                (answer, value("value", answer), format!("{} metric {name}", of.kind))
            }
            ("AverageValue", _, Some(target)) => {
                let answer = scene.share(values, target.0);
                (answer, value("averageValue", answer), external_name(object))
            }
            _ => {
                return Err(
                    "invalid object metric source: neither a value target nor an average value target \
                        was set"
                        .to_owned(),
                );
            }
        };
    let mut described = json!({"kind": of.kind, "name": of.name});
    if !of.api_version.is_empty() {
        described["apiVersion"] = of.api_version.clone().into();
    }
    let object = json!({"describedObject": described, "metric": identifier(object), "current": current});
    let status = json!({"type": "Object", "object": object});
    Ok(Proposal { replicas: answer.replicas, name: words, status })
}

fn of_external(
    scene: &Scene<'_>,
    namespace: &str,
    external: &Named,
    measured: &Measured,
) -> Result<Proposal, String> {
    let name = &external.metric.name;
    let values = match measured {
        Measured::Values(values) => values,
        Measured::Unknown(error) => {
            let selector = selector(external);
            return Err(format!("unable to get external metric {namespace}/{name}/{selector}: {error}"));
        }
        Measured::Pods(_) => return Err(nothing()),
    };
    let (answer, current) = match (external.target.average_value, external.target.value) {
        (Some(target), _) => {
            let answer = scene.share(values, target.0);
            (answer, value("averageValue", answer))
        }
        (None, Some(target)) => {
            let answer = scene.whole(values, target.0)?;
            (answer, value("value", answer))
        }
        (None, None) => {
            return Err(
                "invalid external metric source: neither a value target nor an average value target \
                        was set"
                    .to_owned(),
            );
        }
    };
    let external_status = json!({"metric": identifier(external), "current": current});
    let status = json!({"type": "External", "external": external_status});
    Ok(Proposal { replicas: answer.replicas, name: external_name(external), status })
}

fn value(field: &str, answer: Answer) -> Value {
    json!({field: Amount(answer.usage).written("")})
}

fn nothing() -> String {
    "nothing was measured".to_owned()
}

fn identifier(metric: &Named) -> Value {
    let mut identifier = json!({"name": metric.metric.name});
    if let Some(selector) = &metric.metric.selector {
        identifier["selector"] = selector.clone();
    }
    identifier
}

fn external_name(metric: &Named) -> String {
    format!("external metric {}({})", metric.metric.name, selector(metric))
}

/// As Kubernetes' messages show a selector.
fn selector(metric: &Named) -> String {
    let Some(selector) = &metric.metric.selector else { return "nil".to_owned() };
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels: String =
        labels.map(|(name, value)| format!("{name}: {},", value.as_str().unwrap_or_default())).collect();
    let expressions: String = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("{} {} {},", one["key"], one["operator"], one["values"]))
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
