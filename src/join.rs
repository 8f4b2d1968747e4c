//! Makes this machine a member of a cluster whose servers are elsewhere, and keeps it one: its identity in the data folder, renewed
//! before it ends, and where the servers are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kedge_client::{Client, Objects, Place, Servers, Ties, TiesError};
use kedge_clock::Clock;
use kedge_pki::PkiError;
use kube::ResourceExt;
use kube::api::ListParams;
use serde::{Deserialize, Serialize};

use crate::certificate::{AskError, Signer, ask, names};
use crate::cluster::{Cluster, ClusterError};
use crate::peers::Known;
use crate::ranges::RangesError;
use crate::settings::AgentSettings;
use crate::token::{Info, Token, TokenError};

/// How long a machine that joins waits for its certificate.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a node that was here before waits for a server to say what the cluster is like.
const BRIEFLY: Duration = Duration::from_secs(5);
/// After a failure that may pass.
const AGAIN: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_millis(500);
/// On a node's object: which key is this machine's.
pub(crate) const KEY: &str = kedge_agent::KEY_ANNOTATION;

#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("say with --server https://HOST:6443 which cluster this machine is to join")]
    NoServer,
    #[error(
        "this machine is no part of a cluster yet: `kedge token create --print-join-command` on a server shows how it joins"
    )]
    NoToken,
    #[error("{0}")]
    BadToken(String),
    #[error("cannot read the token from {}", path.display())]
    TokenFile { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Ranges(#[from] RangesError),
    #[error("cannot reach the cluster")]
    Unreachable(#[source] Box<kube::Error>),
    #[error(transparent)]
    Info(TokenError),
    #[error("{servers} is not the cluster that the token is for: its authority is {found}, not {wanted}")]
    WrongAuthority { servers: String, found: String, wanted: String },
    #[error(
        "the cluster does not take the token: it is wrong, or its time is over; make a new one there with `kedge token create`"
    )]
    WrongToken,
    #[error("the cluster does not take this machine as {node}: {why}")]
    Refused { node: String, why: String },
    #[error(
        "there is a node {node} in the cluster, on another machine: choose another name with --node-name, or delete it first with `kubectl delete node {node}`"
    )]
    NameTaken { node: String },
    #[error(
        "this machine is {known} in its cluster, not {asked}: `kedge uninstall` first to join under another name"
    )]
    Renamed { known: String, asked: String },
    #[error("this machine is part of another cluster than the token is for: `kedge uninstall` first")]
    OtherCluster,
    #[error("this node's certificate cannot be used any more ({why}): start it once with a new --token")]
    Ended { why: String },
    #[error("cannot get a certificate")]
    Ask(#[source] AskError),
    #[error("cannot keep this node's identity")]
    Pki(#[from] PkiError),
    #[error("cannot use this node's identity")]
    Ties(#[from] TiesError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// What is kept beside keys and certificates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Record {
    node: String,
    servers: Vec<Place>,
    cluster: Option<Cluster>,
}

/// A machine's place in a cluster.
pub(crate) struct Membership {
    pub(crate) node: String,
    /// The authority's certificate, PEM.
    pub(crate) authority: String,
    pub(crate) servers: Servers,
    key: String,
    certificate: String,
    /// The servers that a person named; the others are learned.
    told: Vec<Place>,
    data: PathBuf,
    clock: Clock,
}

/// Where keys and certificates are.
pub(crate) fn folder(data: &Path) -> PathBuf {
    data.join("pki")
}

fn certificate_file(data: &Path) -> PathBuf {
    folder(data).join("node-client.crt")
}

fn authority_file(data: &Path) -> PathBuf {
    folder(data).join("ca.crt")
}

fn record_file(data: &Path) -> PathBuf {
    data.join("member.json")
}

/// Whether a machine with this data folder is part of a cluster, and needs no token to be so again.
pub(crate) fn has_joined(data: &Path) -> bool {
    record_file(data).exists() && certificate_file(data).exists()
}

impl Membership {
    /// The one that this machine has, or with a token a new one.
    pub(crate) async fn open(
        settings: &AgentSettings,
        data: &Path,
        clock: &Clock,
    ) -> Result<Self, JoinError> {
        let record: Option<Record> =
            kedge_pki::read(&record_file(data))?.and_then(|text| serde_json::from_str(&text).ok());
        let node = match (&settings.node.node_name, &record) {
            (Some(asked), Some(record)) if *asked != record.node => {
                return Err(JoinError::Renamed { known: record.node.clone(), asked: asked.clone() });
            }
            (_, Some(record)) => record.node.clone(),
            (_, None) => settings.node.name(),
        };
        let mut places = settings.server.clone();
        let known = record.as_ref().map(|record| record.servers.clone()).unwrap_or_default();
        extend(&mut places, known);
        if places.is_empty() {
            return Err(JoinError::NoServer);
        }
        let token = token(settings)?;
        let key = kedge_pki::read_or_make(&folder(data).join("node-client.key"), kedge_pki::new_key)?;
        let held = match (kedge_pki::read(&authority_file(data))?, kedge_pki::read(&certificate_file(data))?)
        {
            (Some(authority), Some(certificate)) => Some((authority, certificate)),
            _ => None,
        };
        if let (Some((authority, _)), Some(token)) = (&held, &token)
            && kedge_pki::fingerprint(authority).as_ref() != Some(&token.authority)
        {
            return Err(JoinError::OtherCluster);
        }
        let judged = held.map(|(authority, certificate)| {
            judge(&authority, &certificate, &node, clock.now()).map(|()| (authority, certificate))
        });
        let (authority, certificate) = match (judged, token) {
            (Some(Ok(held)), _) => held,
            (_, Some(token)) => {
                tracing::info!("joining the cluster at {} as {node}", shown(&places));
                let joined = join(&token, &places, &node, &key, clock).await?;
                kedge_pki::write_private(&authority_file(data), &joined.0)?;
                kedge_pki::write_private(&certificate_file(data), &joined.1)?;
                tracing::info!("joined the cluster at {} as {node}", shown(&places));
                joined
            }
            (Some(Err(why)), None) => return Err(JoinError::Ended { why }),
            (None, None) => return Err(JoinError::NoToken),
        };
        let ties = ties(&authority, &certificate, &key);
        let told = settings.server.clone();
        let servers = Servers::new(places, &ties)?;
        let data = data.to_owned();
        let member = Self { node, authority, servers, key, certificate, told, data, clock: clock.clone() };
        member.write(record.and_then(|record| record.cluster))?;
        Ok(member)
    }

    /// What the node's object has to carry for this machine to be known again.
    pub(crate) fn key(&self) -> Result<String, JoinError> {
        Ok(kedge_pki::key_fingerprint(&self.key)?)
    }

    fn write(&self, cluster: Option<Cluster>) -> Result<(), PkiError> {
        let record = Record { node: self.node.clone(), servers: self.servers.all(), cluster };
        let text = serde_json::to_string_pretty(&record).unwrap_or_default();
        kedge_pki::write_private(&record_file(&self.data), &text)
    }

    fn recorded(&self) -> Option<Cluster> {
        let text = kedge_pki::read(&record_file(&self.data)).ok()??;
        serde_json::from_str::<Record>(&text).ok()?.cluster
    }

    /// What the cluster is like: as a server says, or while there is none as one said last.
    pub(crate) async fn cluster(&self) -> Result<Cluster, JoinError> {
        let client = self.servers.client();
        let known = self.recorded();
        let asked = async {
            loop {
                match Cluster::read(&client).await {
                    Ok(cluster) => return Ok(cluster),
                    Err(error @ ClusterError::Parse(_)) => return Err(error),
                    // A server that was just started has not said it yet.
                    Err(error) => tracing::debug!(%error, "the cluster is not known yet"),
                }
                self.clock.sleep(SOON).await;
            }
        };
        let patience = if known.is_some() { BRIEFLY } else { PATIENCE };
        tokio::select! {
            cluster = asked => {
                let cluster = cluster?;
                self.write(Some(cluster.clone()))?;
                Ok(cluster)
            }
            () = self.clock.sleep(patience) => match known {
                Some(known) => {
                    tracing::warn!("no server answers; going on with what was said last");
                    Ok(known)
                }
                None => Ok(Cluster::read(&client).await?),
            },
        }
    }

    /// Whether the cluster's node of our name is another machine. Whoever cannot be asked says nothing.
    pub(crate) async fn check_name(&self) -> Result<(), JoinError> {
        let nodes = Objects::<Node>::all(&self.servers.client());
        let asked = tokio::time::timeout(BRIEFLY, nodes.find(&self.node)).await;
        let Ok(Ok(Some(found))) = asked else { return Ok(()) };
        match found.annotations().get(KEY) {
            Some(key) if *key == self.key()? => Ok(()),
            Some(_) => Err(JoinError::NameTaken { node: self.node.clone() }),
            None => Ok(()),
        }
    }

    /// Renews the certificate before it ends and follows where the servers are, for as long as it is polled.
    pub(crate) async fn keep(&self) {
        tokio::join!(self.renew(), self.follow());
    }

    async fn renew(&self) {
        let mut certificate = self.certificate.clone();
        loop {
            let Some(at) = kedge_pki::renew_at(&certificate) else { return };
            self.clock.until(at).await;
            match self.renewed().await {
                Ok(new) => {
                    tracing::info!("renewed this node's certificate");
                    certificate = new;
                }
                Err(error) => {
                    tracing::warn!("cannot renew this node's certificate yet: {}", crate::told(&error));
                    self.clock.sleep(AGAIN).await;
                }
            }
        }
    }

    /// A new certificate for the same key, in use from now on.
    pub(crate) async fn renewed(&self) -> Result<String, JoinError> {
        let client = self.servers.client();
        let names = names(&self.node, Vec::new());
        let new = ask(&client, Signer::Client, &names, &self.key, PATIENCE, &self.clock).await;
        let new = new.map_err(JoinError::Ask)?;
        self.servers.tie(&ties(&self.authority, &new, &self.key))?;
        kedge_pki::write_private(&certificate_file(&self.data), &new)?;
        Ok(new)
    }

    /// The servers are those that a person named and those that the API's own Service has.
    async fn follow(&self) {
        let slices = Objects::<EndpointSlice>::within(&self.servers.client(), "default");
        let mut events = slices.events(ListParams::default().labels("kubernetes.io/service-name=kubernetes"));
        let mut known = Known::default();
        while let Some(told) = events.next().await {
            match told {
                Ok(told) => {
                    known.hear(told);
                    self.moved(known.places());
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot watch where the servers are");
                    self.clock.sleep(AGAIN).await;
                }
            }
        }
    }

    fn moved(&self, listed: Vec<Place>) {
        // If nobody lives any more, they are best looked for where they were.
        if listed.is_empty() {
            return;
        }
        let mut places = self.told.clone();
        extend(&mut places, listed);
        let before = self.servers.all();
        let is_same = places.len() == before.len() && places.iter().all(|place| before.contains(place));
        if is_same {
            return;
        }
        tracing::info!("the cluster's servers are {}", shown(&places));
        self.servers.set(places);
        if let Err(error) = self.write(self.recorded()) {
            tracing::warn!(%error, "cannot write down where the servers are");
        }
    }
}

/// Forgets that this machine was part of a cluster. What its pods left on its disk stays.
pub(crate) fn forget(data: &Path) -> Result<(), PkiError> {
    let pki = folder(data);
    let names = ["node-client.crt", "node-client.key", "node.crt", "node.key", "ca.crt"];
    let files = names.map(|name| pki.join(name)).into_iter().chain([record_file(data)]);
    for path in files {
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(PkiError::Write { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds what is not there yet.
fn extend(places: &mut Vec<Place>, more: Vec<Place>) {
    for place in more {
        if !places.contains(&place) {
            places.push(place);
        }
    }
}

fn shown(places: &[Place]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(crate) fn listed(slice: &EndpointSlice) -> Vec<Place> {
    let ports: Vec<u16> = slice
        .ports
        .iter()
        .flatten()
        .filter_map(|port| port.port.and_then(|port| u16::try_from(port).ok()))
        .collect();
    let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
    });
    let addresses = ready.flat_map(|endpoint| endpoint.addresses.iter());
    addresses.flat_map(|address| ports.iter().map(move |port| Place::new(address, *port))).collect()
}

/// A client with the identity that a machine has in its cluster already.
pub(crate) fn client(data: &Path) -> Result<Client, JoinError> {
    let record: Option<Record> =
        kedge_pki::read(&record_file(data))?.and_then(|text| serde_json::from_str(&text).ok());
    let read = |path: PathBuf| kedge_pki::read(&path)?.ok_or(JoinError::NoToken);
    let key = read(folder(data).join("node-client.key"))?;
    let ties = ties(&read(authority_file(data))?, &read(certificate_file(data))?, &key);
    let places = record.ok_or(JoinError::NoToken)?.servers;
    Ok(Servers::new(places, &ties)?.client())
}

fn ties(authority: &str, certificate: &str, key: &str) -> Ties {
    Ties::Certificate {
        authority: authority.to_owned(),
        certificate: certificate.to_owned(),
        key: key.to_owned(),
    }
}

fn token(settings: &AgentSettings) -> Result<Option<Token>, JoinError> {
    let text = match (&settings.token, &settings.token_file) {
        (Some(secret), _) => secret.0.clone(),
        (None, Some(path)) => std::fs::read_to_string(path)
            .map_err(|source| JoinError::TokenFile { path: path.clone(), source })?,
        (None, None) => return Ok(None),
    };
    text.parse().map(Some).map_err(JoinError::BadToken)
}

/// Whether what is kept is still good; the error says why not.
fn judge(authority: &str, certificate: &str, node: &str, now: Timestamp) -> Result<(), String> {
    let subject = kedge_pki::subject(certificate, authority, now)?;
    match subject.common_name == format!("system:node:{node}") {
        true => Ok(()),
        false => Err(format!("it is for {}", subject.common_name)),
    }
}

/// The authority's certificate and our own. The token is sent only to servers of the cluster that it names.
async fn join(
    token: &Token,
    places: &[Place],
    node: &str,
    key: &str,
    clock: &Clock,
) -> Result<(String, String), JoinError> {
    let blind = Servers::new(places.to_vec(), &Ties::Blind)?.client();
    let info = Info::read(&blind).await.map_err(|error| match error {
        TokenError::Api(error) | TokenError::Silent(error) => JoinError::Unreachable(error),
        error => JoinError::Info(error),
    })?;
    let found = kedge_pki::fingerprint(&info.authority).ok_or(JoinError::Info(TokenError::Authority))?;
    if found != token.authority {
        let (servers, wanted) = (shown(places), token.authority.clone());
        return Err(JoinError::WrongAuthority { servers, found, wanted });
    }
    let authority = info.authority;
    let ties = Ties::Token { authority: authority.clone(), token: token.bearer() };
    let client: Client = Servers::new(places.to_vec(), &ties)?.client();
    let asked = ask(&client, Signer::Client, &names(node, Vec::new()), key, PATIENCE, clock).await;
    let certificate = asked.map_err(|error| match error {
        AskError::Api(error) => match *error {
            kube::Error::Api(status) if status.code == 401 => JoinError::WrongToken,
            kube::Error::Api(status) => JoinError::Refused { node: node.to_owned(), why: status.message },
            error => JoinError::Unreachable(Box::new(error)),
        },
        AskError::Refused(why) => JoinError::Refused { node: node.to_owned(), why },
        error => JoinError::Ask(error),
    })?;
    Ok((authority, certificate))
}

#[cfg(test)]
mod tests;
