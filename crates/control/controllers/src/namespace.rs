//! Namespaces that are being deleted: their pods go first, then everything else, and once nothing is left the namespace does.
//! What is still there, and why, is said in its conditions. Knows every kind that the API serves and none in particular.

mod contents;
mod follow;
mod kinds;
mod said;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kedge_client::Objects;
use kedge_clock::Clock;
use kedge_engine::{Action, Carrier, Done, Engine, Key, Next, Outcome, Seen, TurnError, Wake, Worker, World};
use kube::ResourceExt;
use parking_lot::Mutex;

use self::contents::{Rest, clear};
use self::follow::Followers;
use self::kinds::{Served, find};
use self::said::{Findings, conditions};

const NAME: &str = "namespace-controller";
/// The one finalizer that is ours to clear.
const FINALIZER: &str = "kubernetes";

pub struct Namespaces {
    world: World,
    clock: Clock,
    carrier: Carrier,
    /// Who watches what a namespace still holds.
    followers: Mutex<HashMap<String, Followers>>,
    wake: OnceLock<Wake>,
}

impl Namespaces {
    pub fn new(engine: &Engine) -> Arc<Self> {
        let (client, clock) = (engine.client().clone(), engine.clock().clone());
        let carrier = Carrier::new(NAME, client, clock.clone());
        let (followers, wake) = (Mutex::default(), OnceLock::new());
        Arc::new(Self { world: engine.world().clone(), clock, carrier, followers, wake })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let namespace = match self.world.get::<Namespace>(key) {
            Ok(Some(namespace)) if is_ours(&namespace) => namespace,
            Ok(_) => {
                self.followers.lock().remove(&key.name);
                return Outcome { waits: Vec::new(), next: Next::Rest };
            }
            Err(error) => return Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        };
        let mut waits = Vec::new();
        let next = match self.empty(&namespace).await {
            Ok((findings, rests)) => {
                let done = self.say(&namespace, &findings).await;
                waits = done.waits;
                match (done.error, findings.is_clear()) {
                    (Some(error), _) => Err(error),
                    (None, true) => self.let_go(&namespace).await,
                    (None, false) => self.wait(&key.name, findings, rests),
                }
            }
            Err(error) => Err(error),
        };
        Outcome { waits, next: next.unwrap_or_else(Next::Retry) }
    }

    /// Deletes what is left, as far as that can be done now.
    async fn empty(&self, namespace: &Namespace) -> Result<(Findings, Vec<Rest>), TurnError> {
        let client = self.carrier.client();
        let live = Objects::<Namespace>::all(client)
            .find(&namespace.name_any())
            .await
            .map_err(|source| failed("look at the namespace", source))?;
        // Another of the same name may stand there by now, and its objects are not ours to delete.
        if live.is_none_or(|live| live.metadata.uid != namespace.metadata.uid) {
            return Err(TurnError::Stale { action: format!("empty namespace {}", namespace.name_any()) });
        }
        let found = find(client).await.map_err(|source| failed("find out which kinds there are", source))?;
        let mut findings = Findings { undiscovered: found.stale, ..Findings::default() };
        let name = namespace.name_any();
        // Pods may need what else is there for as long as they run: policies that bind them, configuration, identity.
        let (pods, others): (Vec<Served>, Vec<Served>) = found
            .kinds
            .into_iter()
            .partition(|kind| kind.resource.group.is_empty() && kind.resource.plural == "pods");
        let mut rests = Vec::new();
        for kinds in [pods, others] {
            for rest in join_all(kinds.iter().map(|kind| clear(client, kind, &name))).await {
                match rest {
                    Ok(rest) => {
                        findings.note(&rest);
                        rests.extend(Some(rest).filter(|rest| !rest.is_empty()));
                    }
                    Err(error) => findings.failures.push(error.to_string()),
                }
            }
            if !rests.is_empty() {
                break;
            }
        }
        Ok((findings, rests))
    }

    /// What goes at once needs no words.
    async fn say(&self, namespace: &Namespace, findings: &Findings) -> Done {
        let stays = !findings.is_clear() || has_other_finalizers(namespace);
        let change = stays.then(|| conditions(namespace, findings, self.clock.now())).flatten();
        let actions: Vec<Action> = change.into_iter().collect();
        self.carrier.carry_out(&actions).await
    }

    /// Until something of what is left goes. What failed is tried again.
    fn wait(&self, name: &str, findings: Findings, rests: Vec<Rest>) -> Result<Next, TurnError> {
        let followed =
            self.wake.get().map(|wake| Followers::new(self.carrier.client(), &self.clock, wake, name, rests));
        let mut followers = self.followers.lock();
        followers.remove(name);
        followers.extend(followed.map(|followed| (name.to_owned(), followed)));
        match findings.failure() {
            Some(missing) => Err(TurnError::Unfinished { goal: format!("empty namespace {name}"), missing }),
            None => Ok(Next::Rest),
        }
    }

    async fn let_go(&self, namespace: &Namespace) -> Result<Next, TurnError> {
        let name = namespace.name_any();
        let uid = namespace.metadata.uid.as_deref().unwrap_or_default();
        contents::finalize(self.carrier.client(), &name, uid, FINALIZER)
            .await
            .map_err(|source| failed(&format!("let namespace {name} go"), source))?;
        self.followers.lock().remove(&name);
        Ok(Next::Rest)
    }
}

fn failed(action: &str, source: kube::Error) -> TurnError {
    TurnError::Failed { action: action.to_owned(), source: Box::new(source) }
}

/// It is leaving, and we have not said yet that it is empty.
fn is_ours(namespace: &Namespace) -> bool {
    namespace.metadata.deletion_timestamp.is_some()
        && finalizers(namespace).iter().any(|name| name == FINALIZER)
}

fn finalizers(namespace: &Namespace) -> &[String] {
    namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_deref()).unwrap_or_default()
}

fn has_other_finalizers(namespace: &Namespace) -> bool {
    finalizers(namespace).iter().any(|name| name != FINALIZER) || !namespace.finalizers().is_empty()
}

impl Worker for Namespaces {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Namespace>().watch::<APIService>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let all = world.cache::<Namespace>().map(|cache| cache.all()).unwrap_or_default();
        all.iter().filter(|namespace| is_ours(namespace)).map(|namespace| Key::of(&**namespace)).collect()
    }

    /// Namespaces that are leaving; all of them when a server of other kinds comes or goes.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<APIService>() {
            return self.roots(world);
        }
        let [before, now] = [seen.before::<Namespace>(), seen.now::<Namespace>()];
        let concerns = before.into_iter().chain(now).any(is_ours);
        concerns.then(|| seen.key.clone()).into_iter().collect()
    }

    fn start(&self, wake: Wake) {
        // Starting twice would be starting once: there is one queue.
        let _ = self.wake.set(wake);
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}

#[cfg(test)]
mod tests;
