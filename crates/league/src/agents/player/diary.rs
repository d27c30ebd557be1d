//! What a player keeps of what it is given: its tokens, its name, its files.

use std::path::PathBuf;
use std::sync::Arc;

use league_core::player::{Command, Event, Player, Reply};
use league_protocol::id::LeagueId;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use tokio::sync::watch;

use crate::agents::actor::Witness;
use crate::agents::identity::{Identity, Life};
use crate::agents::keep_tokens;
use crate::storage::document_writer::Archivist;
use crate::storage::projection::publisher::PlayerPublisher;
use crate::storage::record::Record;

/// Who the player is, and in which league, once it is in one.
pub(super) fn enrolled(player: &Player) -> Option<(Agent, LeagueId)> {
    let agent = Agent::Player(player.player_id()?.clone());
    Some((agent, player.league_id()?.clone()))
}

/// Keeps what the player is given.
pub(super) struct Diary {
    pub(super) identity: Arc<Identity>,
    pub(super) token_file: PathBuf,
    /// Tells that a match was announced.
    pub(super) announced: watch::Sender<()>,
    pub(super) publisher: PlayerPublisher,
    pub(super) archivist: Archivist,
}

impl Witness<Player> for Diary {
    fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>, player: &Player) {
        self.publisher.take_in(sequence, at, record);
        match record {
            Record::Event(Event::Enrolled { .. }) => {
                if let Some((agent, league)) = enrolled(player) {
                    self.identity.set_guarded(player.knows_manager());
                    self.identity.set_agent(agent, league);
                }
            }
            Record::Event(Event::DrawDisputed {
                match_id, problem, ..
            }) => tracing::warn!(
                agent_id = %self.identity.log_name(),
                event_type = "DRAW_DISPUTED",
                "the draw of {match_id} is disputed: {problem:?}"
            ),
            Record::Event(Event::Rejected { reason, .. }) => {
                self.identity.set_life(Life::Rejected(reason.clone()));
            }
            Record::Event(Event::LeagueCompleted { .. }) => {
                self.identity.set_life(Life::Completed);
            }
            Record::Event(Event::Announced { .. }) => self.announced.send_replace(()),
            _ => {}
        }
    }

    fn replied(&mut self, reply: &Reply) -> Option<Command> {
        if let Reply::TokenGranted {
            token,
            return_token,
        } = reply
        {
            let (identity, file) = (&self.identity, &self.token_file);
            keep_tokens(identity, file, token, return_token.as_ref());
        }
        None
    }

    fn settle(&mut self, at: Timestamp, player: &Player) {
        self.archivist.publish(self.publisher.due(at, player));
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.publisher.wakeup()
    }

    fn end(&mut self, at: Timestamp, player: &Player) {
        self.archivist.publish(self.publisher.rest(at, player));
    }
}
