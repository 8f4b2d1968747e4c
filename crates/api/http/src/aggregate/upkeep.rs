//! Keeps APIServices true: those of our own groups exist, each says whether its server answers, and what extension servers
//! offer is known. Sleeps while nothing changes and there is no extension server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kedge_kinds::Status;
use kedge_registry::{At, DeleteOptions, WriteOptions};
use kedge_store::{Watch, WatchEnd};
use serde_json::{Value, json};

use super::available::{self, Finding};
use super::front_proxy::NAME;
use super::{PREFIX, Remote, discovery, local};
use crate::api::Api;

/// How often a server that answered is asked again, and one that didn't.
const RESYNC: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(2);
/// Changes that come together are looked at together.
const GATHER: Duration = Duration::from_millis(20);

const SOON: Duration = Duration::from_millis(500);

/// Where these stand among the watches.
const PREFIX_AT: usize = 0;
const DEFINITIONS_AT: usize = 1;
const DEFINITIONS: &str = "/registry/customresourcedefinitions/";
const TRUST: &str = "/registry/configmaps/kube-system/extension-apiserver-authentication";

/// Runs until the store ends. `client_ca` is the PEM of the authority that signs clients' certificates.
pub(crate) async fn tend(api: Arc<Api>, client_ca: String) {
    let store = api.registry().store().clone();
    let mut defined = false;
    loop {
        let revision = store.snapshot().revision();
        let extended = !api.aggregation().remotes().is_empty();
        let mut prefixes = vec![PREFIX, DEFINITIONS, TRUST];
        if extended {
            prefixes.extend(["/registry/services/", "/registry/endpointslices/"]);
        }
        let watches: Result<Vec<Watch>, _> =
            prefixes.iter().map(|prefix| store.watch(prefix, revision)).collect();
        let Ok(mut watches) = watches else { return };
        while extended != api.aggregation().remotes().is_empty() {
            let mut again = look(&api, &client_ca).await;
            // A definition's kinds are served a moment after it is stored.
            if std::mem::take(&mut defined) {
                again = Some(again.map_or(SOON, |again| again.min(SOON)));
            }
            let event = tokio::select! {
                event = any(&mut watches) => event,
                () = tokio::time::sleep(again.unwrap_or(RESYNC)), if again.is_some() => Ok(PREFIX_AT),
            };
            match event {
                Ok(place) => defined = place == DEFINITIONS_AT,
                Err(WatchEnd::Lagged) => break,
                Err(WatchEnd::Stopped) => return,
            }
            tokio::time::sleep(GATHER).await;
            while let Some(event) = watches.iter_mut().find_map(Watch::try_next) {
                match event {
                    Ok(_) => {}
                    Err(WatchEnd::Lagged) => break,
                    Err(WatchEnd::Stopped) => return,
                }
            }
        }
    }
}

/// Waits for the next event and says which watch it came from.
async fn any(watches: &mut [Watch]) -> Result<usize, WatchEnd> {
    let waiting = watches.iter_mut().map(|watch| Box::pin(async move { watch.next().await.map(|_| ()) }));
    let (event, place, _) = futures::future::select_all(waiting).await;
    event.map(|()| place)
}

/// Looks at everything once. Says when to look again though nothing happens.
async fn look(api: &Arc<Api>, client_ca: &str) -> Option<Duration> {
    let mut again = None;
    for done in [trust(api, client_ca).await, registered(api).await] {
        if let Err(status) = done
            && !matches!(status.code, 404 | 409)
        {
            tracing::warn!("cannot keep APIServices yet: {status}");
            again = Some(RETRY);
        }
    }
    let remotes = api.aggregation().remotes();
    let findings = join_all(remotes.iter().map(|remote| checked(api, remote))).await;
    for (remote, finding) in remotes.iter().zip(findings) {
        let wait = if finding.available { RESYNC } else { RETRY };
        again = Some(again.map_or(wait, |again: Duration| again.min(wait)));
        if let Err(status) = tell(api, &remote.name, &finding).await
            && !matches!(status.code, 404 | 409)
        {
            tracing::warn!("cannot say whether {} is available: {status}", remote.name);
        }
        let offer = discovery::fetch(api.aggregation(), remote, finding.available, api.clock().now()).await;
        api.aggregation().offer(&remote.name, Some(offer));
    }
    let gone = api.aggregation().offers.read().keys().cloned().collect::<BTreeSet<_>>();
    let known: BTreeSet<Arc<str>> = remotes.iter().map(|remote| remote.name.clone()).collect();
    for name in gone.difference(&known) {
        api.aggregation().offer(name, None);
    }
    again
}

async fn checked(api: &Api, remote: &Remote) -> Finding {
    let found = available::stored(&api.registry().store().snapshot(), remote);
    match found {
        Some(finding) => finding,
        None => available::asked(api.aggregation(), remote, api.clock().now()).await,
    }
}

async fn tell(api: &Api, name: &str, finding: &Finding) -> Result<(), Status> {
    let at = at(api, "apiregistration.k8s.io", "apiservices", None, Some(name))?;
    let at = At { subresource: Some("status".into()), ..at };
    let Some(mut object) = stored(api, &format!("{PREFIX}{name}")) else { return Ok(()) };
    if finding.put(&mut object, api.clock().now()) {
        api.registry().update(&at, object, &options()).await?;
    }
    Ok(())
}

/// Each version of each group that we serve has an APIService; ours that we no longer serve have none.
async fn registered(api: &Api) -> Result<(), Status> {
    let wanted = local::wanted(&api.registry().catalog());
    let snapshot = api.registry().store().snapshot();
    let mut there = BTreeSet::new();
    let mut gone = Vec::new();
    for (key, entry) in snapshot.range(PREFIX, None) {
        let name = key.as_str().strip_prefix(PREFIX).unwrap_or_default().to_owned();
        let object: Value = serde_json::from_slice(entry.bytes()).unwrap_or_default();
        if !object["spec"]["service"].is_object() && !available::is_available(&object) {
            tell(api, &name, &Finding::local()).await?;
        }
        let ours = object["metadata"]["labels"][local::LABEL].is_string();
        if ours && !wanted.contains_key(&name) {
            gone.push(name.clone());
        }
        there.insert(name);
    }
    drop(snapshot);
    for name in gone {
        let at = at(api, "apiregistration.k8s.io", "apiservices", None, Some(&name))?;
        api.registry().delete(&at, &DeleteOptions::default(), &options()).await?;
    }
    let made =
        wanted.into_iter().filter(|(name, _)| !there.contains(name)).map(|(name, object)| async move {
            let at = at(api, "apiregistration.k8s.io", "apiservices", None, None)?;
            api.registry().create(&at, object, &options()).await?;
            tell(api, &name, &Finding::local()).await
        });
    join_all(made).await.into_iter().collect()
}

/// What extension servers need to know to believe us.
async fn trust(api: &Api, client_ca: &str) -> Result<(), Status> {
    let mut data = json!({"client-ca-file": client_ca});
    if let Some(proxy) = &api.aggregation().front_proxy {
        data["requestheader-client-ca-file"] = proxy.pem().into();
        for (key, name) in [
            ("allowed-names", NAME),
            ("extra-headers-prefix", "X-Remote-Extra-"),
            ("group-headers", "X-Remote-Group"),
            ("username-headers", "X-Remote-User"),
        ] {
            data[format!("requestheader-{key}")] = json!([name]).to_string().into();
        }
    }
    let name = "extension-apiserver-authentication";
    match stored(api, TRUST) {
        Some(map) if map["data"] == data => Ok(()),
        Some(mut map) => {
            map["data"] = data;
            let at = at(api, "", "configmaps", Some("kube-system"), Some(name))?;
            api.registry().update(&at, map, &options()).await.map(|_| ())
        }
        None => {
            let map =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
            let at = at(api, "", "configmaps", Some("kube-system"), None)?;
            api.registry().create(&at, map, &options()).await.map(|_| ())
        }
    }
}

fn at(
    api: &Api,
    group: &str,
    plural: &str,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<At, Status> {
    let catalog = api.registry().catalog();
    let kind = catalog.kind(group, "v1", plural).cloned();
    let kind = kind.ok_or_else(|| Status::internal(format!("{plural} are not served")))?;
    Ok(At { kind, namespace: namespace.map(Into::into), name: name.map(Into::into), subresource: None })
}

fn stored(api: &Api, key: &str) -> Option<Value> {
    let snapshot = api.registry().store().snapshot();
    serde_json::from_slice(snapshot.get(key)?.bytes()).ok()
}

fn options() -> WriteOptions {
    WriteOptions { manager: "kube-apiserver".to_owned(), ..WriteOptions::default() }
}
