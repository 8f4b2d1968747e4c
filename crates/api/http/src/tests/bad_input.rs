//! What must be refused: each with its code, its reason and nothing stored.

use bytes::Bytes;
use serde_json::json;

use super::{Server, request, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

struct Case {
    name: &'static str,
    method: &'static str,
    path: String,
    content: &'static str,
    body: Bytes,
    answer: &'static str,
}

fn case(
    name: &'static str,
    method: &'static str,
    path: &str,
    content: &'static str,
    body: impl Into<Bytes>,
    answer: &'static str,
) -> Case {
    Case { name, method, path: path.to_owned(), content, body: body.into(), answer }
}

fn map(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "bad" }, "data": { "a": "b" } });
    change(&mut object);
    object.to_string()
}

fn bodies() -> Vec<Case> {
    let deep = format!("{{\"data\":{}{}}}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let huge = format!("{{\"data\":{{\"a\":\"{}\"}}}}", "x".repeat(3 * 1024 * 1024));
    vec![
        case("no body", "POST", MAPS, JSON, "", "400 BadRequest"),
        case("broken JSON", "POST", MAPS, JSON, "{\"a\":", "400 BadRequest"),
        case("not an object", "POST", MAPS, JSON, "[1]", "400 BadRequest"),
        case("bad UTF-8", "POST", MAPS, JSON, &b"{\"data\":{\"a\":\"\xff\xfe\"}}\x80"[..], "400 BadRequest"),
        case("broken YAML", "POST", MAPS, "application/yaml", "a: [", "400 BadRequest"),
        case("an alias bomb", "POST", MAPS, "application/yaml", BOMB, "400 BadRequest"),
        case(
            "broken protobuf",
            "POST",
            MAPS,
            "application/vnd.kubernetes.protobuf",
            &b"k8s\0\xff\xff\xff"[..],
            "400 BadRequest",
        ),
        case("not protobuf", "POST", MAPS, "application/vnd.kubernetes.protobuf", "hello", "400 BadRequest"),
        case("unknown media type", "POST", MAPS, "text/html", "x", "415 UnsupportedMediaType"),
        case("wrong type", "POST", MAPS, JSON, map(|o| o["data"] = json!([1])), "400 BadRequest"),
        case("wrong kind", "POST", MAPS, JSON, map(|o| o["kind"] = json!("Secret")), "400 BadRequest"),
        case("wrong version", "POST", MAPS, JSON, map(|o| o["apiVersion"] = json!("v9")), "400 BadRequest"),
        case(
            "wrong namespace",
            "POST",
            MAPS,
            JSON,
            map(|o| o["metadata"]["namespace"] = json!("other")),
            "400 BadRequest",
        ),
        case(
            "unknown field",
            "POST",
            &format!("{MAPS}?fieldValidation=Strict"),
            JSON,
            map(|o| o["dat"] = json!({})),
            "400 BadRequest",
        ),
        case(
            "duplicate field",
            "POST",
            &format!("{MAPS}?fieldValidation=Strict"),
            JSON,
            r#"{"metadata":{"name":"bad"},"data":{},"data":{}}"#,
            "400 BadRequest",
        ),
        case(
            "bad name",
            "POST",
            MAPS,
            JSON,
            map(|o| o["metadata"]["name"] = json!("Bad_Name")),
            "422 Invalid",
        ),
        case("no name", "POST", MAPS, JSON, map(|o| o["metadata"] = json!({})), "422 Invalid"),
        case(
            "bad label",
            "POST",
            MAPS,
            JSON,
            map(|o| o["metadata"]["labels"] = json!({ "a b": "c" })),
            "422 Invalid",
        ),
        case(
            "bad label value",
            "POST",
            MAPS,
            JSON,
            map(|o| o["metadata"]["labels"] = json!({ "a": "-" })),
            "422 Invalid",
        ),
        case("bad key", "POST", MAPS, JSON, map(|o| o["data"] = json!({ "a/b": "c" })), "422 Invalid"),
        case("nested too deep", "POST", MAPS, JSON, deep, "400 BadRequest"),
        case("too large", "POST", MAPS, JSON, huge, "413 RequestEntityTooLarge"),
        case(
            "no such namespace",
            "POST",
            "/api/v1/namespaces/none/configmaps",
            JSON,
            map(|_| {}),
            "404 NotFound",
        ),
        case("bad dryRun", "POST", &format!("{MAPS}?dryRun=Maybe"), JSON, map(|_| {}), "422 Invalid"),
        case(
            "bad fieldValidation",
            "POST",
            &format!("{MAPS}?fieldValidation=Hard"),
            JSON,
            map(|_| {}),
            "422 Invalid",
        ),
        case("name in the path", "POST", &format!("{MAPS}/bad"), JSON, map(|_| {}), "405 MethodNotAllowed"),
    ]
}

fn paths() -> Vec<Case> {
    let future = format!("{MAPS}?resourceVersion=99999999999&resourceVersionMatch=NotOlderThan");
    vec![
        case(
            "bad label selector",
            "GET",
            &format!("{MAPS}?labelSelector=a%3D%3D%3Db%2C("),
            JSON,
            "",
            "400 BadRequest",
        ),
        case(
            "bad field selector",
            "GET",
            &format!("{MAPS}?fieldSelector=spec.nothing%3Dx"),
            JSON,
            "",
            "400 BadRequest",
        ),
        case("bad continue", "GET", &format!("{MAPS}?continue=rubbish"), JSON, "", "400 BadRequest"),
        case("bad limit", "GET", &format!("{MAPS}?limit=x"), JSON, "", "400 BadRequest"),
        case("bad resourceVersion", "GET", &format!("{MAPS}?resourceVersion=x"), JSON, "", "400 BadRequest"),
        case(
            "bad match",
            "GET",
            &format!("{MAPS}?resourceVersion=1&resourceVersionMatch=Kind"),
            JSON,
            "",
            "422 Invalid",
        ),
        case("future", "GET", &future, JSON, "", "504 Timeout"),
        case("unknown resource", "GET", "/api/v1/nonsense", JSON, "", "404 NotFound"),
        case("unknown subresource", "GET", &format!("{MAPS}/a/nonsense"), JSON, "", "404 NotFound"),
        case("namespaced without namespace", "GET", "/api/v1/configmaps/a", JSON, "", "404 NotFound"),
        case(
            "cluster kind in a namespace",
            "GET",
            "/api/v1/namespaces/default/nodes",
            JSON,
            "",
            "404 NotFound",
        ),
        case(
            "verb that the kind lacks",
            "DELETE",
            "/api/v1/componentstatuses/a",
            JSON,
            "",
            "405 MethodNotAllowed",
        ),
        case("unknown method", "BREW", MAPS, JSON, "", "405 MethodNotAllowed"),
        case("update without a name", "PUT", MAPS, JSON, map(|_| {}), "405 MethodNotAllowed"),
        case("patch of unknown type", "PATCH", &format!("{MAPS}/a"), JSON, "{}", "415 UnsupportedMediaType"),
        case(
            "patch that is no JSON",
            "PATCH",
            &format!("{MAPS}/a"),
            "application/merge-patch+json",
            "{",
            "400 BadRequest",
        ),
        case(
            "apply without manager",
            "PATCH",
            &format!("{MAPS}/a"),
            "application/apply-patch+yaml",
            map(|_| {}),
            "422 Invalid",
        ),
        case(
            "force without apply",
            "PATCH",
            &format!("{MAPS}/a?force=true"),
            "application/merge-patch+json",
            "{}",
            "422 Invalid",
        ),
        case(
            "bad propagation",
            "DELETE",
            &format!("{MAPS}/a?propagationPolicy=Maybe"),
            JSON,
            "",
            "422 Invalid",
        ),
        case(
            "both propagations",
            "DELETE",
            &format!("{MAPS}/a?propagationPolicy=Orphan&orphanDependents=true"),
            JSON,
            "",
            "422 Invalid",
        ),
        case("bad grace", "DELETE", &format!("{MAPS}/a?gracePeriodSeconds=x"), JSON, "", "400 BadRequest"),
        case("broken delete options", "DELETE", &format!("{MAPS}/a"), JSON, "{", "400 BadRequest"),
        case("not acceptable", "ACCEPT", MAPS, JSON, "", "406 NotAcceptable"),
        case("logs of no pod", "GET", "/api/v1/namespaces/default/pods/p/log", JSON, "", "404 NotFound"),
    ]
}

const BOMB: &str = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\nmetadata: {name: bomb}\ndata: {a: *h}\n";

#[tokio::test]
async fn bad_input_is_refused_in_words_and_stores_nothing() {
    let server = Server::start().await;
    let before = server.registry.store().revision();
    for case in bodies().into_iter().chain(paths()) {
        let (method, accept) =
            if case.method == "ACCEPT" { ("GET", "text/html") } else { (case.method, "*/*") };
        let headers = [("content-type", case.content), ("accept", accept)];
        let got = send(&server.admin, request(method, &case.path, &headers, case.body)).await;
        assert!(got.code >= 400, "{}: {}", case.name, got.text());
        let failure = got.failure();
        assert!(failure.starts_with(case.answer), "{}: {failure}", case.name);
    }
    assert_eq!(server.registry.store().revision(), before, "something was stored");
}
