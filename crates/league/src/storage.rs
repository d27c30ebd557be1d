//! All files on disk: journals, the documents made from them, and the verification of both.

pub(crate) mod archive;
pub(crate) mod database;
pub(crate) mod document_writer;
pub mod documents;
pub(crate) mod files;
pub(crate) mod hand_in;
pub(crate) mod league_store;
pub(crate) mod model_notes;
pub(crate) mod publishers;
pub(crate) mod record;
pub(crate) mod replay;
pub mod root;
pub(crate) mod secrets;
pub(crate) mod store;
pub(crate) mod verify;
