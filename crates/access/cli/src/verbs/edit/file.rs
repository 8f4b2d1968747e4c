//! The text that is edited: YAML with comments, or JSON without. Knows no server.

use serde_json::{Value, json};

use super::Aim;
use crate::args::Typed;
use crate::error::CliError;
use crate::print::{json_text, list, yaml};

const HEADER: &str = "\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
";

const LAST_APPLIED_HEADER: &str = "\
# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
#
";

pub(super) struct File {
    /// How its name ends.
    pub(super) end: &'static str,
    aim: Aim,
}

impl File {
    pub(super) fn of(typed: &Typed, aim: Aim) -> Result<Self, CliError> {
        match typed.text("output") {
            None | Some("" | "yaml" | "kyaml" | "name") => Ok(Self { end: ".yaml", aim }),
            Some("json") => Ok(Self { end: ".json", aim }),
            Some(other) => Err(CliError::usage(format!(
                "unable to match a printer suitable for the output format {other:?}, allowed formats are: json,kyaml,yaml"
            ))),
        }
    }

    pub(super) fn text(&self, object: &Value) -> String {
        if self.end == ".json" { json_text(object) } else { yaml::text(object) }
    }

    /// Several as one.
    pub(super) fn list(&self, items: Vec<Value>) -> Value {
        let mut list = list(items);
        if self.aim == Aim::LastApplied {
            list["metadata"] = json!({});
        }
        list
    }

    pub(super) fn with(&self, reasons: &str, text: &str) -> String {
        let header = match self.aim {
            _ if self.end == ".json" => "",
            Aim::LastApplied => LAST_APPLIED_HEADER,
            Aim::Change | Aim::Create => HEADER,
        };
        format!("{header}{reasons}{text}")
    }
}

/// Without comments.
pub(super) fn bare(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}
