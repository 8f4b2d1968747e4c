//! One request on its way through the door.

use std::collections::HashMap;
use std::str::FromStr;

use http::{Request, Uri};
use hyper::body::Incoming;

use crate::answer::Refusal;

pub(crate) type Call = Request<Incoming>;

/// What stands behind the question mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(HashMap<String, Vec<String>>);

impl Query {
    pub(crate) fn of(uri: &Uri) -> Self {
        Self::parse(uri.query().unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            all.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Self(all)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.first().map(String::as_str)
    }

    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// As clients say yes: `1`, `true`, or just the name.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "f"))
    }

    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        match self.get(name).filter(|value| !value.is_empty()) {
            Some(value) => {
                value.parse().map(Some).map_err(|_| Refusal::bad(r#"{"message": "Unable to decode query."}"#))
            }
            None => Ok(None),
        }
    }
}
