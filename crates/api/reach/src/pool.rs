//! Connections that are kept: one client for each way of reaching a server. A Service whose endpoint moved gets another
//! client, so nothing waits on a connection to a pod that is gone. Two sorts of them: for answers that are read as they come,
//! and for exchanges that are over with the answer.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::Body;
use crate::connect::Connector;
use crate::error::Cause;
use crate::exchange::Exchanges;
use crate::target::{Door, Identity, Target};
use crate::tls;

const IDLE: Duration = Duration::from_secs(90);
/// A connection that says nothing for this long is asked whether it is still there.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// Servers with few objects have few webhooks; beyond this the one that was used longest ago is let go.
const MOST_CLIENTS: usize = 256;

type Connections = Client<Connector, Body>;

#[derive(PartialEq, Eq, Hash)]
struct Way {
    door: Door,
    name: String,
    ca_bundle: Option<bytes::Bytes>,
    identity: Option<Identity>,
    insecure: bool,
    exclusive: bool,
    plain: bool,
}

#[derive(Default)]
pub(crate) struct Pool {
    streams: Mutex<Clients<Connections>>,
    exchanges: Mutex<Clients<Arc<Exchanges>>>,
}

struct Clients<C> {
    known: HashMap<Way, (C, u64)>,
    uses: u64,
}

impl<C> Default for Clients<C> {
    fn default() -> Self {
        Self { known: HashMap::new(), uses: 0 }
    }
}

impl<C: Clone> Clients<C> {
    /// The one for this way, made if there is none.
    fn client(&mut self, way: Way, make: impl FnOnce(&Way) -> Result<C, Cause>) -> Result<C, Cause> {
        self.uses += 1;
        if let Some((client, used)) = self.known.get_mut(&way) {
            *used = self.uses;
            return Ok(client.clone());
        }
        let client = make(&way)?;
        if self.known.len() >= MOST_CLIENTS {
            let oldest = self.known.values().map(|(_, used)| *used).min();
            self.known.retain(|_, (_, used)| Some(*used) != oldest);
        }
        self.known.insert(way, (client.clone(), self.uses));
        Ok(client)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    /// For answers that are read as they come. `exclusive`: over HTTP/1.1, so that the exchange can take its connection over.
    pub(crate) fn client(&self, target: &Target, door: Door, exclusive: bool) -> Result<Connections, Cause> {
        let way = Way::to(target, door, exclusive)?;
        self.streams.lock().client(way, |way| {
            Ok(Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .http2_keep_alive_interval(PING_AFTER)
                .http2_keep_alive_timeout(PING_TIMEOUT)
                .build(connector(target, way)?))
        })
    }

    /// For answers that are wanted as a whole.
    pub(crate) fn exchanges(&self, target: &Target, door: Door) -> Result<Arc<Exchanges>, Cause> {
        let way = Way::to(target, door, true)?;
        self.exchanges.lock().client(way, |way| Ok(Exchanges::new(connector(target, way)?)))
    }
}

impl Way {
    fn to(target: &Target, door: Door, exclusive: bool) -> Result<Self, Cause> {
        Ok(Self {
            door,
            name: target.server_name().ok_or(Cause::Url)?,
            ca_bundle: target.ca_bundle.clone(),
            identity: target.identity.clone(),
            insecure: target.insecure_skip_verify,
            exclusive,
            plain: target.is_plain(),
        })
    }
}

fn connector(target: &Target, way: &Way) -> Result<Connector, Cause> {
    Ok(Connector {
        door: way.door.clone(),
        name: ServerName::try_from(way.name.clone()).map_err(|_| Cause::Url)?,
        tls: match way.plain {
            true => None,
            false => Some(TlsConnector::from(Arc::new(tls::config(target, way.exclusive)?))),
        },
    })
}
