//! Anything at all through the router: an answer in the API's words, no panic, nothing stored that was not asked for.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Server, send};

/// Words that lie near the grammar, so that not everything ends at the first check.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("api".to_owned()),
        Just("apis".to_owned()),
        Just("v1".to_owned()),
        Just("apps".to_owned()),
        Just("namespaces".to_owned()),
        Just("default".to_owned()),
        Just("configmaps".to_owned()),
        Just("deployments".to_owned()),
        Just("pods".to_owned()),
        Just("status".to_owned()),
        Just("scale".to_owned()),
        Just("token".to_owned()),
        Just("log".to_owned()),
        Just("watch".to_owned()),
        Just("openapi".to_owned()),
        Just("v3".to_owned()),
        Just("serviceaccounts".to_owned()),
        Just("authorization.k8s.io".to_owned()),
        Just("selfsubjectaccessreviews".to_owned()),
        "[a-z%0-9.~-]{0,12}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let query = prop_oneof![
        Just(String::new()),
        "(limit|continue|resourceVersion|timeoutSeconds|labelSelector|fieldSelector|dryRun|resourceVersionMatch|sendInitialEvents|pretty|force|fieldManager|gracePeriodSeconds)=[a-zA-Z0-9%=,!().-]{0,20}",
    ];
    (prop::collection::vec(segment(), 0..8), query).prop_map(|(segments, query)| {
        let path = format!("/{}", segments.join("/"));
        if query.is_empty() { path } else { format!("{path}?{query}") }
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[\\[\\]{}\",:a-z0-9 \n&*|>-]{0,200}".prop_map(String::into_bytes),
        Just(br#"{"spec":{"containers":[{"name":1}]},"metadata":{"name":{}}}"#.to_vec()),
        Just(br#"[{"op":"add","path":"/metadata/labels/a","value":1}]"#.to_vec()),
        prop::collection::vec(any::<u8>(), 0..100).prop_map(|rest| [b"k8s\0".to_vec(), rest].concat()),
    ]
}

fn header() -> impl Strategy<Value = (&'static str, String)> {
    let name = prop::sample::select(vec![
        "accept",
        "accept-encoding",
        "authorization",
        "impersonate-user",
        "impersonate-group",
        "audit-id",
        "if-none-match",
        "x-other",
    ]);
    (
        name,
        prop_oneof![
            Just("application/json".to_owned()),
            Just("gzip".to_owned()),
            Just("Bearer a.b.c".to_owned()),
            "[ -~]{0,40}"
        ],
    )
}

fn content_type() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
        "///;;==",
    ])
}

#[test]
fn any_request_gets_an_answer() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(Server::start());
    let before = server.registry.store().revision();
    let mut runner = TestRunner::new(Config { cases: 2000, failure_persistence: None, ..Config::default() });
    let methods = prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"]);
    let requests = (methods, path(), content_type(), prop::collection::vec(header(), 0..3), body());
    runner
        .run(&requests, |(method, path, content, headers, body)| {
            let Ok(uri) = path.parse::<Uri>() else { return Ok(()) };
            // A watch answers as long as it lasts, and the clock stands still here.
            if path.contains("/watch") || path.contains("watch=") {
                return Ok(());
            }
            let mut request = Request::new(Full::new(Bytes::from(body)));
            *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
            *request.uri_mut() = uri;
            request.headers_mut().insert("content-type", HeaderValue::from_static(content));
            for (name, value) in headers {
                if let Ok(value) = HeaderValue::from_str(&value) {
                    request.headers_mut().append(HeaderName::from_static(name), value);
                }
            }
            for router in [&server.admin, &server.stranger] {
                let got = runtime.block_on(send(router, request.clone()));
                prop_assert_ne!(got.code, 500, "{} {}: {}", method, path, got.text());
                let plain = got
                    .headers
                    .get("content-type")
                    .is_some_and(|value| value.to_str().unwrap_or("").starts_with("text/plain"));
                if got.code >= 400 && !plain && method != "HEAD" {
                    let yaml = got.text().contains("kind: Status");
                    prop_assert!(
                        yaml || got.json()["kind"] == "Status",
                        "{} {}: {}",
                        method,
                        path,
                        got.text()
                    );
                }
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(server.registry.store().revision(), before, "something was stored");
}
