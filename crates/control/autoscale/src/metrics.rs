//! Asks the metrics APIs: `metrics.k8s.io` for what pods use, and those that others may serve for everything else. Decides
//! nothing; what it can't find out it says in words.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kedge_client::Client;
use kedge_kinds::duration;
use serde::Deserialize;
use serde_json::Value;

use crate::amount::Amount;
use crate::autoscaler::{Metric, Named, OfPods, Reference};
use crate::measured::{Measured, Sample, Samples};
use crate::target::{Places, get, is_absent, said};

const USED: &str = "/apis/metrics.k8s.io/v1beta1";
const CUSTOM: &str = "custom.metrics.k8s.io";
const EXTERNAL: &str = "external.metrics.k8s.io";
/// Over which time somebody measured who doesn't say it.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);

#[derive(Deserialize)]
struct List<T> {
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Deserialize)]
struct PodMetrics {
    metadata: Name,
    timestamp: Timestamp,
    #[serde(default)]
    window: String,
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    usage: BTreeMap<String, Amount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricValue {
    #[serde(default)]
    described_object: Name,
    timestamp: Timestamp,
    /// `windowSeconds` in the one version, `window` in others.
    window_seconds: Option<i64>,
    value: Amount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versions {
    preferred_version: Version,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// Where measurements come from.
pub(crate) struct Meter<'a> {
    pub(crate) client: &'a Client,
    pub(crate) places: &'a Places,
    pub(crate) namespace: &'a str,
    /// Of the target's pods.
    pub(crate) selector: &'a str,
}

impl Meter<'_> {
    /// What each of these metrics is now.
    pub(crate) async fn read(&self, metrics: &[Metric]) -> Vec<Measured> {
        let mut used = None;
        let mut all = Vec::new();
        for metric in metrics {
            all.push(match metric {
                Metric::Resource { resource } | Metric::ContainerResource { resource } => {
                    // One answer does for all that pods use.
                    let answer = match used.take() {
                        Some(answer) => answer,
                        None => self.used().await,
                    };
                    let measured = of_pods(resource, &answer);
                    used = Some(answer);
                    measured
                }
                Metric::Pods { pods } => known(self.of_pods(pods).await),
                Metric::Object { object } => known(self.of_object(object).await),
                Metric::External { external } => known(self.external(external).await),
                Metric::Unknown => Measured::Unknown("unknown metric source type".to_owned()),
            });
        }
        all
    }

    async fn used(&self) -> Result<Vec<PodMetrics>, String> {
        let path =
            format!("{USED}/namespaces/{}/pods?labelSelector={}", self.namespace, encoded(self.selector));
        let list: Result<List<PodMetrics>, _> = get(self.client, &path).await;
        let list = list.map_err(|error| {
            format!("unable to fetch metrics from resource metrics API: {}", said(&error))
        })?;
        match list.items.is_empty() {
            true => Err("no metrics returned from resource metrics API".to_owned()),
            false => Ok(list.items),
        }
    }

    async fn of_pods(&self, pods: &Named) -> Result<Measured, String> {
        let path = format!("namespaces/{}/pods/*/{}", self.namespace, pods.metric.name);
        let of = format!("?labelSelector={}", encoded(self.selector));
        let values = self.custom(&path, &of, pods).await?;
        let sample = |one: MetricValue| {
            let window = one.window_seconds.map_or(WINDOW, SignedDuration::from_secs);
            (one.described_object.name, Sample { value: one.value.0, at: one.timestamp, window })
        };
        Ok(Measured::Pods(values.into_iter().map(sample).collect()))
    }

    async fn of_object(&self, object: &Named) -> Result<Measured, String> {
        let Reference { kind, name, .. } = &object.described_object;
        let metric = &object.metric.name;
        let path = if kind == "Namespace" && object.described_object.group().is_empty() {
            format!("namespaces/{}/metrics/{metric}", self.namespace)
        } else {
            let place = self.places.find(self.client, &object.described_object).await?;
            let group = if place.group.is_empty() { String::new() } else { format!(".{}", place.group) };
            format!("namespaces/{}/{}{group}/{name}/{metric}", self.namespace, place.plural)
        };
        let values = self.custom(&path, "?", object).await?;
        Ok(Measured::Values(values.into_iter().take(1).map(|one| one.value.0).collect()))
    }

    async fn custom(&self, path: &str, query: &str, metric: &Named) -> Result<Vec<MetricValue>, String> {
        let failed =
            |error: &kube::Error| format!("unable to fetch metrics from custom metrics API: {}", said(error));
        // Whoever serves it chooses its version.
        let group: Versions = match get(self.client, &format!("/apis/{CUSTOM}")).await {
            Ok(group) => group,
            Err(error) if is_absent(&error) => {
                return Err(format!(
                    "unable to fetch metrics from custom metrics API: no custom metrics API ({CUSTOM}) registered"
                ));
            }
            Err(error) => return Err(failed(&error)),
        };
        let version = group.preferred_version.version;
        let labels = encoded(&labels(metric)?);
        let path = format!("/apis/{CUSTOM}/{version}/{path}{query}&metricLabelSelector={labels}");
        let list: List<MetricValue> =
            get(self.client, &path.replace("?&", "?")).await.map_err(|error| failed(&error))?;
        match list.items.is_empty() {
            true => Err("no metrics returned from custom metrics API".to_owned()),
            false => Ok(list.items),
        }
    }

    async fn external(&self, external: &Named) -> Result<Measured, String> {
        let (namespace, name) = (self.namespace, &external.metric.name);
        let labels = encoded(&labels(external)?);
        let path = format!("/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/{name}?labelSelector={labels}");
        let list: Result<List<MetricValue>, _> = get(self.client, &path).await;
        let list = list.map_err(|error| {
            format!("unable to fetch metrics from external metrics API: {}", said(&error))
        })?;
        if list.items.is_empty() {
            return Err("no metrics returned from external metrics API".to_owned());
        }
        Ok(Measured::Values(list.items.into_iter().map(|one| one.value.0).collect()))
    }
}

fn known(measured: Result<Measured, String>) -> Measured {
    measured.unwrap_or_else(Measured::Unknown)
}

fn of_pods(resource: &OfPods, answer: &Result<Vec<PodMetrics>, String>) -> Measured {
    let pods = match answer {
        Ok(pods) => pods,
        Err(error) => return Measured::Unknown(error.clone()),
    };
    let mut samples = Samples::new();
    for pod in pods {
        let counted: Vec<_> = match &resource.container {
            None => pod.containers.iter().collect(),
            Some(name) => pod.containers.iter().filter(|one| one.name == *name).collect(),
        };
        // A part would be taken for all of it.
        let used: Option<Vec<i64>> =
            counted.iter().map(|one| Some(one.usage.get(&resource.name)?.0)).collect();
        let Some(used) = used.filter(|used| !used.is_empty()) else { continue };
        let window = duration::parse(&pod.window).map_or(WINDOW, SignedDuration::from_nanos);
        let value = used.into_iter().fold(0, i64::saturating_add);
        samples.insert(pod.metadata.name.clone(), Sample { value, at: pod.timestamp, window });
    }
    Measured::Pods(samples)
}

/// A metric's own selector, as queries have it.
fn labels(metric: &Named) -> Result<String, String> {
    let Some(selector) = &metric.metric.selector else { return Ok(String::new()) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut all: Vec<String> = labels.map(|(name, value)| format!("{name}={}", text(value))).collect();
    for one in selector["matchExpressions"].as_array().into_iter().flatten() {
        let (key, operator) = (text(&one["key"]), text(&one["operator"]));
        let values: Vec<String> = one["values"].as_array().into_iter().flatten().map(text).collect();
        let values = values.join(",");
        all.push(match &*operator {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key,
            "DoesNotExist" => format!("!{key}"),
            _ => return Err(format!("{operator:?} is not a valid label selector operator")),
        });
    }
    Ok(all.join(","))
}

/// As a query has it.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_of_which_a_part_is_measured_is_not() {
        let answer: List<PodMetrics> = serde_json::from_value(json!({"items": [
            {"metadata": {"name": "whole"}, "timestamp": "2030-01-01T12:00:00Z", "window": "10s", "containers": [
                {"name": "a", "usage": {"cpu": "100m", "memory": "1Mi"}}, {"name": "b", "usage": {"cpu": "2500u"}}]},
            {"metadata": {"name": "none"}, "timestamp": "2030-01-01T12:00:00Z", "containers": []},
        ]}))
        .unwrap();
        let answer = Ok(answer.items);
        for (resource, container, expected) in [
            ("cpu", None, vec![("whole", 103)]),
            ("memory", None, vec![]),
            ("memory", Some("a"), vec![("whole", 1_048_576_000)]),
            ("cpu", Some("c"), vec![]),
        ] {
            let of = OfPods {
                name: resource.to_owned(),
                container: container.map(str::to_owned),
                ..OfPods::default()
            };
            let Measured::Pods(samples) = of_pods(&of, &answer) else { panic!("{resource}") };
            let found: Vec<_> = samples.iter().map(|(name, sample)| (&**name, sample.value)).collect();
            assert_eq!(found, expected, "{resource} of {container:?}");
            assert!(samples.values().all(|sample| sample.window == SignedDuration::from_secs(10)));
        }
    }

    #[test]
    fn selectors_become_queries() {
        let named = |selector: Value| Named {
            metric: serde_json::from_value(json!({"name": "m", "selector": selector})).unwrap(),
            ..Named::default()
        };
        for (selector, expected) in [
            (Value::Null, Ok("")),
            (json!({"matchLabels": {"a": "b", "c": "d"}}), Ok("a=b,c=d")),
            (
                json!({"matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}),
                Ok("k in (x,y)"),
            ),
            (json!({"matchExpressions": [{"key": "k", "operator": "DoesNotExist"}]}), Ok("!k")),
            (json!({"matchExpressions": [{"key": "k", "operator": "Near"}]}), Err(())),
        ] {
            let made = labels(&named(selector.clone()));
            assert_eq!(made.as_deref().map_err(|_| ()), expected, "{selector}");
        }
        assert_eq!(encoded("a=b,c in (d)"), "a%3Db%2Cc%20in%20%28d%29");
    }
}
