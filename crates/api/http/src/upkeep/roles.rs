//! ClusterRoles that gather others: their `rules` say what they allow, for whoever reads them.

use jiff::Timestamp;
use kedge_kinds::Status;

use super::{Duty, Tools, options};
use crate::rbac::GROUP;

pub(super) struct Roles;

impl Duty for Roles {
    fn prefix(&self) -> &'static str {
        "/registry/clusterroles/"
    }

    /// Any role can be part of any other, so all that gather are looked at.
    fn concerns<'k>(&self, _: &'k str) -> Option<&'k str> {
        Some("")
    }

    async fn look(&self, tools: &Tools, _: &str) -> Result<Option<Timestamp>, Status> {
        for (name, rules) in tools.api.rbac().gathered() {
            let Some(mut live) = tools.stored(&format!("{}{name}", self.prefix()))? else { continue };
            let rules = serde_json::to_value(rules).map_err(|error| Status::internal(error.to_string()))?;
            if live["rules"] == rules {
                continue;
            }
            live["rules"] = rules;
            let at = tools.at(GROUP, "clusterroles", None, Some(&name))?;
            tools.api.registry().update(&at, live, &options()).await?;
        }
        Ok(None)
    }
}
