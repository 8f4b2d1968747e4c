//! What goes wrong, in the words that users of kubectl know, with what to do next. Exit codes are decided here and nowhere else.

use std::process::ExitCode;

use kedge_kinds::Cause;
use serde_json::{Value, json};

use crate::mapping::Resource;
use crate::screen::Screen;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// Typed wrongly.
    #[error("{message}")]
    Usage { message: String, help: Option<String> },
    /// The server said no.
    #[error("{0}")]
    Server(Refusal),
    #[error("the server doesn't have a resource type {typed:?}")]
    NoKind { typed: String, near: Option<String> },
    #[error("resource mapping not found for {what}: no matches for kind {kind:?} in version {version:?}")]
    NoMatch { what: String, kind: String, version: String },
    #[error("{0}")]
    Unreachable(String),
    #[error("{message}")]
    Kubeconfig { message: String },
    #[error("{what}: {message}")]
    Manifest { what: String, message: String },
    #[error("cannot {what}: {source}")]
    Io { what: String, source: std::io::Error },
    /// Something that was asked for isn't so.
    #[error("{0}")]
    Unmet(String),
    #[error("timed out waiting for the condition on {0}")]
    Timeout(String),
    /// Each is told on its own.
    #[error("several things went wrong")]
    Several(Vec<CliError>),
    /// All is said.
    #[error("exit code {0}")]
    Exit(u8),
}

/// A `Status` that the server answered with.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The whole `Status`, or null.
    pub(crate) status: Value,
    /// `GET /api/v1/pods`, for answers that say nothing themselves.
    pub(crate) request: String,
}

impl Refusal {
    pub(crate) fn is(&self, reason: &str) -> bool {
        self.reason == reason
    }

    /// What a server says of an object that it cannot take.
    pub(crate) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        let told: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let told = if let [one] = &told[..] { one.clone() } else { format!("[{}]", told.join(", ")) };
        let kind = resource.qualified_kind();
        let details = json!({"name": name, "group": resource.group, "kind": resource.kind, "causes": causes});
        Self {
            code: 422,
            reason: "Invalid".to_owned(),
            message: format!("{kind} {name:?} is invalid: {told}"),
            status: json!({"details": details}),
            request: String::new(),
        }
    }

    pub(crate) fn has_cause(&self, reason: &str) -> bool {
        let causes = self.status["details"]["causes"].as_array().into_iter().flatten();
        causes.into_iter().any(|cause| cause["reason"] == reason)
    }
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: None }
    }

    pub(crate) fn unmet(message: impl Into<String>) -> Self {
        Self::Unmet(message.into())
    }

    /// Says which manifest it came from.
    pub(crate) fn from(self, source: &str) -> Self {
        match self {
            Self::NoMatch { what, kind, version } => {
                Self::NoMatch { what: format!("{what} from {source:?}"), kind, version }
            }
            other => other,
        }
    }

    /// Says what was being done when the server refused.
    pub(crate) fn when(self, doing: &str, source: &str) -> Self {
        match self {
            Self::Server(mut refusal) => {
                refusal.message = format!("error when {doing} {source:?}: {}", refusal.message);
                Self::Server(refusal)
            }
            other => other,
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(refusal) if refusal.is("NotFound"))
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Server(refusal) if refusal.is("Conflict"))
    }

    /// Tells it and says how to end.
    pub(crate) fn tell(&self, screen: Screen) -> ExitCode {
        if let Self::Exit(code) = self {
            return ExitCode::from(*code);
        }
        self.say(screen);
        ExitCode::from(1)
    }

    /// As a warning, where work goes on.
    pub(crate) fn say(&self, screen: Screen) {
        match self {
            Self::Several(all) => all.iter().for_each(|error| match (all.len(), error) {
                // Of several each is told in its own words, as kubectl does.
                (2.., Self::Unmet(_) | Self::Timeout(_)) => screen.warn(&error.to_string()),
                (2.., Self::Server(refusal)) if refusal.is("Invalid") => {
                    screen.warn(&format!("Error from server (Invalid): {}", refusal.message));
                }
                _ => error.say(screen),
            }),
            Self::Exit(_) => {}
            one => {
                screen.warn(&one.told());
                if let Some(hint) = one.hint() {
                    screen.warn(&hint);
                }
            }
        }
    }

    /// In kubectl's words.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Server(refusal) => told_by_server(refusal),
            Self::Unreachable(message) => message.clone(),
            other => format!("error: {other}"),
        }
    }

    /// What to do next.
    fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { help: Some(help), .. } => Some(format!("See '{help}' for usage.")),
            Self::NoKind { near: Some(near), .. } => {
                Some(format!("Did you mean {near:?}? `api-resources` shows all there are."))
            }
            Self::NoKind { near: None, .. } => Some("`api-resources` shows all there are.".to_owned()),
            Self::NoMatch { .. } => {
                Some("ensure CRDs are installed first; `api-resources` shows the kinds there are.".to_owned())
            }
            Self::Unreachable(message) if message.contains("certificate") => Some(
                "Whoever answers is not whom this kubeconfig trusts: is it of another cluster, or was the server's data made anew? \
                 `config view` shows which one is asked; --kubeconfig and --context choose another."
                    .to_owned(),
            ),
            Self::Unreachable(_) => Some(
                "Does the server run (`kedge server`)? `config view` shows which one is asked; --kubeconfig, --context \
                 and --server choose another."
                    .to_owned(),
            ),
            Self::Server(refusal) => match &*refusal.reason {
                "Unauthorized" => Some(
                    "The server does not know who you are: is this its kubeconfig, and is its certificate or token still good?"
                        .to_owned(),
                ),
                "Forbidden" if refusal.message.contains("cannot") => {
                    Some("`auth whoami` shows who you are, `auth can-i --list` what you may do.".to_owned())
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn told_by_server(refusal: &Refusal) -> String {
    let Refusal { reason, message, request, code, .. } = refusal;
    match &**reason {
        "Invalid" => invalid(refusal),
        "Unauthorized" => "error: You must be logged in to the server (Unauthorized)".to_owned(),
        "" if message.is_empty() => format!("Error from server: {request} was answered with {code}"),
        "" => format!("Error from server: {message}"),
        _ => format!("Error from server ({reason}): {message}"),
    }
}

/// Why a file cannot be used, in the words of kubectl.
pub(crate) fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        _ => error.to_string(),
    }
}

/// Each cause on a line of its own, where there are several.
fn invalid(refusal: &Refusal) -> String {
    let details = &refusal.status["details"];
    let text = |key: &str| details[key].as_str().unwrap_or_default();
    let what = match (text("kind"), text("name")) {
        ("", "") => "The request is invalid".to_owned(),
        (kind, name) => format!("The {kind} {name:?} is invalid"),
    };
    let cause = |cause: &Value| {
        let text = |key: &str| cause[key].as_str().unwrap_or_default();
        format!("{}: {}", text("field"), text("message"))
    };
    let causes: Vec<String> = details["causes"].as_array().into_iter().flatten().map(cause).collect();
    match &causes[..] {
        [] => format!("{what}: {}", refusal.message),
        [one] => format!("{what}: {one}"),
        several => format!("{what}: {}", several.iter().map(|one| format!("\n* {one}")).collect::<String>()),
    }
}
