//! What the dialects leave out and name differently: hints for the reader, and the names of
//! `league.v1`.
//!
//! The messages are declared in [`message`](crate::message), one row for each member.

pub mod names;

pub use names::{conversation, player_name};

use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::message::EVEN_ODD;

/// What the reader of a message already knows; some dialects omit it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'h> {
    /// The league of the message.
    pub league_id: Option<&'h LeagueId>,
    /// The game of the league.
    pub game_type: Option<&'h GameType>,
    /// The reading player, if the reader is one.
    pub reader: Option<&'h PlayerId>,
    /// The opponent of that player in the match.
    pub opponent: Option<&'h PlayerId>,
    /// The match of the question, if this is an answer.
    pub match_id: Option<&'h MatchId>,
    /// Whether reader and opponent are placeholders for unknown players, so that any player named
    /// in a message is accepted as one of the two.
    pub placeholders: bool,
    /// Whether answers include the usual synonyms of their fields (ruling 48).
    pub synonyms: bool,
    /// Whether a move is told by the message of all games, also where its game has one of its own.
    pub generic_moves: bool,
}

impl Hints<'_> {
    /// The named league, or else the known one.
    pub fn league(&self, named: Option<&LeagueId>) -> LeagueId {
        named
            .or(self.league_id)
            .cloned()
            .unwrap_or_else(|| fixed(LeagueId::new("unnamed")))
    }

    /// The named game, or else the known one, or else Even/Odd.
    pub fn game(&self, named: Option<&GameType>) -> GameType {
        named
            .or(self.game_type)
            .cloned()
            .unwrap_or_else(|| fixed(GameType::new(EVEN_ODD)))
    }

    /// The match that an answer names, or else the match of the question.
    pub fn answered(
        &self,
        named: Option<&MatchId>,
        is_unreadable: bool,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<MatchId> {
        let known = self.match_id.filter(|_| !is_unreadable);
        // Match ids in a league never differ only in case.
        if let (Some(asked), Some(said)) = (known, named)
            && asked != said
            && asked.as_str().eq_ignore_ascii_case(said.as_str())
        {
            let at = at.member("match_id", true);
            let detail = format!("found `{said}`; send `{asked}`");
            notes.forgive(Code::InvalidMessage, &at, format!("`{asked}`"), detail);
            return Some(asked.clone());
        }
        let id = named.or(known);
        if id.is_none() {
            let detail = "the answer does not say which match it is about; name the match";
            let at = at.member("match_id", true);
            notes.refuse(Code::MissingField, &at, "a match id", detail);
        }
        id.cloned()
    }

    /// The reader; notes an error if it is not known.
    pub fn reader(&self, at: &Path<'_>, notes: &mut Notes) -> Option<PlayerId> {
        if self.reader.is_none() {
            let detail = "the message does not say who the reader is; name the players";
            notes.refuse(Code::MissingField, at, "a player id", detail);
        }
        self.reader.cloned()
    }

    /// The reader and its opponent. Named players replace placeholders, and the other named player
    /// replaces an unknown opponent.
    pub fn both(
        &self,
        mut named: impl Iterator<Item = PlayerId>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<[PlayerId; 2]> {
        let reader = self.reader(at, notes)?;
        if !self.placeholders {
            let other = |id: &PlayerId| *id != reader;
            let opponent = self.opponent.cloned().or_else(|| named.find(other));
            return Some([reader, opponent.unwrap_or(PlayerId::unknown())]);
        }
        let mut both: Vec<PlayerId> = Vec::new();
        for player in named.chain([reader, self.opponent()]) {
            if both.len() < 2 && !both.contains(&player) {
                both.push(player);
            }
        }
        both.try_into().ok()
    }

    /// The opponent, or the unknown player: two dialects omit it from most messages.
    pub fn opponent(&self) -> PlayerId {
        self.opponent.cloned().unwrap_or(PlayerId::unknown())
    }
}

#[expect(clippy::unwrap_used, reason = "the text is a constant that is an id")]
fn fixed<Id>(id: Result<Id, crate::id::IdError>) -> Id {
    id.unwrap()
}
