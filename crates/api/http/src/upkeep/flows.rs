//! Whether the level that a FlowSchema names exists: its condition `Dangling` says so.

use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_registry::Patch;
use serde_json::json;

use super::{Duty, Tools, options};

pub(super) struct Flows;

/// A level that comes or goes concerns every flow that names it.
pub(super) struct Levels;

const FLOWS: &str = "/registry/flowschemas/";
const LEVELS: &str = "/registry/prioritylevelconfigurations/";

impl Duty for Flows {
    fn prefix(&self) -> &'static str {
        FLOWS
    }

    async fn look(&self, tools: &Tools, name: &str) -> Result<Option<Timestamp>, Status> {
        judge(tools, name).await
    }
}

impl Duty for Levels {
    fn prefix(&self) -> &'static str {
        LEVELS
    }

    async fn look(&self, tools: &Tools, _level: &str) -> Result<Option<Timestamp>, Status> {
        let snapshot = tools.api.registry().store().snapshot();
        let names = snapshot.range(FLOWS, None).filter_map(|(key, _)| key.as_str().strip_prefix(FLOWS));
        for name in names.map(str::to_owned).collect::<Vec<String>>() {
            judge(tools, &name).await?;
        }
        Ok(None)
    }
}

async fn judge(tools: &Tools, name: &str) -> Result<Option<Timestamp>, Status> {
    let Some(flow) = tools.stored(&format!("{FLOWS}{name}"))? else { return Ok(None) };
    let level = flow["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap_or_default();
    let exists = tools.stored(&format!("{LEVELS}{level}"))?.is_some();
    let (status, reason, end) = match exists {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} {end}");
    let conditions = flow["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let said = conditions.iter().find(|condition| condition["type"] == "Dangling");
    if said.is_some_and(|said| said["status"] == status && said["message"] == message.as_str()) {
        return Ok(None);
    }
    let since = match said
        .filter(|said| said["status"] == status)
        .and_then(|said| said["lastTransitionTime"].as_str())
    {
        Some(since) => since.to_owned(),
        None => tools.api.clock().now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let mut conditions: Vec<_> = conditions.into_iter().filter(|one| one["type"] != "Dangling").collect();
    conditions.push(json!({
        "type": "Dangling", "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    }));
    let mut at = tools.at("flowcontrol.apiserver.k8s.io", "flowschemas", None, Some(name))?;
    at.subresource = Some("status".into());
    let patch = Patch::Merge(json!({ "status": { "conditions": conditions } }));
    tools.api.registry().patch(&at, patch, &options()).await?;
    Ok(None)
}
