//! Go templates, as far as scripts use them with kubectl: fields, variables, pipelines, `if`, `range`, `with`, named templates and the usual
//! functions. Gives what Go's own engine would give, its complaints in the middle of a text included.

mod call;
mod format;
mod lex;
mod parse;
mod run;
mod value;

use std::collections::BTreeMap;

use serde_json::Value;

use self::parse::Node;
use crate::error::CliError;

/// A template that can be filled in.
pub(crate) struct GoTemplate {
    text: String,
    main: Vec<Node>,
    named: BTreeMap<String, Vec<Node>>,
    /// What is not there is an error.
    strict: bool,
}

impl GoTemplate {
    pub(crate) fn parse(text: &str, strict: bool) -> Result<Self, CliError> {
        let (main, named) = parse::template(text)
            .map_err(|wrong| CliError::usage(format!("error parsing template {text}, {wrong}")))?;
        Ok(Self { text: text.to_owned(), main, named, strict })
    }

    pub(crate) fn apply(&self, object: &Value) -> Result<String, CliError> {
        run::run(&self.main, &self.named, object, self.strict)
            .map_err(|wrong| CliError::unmet(format!("error executing template {:?}: {wrong}", self.text)))
    }
}

#[cfg(test)]
mod tests;
