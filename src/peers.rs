//! The administrator's kubeconfig names all servers that share a store, as the API's own Service has them. Who they are is decided
//! elsewhere; here it is written down.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kedge_client::{Client, Event, Objects, Place};
use kedge_clock::Clock;
use kube::ResourceExt as _;
use kube::api::ListParams;

use crate::join::listed;
use crate::pki::{Admin, Pki};

/// After it could not be watched.
const AGAIN: Duration = Duration::from_secs(10);

/// The servers that live, as the slices of the API's own Service tell: those with a port of their own are in a slice of their own.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<String, Vec<Place>>);

impl Known {
    pub(crate) fn hear(&mut self, told: Event<EndpointSlice>) {
        let entry = |slice: EndpointSlice| (slice.name_any(), listed(&slice));
        match told {
            Event::All(slices) => self.0 = slices.into_iter().map(entry).collect(),
            Event::Put(slice) => self.0.extend([entry(slice)]),
            Event::Gone(slice) => drop(self.0.remove(&slice.name_any())),
        }
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        self.0.values().flatten().cloned().collect()
    }
}

/// Keeps the files right for as long as it is polled.
pub(crate) async fn follow(client: &Client, admin: &Admin, pki: &Pki, clock: &Clock) {
    let slices = Objects::<EndpointSlice>::within(client, "default");
    let mut events = slices.events(ListParams::default().labels("kubernetes.io/service-name=kubernetes"));
    let mut known = Known::default();
    while let Some(told) = events.next().await {
        match told {
            Ok(told) => known.hear(told),
            Err(error) => {
                tracing::debug!(%error, "cannot watch where the servers are");
                clock.sleep(AGAIN).await;
                continue;
            }
        }
        let mut all: Vec<String> = known.places().iter().map(ToString::to_string).collect();
        all.sort();
        all.dedup();
        if admin.know(all)
            && let Err(error) = admin.write(pki)
        {
            tracing::warn!(%error, "cannot write all servers into the kubeconfig");
        }
    }
}
