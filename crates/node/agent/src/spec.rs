//! What a pod asks for, in the runtime's words. Pure: everything that has to be looked up is handed in.

pub(crate) mod container;
pub(crate) mod env;
pub(crate) mod expand;
pub(crate) mod names;
pub(crate) mod resources;
pub(crate) mod sandbox;
pub(crate) mod security;
