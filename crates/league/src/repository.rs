//! The files under `data/`.

pub(crate) mod atomic;
