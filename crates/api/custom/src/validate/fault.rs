//! One complaint of the value validator, and how it becomes one of Kubernetes' causes.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::place::Place;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    Required {
        at: String,
    },
    NotSupported {
        at: String,
        value: Value,
        allowed: Vec<String>,
    },
    TooLong {
        at: String,
        max: i64,
    },
    TooMany {
        at: String,
        count: usize,
        max: i64,
    },
    Type {
        at: String,
        found: String,
        message: String,
    },
    Invalid {
        at: String,
        value: Value,
        message: String,
    },
    /// About no place in particular; the message names it.
    Whole {
        message: String,
    },
}

impl Fault {
    /// `spec.size in body should be …`
    pub(super) fn invalid(place: &Place<'_>, value: Value, said: &str) -> Self {
        let at = place.dotted();
        Self::Invalid { message: format!("{at} in body {said}"), at, value }
    }

    pub(super) fn wrong_type(place: &Place<'_>, wanted: &str, found: &str) -> Self {
        let at = place.dotted();
        Self::Type {
            message: format!("{at} in body must be of type {wanted}: {found:?}"),
            at,
            found: found.to_owned(),
        }
    }

    /// `base` is where the value stands that was looked at; the root if empty.
    pub(crate) fn tell(&self, base: &str, errors: &mut Errors) {
        let path = |at: &str| {
            let at = at.strip_prefix('.').unwrap_or(at);
            match (base, at) {
                ("", "") => "<nil>".to_owned(),
                ("", at) => at.to_owned(),
                (base, "") => base.to_owned(),
                (base, at) => format!("{base}.{at}"),
            }
        };
        match self {
            Self::Required { at } => errors.required(&Path::root(&path(at)), ""),
            Self::NotSupported { at, value, allowed } => {
                let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
                errors.not_supported(&Path::root(&path(at)), value, &allowed);
            }
            Self::TooLong { at, max } => {
                errors.too_long(&Path::root(&path(at)), usize::try_from(*max).unwrap_or(0));
            }
            Self::TooMany { at, count, max } => {
                errors.too_many(&Path::root(&path(at)), *count, usize::try_from(*max).unwrap_or(0));
            }
            Self::Type { at, found, message } => {
                errors.type_invalid(&Path::root(&path(at)), &found.as_str().into(), message);
            }
            Self::Invalid { at, value, message } => {
                errors.invalid(&Path::root(&path(at)), value, message);
            }
            Self::Whole { message } => errors.invalid(&Path::root(&path("")), &"".into(), message),
        }
    }
}
