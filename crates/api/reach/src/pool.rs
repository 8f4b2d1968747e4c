//! Connections that are kept: one client for each way of reaching a server. A Service whose endpoint moved gets another
//! client, so nothing waits on a connection to a pod that is gone.

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
pub(crate) struct Pool(Mutex<Clients>);

#[derive(Default)]
struct Clients {
    known: HashMap<Way, (Connections, u64)>,
    uses: u64,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    /// `exclusive`: over HTTP/1.1, so that the exchange can take its connection over.
    pub(crate) fn client(&self, target: &Target, door: Door, exclusive: bool) -> Result<Connections, Cause> {
        let name = target.server_name().ok_or(Cause::Url)?;
        let way = Way {
            door,
            name,
            ca_bundle: target.ca_bundle.clone(),
            identity: target.identity.clone(),
            insecure: target.insecure_skip_verify,
            exclusive,
            plain: target.is_plain(),
        };
        let mut clients = self.0.lock();
        clients.uses += 1;
        let now = clients.uses;
        if let Some((client, used)) = clients.known.get_mut(&way) {
            *used = now;
            return Ok(client.clone());
        }
        let client = connections(target, &way)?;
        if clients.known.len() >= MOST_CLIENTS {
            let oldest = clients.known.values().map(|(_, used)| *used).min();
            clients.known.retain(|_, (_, used)| Some(*used) != oldest);
        }
        clients.known.insert(way, (client.clone(), now));
        Ok(client)
    }
}

fn connections(target: &Target, way: &Way) -> Result<Connections, Cause> {
    let connector = Connector {
        door: way.door.clone(),
        name: ServerName::try_from(way.name.clone()).map_err(|_| Cause::Url)?,
        tls: match way.plain {
            true => None,
            false => Some(TlsConnector::from(Arc::new(tls::config(target, way.exclusive)?))),
        },
    };
    Ok(Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .build(connector))
}
