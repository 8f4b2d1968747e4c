//! Keeps the names in a file, so that a node whose API is away answers from its first moment. Written some time after they changed and
//! never while they are the same; what cannot be read is as good as nothing.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::time::Duration;

use kedge_clock::Clock;

use crate::dns::Dns;
use crate::hosts::Hosts;
use crate::index::Index;

/// Changes come together.
const SETTLING: Duration = Duration::from_secs(2);
/// What is written again and again is written no more often than this.
const PAUSE: Duration = Duration::from_secs(30);

/// Takes in what was known before.
pub(crate) fn recall(path: &Path, index: &mut Index, hosts: &Hosts) {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            tracing::warn!("cannot read the names of before from {}: {error}", path.display());
            return;
        }
    };
    match index.recall(&text) {
        Ok(names) => hosts.set(names.iter().map(String::as_str)),
        Err(error) => tracing::info!("the names of before in {} do not count: {error}", path.display()),
    }
}

/// Writes them down whenever they are others. Never ends.
pub(crate) async fn keep(path: &Path, dns: &Dns, clock: &Clock) {
    let mut written = None;
    loop {
        dns.changed().await;
        clock.sleep(SETTLING).await;
        let (dns, to) = (dns.clone(), path.to_owned());
        let Ok(done) = tokio::task::spawn_blocking(move || write(&dns, &to, written)).await else { return };
        match done {
            Ok(now) => written = now,
            Err(error) => tracing::warn!("cannot write down the names in {}: {error}", path.display()),
        }
        clock.sleep(PAUSE).await;
    }
}

/// Says what the file has now, in short; whoever is killed meanwhile leaves the one of before.
fn write(dns: &Dns, path: &Path, written: Option<u64>) -> io::Result<Option<u64>> {
    let Some(text) = dns.text() else { return Ok(written) };
    let text = text?;
    let mut short = DefaultHasher::new();
    text.hash(&mut short);
    let now = Some(short.finish());
    if now != written {
        let new = path.with_extension("new");
        fs::write(&new, text)?;
        fs::rename(&new, path)?;
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::*;
    use crate::run::Settings;
    use crate::testing::{Cluster, settings, small};
    use crate::wire::kind;

    #[tokio::test]
    async fn what_was_known_is_answered_and_nothing_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dns-names");
        let before = Cluster::new(&small());
        before.hosts.set(["shop.example"]);
        let written = write(&before.dns, &path, None).unwrap();
        assert!(written.is_some());
        let file = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(write(&before.dns, &path, written).unwrap(), written);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), file, "the same is not written again");

        let told = Settings { memory: Some(path.clone()), ..settings() };
        let after = Cluster::unread(told, None);
        for (name, asked) in [
            ("web.default.svc.cluster.local", kind::A),
            ("web.default.svc.cluster.local", kind::AAAA),
            ("both.shop.svc.cluster.local", kind::AAAA),
            ("_http._tcp.web.default.svc.cluster.local", kind::SRV),
            ("db-0.db.default.svc.cluster.local", kind::A),
            ("_sql._tcp.db.default.svc.cluster.local", kind::SRV),
            ("10-244-7-7.default.pod.cluster.local", kind::A),
            ("7.0.96.10.in-addr.arpa", kind::PTR),
            ("shop.example", kind::A),
        ] {
            assert_eq!(after.wait(name, asked).await, before.wait(name, asked).await, "{name}");
        }
        for name in ["new.default.svc.cluster.local", "x.nowhere.svc.cluster.local", "other.cluster.local"] {
            assert_eq!(after.wait(name, kind::A).await, "2", "{name}: it may be there by now");
        }
    }

    #[test]
    fn what_is_no_memory_of_this_cluster_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dns-names");
        let elsewhere =
            Cluster::with(Settings { zone: "other.local".to_owned(), ..settings() }, &small(), None);
        let zone = crate::wire::Name::parse("cluster.local").unwrap();
        let fresh = || Index::new(zone.clone(), Vec::<IpAddr>::new());
        let nothing = fresh().text(Vec::new()).unwrap();
        for (case, text) in [
            ("another domain", elsewhere.dns.text().unwrap().unwrap()),
            ("cut off", b"{\"zone\":\"cluster.local.\",".to_vec()),
            ("nothing", Vec::new()),
        ] {
            fs::write(&path, text).unwrap();
            let (mut index, hosts) = (fresh(), Hosts::default());
            recall(&path, &mut index, &hosts);
            assert_eq!(index.text(hosts.all()).unwrap(), nothing, "{case}");
        }
        let mut index = fresh();
        recall(Path::new("/nowhere/at/all"), &mut index, &Hosts::default());
        assert_eq!(Arc::new(index).text(Vec::new()).unwrap(), nothing);
    }
}
