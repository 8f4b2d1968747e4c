//! Who a pod is to the registry of an image: its own pull secrets first, then what the node may use for everybody.

use k8s_openapi::api::core::v1::Secret;
use kedge_client::Objects;
use kedge_engine::Severity;
use kedge_images::{Credentials, Digest, Keyring, Reference};
use kedge_runtime::wire::AuthConfig;

use super::{Failure, Work};

/// One way in, and whether it is only this pod's.
pub(super) struct Way {
    pub(super) auth: AuthConfig,
    /// A fingerprint of the credentials; none if they are the node's.
    pub(super) owner: Option<String>,
}

/// All ways that may lead in, the most fitting first. None at all is no failure: the image may be open to everybody.
pub(super) async fn ways(work: &Work, image: &Reference) -> Result<Vec<Way>, Failure> {
    let own = own(work).await?;
    let repository = image.repository();
    let own = own.find(&repository).into_iter().map(|found| way(found, image, true));
    let nodes = work.tools.keyring.find(&repository).into_iter().map(|found| way(found, image, false));
    Ok(own.chain(nodes).collect())
}

fn way(found: &Credentials, image: &Reference, is_own: bool) -> Way {
    let Credentials { username, password } = found.clone();
    let owner = is_own.then(|| Digest::of(format!("{username}:{password}").as_bytes()).to_string());
    // They are for the registry itself and not for its mirrors. The usual one answers under another name than its own.
    let server_address =
        if image.host == "docker.io" { String::new() } else { format!("https://{}", image.host) };
    Way { auth: AuthConfig { username, password, server_address, ..AuthConfig::default() }, owner }
}

async fn own(work: &Work) -> Result<Keyring, Failure> {
    let mut ring = Keyring::default();
    let spec = work.pod.spec.as_ref();
    let names = spec.and_then(|spec| spec.image_pull_secrets.as_deref()).unwrap_or_default();
    if names.is_empty() {
        return Ok(ring);
    }
    let namespace = work.pod.metadata.namespace.as_deref().unwrap_or_default();
    let secrets = Objects::<Secret>::within(&work.tools.client, namespace);
    let mut missing = Vec::new();
    for name in names.iter().map(|wanted| &wanted.name).filter(|name| !name.is_empty()) {
        match secrets.find(name).await {
            Ok(Some(secret)) => add(&mut ring, &secret).map_err(|error| {
                Failure::of("ErrImagePull", format!("the pull secret {name:?} is wrong: {error}"))
            })?,
            Ok(None) => missing.push(name.clone()),
            Err(error) => {
                tracing::debug!(%error, secret = name, "cannot read a pull secret");
                missing.push(name.clone());
            }
        }
    }
    if !missing.is_empty() {
        let message = format!(
            "Unable to retrieve some image pull secrets ({}); attempting to pull the image may not succeed.",
            missing.join(", ")
        );
        let reason = "FailedToRetrieveImagePullSecret";
        work.tools.tell(&work.pod, Severity::Warning, reason, message);
    }
    Ok(ring)
}

fn add(ring: &mut Keyring, secret: &Secret) -> Result<(), kedge_images::KeyringError> {
    let data = secret.data.as_ref();
    let field = |name: &str| data.and_then(|data| data.get(name)).map(|bytes| &bytes.0[..]);
    match secret.type_.as_deref() {
        Some("kubernetes.io/dockerconfigjson") => {
            field(".dockerconfigjson").map_or(Ok(()), |text| ring.add_config(text))
        }
        Some("kubernetes.io/dockercfg") => {
            field(".dockercfg").map_or(Ok(()), |text| ring.add_old_config(text))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_kinds_of_secrets_are_read_and_others_are_not() {
        let secret = |kind: &str, key: &str, text: &str| -> Secret {
            let data = k8s_openapi::ByteString(text.as_bytes().to_vec());
            serde_json::from_value(json!({"metadata": {}, "type": kind, "data": {key: data}})).unwrap()
        };
        let entry = r#"{"username":"u","password":"p"}"#;
        let new = format!(r#"{{"auths":{{"a.io":{entry}}}}}"#);
        let old = format!(r#"{{"b.io":{entry}}}"#);
        let mut ring = Keyring::default();
        for secret in [
            secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", &new),
            secret("kubernetes.io/dockercfg", ".dockercfg", &old),
            secret("Opaque", ".dockerconfigjson", &new.replace("a.io", "c.io")),
        ] {
            add(&mut ring, &secret).unwrap();
        }
        let found: Vec<_> = ["a.io/x", "b.io/x", "c.io/x"].map(|place| ring.find(place).len()).into();
        assert_eq!(found, [1, 1, 0]);
        assert!(add(&mut ring, &secret("kubernetes.io/dockercfg", ".dockercfg", "{")).is_err());
    }

    #[test]
    fn credentials_are_for_the_registry_alone() {
        let credentials = Credentials { username: "u".to_owned(), password: "p".to_owned() };
        for (image, address) in [
            ("r.io:5000/app", "https://r.io:5000"),
            ("busybox", ""),
            ("localhost:1/app", "https://localhost:1"),
        ] {
            let image = Reference::parse(image).unwrap();
            assert_eq!(way(&credentials, &image, false).auth.server_address, address);
        }
        let image = Reference::parse("busybox").unwrap();
        let owner = way(&credentials, &image, true).owner.unwrap();
        assert!(owner.starts_with("sha256:") && !owner.contains('p'), "{owner}");
    }
}
