//! What anybody on the network can ask of the server. Knows of objects only that they are JSON.

use std::time::Duration;

use kedge_client::{Client, Servers, Ties};
use kedge_fleet::Scene;
use serde_json::Value;
use tokio::runtime::Runtime;

/// How long one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Belongs to the thread that made it: connections are made in the network which that thread is in.
pub(crate) struct Api {
    runtime: Runtime,
    client: Client,
}

/// What it takes to make one, in any thread.
#[derive(Clone)]
pub(crate) struct Door {
    url: String,
    ties: Ties,
}

impl Door {
    pub(crate) fn of(scene: &Scene) -> Self {
        let pki = scene.server.data().join("pki");
        let read = |name: &str| std::fs::read_to_string(pki.join(name)).unwrap();
        let ties = Ties::Certificate {
            authority: read("ca.crt"),
            certificate: read("admin.crt"),
            key: read("admin.key"),
        };
        Self { url: scene.url(), ties }
    }

    pub(crate) fn open(&self) -> Api {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = {
            let _within = runtime.enter();
            Servers::new(vec![self.url.parse().unwrap()], &self.ties).unwrap().client()
        };
        Api { runtime, client }
    }
}

impl Api {
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let asked = self.client.request(request.body(body).unwrap());
        self.runtime.block_on(async {
            match tokio::time::timeout(PATIENCE, asked).await {
                Ok(answer) => answer.map_err(|error| format!("{method} {path}: {error}")),
                Err(_) => Err(format!("{method} {path}: no answer within {PATIENCE:?}")),
            }
        })
    }

    /// Of what is no object.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        let asked = self.client.request_text(http::Request::get(path).body(Vec::new()).unwrap());
        self.runtime.block_on(async {
            match tokio::time::timeout(PATIENCE, asked).await {
                Ok(answer) => answer.map_err(|error| format!("GET {path}: {error}")),
                Err(_) => Err(format!("GET {path}: no answer within {PATIENCE:?}")),
            }
        })
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, String> {
        self.call("GET", path, &Value::Null)
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<Value>, String> {
        self.get(path)?["items"].as_array().cloned().ok_or_else(|| format!("{path} is no list"))
    }

    /// There is nothing else to do on this thread meanwhile.
    pub(crate) fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}
