//! What admission is told of a connection to a pod, a node or a service: the options that its query and its path hold. Connects
//! nothing.

use kedge_kinds::Status;
use kedge_registry::WriteOptions;
use serde_json::{Value, json};

use crate::api::Api;
use crate::call::Call;

/// `path` is what a proxy is asked for.
pub(super) async fn admit(api: &Api, call: &Call, path: Option<&str>) -> Result<(), Status> {
    let subresource = call.at.subresource.as_deref().unwrap_or_default();
    let spoken = call.at.kind.subresource(subresource).and_then(|sub| sub.speaks.as_ref());
    let mut options = json!({});
    if let Some((gv, kind)) = spoken {
        options["kind"] = (**kind).into();
        options["apiVersion"] = gv.to_string().into();
    }
    for name in ["stdin", "stdout", "stderr", "tty"] {
        if call.query.flag(name) {
            options[name] = true.into();
        }
    }
    for (name, text) in [("container", call.query.get("container")), ("path", path)] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            options[name] = text.into();
        }
    }
    let command: Vec<&str> = call.query.all("command").collect();
    if !command.is_empty() {
        options["command"] = command.into();
    }
    let ports = call.query.all("ports").flat_map(|list| list.split(','));
    let ports: Vec<Value> = ports.filter_map(|port| port.parse::<u16>().ok()).map(Value::from).collect();
    if !ports.is_empty() {
        options["ports"] = ports.into();
    }
    let write =
        WriteOptions { user: (*call.user).clone(), remarks: call.remarks.clone(), ..WriteOptions::default() };
    api.registry().admit_connection(&call.at, &options, &write).await
}
