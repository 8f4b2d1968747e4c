//! Keeps the files of a pod's volumes as they should be while it lives: objects change, the pod's own facts change, tokens grow old.
//! What cannot be brought up to date stays as it was.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, select_all};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kedge_engine::Severity;
use kedge_mounts::Volume;
use tokio::sync::{Mutex, watch};

use super::files::{self, Known};
use super::gather::{Gathered, Wants};
use super::token::{self, Token, TokenWanted};
use super::watches::{Follow, Seen};
use super::{Places, uses};
use crate::tools::Tools;

/// After what failed.
const AGAIN: SignedDuration = SignedDuration::from_secs(10);
/// Objects that change together are written together.
const BREATH: Duration = Duration::from_millis(20);

pub(super) struct Keeper {
    tools: Arc<Tools>,
    wanted: watch::Receiver<Arc<Pod>>,
    /// Nobody else makes or removes volumes while it is held.
    made: Arc<Mutex<Places>>,
    gathered: Gathered,
    maps: HashMap<String, Follow<ConfigMap>>,
    secrets: HashMap<String, Follow<Secret>>,
    tokens: BTreeSet<TokenWanted>,
    /// What each volume has, in short.
    written: HashMap<String, u64>,
    /// What was told last about each volume that is behind.
    told: HashMap<String, String>,
}

impl Keeper {
    pub(super) fn new(
        tools: Arc<Tools>,
        wanted: watch::Receiver<Arc<Pod>>,
        made: Arc<Mutex<Places>>,
        gathered: Gathered,
        wants: Wants,
    ) -> Self {
        let namespace = wanted.borrow().metadata.namespace.clone().unwrap_or_default();
        let follow_map = |name: &String| {
            let follow = tools.watches.maps.follow(&tools.client, &tools.clock, &namespace, name);
            (name.clone(), follow)
        };
        let follow_secret = |name: &String| {
            let follow = tools.watches.secrets.follow(&tools.client, &tools.clock, &namespace, name);
            (name.clone(), follow)
        };
        let (maps, secrets) =
            (wants.maps.iter().map(follow_map).collect(), wants.secrets.iter().map(follow_secret).collect());
        let tokens = wants.tokens;
        let (written, told) = (HashMap::new(), HashMap::new());
        Self { tools, wanted, made, gathered, maps, secrets, tokens, written, told }
    }

    /// Until it is dropped.
    pub(super) async fn keep(mut self) {
        loop {
            let pod = self.wanted.borrow_and_update().clone();
            self.look();
            // There is one of these for each pod, and it mostly waits: what is only needed meanwhile is not held.
            let renewed = Box::pin(self.renew(&pod)).await;
            let written = Box::pin(self.write(&pod)).await;
            drop(pod);
            let again = (!(renewed && written)).then(|| later(self.tools.steady.now(), AGAIN));
            self.wait(again).await;
            self.tools.clock.sleep(BREATH).await;
        }
    }

    async fn wait(&mut self, again: Option<Timestamp>) {
        let tokens = self.gathered.tokens.values().flatten().map(|token| token.renew_at);
        let due = tokens.chain(again).min();
        let clock = self.tools.steady.clone();
        let due = async move {
            match due {
                Some(moment) => clock.until(moment).await,
                None => std::future::pending().await,
            }
        };
        let maps = self.maps.values_mut().map(changed);
        let secrets = self.secrets.values_mut().map(changed);
        let mut changes: Vec<_> = maps.chain(secrets).collect();
        changes.push(changed(&mut self.wanted));
        tokio::select! {
            _ = select_all(changes) => {}
            () = due => {}
        }
    }

    /// Takes over what the watches have seen.
    fn look(&mut self) {
        for (name, follow) in &mut self.maps {
            match &*follow.borrow_and_update() {
                Seen::There(found) => drop(self.gathered.maps.insert(name.clone(), Ok(Some(found.clone())))),
                Seen::Absent => drop(self.gathered.maps.insert(name.clone(), Ok(None))),
                Seen::Unknown => {}
            }
        }
        for (name, follow) in &mut self.secrets {
            match &*follow.borrow_and_update() {
                Seen::There(found) => {
                    drop(self.gathered.secrets.insert(name.clone(), Ok(Some(found.clone()))));
                }
                Seen::Absent => drop(self.gathered.secrets.insert(name.clone(), Ok(None))),
                Seen::Unknown => {}
            }
        }
    }

    /// Tokens whose time has come. False if one could not be had; the old one is good for a while yet.
    async fn renew(&mut self, pod: &Pod) -> bool {
        let now = self.tools.steady.now();
        let mut all = true;
        for wanted in &self.tokens {
            let held = self.gathered.tokens.get(wanted).and_then(|held| held.as_ref().ok());
            if held.is_some_and(|token| token.renew_at > now) {
                continue;
            }
            let new = match (token::ask(&self.tools, pod, wanted).await, held) {
                (Err(error), Some(held)) => {
                    tracing::debug!(%error, "cannot renew a token");
                    Ok(Token { renew_at: later(now, AGAIN), ..held.clone() })
                }
                (new, _) => new.map_err(Arc::new),
            };
            all &= new.is_ok();
            self.gathered.tokens.insert(wanted.clone(), new);
        }
        all
    }

    /// False if something could not be brought up to date.
    async fn write(&mut self, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = Known { place: &self.tools.place, allocatable: &self.tools.allocatable };
        let made = self.made.lock().await;
        let (mut behind, mut silent) = (HashMap::new(), false);
        for volume in uses::used(pod).into_iter().filter(|volume| made.contains_key(&volume.name)) {
            let files = match files::of(volume, pod, &self.gathered, known) {
                Ok(Some(files)) => files,
                Ok(None) => continue,
                Err(cause) => {
                    silent |= cause.is_silence();
                    if !cause.is_silence() {
                        behind.insert(volume.name.clone(), cause.to_string());
                    }
                    continue;
                }
            };
            let mut hasher = DefaultHasher::new();
            files.files.hash(&mut hasher);
            let short = hasher.finish();
            if self.written.get(&volume.name) == Some(&short) {
                continue;
            }
            match self.tools.mounts.prepare(uid, &volume.name, &Volume::Files(files), uses::group(pod)) {
                Ok(_) => drop(self.written.insert(volume.name.clone(), short)),
                Err(error) => drop(behind.insert(volume.name.clone(), error.to_string())),
            }
        }
        drop(made);
        for (volume, cause) in behind.iter().filter(|(volume, cause)| self.told.get(*volume) != Some(cause)) {
            let message = format!("MountVolume.SetUp failed for volume {volume:?} : {cause}");
            self.tools.tell(pod, Severity::Warning, "FailedMount", message);
        }
        self.told = behind;
        self.told.is_empty() && !silent
    }
}

fn changed<T: Send + Sync>(follow: &mut watch::Receiver<T>) -> BoxFuture<'_, ()> {
    async move {
        // Nobody tells any more: then it stays as it is.
        if follow.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    .boxed()
}

fn later(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}
