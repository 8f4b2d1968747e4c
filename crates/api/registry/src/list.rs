//! `list`: what matches, at one revision, in pages if asked for. Items are the stored bytes; nothing is encoded again.

mod items;
mod pins;
mod token;

use std::collections::BTreeMap;

use bytes::Bytes;
use kedge_kinds::field::{Errors, Path};
use kedge_kinds::{Details, Reason, Status};
use kedge_store::{Entry, Key, Revision, Snapshot};

pub use self::items::Items;
use self::items::{Rest, served};
pub(crate) use self::pins::Pins;
use self::token::Token;
use crate::catalog::Catalog;
use crate::registry::Registry;
use crate::request::{At, ListQuery, VersionMatch};
use crate::selection::Selection;
use crate::{custom, failure, key};

/// A list, of which the items are still to be taken out.
#[derive(Debug)]
pub struct List {
    pub revision: Revision,
    /// Empty on the last page.
    pub continue_token: String,
    /// How many items are behind this page; unknown where a selector chooses.
    pub remaining: Option<u64>,
    pub items: Items,
}

/// How many objects somebody outside is asked about at a time.
const CHUNK: usize = 256;

/// After as many entries a walk lets others have their turn.
const TURN: usize = 1024;

/// The state that a list is read from.
enum State {
    At(Snapshot),
    /// What lay under the prefix at an earlier revision.
    Past(Revision, BTreeMap<Key, Entry>),
}

impl Registry {
    pub async fn list(&self, at: &At, query: &ListQuery) -> Result<List, Status> {
        check(query)?;
        let selection = Selection::parse(&at.kind, at.name.as_deref(), &query.labels, &query.fields)?;
        let prefix = key::prefix(&at.kind, at.namespace.as_deref());
        let token = match query.continue_token.as_str() {
            "" => None,
            text => Some(Token::parse(text, &prefix)?),
        };
        let state = self.state_for(query, token.as_ref(), &prefix).await?;
        let after = token.as_ref().map(|token| Key::from(format!("{prefix}{}", token.after)));
        let limit = query.limit.filter(|limit| *limit > 0);
        let catalog = self.catalog();
        // Objects that a webhook converts are asked for together, so that all of them are at hand first.
        let remote = custom::is_remote(&at.kind);
        if selection.is_by_form() {
            return self.list_by_form(at, &selection, state, (&prefix, after.as_ref()), limit).await;
        }
        match (state, limit) {
            (State::At(snapshot), limit) => {
                let walk = || snapshot.range(&prefix, after.as_ref().map(Key::as_str));
                let revision = snapshot.revision();
                // What a selector chooses is found first: a walk that finds nothing must let others have their turn.
                let (mut list, last) = if !remote && selection.is_everything() {
                    let last = match limit {
                        Some(limit) => last_of_page(walk(), limit).await,
                        None => None,
                    };
                    let (snapshot, prefix) = (snapshot.clone(), prefix.clone());
                    let items = Items::of(Rest { snapshot, catalog, at: at.clone(), prefix, after, limit });
                    (List { revision, continue_token: String::new(), remaining: None, items }, last)
                } else {
                    let (chosen, last) = page(&selection, walk(), limit).await;
                    (self.page_of(&catalog, at, revision, chosen).await?, last)
                };
                if last.is_none() && token.is_some() {
                    self.inner().pins.release(list.revision);
                }
                if let Some(last) = last {
                    let now = self.inner().clock.now();
                    self.inner().pins.keep(snapshot.clone(), now, token.is_none());
                    let remaining = match (selection.is_everything(), token.and_then(|token| token.remaining))
                    {
                        (false, _) => None,
                        (true, Some(before)) => Some(before.saturating_sub(limit.unwrap_or(0) as u64)),
                        // Counted once: the pages behind this one read the same snapshot.
                        (true, None) => Some(snapshot.range(&prefix, Some(last.as_str())).count() as u64),
                    };
                    list.remaining = remaining;
                    list.continue_token = Token::new(list.revision, &last, &prefix, remaining, now).encode();
                }
                Ok(list)
            }
            (State::Past(revision, map), limit) => {
                let walk = map.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
                let (chosen, last) = page(&selection, walk, limit).await;
                let mut list = self.page_of(&catalog, at, revision, chosen).await?;
                if let Some(last) = last {
                    let now = self.inner().clock.now();
                    list.continue_token = Token::new(revision, &last, &prefix, None, now).encode();
                }
                Ok(list)
            }
        }
    }

    /// A list chosen by what somebody outside makes of the objects.
    async fn list_by_form(
        &self,
        at: &At,
        selection: &Selection,
        state: State,
        (prefix, after): (&str, Option<&Key>),
        limit: Option<usize>,
    ) -> Result<List, Status> {
        let all = |(key, entry): (&Key, &Entry)| (key.clone(), entry.clone());
        let (revision, candidates): (Revision, Vec<(Key, Entry)>) = match &state {
            State::At(snapshot) => {
                (snapshot.revision(), snapshot.range(prefix, after.map(Key::as_str)).map(all).collect())
            }
            State::Past(revision, map) => {
                let walk = map.iter().filter(|(key, _)| after.is_none_or(|after| *key > after));
                (*revision, walk.map(all).collect())
            }
        };
        let chosen = self.chosen_by_form(at, selection, candidates, limit.map(|limit| limit + 1)).await?;
        let now = self.inner().clock.now();
        let more = limit.filter(|limit| chosen.len() > *limit);
        let last = more.and_then(|limit| chosen.get(limit - 1)).map(|(key, ..)| key);
        if let (Some(_), State::At(snapshot)) = (last, &state) {
            self.inner().pins.keep(snapshot.clone(), now, after.is_none());
        }
        let continue_token = last.map(|last| Token::new(revision, last, prefix, None, now).encode());
        let shown = limit.unwrap_or(chosen.len());
        let items = chosen.into_iter().take(shown).map(|(.., bytes)| bytes).collect();
        let continue_token = continue_token.unwrap_or_default();
        Ok(List { revision, continue_token, remaining: None, items: Items::made(items) })
    }

    /// Which of these a selection takes in the form in which they are served, and that form; not more than `limit`.
    async fn chosen_by_form(
        &self,
        at: &At,
        selection: &Selection,
        mut candidates: Vec<(Key, Entry)>,
        limit: Option<usize>,
    ) -> Result<Vec<(Key, Entry, Bytes)>, Status> {
        candidates.retain(|(key, entry)| selection.takes(key.as_str(), entry));
        let mut chosen = Vec::new();
        for some in candidates.chunks(CHUNK) {
            let asked: Vec<(Entry, Revision)> =
                some.iter().map(|(_, entry)| (entry.clone(), entry.modified())).collect();
            let served = self.served_all(at, &asked).await?;
            let both = some.iter().zip(served).filter(|(_, bytes)| selection.takes_form(bytes));
            chosen.extend(both.map(|((key, entry), bytes)| (key.clone(), entry.clone(), bytes)));
            if let Some(limit) = limit.filter(|limit| chosen.len() >= *limit) {
                chosen.truncate(limit);
                break;
            }
        }
        Ok(chosen)
    }

    /// A list of these, as clients see them.
    async fn page_of(
        &self,
        catalog: &Catalog,
        at: &At,
        revision: Revision,
        chosen: Vec<Entry>,
    ) -> Result<List, Status> {
        let items = if custom::is_remote(&at.kind) {
            let chosen: Vec<(Entry, Revision)> =
                chosen.into_iter().map(|entry| (entry.clone(), entry.modified())).collect();
            Items::made(self.served_all(at, &chosen).await?)
        } else {
            Items::ready(chosen.iter().filter_map(|entry| served(catalog, at, entry)).collect())
        };
        Ok(List { revision, continue_token: String::new(), remaining: None, items })
    }

    /// The keys and entries that a list would show, for those who do something with each.
    pub(crate) async fn selected(
        &self,
        at: &At,
        query: &ListQuery,
    ) -> Result<(Revision, Vec<(Key, Entry)>), Status> {
        let selection = Selection::parse(&at.kind, at.name.as_deref(), &query.labels, &query.fields)?;
        let snapshot = self.inner().store.latest().await.map_err(failure::status)?;
        let prefix = key::prefix(&at.kind, at.namespace.as_deref());
        let mut found = Vec::new();
        for (seen, (key, entry)) in (1usize..).zip(snapshot.range(&prefix, None)) {
            if seen.is_multiple_of(TURN) {
                tokio::task::yield_now().await;
            }
            if selection.takes(key.as_str(), entry) {
                found.push((key.clone(), entry.clone()));
            }
        }
        if selection.is_by_form() {
            let chosen = self.chosen_by_form(at, &selection, found, None).await?;
            found = chosen.into_iter().map(|(key, entry, _)| (key, entry)).collect();
        }
        Ok((snapshot.revision(), found))
    }

    async fn state_for(
        &self,
        query: &ListQuery,
        token: Option<&Token>,
        prefix: &str,
    ) -> Result<State, Status> {
        if let Some(token) = token {
            return match token.revision() {
                Some(_) if token.is_over(self.inner().clock.now()) => Err(self.expired(token)),
                Some(revision) => self.at_exactly(revision, prefix).map_err(|_| self.expired(token)),
                None => Ok(State::At(self.inner().store.latest().await.map_err(failure::status)?)),
            };
        }
        let asked = match query.resource_version.as_str() {
            "" => return Ok(State::At(self.inner().store.latest().await.map_err(failure::status)?)),
            "0" => return Ok(State::At(self.inner().store.snapshot())),
            text => text.parse::<Revision>().map_err(|_| {
                Status::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: {text:?}: \
                     strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            })?,
        };
        let snapshot = self.inner().store.latest().await.map_err(failure::status)?;
        if asked > snapshot.revision() {
            return Err(failure::too_new(asked, snapshot.revision()));
        }
        // A limit without a match means exactly that revision, so that pages agree with each other.
        let exact = match query.version_match {
            Some(VersionMatch::Exact) => true,
            Some(VersionMatch::NotOlderThan) => false,
            None => query.limit.is_some_and(|limit| limit > 0),
        };
        if exact { self.at_exactly(asked, prefix) } else { Ok(State::At(snapshot)) }
    }

    /// An earlier state: one that is still held, or the newest with the events since then undone.
    fn at_exactly(&self, asked: Revision, prefix: &str) -> Result<State, Status> {
        let now = self.inner().clock.now();
        if let Some(snapshot) = self.inner().pins.find(asked, now) {
            return Ok(State::At(snapshot));
        }
        let snapshot = self.inner().store.snapshot();
        if snapshot.revision() == asked {
            return Ok(State::At(snapshot));
        }
        let mut events = self.inner().store.watch(prefix, asked).map_err(failure::status)?;
        let mut first: BTreeMap<Key, Option<Entry>> = BTreeMap::new();
        while let Some(event) = events.try_next() {
            let event = event.map_err(|end| failure::watch_end(end, asked))?;
            if event.revision <= snapshot.revision() {
                let before = event.change.before().cloned();
                first.entry(event.key).or_insert(before);
            }
        }
        let mut map: BTreeMap<Key, Entry> =
            snapshot.range(prefix, None).map(|(key, entry)| (key.clone(), entry.clone())).collect();
        for (key, before) in first {
            match before {
                Some(entry) => map.insert(key, entry),
                None => map.remove(&key),
            };
        }
        Ok(State::Past(asked, map))
    }

    /// The pages that are left can still be had, though from a newer state than those before.
    fn expired(&self, token: &Token) -> Status {
        let fresh = Token { rv: None, remaining: None, given: None, ..token.clone() }.encode();
        let message = "The provided continue parameter is too old to display a consistent list result. You can start \
                       a new list without the continue parameter, or use the continue token in this response to \
                       retrieve the remainder of the results. Continuing with the provided token results in an \
                       inconsistent list - objects that were created, modified, or deleted between the time the first \
                       chunk was returned and now may show up in the list.";
        Status::expired(message).with(Details { continue_token: fresh, ..Details::default() })
    }
}

/// At most `limit` matching items, and the last one's key if more follow.
async fn page<'a>(
    selection: &Selection,
    walk: impl Iterator<Item = (&'a Key, &'a Entry)>,
    limit: Option<usize>,
) -> (Vec<Entry>, Option<Key>) {
    let mut items = Vec::with_capacity(limit.unwrap_or(0).min(CHUNK));
    let (mut last, mut more) = (None, false);
    for (seen, (key, entry)) in (1usize..).zip(walk) {
        if seen.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
        if !selection.takes(key.as_str(), entry) {
            continue;
        }
        if limit.is_some_and(|limit| items.len() >= limit) {
            more = true;
            break;
        }
        items.push(entry.clone());
        last = Some(key.clone());
    }
    (items, last.filter(|_| more))
}

/// The last key of a page of everything, if more follow. What lies before it is not touched.
async fn last_of_page<'a>(walk: impl Iterator<Item = (&'a Key, &'a Entry)>, limit: usize) -> Option<Key> {
    let mut last: Option<&Key> = None;
    for (seen, (key, _)) in (1usize..).zip(walk) {
        if seen > limit {
            return last.cloned();
        }
        if seen.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
        last = Some(key);
    }
    None
}

/// Which of the parameters exclude each other.
fn check(query: &ListQuery) -> Result<(), Status> {
    let path = Path::root("resourceVersionMatch");
    let mut errors = Errors::default();
    if let Some(asked) = query.version_match {
        if !query.continue_token.is_empty() {
            errors.forbidden(&path, "resourceVersionMatch is forbidden when continue is provided");
        }
        match (query.resource_version.as_str(), asked) {
            ("", _) => errors
                .forbidden(&path, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
            ("0", VersionMatch::Exact) => {
                errors.forbidden(
                    &path,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                );
            }
            _ => {}
        }
    }
    if !errors.is_empty() {
        return Err(invalid_options(errors));
    }
    if !query.continue_token.is_empty() && !matches!(query.resource_version.as_str(), "" | "0") {
        return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
    }
    Ok(())
}

/// 422 about the parameters of a request and not about an object.
pub(crate) fn invalid_options(errors: Errors) -> Status {
    let causes = errors.into_causes();
    let listed: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let list = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
    Status::new(422, Reason::Invalid, format!("ListOptions.meta.k8s.io \"\" is invalid: {list}")).with(
        Details {
            group: "meta.k8s.io".to_owned(),
            kind: "ListOptions".to_owned(),
            causes,
            ..Details::default()
        },
    )
}

#[cfg(test)]
mod tests;
