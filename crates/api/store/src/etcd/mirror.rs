//! Keeps the state in memory equal to etcd's: loads it once, then follows etcd's watch, and after a broken connection
//! goes on where it was. Writes nothing to etcd.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::ready;
use futures::{StreamExt, stream};

use super::client::{self, Client, TICK};
use super::value::{self, number};
use super::wire::watch_request::Request;
use super::wire::{EventType, RangeRequest, WatchCreateRequest, WatchEvent, WatchRequest, WatchResponse};
use crate::error::{EtcdAttempt, StoreError};
use crate::snapshot::State;
use crate::watch::Hub;
use crate::{Draft, Event, Key, Revision, apply};

/// Entries that are read at a time.
const PAGE: i64 = 500;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Mirror {
    pub(crate) client: Client,
    pub(crate) hub: Arc<Hub>,
    /// Set when a revision passes that has no event for us.
    pub(crate) shared: Arc<AtomicBool>,
    pub(crate) state: State,
}

/// Why following ended.
enum Broken {
    /// The connection or etcd failed; what we have is still a true past.
    Off(StoreError),
    /// What comes next can no longer be had, or does not fit: only loading anew helps.
    Gap,
}

/// Everything under our prefix, as it was at one revision.
pub(crate) async fn load(client: &Client) -> Result<State, StoreError> {
    let (mut key, range_end) = client.bounds();
    let mut state = State::default();
    loop {
        let request = RangeRequest {
            key,
            range_end: range_end.clone(),
            limit: PAGE,
            revision: number(state.revision),
            ..Default::default()
        };
        let page = client.range(request).await?;
        if state.revision == Revision::ZERO {
            // The pages that follow are read at the revision of the first.
            state.revision = client::revision(page.header.as_ref());
        }
        for kv in page.kvs.iter().filter(|kv| client.our_key(kv).as_str() != TICK) {
            let (key, entry) = client.entry(kv)?;
            apply::put(&mut state, key, entry);
        }
        match page.kvs.last() {
            Some(last) if page.more => key = [&last.key[..], b"\0"].concat(),
            _ => return Ok(state),
        }
    }
}

/// What would stand otherwise if it were written today, each with the revision that it has.
pub(crate) async fn old(client: &Client) -> Result<Vec<(Key, Revision, Draft)>, StoreError> {
    let (mut key, range_end) = client.bounds();
    let mut found = Vec::new();
    loop {
        let request = RangeRequest { key, range_end: range_end.clone(), limit: PAGE, ..Default::default() };
        let page = client.range(request).await?;
        for kv in page.kvs.iter().filter(|kv| client.our_key(kv).as_str() != TICK) {
            let ours = client.our_key(kv);
            if let Some(draft) = value::renewed(&ours, kv, client.sealer())? {
                found.push((ours, value::revision(kv.mod_revision), draft));
            }
        }
        match page.kvs.last() {
            Some(last) if page.more => key = [&last.key[..], b"\0"].concat(),
            _ => return Ok(found),
        }
    }
}

impl Mirror {
    pub(crate) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let before = self.state.revision;
            match self.follow().await {
                Broken::Off(error) => tracing::warn!(%error, "the watch of etcd broke; it is taken up again"),
                Broken::Gap => match load(&self.client).await {
                    Ok(state) => {
                        tracing::warn!(revision = %state.revision, "etcd's history has a gap for us; loaded anew");
                        self.state = state;
                        self.hub.replace(self.state.clone());
                    }
                    Err(error) => tracing::warn!(%error, "etcd could not be loaded anew"),
                },
            }
            // Whoever made progress has no reason to wait long.
            pause = if self.state.revision > before { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn follow(&mut self) -> Broken {
        let (key, range_end) = self.client.bounds();
        let start_revision = number(self.state.revision.next());
        let create = Request::Create(WatchCreateRequest { key, range_end, start_revision });
        // One request, and then the stream stays open: its end would end the watch.
        let requests = stream::once(ready(WatchRequest { request: Some(create) })).chain(stream::pending());
        let mut answers = match self.client.watch(requests).await {
            Ok(answers) => answers,
            Err(error) => return Broken::Off(error),
        };
        loop {
            match answers.message().await {
                Ok(Some(answer)) => {
                    if let Err(broken) = self.take(answer) {
                        return broken;
                    }
                }
                Ok(None) => return Broken::Off(ended()),
                Err(status) => {
                    return Broken::Off(StoreError::Etcd {
                        attempt: EtcdAttempt::Watch,
                        source: Box::new(status),
                    });
                }
            }
        }
    }

    fn take(&mut self, answer: WatchResponse) -> Result<(), Broken> {
        if answer.compact_revision > 0 {
            return Err(Broken::Gap);
        }
        if answer.canceled {
            let source = Box::new(tonic::Status::aborted(answer.cancel_reason));
            return Err(Broken::Off(StoreError::Etcd { attempt: EtcdAttempt::Watch, source }));
        }
        // Also the answer that the watch was created, and etcd's own reports of progress, which we do not ask for.
        if answer.events.is_empty() {
            return Ok(());
        }
        let (mut events, mut commits) = (Vec::with_capacity(answer.events.len()), 0);
        let same = |one: &WatchEvent, other: &WatchEvent| at(one) == at(other);
        for txn in answer.events.chunk_by(same) {
            let revision = txn.first().map_or(Revision::ZERO, at);
            if revision <= self.state.revision {
                return Err(Broken::Gap);
            }
            if revision != self.state.revision.next() {
                self.shared.store(true, Ordering::Relaxed);
            }
            events.extend(txn.iter().filter_map(|event| self.apply(event, revision)));
            self.state.revision = revision;
            commits += 1;
        }
        self.hub.publish(Arc::new(self.state.clone()), events, commits);
        Ok(())
    }

    fn apply(&mut self, event: &WatchEvent, revision: Revision) -> Option<Event> {
        let kv = event.kv.as_ref().filter(|kv| self.client.our_key(kv).as_str() != TICK)?;
        let (key, change) = match event.r#type() {
            EventType::Delete => {
                let key = self.client.our_key(kv);
                let change = apply::delete(&mut self.state, key.as_str(), revision)?;
                (key, change)
            }
            EventType::Put => match self.client.entry(kv) {
                Ok((key, entry)) => (key.clone(), apply::put(&mut self.state, key, entry)),
                Err(error) => {
                    tracing::error!(%error, "somebody else writes under our prefix of etcd; left out");
                    return None;
                }
            },
        };
        Some(Event { key, revision, change })
    }
}

fn at(event: &WatchEvent) -> Revision {
    event.kv.as_ref().map_or(Revision::ZERO, |kv| value::revision(kv.mod_revision))
}

fn ended() -> StoreError {
    let source = Box::new(tonic::Status::unavailable("etcd ended the stream"));
    StoreError::Etcd { attempt: EtcdAttempt::Watch, source }
}
