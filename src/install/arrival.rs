//! Waits until the node of what was installed is part of its cluster, so that what is typed next finds it there.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use serde_json::Value;

use super::{Role, ports};
use crate::{ask, control, hatch, join, status, told};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const LONGEST: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);
/// For one look.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of the node, in words, and which of the gateway's places others have. What was installed may have no node to tell of.
pub(crate) async fn until_ready(role: Role, data: &Path, gateway: &[SocketAddr], clock: &Clock) -> String {
    let begun = clock.now();
    loop {
        let why = match ask::within(clock, PATIENCE, look(role, data, clock)).await {
            Ok((pid, node)) => {
                let arrived = node.map(|node| format!("node {node} is Ready\n")).unwrap_or_default();
                return arrived + &ports::beware(pid, gateway);
            }
            Err(why) => why,
        };
        if clock.now().duration_since(begun).unsigned_abs() >= LONGEST {
            let (seconds, data) = (LONGEST.as_secs(), data.display());
            return format!(
                "the node is not Ready after {seconds} s: {why}; `kedge doctor --data-dir {data}` says more\n"
            );
        }
        clock.sleep(LOOK).await;
    }
}

/// The process that runs, and the node that is ready, if there is to be one.
async fn look(role: Role, data: &Path, clock: &Clock) -> Result<(u32, Option<String>), String> {
    let running = hatch::running(data).await.map_err(|error| told(&error))?;
    let Some(node) = running.node else { return Ok((running.pid, None)) };
    let client = match role {
        Role::Server => control::remote(&data.join("kubeconfig")).await.map_err(|error| told(&error))?,
        Role::Agent => join::client(data).map_err(|error| told(&error))?,
    };
    let why = |error: Box<kube::Error>| match *error {
        kube::Error::Api(status) => status.message,
        other => told(&other),
    };
    let object = ask::object(&client, &format!("/api/v1/nodes/{node}")).await.map_err(why)?;
    let lease = ask::object(&client, &format!("{LEASES}/{node}")).await.map_err(why)?;
    // What a node said before this process began was said by its predecessor.
    let since = status::begun_at(running.pid, clock.now()).unwrap_or(Timestamp::MIN);
    match is_of(&lease, since) && status::is_ready(&object) {
        true => Ok((running.pid, Some(node))),
        false => Err(format!("node {node} does not say that it is")),
    }
}

/// Whether a node has said since then that it is there.
fn is_of(lease: &Value, since: Timestamp) -> bool {
    let renewed = lease["spec"]["renewTime"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    renewed.is_some_and(|at| at >= since)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hatch::Hatch;

    fn hatch(data: &Path, node: Option<&str>) -> Hatch {
        let (data, node) = (data.to_owned(), node.map(str::to_owned));
        Hatch { role: "agent", data, node, servers: Vec::new(), store: None }
    }

    #[tokio::test]
    async fn who_has_no_node_waits_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let _serving = tokio::spawn(hatch(folder.path(), None).serve());
        assert_eq!(until_ready(Role::Agent, folder.path(), &[], &Clock::system()).await, "");
    }

    #[test]
    fn what_its_predecessor_said_does_not_count() {
        let since = "2030-01-01T12:00:31.5Z".parse().unwrap();
        for (renewed, counts) in
            [("2030-01-01T12:00:31.831357Z", true), ("2030-01-01T12:00:30.999999Z", false)]
        {
            assert_eq!(is_of(&json!({"spec": {"renewTime": renewed}}), since), counts, "{renewed}");
        }
        assert!(!is_of(&json!({}), since));
    }

    #[tokio::test]
    async fn a_node_is_not_waited_for_for_ever() {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Clock::manual(Timestamp::UNIX_EPOCH));
        let _serving = tokio::spawn(hatch(folder.path(), Some("n1")).serve());
        let time = async {
            loop {
                clock.advance(LOOK);
                tokio::task::yield_now().await;
            }
        };
        let told = tokio::select! {
            told = until_ready(Role::Agent, folder.path(), &[], &clock) => told,
            () = time => unreachable!(),
        };
        assert!(told.starts_with("the node is not Ready after 60 s: "), "{told}");
    }
}
