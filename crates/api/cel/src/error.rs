//! What can go wrong with an expression: mistakes found when compiling it, and failures when evaluating it.
//! The texts are what users see in API responses.

use std::fmt;

/// A mistake in an expression's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// From 1; 0 for what has no place: the text is right, but no program can be made of it.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
    /// The line it is in, to show beside the message.
    pub text: String,
}

/// Printed as upstream's compiler does: place, message, and the line with a mark under the place.
impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return f.write_str(&self.message);
        }
        write!(f, "ERROR: <input>:{}:{}: {}", self.line, self.column, self.message)?;
        if self.text.is_empty() {
            return Ok(());
        }
        write!(f, "\n | {}\n | ", self.text)?;
        for before in self.text.chars().take(self.column.saturating_sub(1)) {
            f.write_str(if before.len_utf8() > 1 { "．" } else { "." })?;
        }
        let wide = self.text.chars().nth(self.column.saturating_sub(1)).is_some_and(|at| at.len_utf8() > 1);
        f.write_str(if wide { "＾" } else { "^" })
    }
}

impl Issue {
    /// A constant that cannot be converted, a pattern that cannot be read.
    pub(crate) fn instantiation(error: &EvalError) -> Self {
        let message = format!("program instantiation failed: {error}");
        Issue { line: 0, column: 0, message, text: String::new() }
    }

    /// Whether upstream calls it an internal error rather than an invalid value.
    pub fn is_internal(&self) -> bool {
        self.line == 0
    }

    /// All issues as one text, one under the other.
    pub fn join(issues: &[Issue]) -> String {
        issues.iter().map(Issue::to_string).collect::<Vec<_>>().join("\n")
    }
}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
    #[error("no such key: {0}")]
    NoSuchKey(String),
    #[error("no such attribute(s): {0}")]
    NoSuchAttribute(String),
    #[error("no such overload")]
    NoSuchOverload,
    /// With the function and the types that it was given.
    #[error("no such overload: {0}")]
    NoOverloadFor(String),
    #[error("NaN values cannot be ordered")]
    NotOrdered,
    #[error("division by zero")]
    DivideByZero,
    #[error("modulus by zero")]
    ModulusByZero,
    #[error("{0} overflow")]
    Overflow(&'static str),
    #[error("index out of bounds: {0}")]
    OutOfBounds(i64),
    /// A condition, or a part of one, that is no bool.
    #[error("no such overload")]
    NotBool,
    /// The value does not have the form that its schema promises.
    #[error("{0}")]
    Data(String),
    /// A function refused its arguments.
    #[error("{0}")]
    Function(String),
}

impl EvalError {
    pub(crate) fn function(message: impl Into<String>) -> Self {
        EvalError::Function(message.into())
    }
}
