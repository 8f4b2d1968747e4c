//! Tells balancers of loads whether this node has endpoints of a Service: one small HTTP server for each port that asks for it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kedge_client::Key;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::AbortHandle;

use crate::wanted::Health;

/// Who does not ask within this time is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const AT_ONCE: u32 = 64;

/// All servers, by the Service that each speaks of.
#[derive(Default)]
pub(crate) struct Healths(HashMap<Key, Server>);

struct Server {
    port: u16,
    endpoints: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Healths {
    /// What is said of a Service from now on; nothing is said of it any more without.
    pub(crate) fn set(&mut self, key: &Key, health: Option<Health>) {
        let Some(Health { port, endpoints }) = health else {
            self.0.remove(key);
            return;
        };
        match self.0.get(key).filter(|server| server.port == port && !server.task.is_finished()) {
            Some(server) => server.endpoints.store(endpoints, Ordering::Relaxed),
            None => {
                // The old one's port is free before the new one begins.
                self.0.remove(key);
                if let Some(server) = begin(key, port, endpoints) {
                    self.0.insert(key.clone(), server);
                }
            }
        }
    }
}

fn begin(key: &Key, port: u16, endpoints: usize) -> Option<Server> {
    let listener = match listen(port) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(
                "cannot tell of the health of {key} at port {port} (healthCheckNodePort): {error}"
            );
            return None;
        }
    };
    let endpoints = Arc::new(AtomicUsize::new(endpoints));
    let task = tokio::spawn(serve(listener, key.clone(), endpoints.clone())).abort_handle();
    Some(Server { port, endpoints, task })
}

/// In both families where there are both.
fn listen(port: u16) -> io::Result<TcpListener> {
    let bind = |socket: TcpSocket, at: SocketAddr| {
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(AT_ONCE)
    };
    TcpSocket::new_v6()
        .and_then(|socket| bind(socket, (Ipv6Addr::UNSPECIFIED, port).into()))
        .or_else(|_| bind(TcpSocket::new_v4()?, (Ipv4Addr::UNSPECIFIED, port).into()))
}

async fn serve(listener: TcpListener, key: Key, endpoints: Arc<AtomicUsize>) {
    let key = Arc::new(key);
    let at_once = Arc::new(tokio::sync::Semaphore::new(AT_ONCE as usize));
    loop {
        let Ok(place) = at_once.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files: those that end make room.
            tokio::task::yield_now().await;
            continue;
        };
        let (key, endpoints) = (key.clone(), endpoints.clone());
        tokio::spawn(async move {
            let answer = service_fn(|_| {
                let answer = answer(&key, endpoints.load(Ordering::Relaxed));
                async { Ok::<_, Infallible>(answer) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // Whoever hangs up has what he wanted.
            let _hung_up = http.serve_connection(TokioIo::new(stream), answer).await;
            drop(place);
        });
    }
}

fn answer(key: &Key, endpoints: usize) -> Response<Full<Bytes>> {
    let body = format!(
        "{{\n\t\"service\": {{\n\t\t\"namespace\": \"{}\",\n\t\t\"name\": \"{}\"\n\t}},\n\t\"localEndpoints\": {endpoints},\n\t\"serviceProxyHealthy\": true\n}}",
        key.namespace, key.name
    );
    let mut response = Response::new(Full::new(Bytes::from(body)));
    if endpoints == 0 {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("x-load-balancing-endpoint-weight", HeaderValue::from(endpoints));
    response
}

#[cfg(test)]
mod tests;
