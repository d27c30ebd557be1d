//! The JSON examples of the documents, a file for each document.

/// What each file holds: a list of examples, and what they are.
pub(crate) const DOCUMENTS: [&str; 5] = [
    include_str!("examples/000.json"),
    include_str!("examples/001.json"),
    include_str!("examples/002.json"),
    include_str!("examples/003.json"),
    include_str!("examples/004.json"),
];
