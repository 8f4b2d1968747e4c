//! What a machine that joins may do, made where it is missing: read `cluster-info` without a name, ask for its
//! certificate with a bootstrap token, renew it with the certificate that it has.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::{Tools, options};
use crate::rbac::GROUP;

/// Name, role, group.
const BINDINGS: [(&str, &str, &str); 3] = [
    ("kedge:node-bootstrap", "system:node-bootstrapper", "system:bootstrappers"),
    (
        "kedge:node-approve-bootstrap",
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        "system:bootstrappers",
    ),
    (
        "kedge:node-approve-renewal",
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        "system:nodes",
    ),
];
const INFO: &str = "kedge:cluster-info";
/// What all nodes know alike, as a server publishes it.
const CLUSTER: &str = "kedge:cluster";

pub(super) async fn make(tools: &Tools) -> Result<(), Status> {
    for (name, role, group) in BINDINGS {
        let subject = json!({ "apiGroup": GROUP, "kind": "Group", "name": group });
        let binding = binding("ClusterRoleBinding", name, "ClusterRole", role, &subject);
        missing(tools, "clusterrolebindings", None, binding).await?;
    }
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": { "name": INFO },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["cluster-info"], "verbs": ["get"] }],
    });
    missing(tools, "roles", Some("kube-public"), role).await?;
    let anyone = json!({ "apiGroup": GROUP, "kind": "User", "name": "system:anonymous" });
    missing(tools, "rolebindings", Some("kube-public"), binding("RoleBinding", INFO, "Role", INFO, &anyone))
        .await?;
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": { "name": CLUSTER },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kedge-cluster"], "verbs": ["get"] }],
    });
    missing(tools, "roles", Some("kube-public"), role).await?;
    let nodes = json!({ "apiGroup": GROUP, "kind": "Group", "name": "system:nodes" });
    let bound = binding("RoleBinding", CLUSTER, "Role", CLUSTER, &nodes);
    missing(tools, "rolebindings", Some("kube-public"), bound).await
}

fn binding(kind: &str, name: &str, role_kind: &str, role: &str, subject: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": { "name": name },
        "roleRef": { "apiGroup": GROUP, "kind": role_kind, "name": role }, "subjects": [subject],
    })
}

async fn missing(tools: &Tools, plural: &str, namespace: Option<&str>, object: Value) -> Result<(), Status> {
    let name = object["metadata"]["name"].as_str().unwrap_or("");
    let key = match namespace {
        Some(namespace) => format!("/registry/{plural}/{namespace}/{name}"),
        None => format!("/registry/{plural}/{name}"),
    };
    if tools.stored(&key)?.is_some() {
        return Ok(());
    }
    let at = tools.at(GROUP, plural, namespace, None)?;
    match tools.api.registry().create(&at, object, &options()).await {
        // Another server was faster.
        Err(status) if status.code == 409 => Ok(()),
        made => made.map(|_| ()),
    }
}
