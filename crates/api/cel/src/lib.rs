//! The expression language of Kubernetes' rules and policies (CEL): parse, check, estimate, evaluate. Pure: it reads the
//! values it is handed and knows no request, no clock and no store.

mod check;
mod cost;
mod decl;
mod env;
mod error;
mod eval;
mod library;
mod names;
mod program;
mod syntax;
mod types;
mod value;

pub use cost::{Budget, CostRange, PER_CALL_LIMIT};
pub use decl::{Decl, Field, ListKind, Object, Schema};
pub use env::Env;
pub use error::{EvalError, Issue};
pub use names::{RESERVED, escape, unescape};
pub use program::Program;
pub use types::Type;
pub use value::authorizer::{Authorizer, Check, CheckTarget, Decision, Resource};
pub use value::{Activation, Value};
