//! From text to tree: tokens, grammar, macros. Knows no types and no functions.

pub(crate) mod ast;
pub(crate) mod lexer;
pub(crate) mod literal;
pub(crate) mod macros;
pub(crate) mod parser;
pub(crate) mod source;

#[cfg(test)]
mod tests;
