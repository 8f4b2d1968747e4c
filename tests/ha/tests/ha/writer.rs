//! A client that never stops writing, and knows what was acknowledged to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kedge_client::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const AT: &str = "/api/v1/namespaces/default/configmaps";

/// How long one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) names: BTreeSet<String>,
    /// How long the client had to try for one write.
    pub(crate) longest: Duration,
}

pub(crate) struct Writer {
    enough: Arc<AtomicBool>,
    task: JoinHandle<Written>,
}

impl Writer {
    pub(crate) fn start(client: Client) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let told = enough.clone();
        let task = tokio::spawn(async move {
            let mut written = Written::default();
            let mut number = 0;
            while !told.load(Ordering::Relaxed) {
                let name = format!("w{number}");
                number += 1;
                let begun = Instant::now();
                write(&client, &name).await;
                written.longest = written.longest.max(begun.elapsed());
                written.names.insert(name);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            written
        });
        Self { enough, task }
    }

    pub(crate) async fn stop(self) -> Written {
        self.enough.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

/// Tries until it is there. One whose answer was lost is found by the next try.
async fn write(client: &Client, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string();
    for _ in 0..1000 {
        let request = http::Request::post(AT).header("content-type", "application/json");
        let asked = client.request::<Value>(request.body(object.clone().into_bytes()).unwrap());
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) if error.to_string().contains("already exists") => return,
            Ok(Err(error)) => eprintln!("{name}: {error}"),
            Err(_) => eprintln!("{name}: no answer within {PATIENCE:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name} could not be written");
}
