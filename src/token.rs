//! Tokens with which machines join the cluster: what they look like, and the Secrets that they are. A token names the cluster's
//! authority by its hash, so that whoever shows it shows it to the true cluster only.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kedge_client::{Client, Objects, Place};
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_pki::PkiError;
use kedge_registry::User;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde::Deserialize;

use crate::cluster::Cluster;

/// What every token of ours begins with.
const KIND: &str = "kedge1";
const NAMESPACE: &str = "kube-system";
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const ID: usize = 6;
const SECRET: usize = 16;
/// In the server's data folder, for whoever sets up further nodes.
const FILE: &str = "node-token";
/// After the API did not take it.
const AGAIN: Duration = Duration::from_secs(2);
/// How long what is shown at a start is good for.
const SHOWN: Duration = Duration::from_secs(60 * 60);

/// `kedge1.<the authority's hash>.<id>.<secret>`
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// SHA-256 of the authority's certificate, in hexadecimal.
    pub(crate) authority: String,
    pub(crate) id: String,
    secret: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the API does not take it")]
    Api(#[source] Box<kube::Error>),
    #[error("no server answers: `kedge status` says whether one runs here, --kubeconfig names one elsewhere")]
    Silent(#[source] Box<kube::Error>),
    #[error("{} may not be read: use sudo, or name another with --kubeconfig", path.display())]
    Shut { path: PathBuf },
    #[error(transparent)]
    Kubeconfig(Box<crate::control::ControlError>),
    #[error("the cluster does not say where it is: does its server run controllers?")]
    NoInfo(#[source] Option<Box<kube::Error>>),
    #[error("what the cluster says of itself cannot be read")]
    Info(#[source] Box<serde_saphyr::Error>),
    #[error("the certificate of the cluster's authority cannot be read")]
    Authority,
    #[error("cannot keep the token")]
    Keep(#[from] PkiError),
    #[error("there is no token {id}; `kedge token list` shows those there are")]
    Unknown { id: String },
    #[error("a token cannot be good for {0:?}")]
    Life(Duration),
}

impl From<Box<kube::Error>> for TokenError {
    fn from(error: Box<kube::Error>) -> Self {
        match *error {
            kube::Error::Api(_) => TokenError::Api(error),
            _ => TokenError::Silent(error),
        }
    }
}

impl Token {
    /// A new one, that nobody can guess.
    fn new(authority: String) -> Self {
        Self { authority, id: chance(ID), secret: chance(SECRET) }
    }

    /// What is shown to the API.
    pub(crate) fn bearer(&self) -> String {
        format!("{}.{}", self.id, self.secret)
    }

    fn text(&self) -> String {
        format!("{KIND}.{}.{}.{}", self.authority, self.id, self.secret)
    }
}

/// Nobody reads the secret in a log.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.id)
    }
}

impl FromStr for Token {
    type Err = String;

    /// The error does not repeat the text: it may hold half a secret.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("a token looks like {KIND}.<hash>.<id>.<secret>; `kedge token create` makes one");
        let parts: Vec<&str> = text.trim().split('.').collect();
        let [KIND, authority, id, secret] = parts[..] else { return Err(wrong()) };
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_hash = authority.len() == 64 && authority.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash || id.len() != ID || secret.len() != SECRET || !plain(id) || !plain(secret) {
            return Err(wrong());
        }
        let (authority, id, secret) = (authority.to_ascii_lowercase(), id.to_owned(), secret.to_owned());
        Ok(Self { authority, id, secret })
    }
}

/// So many letters and digits by chance.
fn chance(length: usize) -> String {
    let mut left = uuid::Uuid::new_v4().as_u128() ^ uuid::Uuid::new_v4().as_u128().rotate_left(64);
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    (0..length)
        .map(|_| {
            let letter = letters[(left % 36) as usize];
            left /= 36;
            char::from(letter)
        })
        .collect()
}

/// Where the cluster is and whom it trusts, as it tells everybody.
pub(crate) struct Info {
    /// The authority's certificate, PEM.
    pub(crate) authority: String,
    pub(crate) server: String,
}

impl Info {
    pub(crate) async fn read(client: &Client) -> Result<Self, TokenError> {
        #[derive(Deserialize)]
        struct Config {
            clusters: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            cluster: Entry,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Entry {
            server: String,
            certificate_authority_data: String,
        }
        let map = Objects::<ConfigMap>::within(client, "kube-public").get("cluster-info").await;
        let map = map.map_err(|error| match error {
            kube::Error::Api(_) => TokenError::NoInfo(Some(Box::new(error))),
            error => TokenError::Silent(Box::new(error)),
        })?;
        let text = map.data.and_then(|mut data| data.remove("kubeconfig")).ok_or(TokenError::NoInfo(None))?;
        let config: Config =
            serde_saphyr::from_str(&text).map_err(|error| TokenError::Info(Box::new(error)))?;
        let entry = config.clusters.into_iter().next().ok_or(TokenError::NoInfo(None))?.cluster;
        let pem = STANDARD.decode(&entry.certificate_authority_data).ok();
        let authority = pem.and_then(|pem| String::from_utf8(pem).ok()).ok_or(TokenError::Authority)?;
        Ok(Self { authority, server: entry.server })
    }
}

/// Makes what machines need that join this server, and keeps at it until it is done: what all nodes know alike, and a token in the
/// data folder. Then says how a machine joins.
pub(crate) async fn welcome(
    router: Router,
    cluster: Cluster,
    authority: String,
    data: PathBuf,
    clock: Clock,
) {
    let user = User {
        name: "system:kedge".to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    cluster.publish(&client, &clock).await;
    let path = data.join(FILE);
    while let Err(error) = keep(&client, &authority, &path).await {
        tracing::warn!("no machine can join yet: {}", crate::told(&error));
        clock.sleep(AGAIN).await;
    }
    // A secret is for a person's eyes; a log gets none.
    if io::stdout().is_terminal() {
        let _if_anybody_reads_on = crate::say(&invitation(&client, &clock).await);
    } else {
        let (data, path) = (data.display(), path.display());
        tracing::info!(
            "to add a node, run on it what `kedge token create --print-join-command --data-dir {data}` shows here; {path} holds a token too"
        );
    }
}

/// The command with which a machine joins, with a token that soon ends.
pub(crate) async fn invitation(client: &Client, clock: &Clock) -> String {
    loop {
        match create(client, SHOWN, "Shown when the server started.", true, clock.now()).await {
            Ok(command) => return format!("To add a node, run on it as root, within an hour:\n  {command}"),
            // Where it is the cluster says a moment after its start.
            Err(error) => tracing::debug!("no machine can join yet: {}", crate::told(&error)),
        }
        clock.sleep(AGAIN).await;
    }
}

/// The token in the file is one of the cluster's. If somebody took it back, there is another.
async fn keep(client: &Client, authority: &str, path: &Path) -> Result<(), TokenError> {
    let hash = kedge_pki::fingerprint(authority).ok_or(TokenError::Authority)?;
    let kept: Option<Token> = kedge_pki::read(path)?.and_then(|text| text.parse().ok());
    if let Some(kept) = kept.filter(|kept| kept.authority == hash) {
        let secrets = Objects::<Secret>::within(client, NAMESPACE);
        if secrets.find(&secret_name(&kept.id)).await.map_err(Box::new)?.is_some() {
            return Ok(());
        }
    }
    let token = Token::new(hash);
    make(client, &token, None, "The server's own token for further nodes.").await?;
    Ok(kedge_pki::write_private(path, &format!("{}\n", token.text()))?)
}

fn secret_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

async fn make(
    client: &Client,
    token: &Token,
    ends: Option<Timestamp>,
    description: &str,
) -> Result<(), TokenError> {
    let mut data = BTreeMap::from([
        ("token-id".to_owned(), token.id.clone()),
        ("token-secret".to_owned(), token.secret.clone()),
        ("usage-bootstrap-authentication".to_owned(), "true".to_owned()),
        ("usage-bootstrap-signing".to_owned(), "true".to_owned()),
        ("description".to_owned(), description.to_owned()),
    ]);
    data.extend(ends.map(|ends| ("expiration".to_owned(), ends.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())));
    let mut secret =
        Secret { type_: Some(SECRET_TYPE.to_owned()), string_data: Some(data), ..Secret::default() };
    secret.metadata.name = Some(secret_name(&token.id));
    let secrets = Objects::<Secret>::within(client, NAMESPACE);
    secrets.create(&secret).await.map_err(Box::new)?;
    Ok(())
}

/// A client with the administrator's rights, from the kubeconfig in a server's data folder or from another.
pub(crate) async fn admin(data: &Path, kubeconfig: Option<PathBuf>) -> Result<Client, TokenError> {
    let path = kubeconfig.unwrap_or_else(|| data.join("kubeconfig"));
    if std::fs::File::open(&path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        return Err(TokenError::Shut { path });
    }
    crate::control::remote(&path).await.map_err(|error| TokenError::Kubeconfig(Box::new(error)))
}

/// Makes a token that is good for a while, or for ever, and answers with it or with all that is to be typed.
pub(crate) async fn create(
    client: &Client,
    life: Duration,
    description: &str,
    as_command: bool,
    now: Timestamp,
) -> Result<String, TokenError> {
    let info = Info::read(client).await?;
    let token = Token::new(kedge_pki::fingerprint(&info.authority).ok_or(TokenError::Authority)?);
    let ends = match life.is_zero() {
        true => None,
        false => {
            let wrong = |_| TokenError::Life(life);
            Some(
                now.checked_add(SignedDuration::try_from(life).map_err(|_| TokenError::Life(life))?)
                    .map_err(wrong)?,
            )
        }
    };
    make(client, &token, ends, description).await?;
    if !as_command {
        return Ok(format!("{}\n", token.text()));
    }
    // Not among the arguments, which everybody reads who lists processes.
    let mut text = format!("KEDGE_TOKEN={} kedge agent --server {}\n", token.text(), info.server);
    let host = info.server.parse::<Place>().ok().and_then(|place| place.host.parse::<IpAddr>().ok());
    if host.is_some_and(|host| host.is_loopback()) {
        text.push_str("# Other machines do not reach this server: start it with --listen 0.0.0.0:6443.\n");
    }
    Ok(text)
}

/// All tokens, without their secrets.
pub(crate) async fn list(client: &Client, now: Timestamp) -> Result<String, TokenError> {
    let secrets = Objects::<Secret>::within(client, NAMESPACE);
    let params = ListParams::default().fields(&format!("type={SECRET_TYPE}"));
    let all = secrets.list(&params).await.map_err(Box::new)?;
    let mut text = format!("{:<8} {:<22} {}\n", "ID", "ENDS", "DESCRIPTION");
    for secret in all {
        let data = secret.data.clone().unwrap_or_default();
        let field = |name: &str| {
            data.get(name).map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
        };
        let ends = match field("expiration") {
            text if text.is_empty() => "never".to_owned(),
            text if text.parse::<Timestamp>().is_ok_and(|ends| ends > now) => text,
            text => format!("{text} (over)"),
        };
        let name = secret.name_any();
        let id = name.strip_prefix("bootstrap-token-").unwrap_or(&name).to_owned();
        text.push_str(&format!("{id:<8} {ends:<22} {}\n", field("description")));
    }
    Ok(text)
}

/// Takes tokens back, by their ids or as a whole. Nodes that joined with them stay.
pub(crate) async fn delete(client: &Client, tokens: &[String]) -> Result<String, TokenError> {
    let secrets = Objects::<Secret>::within(client, NAMESPACE);
    let mut text = String::new();
    for token in tokens {
        let id = token.parse::<Token>().map_or_else(|_| token.clone(), |token| token.id);
        match secrets.delete(&secret_name(&id), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(TokenError::Unknown { id }),
            deleted => drop(deleted.map_err(Box::new)?),
        }
        text.push_str(&format!("nobody joins with {id} any more\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_are_written_and_never_shown() {
        let token = Token::new("ab".repeat(32));
        assert_eq!(token.text().parse(), Ok(token.clone()));
        assert_eq!(format!("\n{}\n", token.text()).parse(), Ok(token.clone()), "as it comes from a file");
        assert_eq!(format!("{token:?}"), format!("Token({})", token.id));
        assert_ne!(token, Token::new("ab".repeat(32)));
        let hash = "0".repeat(64);
        for wrong in [
            "".to_owned(),
            "abcdef.0123456789abcdef".to_owned(),
            format!("kedge2.{hash}.abcdef.0123456789abcdef"),
            format!("kedge1.{hash}x.abcdef.0123456789abcdef"),
            format!("kedge1.{hash}.abcde.0123456789abcdef"),
            format!("kedge1.{hash}.abcdef.0123456789ABCDEF"),
            format!("kedge1.{hash}.abcdef.0123456789abcdef.x"),
        ] {
            let told = wrong.parse::<Token>().unwrap_err();
            assert!(!told.contains("0123456789"), "{told}");
        }
    }
}
