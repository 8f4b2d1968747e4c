//! `/healthz`, `/livez`, `/readyz` and `/version`: is it up, and what is it. Answers in the words that probes look for.

use std::time::Duration;

use serde_json::json;

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::query::Query;

/// What is looked at. All of them hold once the server answers at all, save the store, which can stop for good.
const CHECKS: [&str; 4] = ["ping", "log", "etcd", "poststarthook/rbac/bootstrap-roles"];

/// How long the store may take to answer; one elsewhere may be out of reach.
const PATIENCE: Duration = Duration::from_secs(2);

/// `None` if the path is none of ours.
pub(crate) async fn answer(api: &Api, path: &str, query: &Query) -> Option<Answer> {
    let mut segments = path.trim_start_matches('/').splitn(2, '/');
    let endpoint = segments.next().filter(|name| matches!(*name, "healthz" | "livez" | "readyz"))?;
    let ready = endpoint == "readyz";
    let state = State { store: store_trouble(api).await, stopping: api.is_stopping() };
    match segments.next().filter(|rest| !rest.is_empty()) {
        None => Some(overall(&state, endpoint, query)),
        Some(one) if known(one, ready) => Some(match state.failing(one) {
            None => answer::text(200, "ok"),
            Some(why) => answer::text(500, format!("internal server error: {why}\n")),
        }),
        Some(_) => Some(answer::text(404, "404 page not found\n")),
    }
}

fn known(check: &str, ready: bool) -> bool {
    CHECKS.contains(&check) || (ready && matches!(check, "informer-sync" | "shutdown"))
}

/// What can be wrong, as it is now.
struct State {
    store: Option<&'static str>,
    stopping: bool,
}

impl State {
    fn failing(&self, check: &str) -> Option<&'static str> {
        match check {
            "etcd" => self.store,
            "shutdown" if self.stopping => Some("process is shutting down"),
            _ => None,
        }
    }
}

async fn store_trouble(api: &Api) -> Option<&'static str> {
    let store = api.registry().store();
    if store.is_stopped() {
        return Some("the store takes no more writes");
    }
    match tokio::time::timeout(PATIENCE, store.latest()).await {
        Ok(Ok(_)) => None,
        Ok(Err(_)) | Err(_) => Some("the store does not answer"),
    }
}

fn overall(state: &State, endpoint: &str, query: &Query) -> Answer {
    let excluded = query.get("exclude").unwrap_or("");
    let extra: &[&str] = if endpoint == "readyz" { &["informer-sync", "shutdown"] } else { &[] };
    let mut lines = String::new();
    let mut failed = false;
    for check in CHECKS.iter().chain(extra) {
        if *check == excluded {
            lines.push_str(&format!("[+]{check} excluded: ok\n"));
        } else if state.failing(check).is_some() {
            failed = true;
            lines.push_str(&format!("[-]{check} failed: reason withheld\n"));
        } else {
            lines.push_str(&format!("[+]{check} ok\n"));
        }
    }
    match (failed, query.flag("verbose")) {
        (true, _) => answer::text(500, format!("{lines}{endpoint} check failed\n")),
        (false, true) => answer::text(200, format!("{lines}{endpoint} check passed\n")),
        (false, false) => answer::text(200, "ok"),
    }
}

pub(crate) fn version(api: &Api) -> Answer {
    let version = api.version();
    let level = version.git_version.trim_start_matches('v');
    let mut numbers = level.split(['.', '+', '-']);
    let document = json!({
        "major": numbers.next().unwrap_or("1"),
        "minor": numbers.next().unwrap_or("36"),
        "gitVersion": version.git_version,
        "gitCommit": version.git_commit,
        "gitTreeState": "clean",
        "buildDate": version.build_date,
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    });
    answer::document(200, &document, crate::media::Format::Json, true)
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
