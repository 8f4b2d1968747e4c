//! What becomes of some objects of a kind: all of them as they are, then each change; resumed where it broke, and all of them again when
//! the server no longer remembers that far back. A failure is told and then tried again at once: how long to wait is the listener's to say.

use futures::stream::{BoxStream, StreamExt, unfold};
use kube::Client;
use kube::api::{ListParams, WatchParams};

use crate::wire::{Frame, FrameError, Frames, WatchError, pages, revision, watch};
use crate::world::{Revision, Watched};

#[derive(Debug)]
pub enum Event<K> {
    /// These there are, and no others.
    All(Vec<K>),
    /// It came or changed.
    Put(K),
    /// It went; this is what it last was.
    Gone(K),
}

/// Never ends.
pub type Events<K> = BoxStream<'static, Result<Event<K>, WatchError>>;

pub(super) fn events<K: Watched>(client: Client, path: String, selected: ListParams) -> Events<K> {
    texts(Follower { client, path, selected, state: State::Begin }).map(|text| typed(text?)).boxed()
}

fn typed<K: Watched>(text: Event<Vec<u8>>) -> Result<Event<K>, WatchError> {
    let read = |text: Vec<u8>| K::read(&text).map_err(FrameError::NoEvent);
    Ok(match text {
        Event::All(texts) => Event::All(texts.into_iter().map(read).collect::<Result<_, _>>()?),
        Event::Put(text) => Event::Put(read(text)?),
        Event::Gone(text) => Event::Gone(read(text)?),
    })
}

struct Follower {
    client: Client,
    path: String,
    selected: ListParams,
    state: State,
}

enum State {
    Begin,
    After(Revision),
    On(Box<Frames>, Revision),
}

/// A stream holds what it is about to do, so that whoever stops listening for a while loses nothing.
fn texts(follower: Follower) -> BoxStream<'static, Result<Event<Vec<u8>>, WatchError>> {
    unfold(follower, |mut follower| async move {
        let told = follower.next().await;
        Some((told, follower))
    })
    .boxed()
}

impl Follower {
    async fn next(&mut self) -> Result<Event<Vec<u8>>, WatchError> {
        loop {
            match std::mem::replace(&mut self.state, State::Begin) {
                State::Begin => {
                    let mut found = Vec::new();
                    let mut show = |object: &[u8]| {
                        found.push(object.to_vec());
                        Ok(())
                    };
                    let at = pages(&self.client, &self.path, self.selected.clone(), &mut show).await?;
                    self.state = State::After(at.ok_or(WatchError::NoRevision)?);
                    return Ok(Event::All(found));
                }
                State::After(at) => {
                    let params = WatchParams {
                        label_selector: self.selected.label_selector.clone(),
                        field_selector: self.selected.field_selector.clone(),
                        ..WatchParams::default()
                    };
                    match watch(&self.client, &self.path, &params, &at.0.to_string()).await {
                        Ok(frames) => self.state = State::On(Box::new(frames), at),
                        Err(WatchError::Gone) => {}
                        Err(error) => {
                            self.state = State::After(at);
                            return Err(error);
                        }
                    }
                }
                State::On(mut frames, at) => {
                    let (told, at) = match frames.next().await {
                        Ok(Some(Frame::Put(object))) => (Event::Put(object.to_vec()), revision(object)),
                        Ok(Some(Frame::Gone(object))) => (Event::Gone(object.to_vec()), revision(object)),
                        Ok(Some(Frame::Bookmark { revision, .. })) => {
                            self.state = State::On(frames, revision.unwrap_or(at));
                            continue;
                        }
                        Ok(Some(Frame::Error(status))) => match WatchError::from(*status) {
                            WatchError::Gone => continue,
                            error => {
                                self.state = State::After(at);
                                return Err(error);
                            }
                        },
                        // A watch ends now and then; that is no failure.
                        Ok(None) => {
                            self.state = State::After(at);
                            continue;
                        }
                        Err(error) => {
                            self.state = State::After(at);
                            return Err(error.into());
                        }
                    };
                    self.state = State::On(frames, at.ok_or(WatchError::NoRevision)?);
                    return Ok(told);
                }
            }
        }
    }
}
