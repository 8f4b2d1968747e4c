//! What was found: fine, or what is wrong, why that matters and what to do. Finds nothing itself.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Level {
    Fine,
    /// Works, but not as well as it could, or not for long.
    Doubt,
    /// Does not work.
    Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) what: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) fix: String,
}

pub(crate) fn fine(what: impl Into<String>) -> Finding {
    Finding { level: Level::Fine, what: what.into(), why: String::new(), fix: String::new() }
}

pub(crate) fn doubt(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { level: Level::Doubt, what: what.into(), why: why.into(), fix: fix.into() }
}

pub(crate) fn wrong(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { level: Level::Wrong, what: what.into(), why: why.into(), fix: fix.into() }
}

/// For a person: what is fine in one line, the rest with its reason and what to do.
pub(crate) fn text(title: &str, findings: &[Finding]) -> String {
    let mut text = format!("{title}\n");
    for finding in findings {
        let mark = match finding.level {
            Level::Fine => "ok   ",
            Level::Doubt => "doubt",
            Level::Wrong => "WRONG",
        };
        text.push_str(&format!("  {mark}  {}\n", finding.what));
        for (word, said) in [("why", &finding.why), ("fix", &finding.fix)] {
            if !said.is_empty() {
                text.push_str(&format!("         {word}: {said}\n"));
            }
        }
    }
    text
}
