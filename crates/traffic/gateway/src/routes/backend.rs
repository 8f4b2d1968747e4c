//! The pods behind one port of a Service, as requests reach them: directly, not through the Service's address.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kedge_client::Key;
use kedge_facts::{Service, ServicePort, Slice};

/// A port as an object names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    Number(u16),
    Name(String),
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// In the clear and without asking first, as gRPC servers speak it.
    Http2,
}

/// Why nobody answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "each says what there is none of")]
pub(crate) enum Fault {
    NoService,
    NoPort,
    NoEndpoints,
}

#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) service: Key,
    pub(crate) port: Named,
    pub(crate) protocol: Protocol,
    pub(crate) endpoints: Box<[SocketAddr]>,
    pub(crate) fault: Option<Fault>,
    turn: AtomicUsize,
}

impl Backend {
    /// Whose turn it is: counts up, so that neighbouring requests go to different endpoints.
    pub(crate) fn turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// `Service shop/web:80`
    pub(crate) fn name(&self) -> String {
        format!("Service {}:{}", self.service, self.port)
    }
}

pub(crate) fn backend(key: Key, port: Named, service: Option<&Service>, slices: &[Arc<Slice>]) -> Backend {
    let found = service.map(|service| service.spec.ports.iter().find(|known| is(known, &port)));
    let (protocol, endpoints, fault) = match found {
        None => (Protocol::Http1, Vec::new(), Some(Fault::NoService)),
        Some(None) => (Protocol::Http1, Vec::new(), Some(Fault::NoPort)),
        Some(Some(port)) => {
            let endpoints = endpoints(port, slices);
            let fault = endpoints.is_empty().then_some(Fault::NoEndpoints);
            (protocol(port), endpoints, fault)
        }
    };
    Backend { service: key, port, protocol, endpoints: endpoints.into(), fault, turn: AtomicUsize::new(0) }
}

/// One with one endpoint.
#[cfg(test)]
pub(crate) fn of_one(service: Key, port: Named, endpoint: SocketAddr) -> Backend {
    let endpoints = [endpoint].into();
    Backend { service, port, protocol: Protocol::Http1, endpoints, fault: None, turn: AtomicUsize::new(0) }
}

fn is(known: &ServicePort, port: &Named) -> bool {
    match port {
        Named::Number(number) => known.port == *number,
        Named::Name(name) => *known.name == **name,
    }
}

fn protocol(port: &ServicePort) -> Protocol {
    match port.app_protocol.as_deref() {
        Some("kubernetes.io/h2c" | "grpc" | "h2c") => Protocol::Http2,
        _ => Protocol::Http1,
    }
}

/// Those that are ready; if none is, those that still answer though they are about to end.
fn endpoints(port: &ServicePort, slices: &[Arc<Slice>]) -> Vec<SocketAddr> {
    let mut ready = Vec::new();
    let mut ending = Vec::new();
    for slice in slices {
        let fits =
            |known: &&kedge_facts::SlicePort| *known.name == *port.name && known.protocol == port.protocol;
        let Some(number) = slice.ports.iter().find(fits).and_then(|known| known.port) else { continue };
        for endpoint in &slice.endpoints {
            // All addresses of an endpoint are the same one.
            let Some(address) = endpoint.addresses.first() else { continue };
            let address = SocketAddr::new(*address, number);
            if endpoint.is_ready() {
                ready.push(address);
            } else if endpoint.is_serving() && endpoint.is_terminating() {
                ending.push(address);
            }
        }
    }
    let mut all = if ready.is_empty() { ending } else { ready };
    all.sort_unstable();
    all.dedup();
    all
}
