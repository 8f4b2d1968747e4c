//! Runs the node of this machine beside the server. It uses the API as any node does, only without a socket.

use std::path::Path;

use kedge_agent::Agent;
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_registry::User;

use crate::assemble::domain;
use crate::network::{host_name, outward};
use crate::settings::Settings;

/// Runs it until the task is ended. A machine that cannot run containers is a server all the same.
pub(crate) async fn run(router: Router, settings: Settings, data: &Path, clock: Clock) {
    let name = settings.node_name.clone().or_else(host_name).unwrap_or_else(|| "node".to_owned());
    let user = User {
        name: format!("system:node:{name}"),
        groups: vec!["system:nodes".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    let node = kedge_agent::Settings {
        addresses: outward().into_iter().collect(),
        cluster_domain: domain(&settings),
        runtime: settings.container_runtime_endpoint.clone(),
        version: concat!("v1.36.0+kedge", env!("CARGO_PKG_VERSION")).to_owned(),
        ..kedge_agent::Settings::new(name, data)
    };
    match Agent::start(node, client, clock).await {
        Ok(agent) => agent.run().await,
        Err(error) => {
            let told = crate::told(&error);
            tracing::error!("this machine is no node: {}", told.trim_start_matches("kedge: ").trim_end());
        }
    }
}
