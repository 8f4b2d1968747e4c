//! The etcd that servers share, as a person names it: where it is, whom to trust there and who to be. Talks to nobody.

use std::io;
use std::path::{Path, PathBuf};

use kedge_store::EtcdTls;

use crate::settings::Settings;

#[derive(Debug, thiserror::Error)]
pub(crate) enum EtcdError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{url} is met by TLS: say with --etcd-cafile which authority to trust there")]
    NoAuthority { url: String },
    #[error("{url} is not encrypted: certificates of etcd need https://")]
    Plain { url: String },
    #[error("--etcd-certfile and --etcd-keyfile need each other")]
    HalfIdentity,
}

/// None where nothing is encrypted.
pub(crate) fn tls(settings: &Settings, urls: &[String]) -> Result<Option<EtcdTls>, EtcdError> {
    let is_plain = |url: &&String| !url.starts_with("https://");
    let identity = match (&settings.etcd_certfile, &settings.etcd_keyfile) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => return Err(EtcdError::HalfIdentity),
    };
    let Some(authority) = &settings.etcd_cafile else {
        return match urls.iter().find(|url| !is_plain(url)) {
            Some(url) => Err(EtcdError::NoAuthority { url: url.clone() }),
            None => Ok(None),
        };
    };
    if let Some(url) = urls.iter().find(is_plain) {
        return Err(EtcdError::Plain { url: url.clone() });
    }
    let identity = identity.map(|(certificate, key)| Ok((read(certificate)?, read(key)?))).transpose()?;
    Ok(Some(EtcdTls { ca: read(authority)?, identity }))
}

fn read(path: &Path) -> Result<Vec<u8>, EtcdError> {
    std::fs::read(path).map_err(|source| EtcdError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcd_is_trusted_only_as_far_as_somebody_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            std::fs::write(folder.path().join(name), name).unwrap();
            Some(folder.path().join(name))
        };
        let (ca, cert, key) = (file("ca"), file("cert"), file("key"));
        let (plain, safe) = ("http://127.0.0.1:2379", "https://127.0.0.1:2379");
        let nowhere = Some(folder.path().join("nowhere"));
        for (url, [cafile, certfile, keyfile], told) in [
            (plain, [&None, &None, &None], "nothing"),
            (safe, [&ca, &None, &None], "ca"),
            (safe, [&ca, &cert, &key], "ca, cert, key"),
            (safe, [&None, &None, &None], "--etcd-cafile"),
            (plain, [&ca, &None, &None], "https://"),
            (safe, [&ca, &cert, &None], "need each other"),
            (safe, [&nowhere, &None, &None], "cannot read"),
        ] {
            let settings = Settings {
                etcd_cafile: cafile.clone(),
                etcd_certfile: certfile.clone(),
                etcd_keyfile: keyfile.clone(),
                ..Settings::default()
            };
            let said = match tls(&settings, &[url.to_owned()]) {
                Ok(None) => "nothing".to_owned(),
                Ok(Some(EtcdTls { ca, identity })) => {
                    let all =
                        std::iter::once(ca).chain(identity.into_iter().flat_map(|(one, two)| [one, two]));
                    all.map(|text| String::from_utf8(text).unwrap()).collect::<Vec<_>>().join(", ")
                }
                Err(error) => error.to_string(),
            };
            assert!(said.contains(told), "{url} {cafile:?} {certfile:?}: {said}");
        }
    }
}
