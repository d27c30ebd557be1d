//! One who looks: what it is told, one thing after the other, until it goes.

use bytes::Bytes;
use http_body_util::channel::Sender;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::piece::{OPENING, Piece};
use super::rooms::Seat;

/// Somebody at the feed.
pub(super) struct Viewer {
    pub(super) sender: Sender<Bytes>,
    /// Whether it is sent a packed stream.
    pub(super) packed: bool,
    pub(super) seat: Seat,
}

impl Viewer {
    /// Tells it what it missed and what is new, until it goes.
    ///
    /// One that takes nothing any more is let go by its connection.
    pub(super) async fn attend(mut self, missed: Vec<Piece>, mut receiver: Receiver<Piece>) {
        if self.packed && !self.sent(Bytes::from_static(&OPENING)).await {
            return;
        }
        for event in missed {
            if !self.told(&event).await {
                return;
            }
        }
        loop {
            let event = match receiver.recv().await {
                Ok(event) => event,
                // It was too slow for single events: it is told how things stand.
                Err(RecvError::Lagged(_)) => {
                    let Some((whole, listening)) = self.seat.anew().await else {
                        return;
                    };
                    receiver = listening;
                    whole
                }
                Err(RecvError::Closed) => return,
            };
            if !self.told(&event).await {
                return;
            }
        }
    }

    async fn told(&mut self, event: &Piece) -> bool {
        let bytes = match self.packed {
            true => event.packed(),
            false => Some(event.plain()),
        };
        match bytes {
            Some(bytes) => self.sent(bytes).await,
            None => false,
        }
    }

    async fn sent(&mut self, bytes: Bytes) -> bool {
        self.sender.send_data(bytes).await.is_ok()
    }
}
