//! What belongs to an object and is told with it: asked for here, told elsewhere.

use serde_json::Value;

use crate::client::{Api, with};
use crate::describe::shown::{items, selector, text};
use crate::describe::{Related, group, services_of};
use crate::error::CliError;

const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) async fn related(api: &Api, object: &Value) -> Result<Related, CliError> {
    let namespace = text(&object["metadata"]["namespace"]);
    let name = text(&object["metadata"]["name"]);
    let within = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let mut related = Related::default();
    match (group(object), text(&object["kind"])) {
        ("", "Node") => {
            let selector = format!("spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed");
            related.pods = allowed(list(api, &with("/api/v1/pods", [("fieldSelector", &*selector)])).await)?;
            let lease = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}");
            related.lease = Some(api.get(&lease).await.map_err(|error| error.to_string()));
            let selector = format!("spec.nodeName={name}");
            let slices = with("/apis/resource.k8s.io/v1/resourceslices", [("fieldSelector", &*selector)]);
            // A server without devices, or a user who may not see them, is no reason to tell nothing.
            related.devices = list(api, &slices).await.unwrap_or_default();
        }
        ("", "ReplicationController") => {
            let labels: Vec<String> = crate::describe::shown::pairs(&object["spec"]["selector"]).collect();
            related.pods = Some(selected(api, &within("pods"), &labels.join(",")).await?);
        }
        ("apps", "DaemonSet" | "StatefulSet") => {
            related.pods =
                Some(selected(api, &within("pods"), &selector(&object["spec"]["selector"])).await?);
        }
        ("apps", "ReplicaSet") => {
            let pods = selected(api, &within("pods"), &selector(&object["spec"]["selector"])).await;
            related.pods = allowed(pods)?;
        }
        ("apps", "Deployment") => {
            let sets = format!("/apis/apps/v1/namespaces/{namespace}/replicasets");
            let found = selected(api, &sets, &selector(&object["spec"]["selector"])).await;
            related.replica_sets = found.unwrap_or_default();
        }
        ("", "Service") => related.slices = slices(api, namespace, name).await.unwrap_or_default(),
        ("networking.k8s.io", "Ingress") => {
            for service in services_of(object) {
                match slices(api, namespace, &service).await {
                    Ok(found) => related.slices.extend(found),
                    Err(error) => {
                        related.services.push((service, Err(error.to_string())));
                        continue;
                    }
                }
                let found = api.get(&format!("{}/{service}", within("services"))).await;
                related.services.push((service, found.map_err(|error| error.to_string())));
            }
        }
        ("", "PersistentVolumeClaim") => {
            let pods = list(api, &within("pods")).await?;
            related.pods = Some(pods.into_iter().filter(|pod| uses(pod, object)).collect());
        }
        ("", "Namespace") => {
            related.quotas = list(api, &format!("/api/v1/namespaces/{name}/resourcequotas")).await?;
            related.limits = list(api, &format!("/api/v1/namespaces/{name}/limitranges")).await?;
        }
        _ => {}
    }
    Ok(related)
}

/// A pod that names the claim, or that the claim was made for.
fn uses(pod: &Value, claim: &Value) -> bool {
    let name = &claim["metadata"]["name"];
    let mounted = items(&pod["spec"]["volumes"])
        .iter()
        .any(|volume| volume["persistentVolumeClaim"]["claimName"] == *name);
    let owners = items(&claim["metadata"]["ownerReferences"]);
    mounted || owners.iter().any(|owner| owner["kind"] == "Pod" && owner["uid"] == pod["metadata"]["uid"])
}

/// What happened to an object, as it was reported.
pub(super) async fn events(api: &Api, object: &Value) -> Result<Vec<Value>, CliError> {
    let meta = &object["metadata"];
    let (namespace, name) = (text(&meta["namespace"]), text(&meta["name"]));
    let kind = text(&object["kind"]);
    let path = match namespace {
        "" => "/api/v1/events".to_owned(),
        namespace => format!("/api/v1/namespaces/{namespace}/events"),
    };
    let about = |uid: &str, kind: &str| {
        let kind = if kind.is_empty() { String::new() } else { format!(",involvedObject.kind={kind}") };
        format!(
            "involvedObject.name={name},involvedObject.namespace={namespace}{kind},involvedObject.uid={uid}"
        )
    };
    let ask = async |selector: String| list(api, &with(&path, [("fieldSelector", &*selector)])).await;
    match kind {
        "Pod" => {
            let uid = meta["annotations"][MIRROR].as_str().unwrap_or_else(|| text(&meta["uid"]));
            ask(about(uid, "")).await
        }
        // Nodes report on themselves under their names.
        "Node" => {
            let mut events = ask(about(text(&meta["uid"]), kind)).await?;
            events.extend(ask(about(name, kind)).await?);
            Ok(events)
        }
        _ => ask(about(text(&meta["uid"]), kind)).await,
    }
}

async fn slices(api: &Api, namespace: &str, service: &str) -> Result<Vec<Value>, CliError> {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
    selected(api, &path, &format!("kubernetes.io/service-name={service}")).await
}

async fn selected(api: &Api, path: &str, labels: &str) -> Result<Vec<Value>, CliError> {
    list(api, &with(path, [("labelSelector", labels)])).await
}

async fn list(api: &Api, path: &str) -> Result<Vec<Value>, CliError> {
    let mut list = api.get(path).await?;
    match list["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

/// Nothing if the user may not see it.
fn allowed<T>(read: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(CliError::Server(refusal)) if refusal.is("Forbidden") => Ok(None),
        Err(error) => Err(error),
    }
}
