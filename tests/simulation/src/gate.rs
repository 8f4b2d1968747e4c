//! Stands between the controllers and the API: every request waits here until the simulation lets it pass, loses it, loses its
//! answer, or answers with an error instead.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kedge_http::Router;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tower::{BoxError, Service};

use crate::load::Load;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    /// It never arrives.
    Lost,
    /// It arrives and is done, and nobody hears of it.
    AnswerLost,
    /// An error that the server answered instead of doing it.
    Error(u16),
}

pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    fate: oneshot::Sender<Fate>,
}

impl Asked {
    pub(crate) fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    pub(crate) fn is_event(&self) -> bool {
        self.path.contains("/events")
    }

    pub(crate) fn meets(self, fate: Fate) {
        // A turn that was given up no longer waits.
        let _nobody_waits = self.fate.send(fate);
    }
}

#[derive(Default)]
pub(crate) struct Gate {
    waiting: Mutex<VecDeque<Asked>>,
    /// Requests that passed and have not been answered yet.
    under_way: Mutex<usize>,
}

impl Gate {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.lock().len()
    }

    pub(crate) fn is_busy(&self) -> bool {
        *self.under_way.lock() > 0
    }

    /// Takes all reads out, if there are many of them at once.
    pub(crate) fn take_reads(&self, many: usize) -> Vec<Asked> {
        let mut waiting = self.waiting.lock();
        if waiting.iter().filter(|asked| !asked.is_write()).count() < many {
            return Vec::new();
        }
        let (writes, reads): (VecDeque<Asked>, VecDeque<Asked>) =
            std::mem::take(&mut *waiting).into_iter().partition(Asked::is_write);
        *waiting = writes;
        reads.into()
    }

    pub(crate) fn take(&self, at: usize) -> Option<Asked> {
        self.waiting.lock().remove(at)
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().clear();
    }
}

#[derive(Clone)]
pub(crate) struct Gated {
    pub(crate) router: Router,
    pub(crate) gate: Arc<Gate>,
    pub(crate) load: Arc<Load>,
}

impl Service<Request<Body>> for Gated {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (tell, fate) = oneshot::channel();
        let asked =
            Asked { method: request.method().clone(), path: request.uri().path().to_owned(), fate: tell };
        let (mut router, gate, load) = (self.router.clone(), self.gate.clone(), self.load.clone());
        gate.waiting.lock().push_back(asked);
        async move {
            match fate.await.unwrap_or(Fate::Lost) {
                Fate::Lost => Err("the connection broke".into()),
                Fate::Error(code) => Ok(refusal(code)),
                fate => {
                    let uri = request.uri();
                    if let Some(answer) = load.answer(uri.path(), uri.query().unwrap_or_default()) {
                        return if fate == Fate::Pass {
                            Ok(answer)
                        } else {
                            Err("the connection broke".into())
                        };
                    }
                    *gate.under_way.lock() += 1;
                    let answer: Result<_, Infallible> = router.call(request).await;
                    let Ok(answer) = answer;
                    let (parts, body) = answer.into_parts();
                    let body = body.collect().await;
                    *gate.under_way.lock() -= 1;
                    if fate == Fate::AnswerLost {
                        return Err("the connection broke".into());
                    }
                    let body = body.map_err(|_| "the answer broke off")?.to_bytes();
                    Ok(Response::from_parts(parts, Full::new(body)))
                }
            }
        }
        .boxed()
    }
}

fn refusal(code: u16) -> Response<Full<Bytes>> {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": "the simulation says no",
    });
    let mut answer = Response::new(Full::new(Bytes::from(status.to_string())));
    *answer.status_mut() = http::StatusCode::from_u16(code).expect("a code");
    answer
}
