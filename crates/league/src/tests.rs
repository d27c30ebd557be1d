//! Tests that need the inside of this crate and more than one module of it.

mod at_scale;
mod files;
pub(crate) mod journals;
mod lines;
mod store;
mod verify;
