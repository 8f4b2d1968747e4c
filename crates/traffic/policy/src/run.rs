//! Keeps the kernel's rules what the policies ask for: looks again whenever anything that counts has changed. What the kernel knows
//! stays when this ends.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kedge_client::{Key, NotReady, Revision, Seen, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Pod};
use kedge_netlink::NetlinkError;
use kedge_netlink::nft::Doubt;

use crate::arrivals::Arrivals;
use crate::compile::Compiler;
use crate::kernel::Rules;
use crate::wanted::Wanted;

/// After a look, at least this long and as long as the look took: a storm of changes costs half a core at the most.
const REST: Duration = Duration::from_millis(2);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Settings {
    pub node: String,
    /// Ours alone.
    pub table: String,
}

#[derive(Debug, thiserror::Error)]
enum TurnError {
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error(transparent)]
    Kernel(#[from] NetlinkError),
    #[error("the work of writing rules was ended")]
    Ended(#[from] tokio::task::JoinError),
}

/// Never returns.
pub async fn run(settings: Settings, world: World, arrivals: Arrivals, clock: Clock) {
    let bell = arrivals.clone();
    let listener = Arc::new(move |seen: &Seen<'_>| {
        if counts(seen) {
            bell.ring();
        }
    });
    world.listen(&listener);
    let mut doubt = Doubt::over(&settings.table, clock.clone());
    let mut rules = Rules::new(&settings.table);
    let mut compiler = Compiler::new(&settings.node);
    let mut pause = FIRST_PAUSE;
    loop {
        let began = clock.now();
        match turn(&world, &arrivals, &mut compiler, rules).await {
            Ok(kept) => {
                rules = kept;
                pause = FIRST_PAUSE;
                let took = clock.now().duration_since(began).unsigned_abs();
                clock.sleep(REST.max(took)).await;
                rules = until_due(&arrivals, &mut doubt, rules).await;
            }
            Err(error) => {
                rules = Rules::new(&settings.table);
                tracing::warn!(
                    "network policies are not enforced as they are now, next try in {pause:?}: {}",
                    told(&error)
                );
                clock.sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Returns once something is to be done. Meanwhile, whenever somebody had his hands in the table, perhaps we, it is looked at: what the
/// kernel has is known no longer if it is not what it was told.
async fn until_due(arrivals: &Arrivals, doubt: &mut Doubt, rules: Rules) -> Rules {
    loop {
        tokio::select! {
            () = arrivals.rung() => return rules,
            () = doubt.arises() => {}
        }
        let told = rules.clone();
        let waits = Arc::new(());
        let waiting = Arc::downgrade(&waits);
        let look = move || told.is_as_told(|| waiting.strong_count() > 0);
        tokio::select! {
            is_as_told = tokio::task::spawn_blocking(look) => match is_as_told {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => {
                    tracing::warn!("somebody changed the table {}: it is made anew", rules.table());
                    return Rules::new(rules.table());
                }
                Ok(Err(_)) | Err(_) => return Rules::new(rules.table()),
            },
            // Reading everything takes longer than a change may wait, and what is read meanwhile says nothing: it ends with `waits`.
            () = arrivals.rung() => {
                doubt.remains();
                return rules;
            }
        }
    }
}

/// One look at everything.
async fn turn(
    world: &World,
    arrivals: &Arrivals,
    compiler: &mut Compiler,
    mut rules: Rules,
) -> Result<Rules, TurnError> {
    let places = arrivals.places();
    world.watch::<NetworkPolicy>().catch_up_to::<NetworkPolicy>(Revision::default()).await?;
    let policies = world.cache::<NetworkPolicy>()?.all();
    if policies.is_empty() {
        // Where nobody isolates anybody, not even pods need be watched, or remembered.
        compiler.forget();
        let rules = write(rules, Wanted::default()).await?;
        arrivals.settle(|known| known.settle_all(&places));
        return Ok(rules);
    }
    world.watch::<Pod>().watch::<Namespace>();
    world.catch_up_to::<Pod>(Revision::default()).await?;
    world.catch_up_to::<Namespace>(Revision::default()).await?;
    let (pods, namespaces) = (world.cache::<Pod>()?, world.cache::<Namespace>()?);
    let all = pods.all();
    let wanted = compiler.compile(&policies, &all, &namespaces.all(), &places);
    rules = write(rules, wanted).await?;
    arrivals.settle(|known| {
        known.settle(&places, |key| {
            let at = all.binary_search_by(|pod| Key::of(&**pod).cmp(key)).ok()?;
            let pod = all.get(at)?;
            Some((pod.metadata.uid.clone(), pod.addresses().to_vec()))
        });
    });
    Ok(rules)
}

/// The kernel answers at once, though with many addresses not as soon as others want this thread.
async fn write(mut rules: Rules, wanted: Wanted) -> Result<Rules, TurnError> {
    if rules.are(&wanted) {
        return Ok(rules);
    }
    Ok(tokio::task::spawn_blocking(move || rules.become_these(wanted).map(|()| rules)).await??)
}

/// Whether the rules can be others now.
fn counts(seen: &Seen<'_>) -> bool {
    if seen.is::<NetworkPolicy>() {
        let spec = |policy: Option<&NetworkPolicy>| policy.map(|policy| policy.spec.clone());
        return spec(seen.before()) != spec(seen.now());
    }
    if seen.is::<Namespace>() {
        let labels = |one: Option<&Namespace>| one.map(|one| one.metadata.labels.clone());
        return labels(seen.before()) != labels(seen.now());
    }
    let (before, now) = (seen.before::<Pod>(), seen.now::<Pod>());
    match (before, now) {
        // One without addresses is nobody yet, but its node may wait for it to be seen.
        (None, Some(_)) | (Some(_), None) => true,
        (Some(before), Some(now)) => {
            before.metadata.uid != now.metadata.uid
                || before.metadata.labels != now.metadata.labels
                || before.addresses() != now.addresses()
                || before.node() != now.node()
                || before.is_over() != now.is_over()
        }
        (None, None) => false,
    }
}

fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
