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

/// The webhook does what it should.
fn convert_well(server: &Server) {
    server.raw("/convert", |review| {
        let request = &review["request"];
        let to = request["desiredAPIVersion"].as_str().unwrap();
        let objects: Vec<Value> =
            request["objects"].as_array().unwrap().iter().map(|object| converted(object, to)).collect();
        let answer = json!({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response":
            {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}});
        std::future::ready((200, answer.to_string()))
    });
}

/// Doors are stored in the old version.
async fn world(server: &Server) -> World {
    convert_well(server);
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
    // Far longer than a conversion takes that is made at all, and short enough to wait for one that never is.
    let world = World::with(|options| options.conversion_patience = Duration::from_millis(500)).await;
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
        let object: Value = serde_json::from_slice(bytes.as_ref()).unwrap();
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
        let mut object: Value = serde_json::from_slice(found.served.as_ref()).unwrap();
        object["host"] = json!(host);
        world.update(NEW, "shop", object).await.unwrap();
    }
    world.delete(NEW, "shop", "b").await.unwrap();
    assert_eq!(told(&mut watching).await, "+c h1");
    assert_eq!(told(&mut watching).await, "-a h1");
    assert_eq!(told(&mut watching).await, "-b h1");
}

/// What the registry says when a version cannot be made, and that nothing is different afterwards.
#[tokio::test]
async fn nothing_comes_of_a_conversion_that_fails() {
    let server = Server::start().await;
    let world = world(&server).await;
    let answer = |edit: fn(&mut Value)| {
        move |review: Value| {
            let request = &review["request"];
            let to = request["desiredAPIVersion"].as_str().unwrap();
            let objects = request["objects"].as_array().unwrap().iter().map(|object| converted(object, to));
            let objects: Vec<Value> = objects.collect();
            let mut answer = json!({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response":
                {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}});
            edit(&mut answer);
            std::future::ready((200, answer.to_string()))
        }
    };
    for (case, said) in [
        ("never answers", "context deadline exceeded"),
        ("is out of order", "failed: out of order"),
        ("talks nonsense", "failed: expected value"),
        ("says no", "failed: no such door"),
        ("speaks of something else", "got admission.k8s.io/v1, Kind=AdmissionReview"),
        ("answers somebody else", "expected response.uid="),
        ("loses objects", "returned 0 objects, expected 1"),
        ("exchanges objects", "must have the same name"),
        ("leaves the version", "invalid groupVersion"),
    ] {
        match case {
            "never answers" => server.raw("/convert", |_| std::future::pending()),
            "is out of order" => {
                server.raw("/convert", |_| std::future::ready((500, "out of order".to_owned())))
            }
            "talks nonsense" => server.raw("/convert", |_| std::future::ready((200, "hello".to_owned()))),
            "says no" => server.raw(
                "/convert",
                answer(|answer| {
                    answer["response"]["result"] = json!({"status": "Failed", "message": "no such door"});
                }),
            ),
            "speaks of something else" => server.raw(
                "/convert",
                answer(|answer| {
                    answer["apiVersion"] = "admission.k8s.io/v1".into();
                    answer["kind"] = "AdmissionReview".into();
                }),
            ),
            "answers somebody else" => {
                server.raw("/convert", answer(|answer| answer["response"]["uid"] = "x".into()))
            }
            "loses objects" => server.raw(
                "/convert",
                answer(|answer| {
                    answer["response"]["convertedObjects"] = json!([]);
                }),
            ),
            "exchanges objects" => server.raw(
                "/convert",
                answer(|answer| {
                    answer["response"]["convertedObjects"][0]["metadata"]["name"] = "x".into();
                }),
            ),
            _ => server.raw(
                "/convert",
                answer(|answer| {
                    answer["response"]["convertedObjects"][0]["apiVersion"] = "example.com/v7".into();
                }),
            ),
        }
        let before = world.registry.store().revision();
        let mut changed = door("a", "h9", "9");
        changed["metadata"]["labels"] = json!({"changed": "yes"});
        let query = WatchQuery { fields: "metadata.name=a".to_owned(), ..WatchQuery::default() };
        let mut watching = world.registry.watch(&world.at(NEW, "shop", ""), &query).await.unwrap();
        let by_name = ListQuery { fields: "metadata.name=a".to_owned(), ..ListQuery::default() };
        for (what, refused) in [
            ("a create", world.create(NEW, "shop", door("new", "h", "1")).await.err()),
            ("an update", world.update(NEW, "shop", changed).await.err()),
            ("a get", world.registry.get(&world.at(NEW, "shop", "a"), "").await.err()),
            ("a list", world.registry.list(&world.at(NEW, "shop", ""), &by_name).await.err()),
            ("a watch", watching.next().await.err()),
        ] {
            let refused = refused.unwrap_or_else(|| panic!("{what} succeeds although the webhook {case}"));
            assert_eq!(refused.code, 500, "{what}, the webhook {case}: {refused}");
            assert!(refused.message.contains(said), "{what}, the webhook {case}: {refused}");
        }
        assert_eq!(world.registry.store().revision(), before, "something was stored: the webhook {case}");
        let (names, _) = listed(&world, OLD, ListQuery::default()).await;
        assert_eq!(names, "a b c", "the stored version needs no webhook");
    }
    convert_well(&server);
    world.create(NEW, "shop", door("new", "h", "1")).await.unwrap();
    assert_eq!(listed(&world, NEW, ListQuery::default()).await.0, "a b c new");
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
