//! The files under `data/`.
