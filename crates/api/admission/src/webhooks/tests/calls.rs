//! What a webhook is told of each kind of write.

use kedge_registry::WriteOptions;
use serde_json::{Value, json};

use crate::testing::{Server, World, config_map, pod, rule, write};

async fn world(server: &Server, resource: &str) -> World {
    let world = World::new().await;
    server.says("/h", |_| json!({"allowed": true}));
    let rules = json!([rule(&["*"], "*", "*", resource)]);
    world.configure("Validating", "c", &[server.hook("h", json!({"rules": rules}))]).await;
    world
}

/// The one request that was made; what is different each time is taken out.
fn request(server: &Server) -> Value {
    let mut asked = server.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let mut request = asked.remove(0).1["request"].take();
    assert!(request["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{request}");
    request.as_object_mut().unwrap().remove("uid");
    request
}

#[tokio::test]
async fn a_creation_is_told_in_full() {
    let server = Server::start().await;
    let world = world(&server, "configmaps").await;
    let options =
        WriteOptions { given: kedge_registry::Given { manager: true, validation: false }, ..write() };
    world.create_with("configmaps", "shop", config_map("a"), &options).await.unwrap();
    let mut told = request(&server);
    let object = told["object"].take();
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    assert_eq!(
        told,
        json!({
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "a", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "anna", "groups": ["shops"]},
            "object": null, "oldObject": null, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "test"},
        })
    );
    assert_eq!(object["metadata"]["name"], "a");
    assert!(object["metadata"]["uid"].is_string());
    assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
}

#[tokio::test]
async fn a_name_is_made_up_between_change_and_validation() {
    let server = Server::start().await;
    let world = world(&server, "configmaps").await;
    server.says("/m", |_| json!({"allowed": true}));
    let rules = json!([rule(&["*"], "*", "*", "configmaps")]);
    world.configure("Mutating", "m", &[server.hook("m", json!({"rules": rules}))]).await;
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}});
    let made = world.create("configmaps", "shop", unnamed).await.unwrap();
    let asked = server.asked();
    let [(_, first), (_, second)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(first["request"].get("name"), None);
    assert_eq!(first["request"]["object"]["metadata"].get("uid"), None);
    assert_eq!(second["request"]["name"], made["metadata"]["name"]);
}

#[tokio::test]
async fn updates_and_deletions_are_told_with_what_was_there() {
    let server = Server::start().await;
    let world = world(&server, "configmaps").await;
    let made = world.create("configmaps", "shop", config_map("a")).await.unwrap();
    server.asked();
    let mut changed = made.clone();
    changed["data"] = json!({"x": "y"});
    world.update("configmaps", "shop", changed).await.unwrap();
    let told = request(&server);
    assert_eq!(told["operation"], "UPDATE");
    assert_eq!(told["oldObject"]["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(told["oldObject"].get("data"), None);
    assert_eq!(told["object"]["data"], json!({"x": "y"}));
    assert_eq!(told["options"]["kind"], "UpdateOptions");

    world.delete("configmaps", "shop", "a").await.unwrap();
    let told = request(&server);
    assert_eq!(told["operation"], "DELETE");
    assert_eq!(told["name"], "a");
    assert_eq!(told["object"], Value::Null);
    assert_eq!(told["oldObject"]["data"], json!({"x": "y"}));
    assert_eq!(told["options"], json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}));
}

#[tokio::test]
async fn a_deletion_can_be_refused_and_not_changed() {
    let server = Server::start().await;
    let world = World::new().await;
    world.create("configmaps", "shop", config_map("a")).await.unwrap();
    let rules = json!([rule(&["DELETE"], "*", "*", "configmaps")]);
    for (way, response, message) in [
        (
            "Validating",
            json!({"allowed": false}),
            "admission webhook \"h.example.com\" denied the request without explanation",
        ),
        (
            "Mutating",
            json!({"allowed": false}),
            "admission webhook \"h.example.com\" denied the request without explanation",
        ),
        (
            "Mutating",
            crate::testing::patch(&json!([{"op": "add", "path": "/data", "value": {}}])),
            "Internal error occurred: admission webhook \"h.example.com\" attempted to modify the object, \
             which is not supported for this operation",
        ),
    ] {
        server.says("/h", move |_| response.clone());
        world.configure(way, "c", &[server.hook("h", json!({"rules": rules}))]).await;
        let status = world.delete("configmaps", "shop", "a").await.unwrap_err();
        assert_eq!(status.message, message);
        world.forget(way, "c").await;
    }
    world.delete("configmaps", "shop", "a").await.unwrap();
}

#[tokio::test]
async fn subresources_speak_their_own_kinds() {
    let server = Server::start().await;
    let world = world(&server, "*/*").await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    });
    world.create("apps/v1/deployments", "shop", deployment).await.unwrap();
    world.create("pods", "shop", pod("p")).await.unwrap();
    server.asked();

    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 4}});
    world.update("apps/v1/deployments/scale", "shop", scale).await.unwrap();
    let told = request(&server);
    assert_eq!(told["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!(told["resource"], json!({"group": "apps", "version": "v1", "resource": "deployments"}));
    assert_eq!((&told["subResource"], &told["operation"]), (&json!("scale"), &json!("UPDATE")));
    assert_eq!(told["object"]["kind"], "Scale");
    assert_eq!(
        (&told["object"]["spec"]["replicas"], &told["oldObject"]["spec"]["replicas"]),
        (&json!(4), &json!(1))
    );

    let mut status = world.registry_get("pods", "shop", "p").await;
    status["status"]["phase"] = "Running".into();
    world.update("pods/status", "shop", status).await.unwrap();
    let told = request(&server);
    assert_eq!((&told["subResource"], &told["kind"]["kind"]), (&json!("status"), &json!("Pod")));

    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
    });
    world.create("pods/binding", "shop", binding).await.unwrap();
    let told = request(&server);
    assert_eq!(told["kind"], json!({"group": "", "version": "v1", "kind": "Binding"}));
    assert_eq!((&told["operation"], &told["object"]["target"]["name"]), (&json!("CREATE"), &json!("n")));

    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    world.create("pods/eviction", "shop", eviction).await.unwrap();
    let told = request(&server);
    assert_eq!(told["kind"], json!({"group": "policy", "version": "v1", "kind": "Eviction"}));
    assert_eq!((&told["operation"], &told["subResource"]), (&json!("CREATE"), &json!("eviction")));
}

#[tokio::test]
async fn a_scale_can_be_changed() {
    let server = Server::start().await;
    let world = World::new().await;
    server.says("/h", |_| {
        crate::testing::patch(&json!([{"op": "replace", "path": "/spec/replicas", "value": 9}]))
    });
    let controller = json!({
        "apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "r"},
        "spec": {
            "replicas": 1, "selector": {"a": "b"},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    });
    world.create("replicationcontrollers", "shop", controller).await.unwrap();
    let rules = json!([rule(&["UPDATE"], "", "v1", "replicationcontrollers/scale")]);
    world.configure("Mutating", "c", &[server.hook("h", json!({"rules": rules}))]).await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r"}, "spec": {"replicas": 2}});
    let scaled = world.update("replicationcontrollers/scale", "shop", scale).await.unwrap();
    assert_eq!(scaled["spec"]["replicas"], 9);
    assert_eq!(world.registry_get("replicationcontrollers", "shop", "r").await["spec"]["replicas"], 9);
}

#[tokio::test]
async fn a_connection_can_be_refused() {
    let server = Server::start().await;
    let world = world(&server, "pods/exec").await;
    let at = world.at("pods/exec", "shop", "p");
    let wanted = json!({"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"]});
    world.registry.admit_connection(&at, &wanted, &write()).await.unwrap();
    let told = request(&server);
    assert_eq!(told["operation"], "CONNECT");
    assert_eq!(told["kind"], json!({"group": "", "version": "v1", "kind": "PodExecOptions"}));
    assert_eq!((&told["object"]["command"], &told["options"]), (&json!(["sh"]), &Value::Null));
    server.says("/h", |_| json!({"allowed": false}));
    world.registry.admit_connection(&at, &wanted, &write()).await.unwrap_err();
}

impl World {
    async fn registry_get(&self, resource: &str, namespace: &str, name: &str) -> Value {
        let found = self.registry.get(&self.at(resource, namespace, name), "").await.unwrap();
        serde_json::from_slice(found.served.as_ref()).unwrap()
    }
}

#[tokio::test]
async fn a_collection_that_goes_is_told_without_names() {
    let server = Server::start().await;
    let world = world(&server, "configmaps").await;
    world.create("configmaps", "shop", config_map("a")).await.unwrap();
    server.asked();
    let at = world.at("configmaps", "shop", "");
    let options = kedge_registry::DeleteOptions::default();
    world.registry.delete_collection(&at, &Default::default(), &options, &write()).await.unwrap();
    let told = request(&server);
    assert_eq!((told.get("name"), &told["operation"]), (None, &json!("DELETE")));
    assert_eq!(told["oldObject"]["metadata"]["name"], "a");
}
