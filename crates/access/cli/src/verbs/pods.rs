//! Which pods are meant where pods are spoken to: a pod, what makes pods (`deploy/web`, `svc/web`, `job/x`), or a selector; and which of their
//! containers.

use serde_json::Value;

use crate::args::Typed;
use crate::client::with;
use crate::describe::shown::{items, pairs, selector, text};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::select;
use crate::session::Session;

/// What a user's word stands for.
pub(super) struct Meant {
    /// The best first: ready ones before others, older before newer.
    pub(super) pods: Vec<Value>,
    /// The object that was named, unless it is a pod itself.
    pub(super) through: Option<Value>,
}

/// `web-1`, `pod/web-1`, `deploy/web`, or two words. `doing` is what fails where nothing of it can be found.
pub(super) async fn meant(session: &Session<'_>, words: &[String], doing: &str) -> Result<Meant, CliError> {
    let namespace = session.namespace()?;
    let words: Vec<String> = match words {
        [one] if !one.contains('/') => vec!["pods".to_owned(), one.clone()],
        words => words.to_vec(),
    };
    let asked = select::asked(session.mapping().await?, &words)?;
    let ([asked], Some(name)) = (asked.as_slice(), asked.first().and_then(|asked| asked.names.first()))
    else {
        return Err(CliError::usage("expected one pod, or one object that has pods: POD or KIND/NAME"));
    };
    of(session, asked.resource, &namespace, name, doing).await
}

/// What a manifest names, in the place of words.
pub(super) async fn in_file(
    session: &Session<'_>,
    typed: &Typed,
    words: &[String],
) -> Result<Meant, CliError> {
    let manifests = input::manifests(typed)?;
    let ([manifest], []) = (&manifests[..], words) else {
        return Err(CliError::usage("expected one object: one manifest, or POD or KIND/NAME"));
    };
    let (resource, namespace, name) = select::placed(session, manifest).await?;
    of(session, resource, &namespace, &name, "attach to").await
}

async fn of(
    session: &Session<'_>,
    resource: &Resource,
    namespace: &str,
    name: &str,
    doing: &str,
) -> Result<Meant, CliError> {
    let object = session.read(&resource.path(namespace, name)).await?;
    if resource.kind == "Pod" && resource.group.is_empty() {
        return Ok(Meant { pods: vec![object], through: None });
    }
    let Some(labels) = selects(&object) else {
        let what = format!("*{}.{}", resource.version, resource.kind);
        let why = match &*resource.kind {
            "Service" => format!("invalid service '{name}': Service is defined without a selector"),
            _ => format!("selector for {what} not implemented"),
        };
        return Err(CliError::unmet(format!(
            "cannot {doing} {what}: {why}\nName a pod, a service, or what makes pods, such as a deployment"
        )));
    };
    let pods = selected(session, namespace, &labels).await?;
    Ok(Meant { pods, through: Some(object) })
}

/// Pods with these labels, the best first.
pub(super) async fn selected(
    session: &Session<'_>,
    namespace: &str,
    labels: &str,
) -> Result<Vec<Value>, CliError> {
    let path = with(&format!("/api/v1/namespaces/{namespace}/pods"), [("labelSelector", labels)]);
    let mut list = session.read(&path).await?;
    let Value::Array(mut pods) = list["items"].take() else { return Ok(Vec::new()) };
    pods.sort_by_cached_key(worth);
    Ok(pods)
}

/// The label selector of what has pods.
fn selects(object: &Value) -> Option<String> {
    let wanted = &object["spec"]["selector"];
    let labels = match (&wanted["matchLabels"], &wanted["matchExpressions"]) {
        // Services and replication controllers have plain labels.
        (Value::Null, Value::Null) => pairs(wanted).collect::<Vec<_>>().join(","),
        _ => selector(wanted),
    };
    (!labels.is_empty()).then_some(labels)
}

fn worth(pod: &Value) -> (bool, u8, bool, String) {
    let status = &pod["status"];
    let phase = match text(&status["phase"]) {
        "Running" => 0,
        "Pending" => 2,
        _ => 1,
    };
    let leaving = !pod["metadata"]["deletionTimestamp"].is_null();
    (leaving, phase, !is_ready(pod), text(&pod["metadata"]["creationTimestamp"]).to_owned())
}

pub(super) fn is_ready(pod: &Value) -> bool {
    items(&pod["status"]["conditions"]).iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

pub(super) fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Every container of a pod, in the order in which they begin.
pub(super) fn containers(pod: &Value) -> Vec<&str> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let all = lists.into_iter().flat_map(|list| items(&pod["spec"][list]));
    all.map(|container| text(&container["name"])).collect()
}

/// The container to speak to where none is named; who has several is told which it is.
pub(super) fn container<'p>(session: &Session<'_>, pod: &'p Value, named: Option<&'p str>) -> &'p str {
    // Whether the pod has it is the server's to say.
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return named;
    }
    let all = containers(pod);
    let chosen = text(&pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"]);
    if all.contains(&chosen) {
        return chosen;
    }
    let first = text(&pod["spec"]["containers"][0]["name"]);
    if all.len() > 1 {
        let lists = [("containers", ""), ("ephemeralContainers", " (ephem)"), ("initContainers", " (init)")];
        let of = |(list, sort): (&str, &str)| {
            let named = |one: &Value| format!("{}{sort}", text(&one["name"]));
            items(&pod["spec"][list]).iter().map(named).collect::<Vec<_>>()
        };
        let listed: Vec<String> = lists.into_iter().flat_map(of).collect();
        session.screen.warn(&format!("Defaulted container {first:?} out of: {}", listed.join(", ")));
    }
    first
}

/// A pod's part: `log`, `exec`…
pub(super) fn path(pod: &Value, part: &str) -> String {
    let meta = &pod["metadata"];
    format!("/api/v1/namespaces/{}/pods/{}/{part}", text(&meta["namespace"]), text(&meta["name"]))
}
