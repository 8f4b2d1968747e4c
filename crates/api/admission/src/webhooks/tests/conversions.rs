//! Custom kinds whose versions a webhook makes out of each other: selectors mean the version that is asked for.

use std::time::Duration;

use kedge_registry::{ListQuery, WatchKind, WatchQuery, Watching};
use serde_json::{Value, json};

use crate::testing::{Server, World};

const OLD: &str = "example.com/v1/doors";
const NEW: &str = "example.com/v2/doors";

/// The old version has `hostPort: a:1` where the new one has `host: a` and `port: "1"`.
fn converted(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(to);
    let fields = object.as_object_mut().unwrap();
    if to.ends_with("v2") {
        if let Some((host, port)) =
            fields.remove("hostPort").as_ref().and_then(|both| both.as_str()?.split_once(':'))
        {
            fields.insert("host".to_owned(), json!(host));
            fields.insert("port".to_owned(), json!(port));
        }
    } else if let (Some(host), Some(port)) = (fields.remove("host"), fields.remove("port")) {
        let both = format!("{}:{}", host.as_str().unwrap(), port.as_str().unwrap());
        fields.insert("hostPort".to_owned(), json!(both));
    }
    object
}

/// Doors are stored in the old version.
async fn world(server: &Server) -> World {
    server.raw("/convert", |review| {
        let request = &review["request"];
        let to = request["desiredAPIVersion"].as_str().unwrap();
        let objects: Vec<Value> =
            request["objects"].as_array().unwrap().iter().map(|object| converted(object, to)).collect();
        let answer = json!({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response":
            {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}});
        std::future::ready((200, answer.to_string()))
    });
    let version = |name: &str, fields: &[&str]| {
        let properties: Value =
            fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
        let selectable: Vec<Value> =
            fields.iter().map(|field| json!({"jsonPath": format!(".{field}")})).collect();
        json!({"name": name, "served": true, "storage": name == "v1", "selectableFields": selectable,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}})
    };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "doors.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "doors", "kind": "Door"},
            "versions": [version("v1", &["hostPort"]), version("v2", &["host", "port"])],
            "conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": server.client_config("/convert"), "conversionReviewVersions": ["v1"]}},
        },
    });
    let world = World::new().await;
    world.create("apiextensions.k8s.io/v1/customresourcedefinitions", "", definition).await.unwrap();
    let served = async {
        while world.registry.catalog().kind("example.com", "v2", "doors").is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), served).await.expect("still untrue: doors are served");
    for (name, host, port) in [("a", "h1", "80"), ("b", "h1", "8080"), ("c", "h2", "80")] {
        world.create(NEW, "shop", door(name, host, port)).await.unwrap();
    }
    world
}

fn door(name: &str, host: &str, port: &str) -> Value {
    json!({"apiVersion": "example.com/v2", "kind": "Door", "metadata": {"name": name}, "host": host, "port": port})
}

/// The names on a page, and what leads to the next one.
async fn listed(world: &World, resource: &str, query: ListQuery) -> (String, String) {
    let list = world.registry.list(&world.at(resource, "shop", ""), &query).await.unwrap();
    let names = list.items.map(|bytes| {
        let object: Value = serde_json::from_slice(&bytes).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    });
    (names.collect::<Vec<_>>().join(" "), list.continue_token)
}

#[tokio::test]
async fn lists_choose_by_the_fields_of_the_version_that_is_asked_for() {
    let server = Server::start().await;
    let world = world(&server).await;
    for (resource, fields, expected) in [
        (NEW, "host=h1", "a b"),
        (NEW, "host=h1,port=80", "a"),
        (NEW, "host!=h1", "c"),
        (NEW, "host=h1,metadata.name=b", "b"),
        (OLD, "hostPort=h1:80", "a"),
        (OLD, "", "a b c"),
    ] {
        let query = ListQuery { fields: fields.to_owned(), ..ListQuery::default() };
        assert_eq!(listed(&world, resource, query).await, (expected.to_owned(), String::new()), "{fields}");
    }
    let first = ListQuery { fields: "port=80".to_owned(), limit: Some(1), ..ListQuery::default() };
    let (names, token) = listed(&world, NEW, first).await;
    assert_eq!(names, "a");
    let second = ListQuery {
        fields: "port=80".to_owned(),
        limit: Some(1),
        continue_token: token,
        ..ListQuery::default()
    };
    assert_eq!(listed(&world, NEW, second).await, ("c".to_owned(), String::new()));
}

#[tokio::test]
async fn watches_tell_of_what_comes_into_the_selection_and_leaves_it() {
    let server = Server::start().await;
    let world = world(&server).await;
    let query = WatchQuery { fields: "host=h1".to_owned(), ..WatchQuery::default() };
    let mut watching = world.registry.watch(&world.at(NEW, "shop", ""), &query).await.unwrap();
    assert_eq!(told(&mut watching).await, "+a h1");
    assert_eq!(told(&mut watching).await, "+b h1");
    for (name, host) in [("c", "h1"), ("a", "h2")] {
        let at = world.at(NEW, "shop", name);
        let found = world.registry.get(&at, "").await.unwrap();
        let mut object: Value = serde_json::from_slice(&found.bytes).unwrap();
        object["host"] = json!(host);
        world.update(NEW, "shop", object).await.unwrap();
    }
    world.delete(NEW, "shop", "b").await.unwrap();
    assert_eq!(told(&mut watching).await, "+c h1");
    assert_eq!(told(&mut watching).await, "-a h1");
    assert_eq!(told(&mut watching).await, "-b h1");
}

async fn told(watching: &mut Watching) -> String {
    let event = tokio::time::timeout(Duration::from_secs(10), watching.next()).await;
    let event = event.expect("still untrue: something is told").unwrap();
    let object: Value = serde_json::from_slice(&event.bytes).unwrap();
    let sign = match event.kind {
        WatchKind::Added => '+',
        WatchKind::Modified => '~',
        WatchKind::Deleted => '-',
        WatchKind::InitialEventsEnd(_) => '.',
    };
    format!("{sign}{} {}", object["metadata"]["name"].as_str().unwrap(), object["host"].as_str().unwrap())
}
