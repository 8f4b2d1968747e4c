//! An API that gives answers one after the other, whatever is asked, and then falls silent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;

pub(crate) enum Answer {
    Events(&'static [&'static str]),
    /// The stream stays open after these.
    Stays(&'static [&'static str]),
    Fails(u16, &'static str),
    Is(&'static str),
}
use Answer::{Events, Fails, Is, Stays};

/// What was asked so far.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

pub(crate) fn scripted(answers: Vec<Answer>) -> (Client, Asked) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    let heard = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        heard.lock().push(request.uri().to_string());
        let answer = answers.lock().pop_front();
        async move {
            let (code, lines, stays) = match answer {
                Some(Events(lines)) => (200, lines.join("\n"), false),
                Some(Stays(lines)) => (200, lines.join("\n") + "\n", true),
                Some(Is(body)) => (200, body.to_owned(), false),
                Some(Fails(code, why)) => {
                    let status = format!(
                        r#"{{"kind":"Status","status":"Failure","code":{code},"reason":"x","message":"{why}"}}"#
                    );
                    (code, status, false)
                }
                None => (200, String::new(), true),
            };
            let body = futures::StreamExt::chain(
                futures::stream::iter([Ok::<_, Infallible>(http_body::Frame::data(bytes::Bytes::from(
                    lines,
                )))]),
                futures::stream::poll_fn(move |_| {
                    if stays { std::task::Poll::Pending } else { std::task::Poll::Ready(None) }
                }),
            );
            let answer = Response::builder().status(code).body(http_body_util::StreamBody::new(body));
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    (crate::in_process(service), asked)
}

pub(crate) const MAP_A: &str = r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"1","resourceVersion":"3"}}}"#;
pub(crate) const MAP_B: &str = r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"n","uid":"2","resourceVersion":"6"}}}"#;
pub(crate) const END_5: &str = r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
pub(crate) const END_9: &str = r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
pub(crate) const AT_8: &str = r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"8"}}}"#;
pub(crate) const GONE: &str = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}}"#;
