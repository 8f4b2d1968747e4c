//! Carries a plan out, step by step, and says what has to be seen before the next plan. Knows the API's answers, no
//! controller.

use std::collections::HashMap;

use futures::future::{BoxFuture, join_all};
use http::Request;
use http::header::CONTENT_TYPE;
use kedge_client::{NotReady, Revision, Until, Wait};
use kedge_clock::Clock;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::action::Action;
use crate::events::Recorder;

/// How many requests of one turn are under way at the same time.
const AT_ONCE: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error(transparent)]
    NotReady(#[from] NotReady),
    /// Somebody else was faster; what we know is about to change.
    #[error("{action}: the object has changed meanwhile")]
    Stale { action: String },
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Refused(Vec<Refusal>),
    /// Nothing failed on the way, and yet the goal is not reached.
    #[error("{goal}: {missing}")]
    Unfinished { goal: String, missing: String },
    #[error("{action}")]
    Failed { action: String, source: Box<kube::Error> },
    /// A mistake of ours, which must cost one object's turn and nothing else.
    #[error("the turn panicked")]
    Panicked,
}

/// An action that the API will not do, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub action: Action,
    pub code: u16,
    pub reason: String,
    pub message: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.action, self.message)
    }
}

/// What became of a plan: what was written must be seen, also where the rest failed.
#[derive(Debug, Default)]
pub struct Done {
    pub waits: Vec<Wait>,
    pub error: Option<TurnError>,
}

/// What a worker acts with.
pub struct Carrier {
    client: Client,
    recorder: Recorder,
}

impl Carrier {
    /// `name` is what events say they come from.
    pub fn new(name: &'static str, client: Client, clock: Clock) -> Self {
        Self { recorder: Recorder::new(name, client.clone(), clock), client }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    // In a box: whoever awaits would have all of it built into its own crate.
    pub fn carry_out<'a>(&'a self, actions: &'a [Action]) -> BoxFuture<'a, Done> {
        Box::pin(carry_out(&self.client, &self.recorder, actions))
    }
}

async fn carry_out(client: &Client, recorder: &Recorder, actions: &[Action]) -> Done {
    let mut done = Done::default();
    // What an earlier step of the same plan made of an object; the plan knows it as it was before.
    let mut moved: HashMap<String, String> = HashMap::new();
    let mut rest = actions;
    while let Some(first) = rest.first() {
        let together = if first.is_creation() {
            run(rest, Action::is_creation)
        } else if first.is_deletion() {
            run(rest, Action::is_deletion)
        } else {
            1
        };
        let (now, later) = rest.split_at(together);
        rest = later;
        // If the first of many creations is refused, the others would be as well.
        let mut batch = if first.is_creation() { 1 } else { AT_ONCE };
        let mut now = now;
        while !now.is_empty() {
            let (some, others) = now.split_at(batch.min(now.len()));
            now = others;
            batch = (batch * 2).min(AT_ONCE);
            let under_way: Vec<_> = some.iter().map(|action| one(client, recorder, action, &moved)).collect();
            for (action, result) in some.iter().zip(join_all(under_way).await) {
                match result {
                    Ok(wait) => {
                        if let (Action::Change { target, .. }, Some(Until::Seen(revision))) =
                            (action, wait.as_ref().map(|wait| &wait.what))
                        {
                            moved.insert(target.uid.clone(), revision.0.to_string());
                        }
                        done.waits.extend(wait);
                    }
                    Err(error) => done.error = Some(worse(done.error.take(), error)),
                }
            }
            match &done.error {
                None => {}
                Some(TurnError::Refused(_)) if first.is_creation() => {
                    tell_all(client, recorder, rest, &moved, &mut done).await;
                    return done;
                }
                Some(_) => return done,
            }
        }
    }
    done
}

/// What was to be made may be refused for a long time; how things are now is said all the same.
async fn tell_all(
    client: &Client,
    recorder: &Recorder,
    rest: &[Action],
    moved: &HashMap<String, String>,
    done: &mut Done,
) {
    for action in rest.iter().filter(|action| action.is_status()) {
        if let Ok(wait) = one(client, recorder, action, moved).await {
            done.waits.extend(wait);
        }
    }
}

fn run(actions: &[Action], is_same: impl Fn(&Action) -> bool) -> usize {
    actions.iter().take_while(|action| is_same(action)).count()
}

/// Refusals are gathered; anything else that went wrong matters more.
fn worse(before: Option<TurnError>, now: TurnError) -> TurnError {
    match (before, now) {
        (Some(TurnError::Refused(mut all)), TurnError::Refused(more)) => {
            all.extend(more);
            TurnError::Refused(all)
        }
        (None | Some(TurnError::Refused(_)), now) => now,
        (Some(before), _) => before,
    }
}

async fn one(
    client: &Client,
    recorder: &Recorder,
    action: &Action,
    moved: &HashMap<String, String>,
) -> Result<Option<Wait>, TurnError> {
    let sent = match action {
        Action::Create { resource, namespace, object } => {
            let answer =
                send(client, recorder.component(), "POST", &resource.path(namespace, None), object).await;
            answer.map(|answer| answer.seen(&resource.kind))
        }
        Action::Change { target, subresource, patch } => {
            let mut path = target.resource.path(&target.key.namespace, Some(&target.key.name));
            if !subresource.is_empty() {
                path.push('/');
                path.push_str(subresource);
            }
            let mut patch = patch.clone();
            patch["metadata"]["uid"] = target.uid.clone().into();
            let revision = moved.get(&target.uid).unwrap_or(&target.revision);
            patch["metadata"]["resourceVersion"] = revision.clone().into();
            let answer = send(client, recorder.component(), "PATCH", &path, &patch).await;
            answer.map(|answer| answer.seen(&target.resource.kind))
        }
        Action::Delete { target, propagation, grace_seconds, unchanged } => {
            let path = target.resource.path(&target.key.namespace, Some(&target.key.name));
            let mut options = json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": propagation,
                "preconditions": {"uid": target.uid},
            });
            if *unchanged {
                options["preconditions"]["resourceVersion"] = target.revision.clone().into();
            }
            if let Some(seconds) = grace_seconds {
                options["gracePeriodSeconds"] = (*seconds).into();
            }
            let what = Until::Leaving { key: target.key.clone(), uid: target.uid.clone() };
            let wait = Wait { kind: target.resource.kind.clone(), what };
            send(client, recorder.component(), "DELETE", &path, &options).await.map(|_| Some(wait))
        }
        Action::Tell(note) => {
            recorder.tell(note).await;
            return Ok(None);
        }
    };
    sent.or_else(|error| meaning(action, error))
}

/// What an error says about the plan.
fn meaning(action: &Action, error: kube::Error) -> Result<Option<Wait>, TurnError> {
    let kube::Error::Api(status) = &error else {
        return Err(TurnError::Failed { action: action.to_string(), source: Box::new(error) });
    };
    match status.code {
        // It is gone, as it should be.
        404 if action.is_deletion() => Ok(None),
        404 | 409 => Err(TurnError::Stale { action: action.to_string() }),
        // Nothing new belongs into a namespace that is going away; its objects are about to go, too.
        403 if action.is_creation() && status.has_cause_like("NamespaceTerminating") => Ok(None),
        400..=428 | 430..=499 => Err(TurnError::Refused(vec![Refusal {
            action: action.clone(),
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
        }])),
        _ => Err(TurnError::Failed { action: action.to_string(), source: Box::new(error) }),
    }
}

trait Causes {
    fn has_cause_like(&self, reason: &str) -> bool;
}

impl Causes for kube::core::Status {
    fn has_cause_like(&self, reason: &str) -> bool {
        self.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| cause.reason == reason))
    }
}

/// All that we need of an answer.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Answer {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

impl Answer {
    fn seen(&self, kind: &str) -> Option<Wait> {
        let revision = self.metadata.resource_version.as_deref().and_then(Revision::parse)?;
        Some(Wait { kind: kind.to_owned(), what: Until::Seen(revision) })
    }
}

/// `manager` owns the fields that are written.
pub(crate) async fn send(
    client: &Client,
    manager: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Answer, kube::Error> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(match method {
            "DELETE" => path.to_owned(),
            _ => format!("{path}?fieldManager={manager}"),
        })
        .header(CONTENT_TYPE, content)
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}
