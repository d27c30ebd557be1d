//! What a message leaves unsaid and its reader knows.

use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::{GameType, LeagueId, PlayerId};
use crate::message::EVEN_ODD;

/// What the reader of a message knows already; some dialects leave it out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'h> {
    /// The league that is spoken of.
    pub league_id: Option<&'h LeagueId>,
    /// The game that is played in it.
    pub game_type: Option<&'h GameType>,
    /// The player who reads, if it is one.
    pub reader: Option<&'h PlayerId>,
    /// Who sits opposite that player in the match that is spoken of.
    pub opponent: Option<&'h PlayerId>,
}

impl Hints<'_> {
    /// The league that was named, or the one that is known.
    pub fn league(&self, named: Option<&LeagueId>) -> LeagueId {
        named
            .or(self.league_id)
            .cloned()
            .unwrap_or_else(|| fixed(LeagueId::new("unnamed")))
    }

    /// The game that was named, or the one that is known, or Even/Odd.
    pub fn game(&self, named: Option<&GameType>) -> GameType {
        named
            .or(self.game_type)
            .cloned()
            .unwrap_or_else(|| fixed(GameType::new(EVEN_ODD)))
    }

    /// The reader, or a refusal to guess.
    pub fn reader(&self, at: &Path<'_>, notes: &mut Notes) -> Option<PlayerId> {
        known(self.reader, "the reader", at, notes)
    }

    /// The opponent, or a refusal to guess.
    pub fn opponent(&self, at: &Path<'_>, notes: &mut Notes) -> Option<PlayerId> {
        known(self.opponent, "the opponent", at, notes)
    }
}

fn known(
    player: Option<&PlayerId>,
    who: &str,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<PlayerId> {
    if player.is_none() {
        let detail = format!("the message does not say who {who} is; name the players");
        notes.refuse(Code::MissingField, at, "a player id", detail);
    }
    player.cloned()
}

#[expect(clippy::unwrap_used, reason = "the text is a constant that is an id")]
fn fixed<Id>(id: Result<Id, crate::id::IdError>) -> Id {
    id.unwrap()
}
