//! Autoscalers in a whole cluster, with what is measured said by the test: they grow at once, shrink with patience, and say what
//! they miss.
#![allow(clippy::unwrap_used, reason = "tests end where something is wrong")]

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kedge_autoscale::Autoscaler;
use kedge_testkit::{Cluster, Look};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PropagationPolicy};
use kube::core::GroupVersionKind;
use serde_json::json;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: nginx:1, resources: { requests: { cpu: 100m } } }] }
";

const BY_CPU: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
  maxReplicas: 5
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } } }]
";

fn said(look: &Look, type_: &str) -> String {
    let Some(autoscaler) = look.get::<Autoscaler>("web") else { return String::new() };
    let conditions = autoscaler.status["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|known| known["type"] == type_);
    found.map_or_else(String::new, |known| {
        format!("{} {}", known["status"].as_str().unwrap(), known["reason"].as_str().unwrap())
    })
}

fn replicas(look: &Look) -> i32 {
    look.get::<Deployment>("web").and_then(|web| web.spec.as_ref()?.replicas).unwrap_or(-1)
}

#[tokio::test]
async fn load_is_met_at_once_and_outlived_with_patience() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.measures.cpu("web", 50);
    cluster.until("web runs", |c| c.pods("web").ready().len() == 1).await;
    cluster.clock.advance(Duration::from_secs(5)).await;
    cluster.apply(BY_CPU).await;
    cluster.until("all is as it should be", |c| said(c, "ScalingActive") == "True ValidMetricFound").await;
    cluster.meanwhile("nothing is done", |c| replicas(c) == 1).await;

    let begun = cluster.clock.now();
    cluster.measures.cpu("web", 200);
    cluster.until("it grows", |c| replicas(c) == 4).await;
    let took = cluster.clock.now().duration_since(begun).as_secs();
    assert!(took < 5, "it took {took} s, and the next regular look is later");
    cluster
        .until("it is told", |c| {
            c.has_event("SuccessfulRescale", "New size: 4; reason: cpu resource utilization")
        })
        .await;
    cluster.until("they run", |c| c.pods("web").ready().len() == 4).await;
    // No faster than twofold in fifteen seconds, and no further than five.
    cluster.clock.advance(Duration::from_secs(30)).await;
    cluster
        .until("there are as many as there may be", |c| {
            c.pods("web").ready().len() == 5 && said(c, "ScalingLimited") == "True TooManyReplicas"
        })
        .await;

    cluster.measures.cpu("web", 5);
    cluster.clock.advance(Duration::from_secs(60)).await;
    cluster
        .until("it waits", |c| replicas(c) == 5 && said(c, "AbleToScale") == "True ScaleDownStabilized")
        .await;
    cluster.clock.advance(Duration::from_secs(300)).await;
    cluster.until("it shrinks", |c| replicas(c) == 1 && c.pods("web").len() == 1).await;
    cluster.clock.advance(Duration::from_secs(20)).await;
    cluster.until("it says so", |c| said(c, "AbleToScale") == "True ReadyForNewScale").await;
}

#[tokio::test]
async fn what_is_missing_is_said_and_waited_for() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(BY_CPU).await;
    cluster.until("there is no target", |c| said(c, "AbleToScale") == "False FailedGetScale").await;
    cluster
        .until("it is told", |c| c.has_event("FailedGetScale", "deployments.apps \"web\" not found"))
        .await;
    cluster.apply(WEB).await;
    cluster.clock.advance(Duration::from_secs(16)).await;
    cluster
        .until("nothing is measured", |c| said(c, "ScalingActive") == "False FailedGetResourceMetric")
        .await;
    cluster.measures.cpu("web", 50);
    cluster.clock.advance(Duration::from_secs(16)).await;
    cluster.until("now it is", |c| said(c, "ScalingActive") == "True ValidMetricFound").await;
    let pods = json!({ "type": "Pods", "pods": { "metric": { "name": "hits" }, "target": { "type": "AverageValue", "averageValue": "10" } } });
    cluster.patch("HorizontalPodAutoscaler", "web", json!({ "spec": { "metrics": [pods] } })).await;
    cluster.until("nobody counts hits", |c| said(c, "ScalingActive") == "False FailedGetPodsMetric").await;
    cluster.until("it is told", |c| c.has_event("FailedGetPodsMetric", "no custom metrics API")).await;
    cluster.patch("Deployment/scale", "web", json!({ "spec": { "replicas": 0 } })).await;
    cluster.clock.advance(Duration::from_secs(16)).await;
    cluster.until("it is switched off", |c| said(c, "ScalingActive") == "False ScalingDisabled").await;
    cluster.delete("HorizontalPodAutoscaler", "web", PropagationPolicy::Background).await;
}

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: farms.example.test }
spec:
  group: example.test
  scope: Namespaced
  names: { plural: farms, singular: farm, kind: Farm }
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
    subresources:
      status: {}
      scale: { specReplicasPath: .spec.size, statusReplicasPath: .status.size, labelSelectorPath: .status.selector }
";

const BY_QUEUE: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec:
  scaleTargetRef: { apiVersion: example.test/v1, kind: Farm, name: barn }
  minReplicas: 0
  maxReplicas: 5
  metrics: [{ type: External, external: { metric: { name: queue }, target: { type: AverageValue, averageValue: '10' } } }]
  behavior: { scaleDown: { stabilizationWindowSeconds: 0 } }
";

#[tokio::test]
async fn anything_with_a_scale_follows_anything_that_is_measured() {
    let cluster = Cluster::with_nodes([]).await;
    cluster.apply(DEFINITION).await;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.test", "v1", "Farm"));
    let farms: kube::Api<DynamicObject> =
        kube::Api::namespaced_with(cluster.client.clone(), "default", &resource);
    let barn = json!({ "apiVersion": "example.test/v1", "kind": "Farm", "metadata": { "name": "barn" }, "spec": { "size": 2 } });
    let applied = PatchParams::apply("somebody").force();
    let begun = Instant::now();
    while let Err(error) = farms.patch("barn", &applied, &Patch::Apply(&barn)).await {
        assert!(begun.elapsed() < Duration::from_secs(10), "farms are still not served: {error}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let status = json!({ "status": { "size": 2, "selector": "app=barn" } });
    farms.patch_status("barn", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();

    let queue = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue";
    let long = |value: &str| {
        let item = json!({ "metricName": "queue", "timestamp": "2030-01-01T12:00:00Z", "value": value });
        json!({ "kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "items": [item] })
    };
    for (value, expected) in [("45", 5), ("20", 2), ("0", 0), ("15", 2)] {
        cluster.measures.answer(queue, long(value));
        if value == "45" {
            cluster.apply(BY_QUEUE).await;
        }
        cluster.clock.advance(Duration::from_secs(16)).await;
        cluster
            .until("it is scaled", |c| {
                let Some(autoscaler) = c.get::<Autoscaler>("web") else { return false };
                autoscaler.status["desiredReplicas"].as_i64().unwrap_or(0) == expected
                    && said(c, "ScalingActive") == "True ValidMetricFound"
            })
            .await;
        let size = farms.get("barn").await.unwrap().data["spec"]["size"].as_i64();
        assert_eq!(size, Some(expected), "for {value}");
        let status = json!({ "status": { "size": expected } });
        farms.patch_status("barn", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }
}

const PAIR: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
      - { name: c, image: nginx:1, resources: { requests: { cpu: 100m } } }
      - { name: side, image: nginx:1, resources: { requests: { cpu: 100m } } }
";

/// What others count decides as well: of each pod, of another object, and of one container beside its idle neighbour.
#[tokio::test]
async fn every_kind_of_metric_decides() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(PAIR).await;
    cluster.until("web runs", |c| c.pods("web").ready().len() == 1).await;
    let measures = &cluster.measures;
    let custom = "/apis/custom.metrics.k8s.io";
    measures.answer(custom, json!({ "kind": "APIGroup", "preferredVersion": { "version": "v1beta2" } }));
    let value = |kind: &str, name: &str, metric: &str, value: &str, at: jiff::Timestamp| {
        json!({ "items": [{
            "describedObject": { "kind": kind, "name": name, "namespace": "default" }, "metric": { "name": metric },
            "timestamp": at.to_string(), "windowSeconds": 10, "value": value,
        }] })
    };
    let average = |amount: &str| json!({ "type": "AverageValue", "averageValue": amount });
    let mut expected = 1;
    for kind in ["Pods", "Object", "ContainerResource"] {
        expected += 1;
        // What is measured is newer than the pods.
        cluster.clock.advance(Duration::from_secs(5)).await;
        let now = cluster.clock.now();
        let pods = kube::Api::<Pod>::namespaced(cluster.client.clone(), "default");
        let pods = pods.list(&Default::default()).await.unwrap().items;
        let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
        let (metric, asked) = match kind {
            "Pods" => {
                let path = format!("{custom}/v1beta2/namespaces/default/pods/*/hits");
                measures.answer(&path, value("Pod", &names[0], "hits", "20", now));
                let metric = json!({ "name": "hits", "selector": { "matchLabels": { "verb": "GET" } } });
                (
                    json!({ "type": kind, "pods": { "metric": metric, "target": average("10") } }),
                    format!("{path}?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET"),
                )
            }
            "Object" => {
                let path = format!("{custom}/v1beta2/namespaces/default/deployments.apps/web/queue");
                measures.answer(&path, value("Deployment", "web", "queue", "30", now));
                let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
                let metric = json!({ "name": "queue" });
                let object = json!({ "describedObject": object, "metric": metric, "target": average("10") });
                (json!({ "type": kind, "object": object }), format!("{path}?metricLabelSelector="))
            }
            _ => {
                let path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
                let used = |name: &String| {
                    json!({
                        "metadata": { "name": name }, "timestamp": now.to_string(), "window": "1s",
                        "containers": [
                            { "name": "c", "usage": { "cpu": "1m" } }, { "name": "side", "usage": { "cpu": "66m" } },
                        ],
                    })
                };
                measures.answer(path, json!({ "items": names.iter().map(used).collect::<Vec<_>>() }));
                let target = json!({ "type": "Utilization", "averageUtilization": 50 });
                let of = json!({ "name": "cpu", "container": "side", "target": target });
                (json!({ "type": kind, "containerResource": of }), format!("{path}?labelSelector=app%3Dweb"))
            }
        };
        let spec = json!({ "spec": { "metrics": [metric] } });
        match kind {
            "Pods" => {
                let mut autoscaler: serde_json::Value = serde_saphyr::from_str(BY_CPU).unwrap();
                autoscaler["spec"]["metrics"] = spec["spec"]["metrics"].clone();
                cluster.apply(&autoscaler.to_string()).await;
            }
            _ => cluster.patch("HorizontalPodAutoscaler", "web", spec).await,
        }
        cluster.clock.advance(Duration::from_secs(31)).await;
        cluster.until(&format!("{kind} decides"), |c| replicas(c) == expected).await;
        assert!(measures.was_asked(&asked), "nobody asked for {asked}");
        let many = usize::try_from(expected).unwrap();
        cluster.until("they run", |c| c.pods("web").ready().len() == many).await;
    }
}
