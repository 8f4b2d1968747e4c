//! `cluster-info`: where the server is, and everything that somebody needs who is to find out what is wrong with it.

mod dump;

use serde_json::Value;

use crate::args::{Command, Part};
use crate::client::with;
use crate::error::CliError;
use crate::session::Session;

pub(crate) static COMMAND: Command = Command {
    name: "cluster-info",
    about: "Show where the server is",
    children: &[&dump::COMMAND],
    part: Part::Cluster,
    run: Some(|session, _| Box::pin(cluster_info(session))),
    ..Command::EMPTY
};

async fn cluster_info(session: &Session<'_>) -> Result<(), CliError> {
    let api = session.api().await?;
    session.read("/version").await?;
    session.screen.line(&format!("Kubernetes control plane is running at {}", api.server))?;
    let services = session.mapping().await?.find("services")?;
    let path = with(
        &services.collection(Some("kube-system")),
        [("labelSelector", "kubernetes.io/cluster-service=true")],
    );
    let found = session.read(&path).await?;
    for service in found["items"].as_array().into_iter().flatten() {
        let metadata = &service["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let port = match service["spec"]["ports"][0]["name"].as_str() {
            Some(name) => format!(":{name}"),
            None => String::new(),
        };
        let name = text(&metadata["name"]);
        let place =
            services.path(&text(&metadata["namespace"]), &format!("{name}{port}")).replace("%3A", ":");
        let called = match metadata["labels"]["kubernetes.io/name"].as_str() {
            Some(called) => called.to_owned(),
            None => name,
        };
        session.screen.line(&format!("{called} is running at {}{place}/proxy", api.server))?;
    }
    session.screen.line(&format!(
        "\nTo further debug and diagnose cluster problems, use '{} cluster-info dump'.",
        session.program
    ))
}
