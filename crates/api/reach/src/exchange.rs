//! One request and its whole answer over HTTP/1.1, on a connection that is kept for the next one. Whoever waits for the answer drives the
//! connection: no task of its own, no channel between two threads. Knows neither names nor trust.
//!
//! The old version on purpose, as in Kubernetes: over HTTP/2 all calls would share one connection, and with it one replica of a webhook.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::LARGEST_ANSWER;
use crate::connect::{Connector, Line};
use crate::error::Cause;

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(90);
/// How often those that nobody uses are looked at.
const SWEEP: Duration = Duration::from_secs(30);
/// As many are kept after a burst.
const MOST_IDLE: usize = 64;

/// The connections to one server, and the way to make more.
pub(crate) struct Exchanges {
    connector: Connector,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// Used last stands last, and is used next.
    kept: Vec<(Held, Instant)>,
    /// Somebody looks after them.
    swept: bool,
}

/// A connection with nobody behind it but us.
struct Held {
    sender: http1::SendRequest<Full<Bytes>>,
    /// None once it has ended: whoever still waits for an answer hears of that when this is dropped.
    connection: Option<http1::Connection<Line, Full<Bytes>>>,
}

/// Why there is no answer.
enum Lost {
    /// The connection was closed before anything was sent on it; here is the request.
    Unsent(Box<Request<Full<Bytes>>>),
    Failed(Cause),
}

impl Exchanges {
    pub(crate) fn new(connector: Connector) -> Arc<Self> {
        Arc::new(Self { connector, idle: Mutex::default() })
    }

    /// Sends a request, whose URI has no more than path and query, and reads the answer to its end.
    pub(crate) async fn send(
        self: &Arc<Self>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Bytes>, Cause> {
        loop {
            let (mut held, used) = match self.take() {
                Some(held) => (held, true),
                None => (self.connect().await?, false),
            };
            match held.exchange(request).await {
                Ok(answer) => {
                    self.keep(held);
                    return Ok(answer);
                }
                // Closed by the other side while nobody looked. Each of these is dropped, so that this comes to an end.
                Err(Lost::Unsent(unsent)) if used => request = *unsent,
                Err(Lost::Unsent(_)) => return Err(Cause::Broken { why: "EOF".to_owned() }),
                Err(Lost::Failed(cause)) => return Err(cause),
            }
        }
    }

    async fn connect(&self) -> Result<Held, Cause> {
        let line = self.connector.connect().await?;
        let made = http1::handshake(line).await.map_err(|error| Cause::of(&error))?;
        Ok(Held { sender: made.0, connection: Some(made.1) })
    }

    fn take(&self) -> Option<Held> {
        loop {
            let (mut held, since) = self.idle.lock().kept.pop()?;
            if since.elapsed() < IDLE && held.is_ready() {
                return Some(held);
            }
        }
    }

    fn keep(self: &Arc<Self>, held: Held) {
        let mut idle = self.idle.lock();
        if idle.kept.len() < MOST_IDLE && held.connection.is_some() {
            idle.kept.push((held, Instant::now()));
            if !std::mem::replace(&mut idle.swept, true) {
                tokio::spawn(sweep(Arc::downgrade(self)));
            }
        }
    }

    /// Lets go of what was not used for long or was closed by the other side. False once nothing is left.
    fn swept(&self) -> bool {
        let mut idle = self.idle.lock();
        idle.kept.retain_mut(|(held, since)| since.elapsed() < IDLE && held.is_ready());
        idle.swept = !idle.kept.is_empty();
        idle.swept
    }
}

async fn sweep(exchanges: Weak<Exchanges>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        if !exchanges.upgrade().is_some_and(|exchanges| exchanges.swept()) {
            return;
        }
    }
}

impl Held {
    /// Whether the next request can be sent. Notices what happened to the connection since it was last used.
    fn is_ready(&mut self) -> bool {
        drive(&mut self.connection, &mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, Lost> {
        let Self { sender, connection } = self;
        let mut answer = pin!(async {
            let sent = sender.try_send_request(request).await;
            let (head, body) = sent.map_err(lost)?.into_parts();
            let whole = Limited::new(body, LARGEST_ANSWER).collect().await;
            whole.map(|whole| Response::from_parts(head, whole.to_bytes())).map_err(|error| {
                Lost::Failed(match error.downcast_ref::<LengthLimitError>() {
                    Some(_) => Cause::TooLarge { limit: LARGEST_ANSWER },
                    None => Cause::Broken { why: error.to_string() },
                })
            })
        });
        std::future::poll_fn(|context| {
            // Twice, as the body of an answer is asked for only once its head is here; mostly both came together.
            for _ in 0..2 {
                if let Poll::Ready(done) = answer.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                drive(connection, context);
            }
            answer.as_mut().poll(context)
        })
        .await
    }
}

/// Lets the connection do what it can. What it says of its own end the answer says, too.
fn drive(connection: &mut Option<http1::Connection<Line, Full<Bytes>>>, context: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(context).is_ready()) {
        *connection = None;
    }
}

fn lost(mut error: hyper::client::conn::TrySendError<Request<Full<Bytes>>>) -> Lost {
    match error.take_message() {
        Some(request) => Lost::Unsent(Box::new(request)),
        None => Lost::Failed(Cause::of(error.error())),
    }
}
