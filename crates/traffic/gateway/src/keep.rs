//! Keeps the table of routes in step with the cluster: what changes makes another table, which takes the place of the old one at
//! once. Requests under way go on as they began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kedge_client::{Key, NotReady, Seen, World};
use kedge_clock::Clock;
use kedge_facts::{Service, Slice};
use tokio::sync::Notify;

use crate::class::Classes;
use crate::record::DnsRecord;
use crate::routes::Routes;
use crate::secret::TlsSecret;

/// Changes within this time are one.
const GATHER: Duration = Duration::from_millis(5);

/// Never ends.
pub async fn keep(world: World, clock: Clock, routes: Arc<ArcSwap<Routes>>) {
    let (changed, is_making) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(true)));
    let listener = {
        let (changed, is_making, routes) = (changed.clone(), is_making.clone(), routes.clone());
        Arc::new(move |seen: &Seen<'_>| {
            // Nobody knows yet what a table looks at that is being made.
            if concerns(seen, &routes.load(), is_making.load(Ordering::SeqCst)) {
                changed.notify_one();
            }
        })
    };
    world.listen(&listener);
    wanted(&world).await;
    Routes::watch(&world);
    world.ready().await;
    loop {
        is_making.store(true, Ordering::SeqCst);
        let made = Routes::of(&world, Some(&routes.load()));
        match made {
            Ok(made) => routes.store(Arc::new(made)),
            Err(error) => tracing::warn!("the gateway keeps its routes: {error}"),
        }
        is_making.store(false, Ordering::SeqCst);
        changed.notified().await;
        clock.sleep(GATHER).await;
    }
}

/// Returns once there is something to serve: until then nobody needs to hold every Service of the cluster.
pub async fn wanted(world: &World) {
    let came = Arc::new(Notify::new());
    let listener = {
        let came = came.clone();
        Arc::new(move |seen: &Seen<'_>| {
            if seen.is::<DnsRecord>() || seen.is::<Ingress>() || seen.is::<IngressClass>() {
                came.notify_one();
            }
        })
    };
    world.listen(&listener);
    world.watch::<Ingress>().watch::<IngressClass>().watch::<DnsRecord>();
    world.ready().await;
    let is_wanted = || -> Result<bool, NotReady> {
        let classes = Classes::of(world)?;
        let has_ingress = world.cache::<Ingress>()?.all().iter().any(|ingress| classes.have(ingress));
        Ok(has_ingress || !world.cache::<DnsRecord>()?.is_empty())
    };
    while !matches!(is_wanted(), Ok(true)) {
        came.notified().await;
    }
}

fn concerns(seen: &Seen<'_>, routes: &Routes, is_making: bool) -> bool {
    if seen.is::<DnsRecord>() {
        // Its status is about the table, not in it.
        return seen.before::<DnsRecord>().map(|record| &record.spec)
            != seen.now::<DnsRecord>().map(|record| &record.spec);
    }
    if seen.is::<Ingress>() {
        let said = |ingress: &Ingress| (ingress.spec.clone(), ingress.metadata.annotations.clone());
        return seen.before::<Ingress>().map(said) != seen.now::<Ingress>().map(said);
    }
    if seen.is::<IngressClass>() {
        return true;
    }
    if seen.is::<Service>() {
        return is_making || routes.services.contains(seen.key);
    }
    if seen.is::<TlsSecret>() {
        return is_making || routes.secrets.contains(seen.key);
    }
    let both = [seen.before::<Slice>(), seen.now::<Slice>()];
    both.into_iter()
        .flatten()
        .filter_map(Slice::service)
        .any(|service| is_making || routes.services.contains(&Key::new(seen.key.namespace.clone(), service)))
}
