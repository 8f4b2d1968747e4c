//! What runs on the cluster while it is hurt: pages behind a Service on every node, a pod on every node to call from, a set with names of
//! their own, and in each round a job that is counted. Knows what is wanted of each, and says what of it is untrue.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kedge_fleet::{FOR_EVER, PAGE, Scene};
use kedge_shipped::IMAGE;
use serde_json::{Value, json};

use crate::api::Api;

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
/// How many pods each has.
const WANTED: [(&str, usize); 3] = [("web", 6), ("caller", 3), ("named", 3)];
/// How many times a job's work has to be done.
const TIMES: u64 = 3;

fn template(app: &str, script: &str) -> Value {
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }]);
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {
            "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": false,
            "topologySpreadConstraints": if app == "caller" { Value::Null } else { spread },
            "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-c", script]}],
        },
    })
}

pub(crate) fn begin(api: &Api) {
    let set = |kind: &str, app: &str, script: &str, more: Value| {
        let mut spec = json!({"selector": {"matchLabels": {"app": app}}, "template": template(app, script)});
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app}, "spec": spec});
        let at = format!("/apis/apps/v1/namespaces/default/{}s", kind.to_lowercase());
        api.call("POST", &at, &object).unwrap();
    };
    set("Deployment", "web", PAGE, json!({"replicas": 6}));
    set("DaemonSet", "caller", FOR_EVER, json!({}));
    let named = json!({"replicas": 3, "serviceName": "named", "podManagementPolicy": "Parallel"});
    set("StatefulSet", "named", FOR_EVER, named);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    api.call("POST", "/api/v1/namespaces/default/services", &service).unwrap();
}

pub(crate) fn end(api: &Api) -> Result<(), String> {
    for (kind, app) in [("deployments", "web"), ("daemonsets", "caller"), ("statefulsets", "named")] {
        let at = format!("/apis/apps/v1/namespaces/default/{kind}/{app}");
        api.call("DELETE", &at, &json!({"propagationPolicy": "Background"})).map(drop)?;
    }
    api.call("DELETE", "/api/v1/namespaces/default/services/web", &Value::Null).map(drop)
}

pub(crate) fn service(api: &Api) -> String {
    let service = api.get("/api/v1/namespaces/default/services/web").unwrap();
    format!("{}:80", text(&service["spec"]["clusterIP"]))
}

/// The network of the caller on each node, by the first process of its container.
pub(crate) fn networks(api: &Api, scene: &Scene) -> Vec<PathBuf> {
    let callers = api.list(&format!("{PODS}?labelSelector=app%3Dcaller")).unwrap();
    let network = |machine: &&kedge_fleet::Machine| {
        let pod = callers.iter().find(|pod| pod["spec"]["nodeName"] == machine.name).unwrap();
        let id = container(pod).0;
        let (pid, _) = kedge_fleet::tasks(&machine.data()).remove(&id).unwrap();
        PathBuf::from(format!("/proc/{pid}/ns/net"))
    };
    scene.machines().iter().map(network).collect()
}

/// The id of a pod's only container, and how often it was restarted.
pub(crate) fn container(pod: &Value) -> (String, u64) {
    let status = &pod["status"]["containerStatuses"][0];
    let id = text(&status["containerID"]);
    let id = id.rsplit_once('/').map_or(String::new(), |(_, id)| id.to_owned());
    (id, status["restartCount"].as_u64().unwrap_or_default())
}

/// What is not yet as it should be: of nodes, and of pods that run for ever.
pub(crate) fn untrue(api: &Api) -> Result<Vec<String>, String> {
    let mut untrue = Vec::new();
    for node in api.list("/api/v1/nodes")? {
        if condition(&node, "Ready") != "True" {
            untrue.push(format!("node {} is not ready", text(&node["metadata"]["name"])));
        }
    }
    let pods = api.list(PODS)?;
    let mut by_app: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for pod in &pods {
        by_app.entry(text(&pod["metadata"]["labels"]["app"])).or_default().push(pod);
    }
    for (app, wanted) in WANTED {
        let pods = by_app.remove(app).unwrap_or_default();
        if pods.len() != wanted {
            untrue.push(format!("{} pods of {app}, not {wanted}", pods.len()));
        }
        for pod in pods {
            let leaving = pod["metadata"]["deletionTimestamp"].is_string();
            if leaving || condition(pod, "Ready") != "True" {
                let how = if leaving { "leaving" } else { "not ready" };
                let (name, status) = (text(&pod["metadata"]["name"]), &pod["status"]["containerStatuses"]);
                untrue.push(format!("{name} on {} is {how}: {status}", text(&pod["spec"]["nodeName"])));
            }
        }
    }
    for (path, ready, wanted) in [
        ("deployments/web", "readyReplicas", 6),
        ("daemonsets/caller", "numberReady", 3),
        ("statefulsets/named", "readyReplicas", 3),
    ] {
        let set = api.get(&format!("/apis/apps/v1/namespaces/default/{path}"))?;
        if set["status"][ready] != wanted {
            untrue.push(format!("{path} counts {}", set["status"]));
        }
    }
    Ok(untrue)
}

/// Work that is to be done so many times, no more and no less.
pub(crate) fn begin_job(api: &Api, name: &str) -> Result<(), String> {
    let mut template = template("job", "sleep 1");
    template["spec"]["restartPolicy"] = json!("Never");
    template["spec"]["topologySpreadConstraints"] = Value::Null;
    let spec = json!({"completions": TIMES, "parallelism": 2, "backoffLimit": 100, "template": template});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
    api.call("POST", JOBS, &job).map(drop)
}

/// Whether it was done, and whether it was counted right. Of its pods no more than so many may fail.
pub(crate) fn job_is_done(api: &Api, name: &str, may_fail: u64) -> Result<(), String> {
    let job = api.get(&format!("{JOBS}/{name}"))?;
    if condition(&job, "Complete") != "True" {
        return Err(format!("job {name} is not complete: {}", job["status"]));
    }
    let pods = api.list(&format!("{PODS}?labelSelector=job-name%3D{name}"))?;
    let done = pods.iter().filter(|pod| pod["status"]["phase"] == "Succeeded").count();
    let failed = job["status"]["failed"].as_u64().unwrap_or_default();
    match job["status"]["succeeded"] == TIMES && done as u64 == TIMES && failed <= may_fail {
        true => Ok(()),
        false => Err(format!("job {name} was done {done} times and counted as {}", job["status"])),
    }
}

/// Takes a job away with its pods, and says whether both are gone.
pub(crate) fn job_is_gone(api: &Api, name: &str) -> Result<(), String> {
    let at = format!("{JOBS}/{name}");
    if api.list(JOBS)?.iter().any(|job| job["metadata"]["name"] == name) {
        api.call("DELETE", &at, &json!({"propagationPolicy": "Background"}))?;
    }
    match api.list(&format!("{PODS}?labelSelector=app%3Djob"))?.len() {
        0 => Ok(()),
        left => Err(format!("{left} pods of jobs are left")),
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn condition(object: &Value, kind: &str) -> String {
    let all = object["status"]["conditions"].as_array();
    let found = all.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.map(|condition| text(&condition["status"])).unwrap_or_default()
}
