//! What a running cluster says of itself: looked at through the API, then judged. The judgement is pure.

use jiff::{SignedDuration, Timestamp};
use kedge_client::Client;
use serde_json::Value;

use super::finding::{Finding, doubt, fine, wrong};
use crate::ask;
use crate::status;

/// How long a pod may wait for its node, a namespace for its end, before somebody should look.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
/// Of one kind of trouble no more than so many are shown.
const SHOWN: usize = 5;

/// What was read.
#[derive(Default)]
pub(crate) struct Read {
    /// `/readyz?verbose`, or why there is none.
    pub(crate) ready: String,
    pub(crate) nodes: Vec<Value>,
    /// Those that are not as they should be.
    pub(crate) pods: Vec<Value>,
    pub(crate) namespaces: Vec<Value>,
    pub(crate) webhooks: Vec<Value>,
    pub(crate) services: Vec<Value>,
    /// Slices of the Services that webhooks name.
    pub(crate) slices: Vec<Value>,
}

/// What the API says of itself, or why it says nothing.
pub(crate) async fn ready(client: &Client) -> String {
    ask::text(client, "/readyz?verbose").await.unwrap_or_else(|error| crate::told(&*error))
}

pub(crate) async fn read(client: &Client, ready: String) -> Result<Read, Box<kube::Error>> {
    let mut pods = Vec::new();
    ask::each(client, "/api/v1/pods", |pod| {
        if is_troubled(pod) {
            pods.push(pod.clone());
        }
    })
    .await?;
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let mut webhooks = ask::list(client, &format!("{admission}/validatingwebhookconfigurations")).await?;
    webhooks.extend(ask::list(client, &format!("{admission}/mutatingwebhookconfigurations")).await?);
    let slices = match webhooks.is_empty() {
        true => Vec::new(),
        false => ask::list(client, "/apis/discovery.k8s.io/v1/endpointslices").await?,
    };
    Ok(Read {
        ready,
        nodes: ask::list(client, "/api/v1/nodes").await?,
        pods,
        namespaces: ask::list(client, "/api/v1/namespaces").await?,
        webhooks,
        services: ask::list(client, "/apis/apiregistration.k8s.io/v1/apiservices").await?,
        slices,
    })
}

pub(crate) fn judge(read: &Read, now: Timestamp) -> Vec<Finding> {
    let mut all = of_ready(&read.ready);
    all.extend(of_nodes(&read.nodes));
    all.extend(of_pods(&read.pods, now));
    all.extend(of_webhooks(&read.webhooks, &read.slices));
    all.extend(of_services(&read.services));
    all.extend(of_namespaces(&read.namespaces, now));
    all
}

pub(crate) fn is_ready(said: &str) -> bool {
    said.contains("check passed")
}

pub(crate) fn of_ready(said: &str) -> Vec<Finding> {
    if is_ready(said) {
        return vec![fine("the API is ready")];
    }
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("[-]")).collect();
    let what = if failed.is_empty() { said.to_owned() } else { failed.join(", ") };
    let fix =
        "look into the server's log (`journalctl -u kedge`); with etcd, see whether most of its members live";
    vec![wrong(format!("the API is not ready: {what}"), "nothing can be changed meanwhile", fix)]
}

pub(crate) fn of_nodes(nodes: &[Value]) -> Vec<Finding> {
    if nodes.is_empty() {
        let fix = "start the server as root without --no-agent, or add a machine with `kedge token create --print-join-command`";
        return vec![doubt("the cluster has no node", "pods stay Pending", fix)];
    }
    let mut all: Vec<Finding> = Vec::new();
    for node in nodes {
        let name = name(node);
        let condition = |kind: &str| conditions(node).find(|one| one["type"] == kind);
        if !status::is_ready(node) {
            let ready = condition("Ready");
            let why = ready.and_then(|one| one["message"].as_str()).unwrap_or("it never said that it is");
            let fix = "see whether `kedge status` on it finds an agent, and read its log; `kubectl delete node` if it is gone for good";
            all.push(wrong(format!("node {name} is not Ready"), why, fix));
        }
        for (kind, short, fix) in [
            ("MemoryPressure", "memory", "give its pods limits, or move some away"),
            ("DiskPressure", "disk", "make room on its disk"),
            ("PIDPressure", "processes", "find who starts so many (--pod-max-pids bounds each pod)"),
        ] {
            if condition(kind).is_some_and(|one| one["status"] == "True") {
                all.push(wrong(
                    format!("node {name} runs short of {short}"),
                    "it takes no pods and ends some",
                    fix,
                ));
            }
        }
        if node["spec"]["unschedulable"] == true {
            let fix = format!("`kubectl uncordon {name}`");
            all.push(doubt(format!("node {name} is cordoned"), "it takes no new pods", fix));
        }
    }
    if all.is_empty() {
        all.push(fine(match nodes {
            [node] => format!("node {} is Ready", name(node)),
            nodes => format!("{} nodes are Ready", nodes.len()),
        }));
    }
    all
}

fn is_troubled(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    phase == "Pending" || statuses(pod).any(|container| container["state"]["waiting"].is_object())
}

fn of_pods(pods: &[Value], now: Timestamp) -> Vec<Finding> {
    let mut all = Vec::new();
    for pod in pods {
        let place = format!("{}/{}", pod["metadata"]["namespace"].as_str().unwrap_or_default(), name(pod));
        let [namespace, pod_name] = [pod["metadata"]["namespace"].as_str().unwrap_or_default(), name(pod)];
        let stuck = statuses(pod).find_map(|container| {
            let reason = container["state"]["waiting"]["reason"].as_str()?;
            let message = container["state"]["waiting"]["message"].as_str().unwrap_or_default();
            Some((container["name"].as_str().unwrap_or_default(), reason, message))
        });
        match stuck {
            Some((container, "CrashLoopBackOff", message)) => all.push(wrong(
                format!("pod {place}: container {container} ends again and again"),
                message,
                format!(
                    "`kubectl logs -n {namespace} {pod_name} -c {container} --previous` shows its last words"
                ),
            )),
            Some((
                container,
                reason @ ("ImagePullBackOff" | "ErrImagePull" | "ErrImageNeverPull" | "InvalidImageName"),
                message,
            )) => {
                all.push(wrong(
                    format!("pod {place}: the image of {container} cannot be had ({reason})"),
                    message,
                    "check its name and the pull secret; without a network, `kedge image import FILE` on the node",
                ));
            }
            Some((
                container,
                reason @ ("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError"),
                message,
            )) => {
                all.push(wrong(
                    format!("pod {place}: {container} cannot be started ({reason})"),
                    message,
                    format!("`kubectl describe pod -n {namespace} {pod_name}` says what is missing"),
                ));
            }
            _ => {
                let unplaced =
                    conditions(pod).find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
                let waited = since(&pod["metadata"]["creationTimestamp"], now);
                if let Some(condition) = unplaced.filter(|_| waited > PATIENCE) {
                    all.push(doubt(
                        format!("pod {place} finds no node"),
                        condition["message"].as_str().unwrap_or_default(),
                        "ask for less, add a node, or tolerate what keeps it away",
                    ));
                }
            }
        }
    }
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    match (all.is_empty(), more) {
        (true, _) => all.push(fine("no pod is in trouble")),
        (false, 0) => {}
        (false, more) => {
            all.push(doubt(format!("{more} more pods are in trouble"), "as above", "`kubectl get pods -A`"))
        }
    }
    all
}

fn of_webhooks(configurations: &[Value], slices: &[Value]) -> Vec<Finding> {
    let mut all = Vec::new();
    for configuration in configurations {
        for webhook in configuration["webhooks"].as_array().into_iter().flatten() {
            let service = &webhook["clientConfig"]["service"];
            let (Some(namespace), Some(of)) = (service["namespace"].as_str(), service["name"].as_str())
            else {
                continue;
            };
            let answers = slices.iter().any(|slice| {
                slice["metadata"]["namespace"] == namespace
                    && slice["metadata"]["labels"]["kubernetes.io/service-name"] == of
                    && slice["endpoints"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .any(|one| one["conditions"]["ready"] != false)
            });
            if answers {
                continue;
            }
            let what = format!(
                "webhook {} of {}: nobody answers at {namespace}/{of}",
                webhook["name"].as_str().unwrap_or_default(),
                name(configuration)
            );
            let fix = format!(
                "`kubectl get pods,endpointslices -n {namespace}`; delete the configuration if its program is gone"
            );
            all.push(match webhook["failurePolicy"].as_str() {
                Some("Ignore") => doubt(what, "objects pass it unseen", fix),
                _ => wrong(what, "every write that it is to see is refused", fix),
            });
        }
    }
    if all.is_empty() && !configurations.is_empty() {
        all.push(fine("webhooks have somebody who answers"));
    }
    all
}

fn of_services(services: &[Value]) -> Vec<Finding> {
    let away = services.iter().filter_map(|service| {
        let condition =
            conditions(service).find(|one| one["type"] == "Available" && one["status"] == "False")?;
        let why = condition["message"].as_str().unwrap_or_default();
        let fix = "see whether the pods behind its Service run; delete the APIService if its program is gone";
        Some(wrong(format!("APIService {} does not answer", name(service)), why, fix))
    });
    away.collect()
}

fn of_namespaces(namespaces: &[Value], now: Timestamp) -> Vec<Finding> {
    let stuck = namespaces.iter().filter_map(|namespace| {
        let leaving = &namespace["metadata"]["deletionTimestamp"];
        (since(leaving, now) > PATIENCE).then_some(())?;
        let said = conditions(namespace)
            .filter(|one| one["status"] == "True")
            .filter_map(|one| one["message"].as_str());
        let why: Vec<&str> = said.collect();
        let fix = "find who has to remove the finalizers named there";
        Some(doubt(format!("namespace {} does not go", name(namespace)), why.join("; "), fix))
    });
    stuck.collect()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainerStatuses", "containerStatuses"].map(|list| pod["status"][list].as_array());
    lists.into_iter().flatten().flatten()
}

fn since(moment: &Value, now: Timestamp) -> SignedDuration {
    let at = moment.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    at.map_or(SignedDuration::ZERO, |at| now.duration_since(at))
}

#[cfg(test)]
mod tests;
