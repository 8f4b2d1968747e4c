//! The record of one request while it is handled. Filled in step by step; each stage that the policy wants is handed over
//! as it is reached.

use std::net::IpAddr;

use bytes::Bytes;
use http::request::Parts;
use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_kinds::decode::{self, Media};
use kedge_registry::gate::Remarks;
use kedge_registry::{Decision, User};
use serde_json::{Map, Value, json};

use super::Audit;
use super::policy::{Deed, Level, Stage, Verdict};
use crate::answer::Answer;
use crate::body::Body;
use crate::rbac::{Ask, What};

pub(crate) struct Trail {
    audit: Audit,
    verdict: Option<Verdict>,
    record: Map<String, Value>,
    annotations: Map<String, Value>,
    remarks: Option<Remarks>,
}

fn moment(at: Timestamp) -> Value {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into()
}

fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.as_str().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.as_str().into());
    }
    info.insert("groups".to_owned(), json!(user.groups));
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(info)
}

impl Audit {
    pub(crate) fn begin(&self, id: &str, parts: &Parts, from: Option<IpAddr>) -> Trail {
        let mut record = Map::new();
        let mut set = |key: &str, value: Value| drop(record.insert(key.to_owned(), value));
        set("kind", "Event".into());
        set("apiVersion", "audit.k8s.io/v1".into());
        set("auditID", id.into());
        set("requestURI", parts.uri.path_and_query().map_or("", |path| path.as_str()).into());
        set("verb", parts.method.as_str().to_ascii_lowercase().into());
        set("user", json!({}));
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let forwarded = header("x-forwarded-for").into_iter().flat_map(|all| all.split(','));
        let mut sources: Vec<String> =
            forwarded.map(str::trim).filter(|one| one.parse::<IpAddr>().is_ok()).map(str::to_owned).collect();
        sources.extend(from.map(|from| from.to_string()).filter(|from| sources.last() != Some(from)));
        if !sources.is_empty() {
            set("sourceIPs", json!(sources));
        }
        if let Some(agent) = header("user-agent") {
            set("userAgent", agent.into());
        }
        let now = self.0.clock.now();
        set("requestReceivedTimestamp", moment(now));
        Trail { audit: self.clone(), verdict: None, record, annotations: Map::new(), remarks: None }
    }
}

impl Trail {
    fn set(&mut self, key: &str, value: Value) {
        self.record.insert(key.to_owned(), value);
    }

    /// Whose request it is, and on whose behalf.
    pub(crate) fn by(&mut self, sender: &User, acting: &User) {
        self.set("user", user_info(sender));
        if sender != acting {
            self.set("impersonatedUser", user_info(acting));
        }
    }

    /// What it is about: from here on the policy knows what to record.
    pub(crate) fn about(&mut self, sender: &User, ask: &Ask<'_>, version: &str) {
        let mut deed = Deed { user: Some(sender), verb: ask.verb, ..Deed::default() };
        match ask.what {
            What::Path(path) => deed.path = path,
            What::Resource { group, resource, subresource, namespace, name } => {
                deed = Deed { group, resource, subresource, namespace, name, ..deed };
                let mut object = Map::new();
                for (key, value) in [
                    ("resource", resource),
                    ("namespace", namespace),
                    ("name", name),
                    ("apiGroup", group),
                    ("apiVersion", version),
                    ("subresource", subresource),
                ] {
                    if !value.is_empty() {
                        object.insert(key.to_owned(), value.into());
                    }
                }
                self.set("objectRef", Value::Object(object));
            }
        }
        self.set("verb", ask.verb.into());
        self.verdict = Some(self.audit.0.policy.judge(&deed));
        self.stage(Stage::RequestReceived);
    }

    pub(crate) fn decided(&mut self, decision: &Decision) {
        let word = if decision.allowed { "allow" } else { "forbid" };
        self.annotations.insert("authorization.k8s.io/decision".to_owned(), word.into());
        self.annotations.insert("authorization.k8s.io/reason".to_owned(), decision.reason.as_str().into());
    }

    pub(crate) fn remarked(&mut self, remarks: &Remarks) {
        self.remarks = Some(remarks.clone());
    }

    fn level(&self) -> Level {
        self.verdict.as_ref().map_or(Level::None, |verdict| verdict.level)
    }

    /// What was sent, if the policy wants it.
    pub(crate) fn sent(&mut self, body: &Bytes, content_type: &str) {
        if self.level() < Level::Request || body.is_empty() {
            return;
        }
        let read = match content_type {
            // A patch is no object, and may be a list.
            patch if patch.ends_with("patch+json") => serde_json::from_slice(body).ok(),
            other => {
                let media = Media::of(other).unwrap_or(Media::Yaml);
                decode::body(body, media).ok().map(|decoded| decoded.value)
            }
        };
        if let Some(object) = read {
            let object = self.shown(object);
            self.set("requestObject", object);
        }
    }

    fn shown(&self, mut object: Value) -> Value {
        if self.verdict.as_ref().is_some_and(|verdict| verdict.omit_managed) {
            let without = |object: &mut Value| {
                if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.remove("managedFields");
                }
            };
            without(&mut object);
            object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().for_each(without);
        }
        object
    }

    /// The answer is there. If it goes on for a while, its end is recorded when it comes.
    pub(crate) fn answered(
        mut self: Box<Self>,
        answer: &mut Answer,
        failure: Option<&Status>,
        panicked: bool,
    ) {
        if self.verdict.is_none() {
            // Nobody knows who it was, so nobody's rules apply but everybody's.
            let (verb, uri) = (self.record["verb"].clone(), self.record["requestURI"].clone());
            let path = uri.as_str().unwrap_or("").split('?').next().unwrap_or("").to_owned();
            let verb = verb.as_str().unwrap_or("").to_owned();
            let deed = Deed { verb: &verb, path: &path, ..Deed::default() };
            self.verdict = Some(self.audit.0.policy.judge(&deed));
        }
        if self.level() == Level::None {
            return;
        }
        let mut status = json!({ "metadata": {}, "code": answer.status().as_u16() });
        if let Some(failure) = failure {
            status = failure.to_object();
            for field in ["kind", "apiVersion"] {
                status.as_object_mut().map(|status| status.remove(field));
            }
        }
        self.set("responseStatus", status);
        if panicked {
            return self.stage(Stage::Panic);
        }
        if answer.body().is_live() {
            self.stage(Stage::ResponseStarted);
            let body = std::mem::take(answer.body_mut());
            *answer.body_mut() = body.holding(End(Some(self)));
            return;
        }
        if self.level() == Level::RequestResponse {
            let bytes = std::mem::take(answer.body_mut()).gathered();
            *answer.body_mut() = Body::from(bytes.clone());
            if let Ok(object) = serde_json::from_slice(&bytes) {
                let object = self.shown(object);
                self.set("responseObject", object);
            }
        }
        self.stage(Stage::ResponseComplete);
    }

    fn stage(&mut self, stage: Stage) {
        let Some(verdict) = &self.verdict else { return };
        if verdict.level == Level::None || verdict.omitted.contains(&stage) {
            return;
        }
        let mut record = self.record.clone();
        record.insert("level".to_owned(), format!("{:?}", verdict.level).into());
        record.insert("stage".to_owned(), format!("{stage:?}").into());
        record.insert("stageTimestamp".to_owned(), moment(self.audit.0.clock.now()));
        let mut annotations = self.annotations.clone();
        if let Some(remarks) = &self.remarks {
            annotations.extend(remarks.annotations().into_iter().map(|(key, value)| (key, value.into())));
        }
        if !annotations.is_empty() {
            record.insert("annotations".to_owned(), Value::Object(annotations));
        }
        self.audit.0.writer.hand_over(Value::Object(record));
    }
}

/// Held by an answer that goes on; its end is the request's.
struct End(Option<Box<Trail>>);

impl Drop for End {
    fn drop(&mut self) {
        if let Some(mut trail) = self.0.take() {
            trail.stage(Stage::ResponseComplete);
        }
    }
}
