//! A league that is what its journal says, and the many ways in which it may not be.

mod holding;
mod memories;
mod places;
mod played;
mod real;
mod screen;
mod tampered;
mod witnesses;

use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::verify::{Verdict, verify};
use league_core::league::Event;
use tempfile::TempDir;

use played::league_id;

/// A root with a league of these records.
struct Place {
    folder: TempDir,
    root: Root,
}

impl Place {
    fn holding(records: &[Record<Event>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        played::write(folder.path(), records);
        let root = Root::new(folder.path());
        Self { folder, root }
    }

    fn verdict(&self) -> Verdict {
        verify(&self.root, &league_id()).unwrap()
    }
}
