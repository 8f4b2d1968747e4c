//! What a namespace's labels ask of its pods. Knows the labels and nothing of pods.

use std::fmt;

use kedge_kinds::Meta;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

const PREFIX: &str = "pod-security.kubernetes.io/";

/// In the order of their strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// Kubernetes' minor release whose checks are meant; `None` is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(pub(super) Option<u32>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    pub(super) version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) audit: Standard,
    pub(super) warn: Standard,
}

impl Policy {
    /// What a cluster asks for where a namespace says nothing.
    const OPEN: Self = {
        let open = Standard { level: Level::Privileged, version: Version(None) };
        Self { enforce: open, audit: open, warn: open }
    };

    pub(super) fn asks_nothing(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|one| one.level == Level::Privileged)
    }

    /// The policy, and what is wrong with the labels. A wrong label enforces the strictest and warns of nothing.
    pub(super) fn of(namespace: &Value) -> (Self, Errors) {
        let (meta, mut errors) = (Meta::of(namespace), Errors::default());
        let mut policy = Self::OPEN;
        let (enforced, _) = read(&meta, "enforce", Level::Restricted, &mut policy.enforce, &mut errors);
        read(&meta, "audit", Level::Privileged, &mut policy.audit, &mut errors);
        let (warned, versioned) = read(&meta, "warn", Level::Privileged, &mut policy.warn, &mut errors);
        // Who has to meet a level is also told about it in the objects that will make pods.
        if warned.is_none() && enforced == Some(true) && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if !versioned {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }
}

/// Reads a mode's two labels: whether its level is said and valid, and whether its version is said.
fn read(
    meta: &Meta<'_>,
    mode: &str,
    in_doubt: Level,
    standard: &mut Standard,
    errors: &mut Errors,
) -> (Option<bool>, bool) {
    let (metadata, mut said) = (Path::root("metadata"), None);
    let labels = metadata.child("labels");
    let label = format!("{PREFIX}{mode}");
    if let Some(text) = meta.label(&label) {
        let level = Level::parse(text);
        standard.level = level.unwrap_or(in_doubt);
        said = Some(level.is_some());
        if level.is_none() {
            let detail = "must be one of privileged, baseline, restricted";
            errors.invalid(&labels.key(&label), &text.into(), detail);
        }
    }
    let label = format!("{PREFIX}{mode}-version");
    let version = meta.label(&label);
    if let Some(text) = version {
        standard.version = Version::parse(text).unwrap_or_else(|| {
            errors.invalid(&labels.key(&label), &text.into(), "must be \"latest\" or \"v1.x\"");
            Version(None)
        });
    }
    (said, version.is_some())
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self(None));
        }
        let minor = text.strip_prefix("v1.")?;
        let is_number = minor.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = is_number && (minor == "0" || !minor.starts_with('0'));
        minor.parse().ok().filter(|_| is_plain).map(|minor| Self(Some(minor)))
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version(None) => write!(f, "{level}:latest"),
            Version(Some(minor)) => write!(f, "{level}:v1.{minor}"),
        }
    }
}
