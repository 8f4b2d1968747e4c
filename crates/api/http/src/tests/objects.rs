//! Objects through every verb, in every form.

use serde_json::json;

use super::{Server, call, request, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "b" } })
        .to_string()
}

#[tokio::test]
async fn an_object_lives() {
    let server = Server::start().await;
    let made = call(&server.admin, "POST", MAPS, map("one")).await;
    assert_eq!(made.code, 201, "{}", made.text());
    assert!(made.json()["metadata"]["uid"].is_string());
    assert!(made.headers.contains_key("audit-id"));

    let one = format!("{MAPS}/one");
    let got = call(&server.admin, "GET", &one, "").await;
    assert_eq!((got.code, got.json()), (200, made.json()));

    let mut changed = got.json();
    changed["data"]["a"] = json!("c");
    let updated = call(&server.admin, "PUT", &one, changed.to_string()).await;
    assert_eq!((updated.code, &updated.json()["data"]["a"]), (200, &json!("c")));
    let stale = call(&server.admin, "PUT", &one, got.text()).await;
    assert_eq!(stale.code, 409, "{}", stale.text());

    let patched = call(&server.admin, "PATCH", &one, r#"{"data":{"d":"e"}}"#).await;
    assert_eq!((patched.code, patched.json()["data"].clone()), (200, json!({ "a": "c", "d": "e" })));

    let list = call(&server.admin, "GET", MAPS, "").await.json();
    assert_eq!(list["kind"], "ConfigMapList");
    assert!(list["items"].as_array().unwrap().iter().any(|item| item["metadata"]["name"] == "one"));

    assert_eq!(call(&server.admin, "DELETE", &one, "").await.code, 200);
    assert_eq!(
        call(&server.admin, "GET", &one, "").await.failure(),
        "404 NotFound: configmaps \"one\" not found"
    );
}

#[tokio::test]
async fn answers_come_in_the_form_that_was_asked_for() {
    let server = Server::start().await;
    call(&server.admin, "POST", MAPS, map("one")).await;
    let one = format!("{MAPS}/one");
    for (accept, path, starts) in [
        ("application/json", &*one, "{\""),
        ("application/yaml", &one, ""),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", &one, "{\"kind\":\"Table\""),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", MAPS, "{\"kind\":\"Table\""),
        (
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            &one,
            "{\"kind\":\"PartialObjectMetadata\"",
        ),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            MAPS,
            "{\"kind\":\"PartialObjectMetadataList\"",
        ),
    ] {
        let got = send(&server.admin, request("GET", path, &[("accept", accept)], "")).await;
        assert_eq!(got.code, 200, "{accept}: {}", got.text());
        assert!(got.text().starts_with(starts), "{accept}: {}", got.text());
        assert!(got.headers["content-type"].to_str().unwrap().starts_with(&accept[..16]), "{accept}");
    }
    let pretty = call(&server.admin, "GET", &format!("{one}?pretty=true"), "").await;
    assert!(pretty.text().contains("\n  \"metadata\""), "{}", pretty.text());
}

#[tokio::test]
async fn a_list_comes_in_pages_and_compressed() {
    let server = Server::start().await;
    for number in 0..300 {
        let object =
            json!({ "metadata": { "name": format!("m{number:03}") }, "data": { "a": "x".repeat(1000) } });
        assert_eq!(call(&server.admin, "POST", MAPS, object.to_string()).await.code, 201);
    }
    let whole = call(&server.admin, "GET", MAPS, "").await;
    let count = whole.json()["items"].as_array().unwrap().len();
    assert!(count >= 300);
    let mut seen = 0;
    let mut token = String::new();
    loop {
        let page = call(&server.admin, "GET", &format!("{MAPS}?limit=77&continue={token}"), "").await.json();
        seen += page["items"].as_array().unwrap().len();
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, count);

    let packed = send(&server.admin, request("GET", MAPS, &[("accept-encoding", "gzip")], "")).await;
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert!(packed.body.len() * 4 < whole.body.len());
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*packed.body), &mut plain).unwrap();
    assert_eq!(plain, whole.body);
}

#[tokio::test]
async fn documents_are_served() {
    let server = Server::start().await;
    for path in [
        "/",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/version",
        "/openapi/v3",
        "/openapi/v2",
    ] {
        let got = call(&server.admin, "GET", path, "").await;
        assert_eq!(got.code, 200, "{path}: {}", got.text());
        got.json();
    }
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(call(&server.stranger, "GET", path, "").await.text(), "ok", "{path}");
    }
    for path in ["/readyz/ping", "/livez/etcd"] {
        assert_eq!(call(&server.admin, "GET", path, "").await.text(), "ok", "{path}");
    }
    let verbose = call(&server.stranger, "GET", "/readyz?verbose", "").await.text();
    assert!(verbose.ends_with("readyz check passed\n"), "{verbose}");
    call(&server.admin, "GET", MAPS, "").await;
    let metrics = call(&server.admin, "GET", "/metrics", "").await.text();
    assert!(metrics.contains("apiserver_request_total{"), "{metrics}");
    server.stranger.stop();
    assert_eq!(call(&server.stranger, "GET", "/readyz", "").await.code, 500);
}
