//! Bootstrap tokens: what a machine shows that is not part of the cluster yet. Each is a Secret of kube-system and worth
//! as much as that says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kedge_registry::{Registry, User};
use serde_json::Value;

use crate::token::{self, TokenError};

pub(crate) const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const GROUP: &str = "system:bootstrappers";

/// `abcdef.0123456789abcdef`: the two halves, if the text has that form.
fn halves(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (id.len() == 6 && secret.len() == 16 && plain(id) && plain(secret)).then_some((id, secret))
}

/// The user of a bootstrap token; `None` if this is none, or none that is good now.
pub(crate) async fn user(
    registry: &Registry,
    token: &str,
    now: Timestamp,
) -> Result<Option<User>, TokenError> {
    let Some((id, secret)) = halves(token) else { return Ok(None) };
    let name = format!("bootstrap-token-{id}");
    let found = token::find(registry, "secrets", "kube-system", &name).await?;
    Ok(found.and_then(|object| judge(&object, id, secret, now)))
}

fn judge(object: &Value, id: &str, secret: &str, now: Timestamp) -> Option<User> {
    let good = object["type"] == SECRET_TYPE
        && !object["metadata"]["deletionTimestamp"].is_string()
        && token::same(data(object, "token-secret")?.as_bytes(), secret.as_bytes())
        && data(object, "token-id")? == id
        && !has_expired(object, now)
        && data(object, "usage-bootstrap-authentication")? == "true";
    if !good {
        return None;
    }
    let mut groups = vec![GROUP.to_owned()];
    for group in data(object, "auth-extra-groups").unwrap_or_default().split(',').map(str::trim) {
        if group.is_empty() {
            continue;
        }
        let rest = group.strip_prefix("system:bootstrappers:")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-');
        let edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let sound = rest.bytes().all(plain) && edge(rest.as_bytes().first()) && edge(rest.as_bytes().last());
        // A group that must not be there spoils the token as a whole.
        sound.then(|| groups.push(group.to_owned()))?;
    }
    groups.sort();
    groups.push("system:authenticated".to_owned());
    Some(User { name: format!("system:bootstrap:{id}"), groups, ..User::default() })
}

/// Whether its time is over; one that cannot be read is over too.
pub(crate) fn has_expired(object: &Value, now: Timestamp) -> bool {
    match data(object, "expiration") {
        None => false,
        Some(text) if text.is_empty() => false,
        Some(text) => text.parse::<Timestamp>().map_or(true, |ends| ends <= now),
    }
}

pub(crate) fn data(object: &Value, key: &str) -> Option<String> {
    let bytes = STANDARD.decode(object["data"][key].as_str()?).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
