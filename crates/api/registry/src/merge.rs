//! How a change is put into an object: the four kinds of patch and who owns which field. Pure functions over values
//! and schemas; knows no storage, no admission and no HTTP.

mod check;
mod combine;
mod compare;
mod conflict;
mod element;
mod fields;
mod json;
pub mod managed;
mod overlay;
mod owned;
mod prune;
mod reset;
mod shape;
mod strategic;

pub use json::{json_patch, merge_patch};
pub use overlay::{OverlayError, overlay};
pub use strategic::strategic;
