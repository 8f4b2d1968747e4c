//! What a thousand custom definitions cost: to create them until the last is served, to start with them, and to hold
//! them. Each has some forty fields, as operators' definitions of middling size have.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::{BenchError, process, report};

use super::server::Server;
use super::{Programs, Table, fresh};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CONNECTIONS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn definitions(
    programs: &Programs,
    folder: &Path,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("custom definitions…");
    let data = fresh(folder, "definitions")?;
    let server = Server::kedge(&programs.kedge, &data).await?;
    let target = server.target()?;
    let empty = process::cost(server.pid).rss_mb;
    let begin = Instant::now();
    let mut makers = tokio::task::JoinSet::new();
    for maker in 0..CONNECTIONS {
        let target = target.clone();
        makers.spawn(async move {
            let mut connection = Connection::open(&target).await?;
            for at in (maker..count).step_by(CONNECTIONS) {
                let body = Bytes::from(definition(at).to_string());
                connection.drain(Method::POST, PATH, "application/json", body).await?;
            }
            Ok::<(), BenchError>(())
        });
    }
    while let Some(made) = makers.join_next().await {
        made.map_err(|error| not_served(&error.to_string()))??;
    }
    served(&target, count).await?;
    let made = begin.elapsed().as_secs_f64();
    // The first one's kind again and again: the others must not be in its way.
    let one = first_use(&target, count).await?;
    server.stop().await;

    let begin = Instant::now();
    let server = Server::kedge(&programs.kedge, &data).await?;
    served(&server.target()?, count).await?;
    let started = begin.elapsed().as_secs_f64();
    let held = process::cost(server.pid).rss_mb - empty;
    server.stop().await;
    let thousands = |figure: f64| figure * 1000.0 / count as f64;
    table.at_most("1,000 definitions created until served", thousands(made), "s", 3.0);
    table.at_most("start with 1,000 definitions until served", thousands(started), "s", 3.0);
    table.at_most("memory that 1,000 definitions add", thousands(held), "MB", 100.0);
    table.at_most("one more definition until its first object", one, "ms", 100.0);
    Ok(())
}

/// Waits until discovery lists the last of them.
async fn served(target: &Target, count: usize) -> Result<(), BenchError> {
    let begin = Instant::now();
    let mut connection = Connection::open(target).await?;
    loop {
        let found = connection.json("/apis/bench.example.com/v1").await;
        let listed = found.ok().and_then(|found| Some(found.get("resources")?.as_array()?.len()));
        // Each has a status beside itself.
        if listed == Some(2 * count) {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            return Err(not_served(&format!("{listed:?} of {count} are listed")));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// How long it takes from a new definition to the first object that it takes, in ms.
async fn first_use(target: &Target, at: usize) -> Result<f64, BenchError> {
    let mut connection = Connection::open(target).await?;
    let begin = Instant::now();
    connection.drain(Method::POST, PATH, "application/json", Bytes::from(definition(at).to_string())).await?;
    let object = json!({
        "apiVersion": "bench.example.com/v1", "kind": format!("Thing{at}"), "metadata": {"name": "first"},
        "spec": {"field0": "x"},
    });
    let path = format!("/apis/bench.example.com/v1/namespaces/default/thing{at}s");
    loop {
        let body = Bytes::from(object.to_string());
        if connection.drain(Method::POST, &path, "application/json", body).await.is_ok() {
            break;
        }
        if begin.elapsed() > PATIENCE {
            return Err(not_served("a new definition takes no object"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = begin.elapsed().as_secs_f64() * 1000.0;
    connection
        .drain(Method::DELETE, &format!("{PATH}/thing{at}s.bench.example.com"), "", Bytes::new())
        .await?;
    served(target, at).await?;
    Ok(took)
}

fn definition(at: usize) -> Value {
    let mut fields = serde_json::Map::new();
    for field in 0..40 {
        let name = format!("field{field}");
        let described = format!(
            "What field {field} of thing {at} is for, in a sentence or two as definitions have them."
        );
        let schema = match field % 4 {
            0 => json!({"type": "string", "maxLength": 64, "description": described}),
            1 => json!({"type": "integer", "minimum": 0, "default": field, "description": described}),
            2 => json!({"type": "array", "items": {"type": "string"}, "description": described}),
            _ => {
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}, "description": described})
            }
        };
        fields.insert(name, schema);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("thing{at}s.bench.example.com")},
        "spec": {
            "group": "bench.example.com", "scope": "Namespaced",
            "names": {"plural": format!("thing{at}s"), "kind": format!("Thing{at}")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

fn not_served(why: &str) -> BenchError {
    BenchError::NotReady { program: "kedge".to_owned(), why: why.to_owned() }
}
