//! What deciding who may costs when there are many bindings: the same GET by the same account, before and after.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::server::Server;
use super::{CONNECTIONS, Programs, Table, fresh, median, named};
use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::load;
use crate::measures::{Api, Measure, NAMESPACE};
use crate::{BenchError, Size, report};

const JSON: &str = "application/json";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/kedge-bench";

/// One account may read ConfigMaps; then `bindings` more are made, some of them its own.
pub(super) async fn access(
    programs: &Programs,
    folder: &Path,
    bindings: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note(&format!("requests beside {bindings} role bindings…"));
    let size = Size { connections: CONNECTIONS, count: 20_000, bytes: 1024 };
    let server = Server::kedge(&programs.kedge, &fresh(folder, "access")?).await?;
    let admin = Api { target: server.target()?, size, server: Some(server.pid) };
    admin.run(Measure::CreateConfigmaps).await?;
    let mut connection = Connection::open(&admin.target).await?;
    let post = async |connection: &mut Connection, path: &str, object: &Value| {
        let body = Bytes::from(object.to_string());
        let answer = connection.send(Method::POST, path, JSON, body).await?;
        Ok::<Bytes, BenchError>(answer.into_body().collect().await?.to_bytes())
    };
    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    });
    post(&mut connection, &format!("{RBAC}/roles"), &role).await?;
    let account = format!("{NAMESPACE}/serviceaccounts");
    post(&mut connection, &account, &json!({"metadata": {"name": "reader"}})).await?;
    let made = post(&mut connection, &format!("{account}/reader/token"), &json!({"spec": {}})).await?;
    let token: Value = serde_json::from_slice(&made).unwrap_or_default();
    let data = folder.join("access");
    let reader = Target::load(&as_bearer(&data, &token["status"]["token"])?)?;
    post(&mut connection, &format!("{RBAC}/rolebindings"), &binding(0)).await?;
    let reader = Api { target: reader, ..admin.clone() };

    let few = get(&reader).await?;
    load::run(&admin.target, CONNECTIONS, bindings, None, |mut connection, i| async move {
        let body = Bytes::from(binding(i + 1).to_string());
        let path = format!("{RBAC}/rolebindings");
        let read = connection.drain(Method::POST, &path, JSON, body).await?;
        Ok((connection, read))
    })
    .await?;
    let many = get(&reader).await?;
    table.at_most(&format!("CPU added to a request by {bindings} role bindings"), many - few, "µs", 50.0);
    server.stop().await;
    Ok(())
}

/// Every hundredth names the account that asks, so that its own add up too.
fn binding(i: usize) -> Value {
    let name = if i.is_multiple_of(100) { "reader".to_owned() } else { format!("other-{i}") };
    json!({
        "metadata": {"name": format!("binding-{i}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kedge-bench", "name": name}],
    })
}

/// A kubeconfig like the administrator's, for whoever holds this token.
fn as_bearer(data: &Path, token: &Value) -> Result<PathBuf, BenchError> {
    let path = data.join("kubeconfig");
    let text = std::fs::read_to_string(&path).map_err(|source| BenchError::Read { path, source })?;
    let mut config: Value = serde_saphyr::from_str(&text).unwrap_or_default();
    config["users"][0]["user"] = json!({"token": token});
    let path = data.join("reader.kubeconfig");
    match std::fs::write(&path, config.to_string()) {
        Ok(()) => Ok(path),
        Err(source) => Err(BenchError::Write { path, source }),
    }
}

async fn get(api: &Api) -> Result<f64, BenchError> {
    let mut costs = Vec::new();
    for _ in 0..3 {
        let line = named("kedge", api.get_config_map().await?);
        costs.push(line.server_cpu_us_per_op.unwrap_or(0.0));
    }
    Ok(median(&mut costs))
}
