//! What a CustomResourceDefinition means: the kinds that it defines, how their objects are pruned, filled in and judged, and
//! what is wrong with a definition itself. Pure functions: no store, no clock, no socket.

mod check;
mod correlate;
mod defaults;
mod definition;
mod embedded;
mod follow;
mod formats;
mod lists;
mod openapi;
mod pattern;
mod place;
mod priority;
mod prune;
mod read;
mod rules;
mod scale;
mod schema;
mod shapes;
mod validate;

pub use check::check;
pub use definition::compile;
pub use openapi::name as openapi_name;
pub use priority::compare as compare_versions;
pub use shapes::outline;
