//! From a rule's text to programs. Knows nothing of objects.

use kedge_cel::{Decl, Env, Issue, Program, Type};

use super::Rule;
use crate::follow::follow;
use crate::schema::Schema;

#[derive(Debug)]
pub(crate) struct Compiled {
    /// None for an empty rule, which says nothing.
    pub(crate) program: Option<Result<Program, String>>,
    /// The expression that says what is wrong.
    pub(crate) message: Option<Result<Program, String>>,
    /// The rule is about a change.
    pub(crate) uses_old: bool,
    /// Where below the value a violation is told.
    pub(crate) place: Option<Box<str>>,
}

pub(crate) fn compile(rule: &Rule, schema: &Schema, decl: &Decl) -> Compiled {
    let old = if rule.optional_old { decl.clone().optional() } else { decl.clone() };
    let env = Env::new().variable("self", decl.clone()).variable("oldSelf", old);
    if rule.rule.trim().is_empty() {
        return Compiled { program: None, message: None, uses_old: false, place: None };
    }
    let program = match env.compile(&rule.rule) {
        Err(issues) => Err(format!("compilation failed: {}", Issue::join(&issues))),
        Ok(program) if *program.output() != Type::Bool => {
            Err("cel expression must evaluate to a bool".to_owned())
        }
        Ok(program) => Ok(program),
    };
    // What a rule that does not compile would say about its violations doesn't matter.
    let wanted = program.is_ok() && !rule.message_expression.is_empty();
    let message = wanted.then(|| match env.compile(&rule.message_expression) {
        Err(issues) => Err(format!("messageExpression compilation failed: {}", Issue::join(&issues))),
        Ok(program) if *program.output() != Type::String => {
            Err("messageExpression must evaluate to a string".to_owned())
        }
        Ok(program) => Ok(program),
    });
    let uses_old = program.as_ref().is_ok_and(|program| program.uses("oldSelf"));
    let place = (!rule.field_path.is_empty())
        .then(|| follow(&rule.field_path, schema, true).ok())
        .flatten()
        .map(|(printed, _)| printed.into());
    Compiled { program: Some(program), message, uses_old, place }
}
