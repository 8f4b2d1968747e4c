//! The authority's certificate in every namespace (`kube-root-ca.crt`), so that pods know their API server.

use jiff::Timestamp;
use kedge_kinds::Status;
use serde_json::json;

use super::{Duty, Tools, options};

const NAME: &str = "kube-root-ca.crt";

pub(super) struct Namespaces;

pub(super) struct Certificates;

impl Duty for Namespaces {
    fn prefix(&self) -> &'static str {
        "/registry/namespaces/"
    }

    async fn look(&self, tools: &Tools, namespace: &str) -> Result<Option<Timestamp>, Status> {
        publish(tools, namespace).await
    }
}

impl Duty for Certificates {
    fn prefix(&self) -> &'static str {
        "/registry/configmaps/"
    }

    fn concerns<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.split_once('/').filter(|(_, name)| *name == NAME).map(|(namespace, _)| namespace)
    }

    async fn look(&self, tools: &Tools, namespace: &str) -> Result<Option<Timestamp>, Status> {
        publish(tools, namespace).await
    }
}

async fn publish(tools: &Tools, namespace: &str) -> Result<Option<Timestamp>, Status> {
    let open = tools
        .stored(&format!("/registry/namespaces/{namespace}"))?
        .is_some_and(|object| object["status"]["phase"] != "Terminating");
    if !open {
        return Ok(None);
    }
    let data = json!({ "ca.crt": tools.authority.pem() });
    let registry = tools.api.registry();
    match tools.stored(&format!("/registry/configmaps/{namespace}/{NAME}"))? {
        Some(live) if live["data"] == data => {}
        Some(mut live) => {
            live["data"] = data;
            let at = tools.at("", "configmaps", Some(namespace), Some(NAME))?;
            registry.update(&at, live, &options()).await?;
        }
        None => {
            let why = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": { "name": NAME, "annotations": { "kubernetes.io/description": why } },
            });
            let at = tools.at("", "configmaps", Some(namespace), None)?;
            registry.create(&at, map, &options()).await?;
        }
    }
    Ok(None)
}
