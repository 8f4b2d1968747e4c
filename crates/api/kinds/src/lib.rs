//! The vocabulary of the API: kinds, schemas, selectors, quantities, names, `Status`. Data and pure functions only:
//! nothing here reads a clock, a socket or a disk.

pub mod builtin;
pub mod check;
pub mod decode;
pub mod duration;
pub mod encode;
pub mod field;
pub mod kind;
pub mod names;
pub mod object;
pub mod quantity;
pub mod schema;
pub mod selector;
pub mod status;
pub mod sysctls;
pub mod time;

pub use builtin::{Builtin, builtin};
pub use kind::{GroupVersion, Kind, Rules, Subresource};
pub use object::Meta;
pub use quantity::Quantity;
pub use selector::{FieldSelector, LabelSelector};
pub use status::{Cause, Details, Reason, Status};
