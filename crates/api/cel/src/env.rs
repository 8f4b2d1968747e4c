//! What an expression may use: its variables and their types. Compiles texts into programs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decl::Decl;
use crate::error::Issue;
use crate::library::{self, Function};
use crate::program::Program;
use crate::syntax::parser;
use crate::syntax::source::Source;
use crate::types::{JSON_PATCH, Type};
use crate::{check, cost};

/// The variables of an expression; functions are the same everywhere.
#[derive(Clone, Debug, Default)]
pub struct Env {
    pub(crate) variables: HashMap<Arc<str>, Arc<Decl>>,
    patches: bool,
}

impl Env {
    pub fn new() -> Self {
        Env::default()
    }

    /// Declares a variable. A [`Type`] will do where no sizes are known.
    #[must_use]
    pub fn variable(mut self, name: &str, decl: impl Into<Decl>) -> Self {
        self.variables.insert(name.into(), Arc::new(decl.into()));
        self
    }

    /// Declares `authorizer` and `authorizer.requestResource`.
    #[must_use]
    pub fn with_authorizer(self) -> Self {
        self.variable("authorizer", Type::authorizer())
            .variable("authorizer.requestResource", Type::resource_check())
    }

    /// Lets expressions write `JSONPatch{…}`, `Object{…}` and `Object.spec{…}`.
    #[must_use]
    pub fn with_patches(mut self) -> Self {
        self.patches = true;
        self
    }

    /// Parses and checks an expression.
    pub fn compile(&self, source: &str) -> Result<Program, Vec<Issue>> {
        let mut source = Source::new(source).map_err(|issue| vec![issue])?;
        let Ok(mut expr) = parser::parse(&mut source) else { return Err(source.into_issues()) };
        check::check(self, &mut source, &mut expr);
        if source.has_issues() {
            return Err(source.into_issues());
        }
        let estimate = cost::estimate::estimate(self, &expr);
        Program::new(&expr, estimate).map_err(|error| vec![Issue::instantiation(&error)])
    }

    /// A function, if it can be called here.
    pub(crate) fn function(&self, name: &str) -> Option<&'static Function> {
        library::function(name).filter(|_| self.patches || name != "jsonpatch.escapeKey")
    }

    /// The type that `name{…}` makes.
    pub(crate) fn constructed(&self, name: &str) -> Option<Type> {
        if !self.patches {
            return None;
        }
        match name {
            JSON_PATCH => Some(Type::json_patch()),
            "Object" => Some(Type::open_object(name)),
            other if other.starts_with("Object.") => Some(Type::open_object(other)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
