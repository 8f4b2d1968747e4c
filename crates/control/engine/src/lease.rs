//! One of several servers does the work: whoever holds a Lease. Judged by our own clock and by when *we* saw the holder renew,
//! so that servers' clocks may differ.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kedge_client::{Client, Objects};
use kedge_clock::Clock;

/// A holder that is silent for so long has lost it.
const TERM: SignedDuration = SignedDuration::from_secs(8);
/// So long before, a holder that could not renew it stops by itself.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);
const RENEW: Duration = Duration::from_secs(2);
const ASK: Duration = Duration::from_secs(1);

/// What we last saw of the lease, and when we first saw it so.
#[derive(Clone, Debug, PartialEq)]
struct Sighting {
    revision: Option<String>,
    since: Timestamp,
}

pub struct Leadership {
    leases: Objects<Lease>,
    clock: Clock,
    /// By which the others' silence and our own are judged: the clock that people see may be set.
    steady: Clock,
    name: String,
    me: String,
}

impl Leadership {
    /// `me` must be unlike every other server's.
    pub fn new(client: Client, clock: Clock, name: &str, me: String) -> Self {
        let leases = Objects::within(&client, "kube-system");
        let steady = clock.steady();
        Self { leases, clock, steady, name: name.to_owned(), me }
    }

    /// Does the work whenever the lease is ours, and never when it isn't. Begins anew each time it is won.
    pub async fn while_held<W: Future<Output = ()>>(&self, work: impl Fn() -> W) {
        loop {
            self.win().await;
            tracing::info!(lease = self.name, "this server leads now");
            tokio::select! {
                () = work() => {}
                () = self.keep() => tracing::warn!(lease = self.name, "this server no longer leads"),
            }
        }
    }

    /// Gives it back if it is ours, so that another need not wait for its end. For one that works no more.
    pub async fn resign(&self) {
        let Ok(Some(mut found)) = self.leases.find(&self.name).await else { return };
        let Some(spec) =
            found.spec.as_mut().filter(|spec| spec.holder_identity.as_deref() == Some(&*self.me))
        else {
            return;
        };
        spec.holder_identity = None;
        // Whoever was faster has it already.
        let _given = self.leases.replace(&self.name, &found).await;
    }

    /// Waits until the lease is ours.
    async fn win(&self) {
        let mut sighting: Option<Sighting> = None;
        loop {
            match self.try_take(&mut sighting).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(lease = self.name, %error, "cannot ask for the lease"),
            }
            self.clock.sleep(ASK).await;
        }
    }

    /// Returns when the lease is lost, or when it might be. A store that does not answer is not waited for.
    async fn keep(&self) {
        let mut stop_at = self.after(TERM - MARGIN);
        loop {
            self.clock.sleep(RENEW).await;
            // Others count from when they see it renewed, which is later than this.
            let renewed_until = self.after(TERM - MARGIN);
            let mut sighting = None;
            tokio::select! {
                taken = self.try_take(&mut sighting) => match taken {
                    Ok(true) => stop_at = renewed_until,
                    Ok(false) => return,
                    Err(error) => tracing::debug!(lease = self.name, %error, "cannot renew the lease"),
                },
                () = self.steady.until(stop_at) => return,
            }
            if self.steady.now() >= stop_at {
                return;
            }
        }
    }

    fn after(&self, wait: SignedDuration) -> Timestamp {
        self.steady.now().saturating_add(wait).unwrap_or(Timestamp::MAX)
    }

    /// Takes or renews the lease if it is free, ours or its holder silent. Two who try at once are told apart by the revision.
    async fn try_take(&self, sighting: &mut Option<Sighting>) -> Result<bool, kube::Error> {
        let Some(found) = self.leases.find(&self.name).await? else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.term(None)) };
            return won(self.leases.create(&lease).await);
        };
        let now = self.steady.now();
        if !self.may_take(&found, sighting, now) {
            return Ok(false);
        }
        let lease = Lease { spec: Some(self.term(found.spec.as_ref())), ..found };
        won(self.leases.replace(&self.name, &lease).await)
    }

    fn may_take(&self, found: &Lease, sighting: &mut Option<Sighting>, now: Timestamp) -> bool {
        let holder = found.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        if holder.is_empty() || holder == self.me {
            return true;
        }
        let revision = found.metadata.resource_version.clone();
        let seen = sighting.get_or_insert_with(|| Sighting { revision: revision.clone(), since: now });
        if seen.revision != revision {
            *seen = Sighting { revision, since: now };
        }
        now.duration_since(seen.since) > TERM
    }

    fn term(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(self.clock.now());
        let ours = before.filter(|spec| spec.holder_identity.as_deref() == Some(&*self.me));
        let changes = before.and_then(|spec| spec.lease_transitions).unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: i32::try_from(TERM.as_secs()).ok(),
            acquire_time: ours.and_then(|spec| spec.acquire_time.clone()).or(Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if ours.is_some() || before.is_none() { changes } else { changes + 1 }),
            ..LeaseSpec::default()
        }
    }
}

/// Somebody who was faster is no failure.
fn won(answer: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
