//! One thread that writes the documents under `data/`, so that no desk waits for them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::storage::projection::publisher::{Archive, Publication};
use crate::storage::root::Root;

/// The way to the thread that writes documents.
#[derive(Debug, Clone)]
pub(crate) struct Archivist {
    orders: Sender<Order>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

enum Order {
    Write(Box<Publication>),
    Stop,
}

impl Archivist {
    /// Begins to write below a root.
    pub(crate) fn new(root: Root) -> Self {
        let (orders, due) = channel();
        let thread = std::thread::spawn(move || write(root, &due));
        Self {
            orders,
            thread: Arc::new(Mutex::new(Some(thread))),
        }
    }

    /// Has documents written; each takes the place of its former self.
    pub(crate) fn publish(&self, publications: Vec<Publication>) {
        for publication in publications {
            // Documents can be made again from the journal, so a writer that is gone loses nothing.
            let _ = self.orders.send(Order::Write(Box::new(publication)));
        }
    }

    /// Waits until all is written that was published before.
    pub(crate) fn finish(&self) {
        let _ = self.orders.send(Order::Stop);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn write(root: Root, due: &Receiver<Order>) {
    let mut archive = Archive::new(root);
    while let Ok(Order::Write(publication)) = due.recv() {
        if let Err(error) = archive.write(&publication) {
            tracing::error!(event_type = "DOCUMENT_NOT_WRITTEN", "{error}");
        }
    }
}
