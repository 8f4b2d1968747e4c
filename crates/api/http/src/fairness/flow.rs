//! A FlowSchema: which requests it takes, to which level they go, and which of them are alike.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::header::HeaderValue;
use kedge_registry::User;
use serde::Deserialize;

use super::rule::{Asked, Rule, Target};

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) uid: Option<HeaderValue>,
    pub(super) precedence: i64,
    pub(super) level: String,
    /// That of the level, once it is known.
    pub(super) level_uid: Option<HeaderValue>,
    distinguish: Distinguish,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distinguish {
    Nothing,
    User,
    Namespace,
}

#[derive(Deserialize)]
struct Stored {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) name: String,
    #[serde(default)]
    uid: String,
}

impl Metadata {
    pub(super) fn uid(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.uid).ok().filter(|uid| !uid.is_empty())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    priority_level_configuration: Reference,
    #[serde(default)]
    matching_precedence: i64,
    distinguisher_method: Option<Method>,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
}

#[derive(Deserialize)]
struct Method {
    r#type: String,
}

impl Flow {
    /// `None` for what is no FlowSchema, which was never let in.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let Stored { metadata, spec } = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            uid: metadata.uid(),
            name: metadata.name,
            precedence: spec.matching_precedence,
            level: spec.priority_level_configuration.name,
            level_uid: None,
            distinguish: match spec.distinguisher_method.as_ref().map(|method| method.r#type.as_str()) {
                Some("ByUser") => Distinguish::User,
                Some("ByNamespace") => Distinguish::Namespace,
                _ => Distinguish::Nothing,
            },
            rules: spec.rules,
        })
    }

    /// For what no other takes.
    pub(super) fn rest() -> Self {
        Self {
            name: "catch-all".to_owned(),
            uid: None,
            precedence: i64::MAX,
            level: "catch-all".to_owned(),
            level_uid: None,
            distinguish: Distinguish::User,
            rules: Vec::new(),
        }
    }

    pub(super) fn takes(&self, user: &User, asked: &Asked<'_>) -> bool {
        self.rules.iter().any(|rule| rule.takes(user, asked))
    }

    /// Requests of one flow that are to be told apart from its others have different numbers.
    pub(super) fn alike(&self, user: &User, asked: &Asked<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        match (self.distinguish, &asked.target) {
            (Distinguish::User, _) => user.name.hash(&mut hasher),
            (Distinguish::Namespace, Target::Resource { namespace, .. }) => namespace.hash(&mut hasher),
            (Distinguish::Nothing | Distinguish::Namespace, _) => {}
        }
        hasher.finish()
    }
}
