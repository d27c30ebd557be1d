//! Log lines by the documents.
