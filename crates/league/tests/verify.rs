//! A league that is what its journal says, and the many ways in which it may not be.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

#[path = "verify/holding.rs"]
mod holding;
#[path = "verify/memories.rs"]
mod memories;
#[path = "verify/places.rs"]
mod places;
#[path = "verify/played.rs"]
mod played;
#[path = "verify/real.rs"]
mod real;
#[path = "verify/tampered.rs"]
mod tampered;
#[path = "verify/witnesses.rs"]
mod witnesses;

use league::record::Record;
use league::root::Root;
use league::verify::{Verdict, verify};
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
