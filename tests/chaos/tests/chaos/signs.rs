//! Whether a fault that cannot be seen on the machine is there: asked of the cluster, as anybody could.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::Api;

const LARGE: &str = "/api/v1/namespaces/default/configmaps";
/// What the server says when there is no room for a write. That it says nothing is no refusal.
const REFUSAL: &str = "no room to go on";
/// How far clocks may seem to be apart while somebody asks.
const CLOSE: i64 = 30;

/// The log has room for a while: what is written there is made to be much. When nothing more fits, all can still be read.
pub(crate) fn until_refused(api: &Api) -> Result<(), String> {
    let object = |number: usize| {
        let metadata = json!({"name": format!("large-{number}"), "labels": {"by": "fault"}});
        let data = json!({"text": "x".repeat(700_000)});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    };
    let mut last = "all was taken".to_owned();
    for number in 0..100 {
        match api.call("POST", LARGE, &object(number)) {
            Err(why) if why.contains(REFUSAL) => return api.list("/api/v1/nodes").map(drop),
            Err(why) => last = why,
            Ok(_) => {}
        }
    }
    Err(format!("a full disk did not make the server refuse: {last}"))
}

/// Takes away what filled the log, as soon as that can be written.
pub(crate) fn forget_large(api: &Api) -> Result<(), String> {
    let at = format!("{LARGE}?labelSelector=by%3Dfault");
    within(Duration::from_secs(20), || api.call("DELETE", &at, &json!({})).map(drop))
}

/// Whether the server's clock is, by so many seconds.
pub(crate) fn server_is_ahead(api: &Api, by: i64) -> Result<(), String> {
    let review = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dated"}});
    let at = "/api/v1/namespaces/default/configmaps?dryRun=All";
    let made = api.call("POST", at, &review)?;
    is_ahead("the server", &made["metadata"]["creationTimestamp"], by)
}

/// Whether a node's clock is, by what it says of itself when it says that it lives, every ten seconds.
pub(crate) fn node_is_ahead(api: &Api, name: &str, by: i64) -> Result<(), String> {
    let at = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}");
    within(Duration::from_secs(30), || is_ahead(name, &api.get(&at)?["spec"]["renewTime"], by))
}

fn is_ahead(whose: &str, told: &Value, by: i64) -> Result<(), String> {
    let told = told.as_str().unwrap_or_default();
    let shown: Timestamp = told.parse().map_err(|_| format!("{whose} says {told:?}, which is no time"))?;
    let ahead = shown.as_second() - Timestamp::now().as_second();
    if (ahead - by).abs() < CLOSE {
        Ok(())
    } else {
        Err(format!("the clock of {whose} is ahead by {ahead} s"))
    }
}

fn within(patience: Duration, mut holds: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match holds() {
            Ok(()) => return Ok(()),
            Err(why) if begun.elapsed() > patience => return Err(why),
            Err(_) => std::thread::park_timeout(Duration::from_millis(50)),
        }
    }
}
