//! The administrator's kubeconfig names all servers that share a store, as the API's own Service has them. Who they are is decided
//! elsewhere; here it is written down.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kedge_client::{Client, Event, Objects};
use kedge_clock::Clock;
use kube::ResourceExt as _;
use kube::api::ListParams;

use crate::join::listed;
use crate::pki::{Admin, Pki};

/// After it could not be watched.
const AGAIN: Duration = Duration::from_secs(10);

/// Keeps the files right for as long as it is polled.
pub(crate) async fn follow(client: &Client, admin: &Admin, pki: &Pki, clock: &Clock) {
    let slices = Objects::<EndpointSlice>::within(client, "default");
    let mut events = slices.events(ListParams::default().labels("kubernetes.io/service-name=kubernetes"));
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let urls = |slice: &EndpointSlice| listed(slice).iter().map(ToString::to_string).collect::<Vec<_>>();
    while let Some(told) = events.next().await {
        match told {
            Ok(Event::All(all)) => known = all.iter().map(|slice| (slice.name_any(), urls(slice))).collect(),
            Ok(Event::Put(slice)) => {
                known.insert(slice.name_any(), urls(&slice));
            }
            Ok(Event::Gone(slice)) => {
                known.remove(&slice.name_any());
            }
            Err(error) => {
                tracing::debug!(%error, "cannot watch where the servers are");
                clock.sleep(AGAIN).await;
                continue;
            }
        }
        let mut all: Vec<String> = known.values().flatten().cloned().collect();
        all.sort();
        all.dedup();
        if admin.know(all)
            && let Err(error) = admin.write(pki)
        {
            tracing::warn!(%error, "cannot write all servers into the kubeconfig");
        }
    }
}
