//! What a message leaves unsaid and its reader knows.

use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::message::EVEN_ODD;
use crate::shape::{Field, Parsed};

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
    /// The match that was asked about, if this is an answer.
    pub match_id: Option<&'h MatchId>,
    /// Whether reader and opponent only stand in for players whom nobody knows, so that whoever
    /// is named in a message is believed to be one of the two.
    pub placeholders: bool,
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

    /// The match that an answer names, or the one that was asked about where it names none.
    pub fn answered(
        &self,
        named: &Field<'_, Parsed<'_, MatchId>>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<MatchId> {
        let known = self
            .match_id
            .filter(|_| !matches!(named, Field::Unreadable(_)));
        let id = named.value().or(known);
        if id.is_none() {
            let detail = "the answer does not say which match it is about; name the match";
            let at = at.member("match_id", true);
            notes.refuse(Code::MissingField, &at, "a match id", detail);
        }
        id.cloned()
    }

    /// The reader, or a refusal to guess.
    pub fn reader(&self, at: &Path<'_>, notes: &mut Notes) -> Option<PlayerId> {
        known(self.reader, "the reader", at, notes)
    }

    /// The reader and its opponent; where they are placeholders, those who are named instead.
    pub fn both(
        &self,
        named: impl Iterator<Item = PlayerId>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<[PlayerId; 2]> {
        let known = [self.reader(at, notes)?, self.opponent(at, notes)?];
        if !self.placeholders {
            return Some(known);
        }
        let mut both: Vec<PlayerId> = Vec::new();
        for player in named.chain(known) {
            if both.len() < 2 && !both.contains(&player) {
                both.push(player);
            }
        }
        both.try_into().ok()
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
