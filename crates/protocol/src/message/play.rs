//! One match, from the order to run it to the last move.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Path, Reading, excerpt};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::{Commitment, Proof};
use crate::sender::Dialect;
use crate::shape::{
    Choice, Closed, Codec, Cx, Draft, Quiet, Round, RowStates, Spelling, Value as _, drafts,
    objects,
};
use crate::time::Timestamp;

use super::evidence::{ModelUse, Moves, SignedMove, Told};
use super::forms::parts;
use super::refusal::GameError;
use super::round::WinLossDraw;
use super::{EVEN_ODD, Message};

/// Where a match stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchState {
    /// Players are invited.
    WaitingForPlayers,
    /// Moves are asked for.
    CollectingChoices,
    /// All moves are in; chance decides.
    DrawingNumber,
    /// The result stands.
    Finished,
}

impl MatchState {
    /// The state as the documents write it.
    pub fn as_str(self) -> &'static str {
        self.word(Dialect::V2)
    }
}

/// A seat at the table, as players are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Seat A, who begins where someone begins.
    #[serde(rename = "PLAYER_A")]
    A,
    /// Seat B.
    #[serde(rename = "PLAYER_B")]
    B,
}

/// An invitation to one player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameInvitation {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// The seat of the one invited.
    pub role: Role,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// The promise on the draw.
    pub commitment: Option<Commitment>,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// The player comes, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameJoinAck {
    /// Which match.
    pub match_id: MatchId,
    /// Who says so; some dialects leave it out.
    pub player_id: Option<PlayerId>,
    /// When the player says it arrived.
    pub arrival: Option<Timestamp>,
    /// Whether it comes.
    pub accept: bool,
    /// What proves that the player joined; `None` from a player that does not sign.
    pub proof: Option<Proof>,
}

/// Both players are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameStart {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who is asked first.
    pub current_player: PlayerId,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// A request for one move.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveCall {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Who is asked.
    pub player_id: PlayerId,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// What is played.
    pub game_type: GameType,
    /// What kind of move is asked for.
    pub move_type: Arc<str>,
    /// The moves that are legal now.
    pub options: Arc<[Value]>,
    /// What this seat may see of the game.
    pub view: Arc<Value>,
    /// The moves so far that this seat may see, in the order of play: what its proof covers.
    pub moves: Arc<[SignedMove]>,
    /// Which move of this player in this match it is, from 1.
    pub turn_number: u32,
    /// The player's record so far.
    pub record: WinLossDraw,
    /// When the answer must be in.
    pub deadline: Timestamp,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// A move.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveResponse {
    /// Which match.
    pub match_id: MatchId,
    /// Who moves; some dialects leave it out.
    pub player_id: Option<PlayerId>,
    /// What is played.
    pub game_type: GameType,
    /// What kind of move it is; only games without messages of their own say so.
    pub move_type: Option<Arc<str>>,
    /// The move itself.
    pub choice: Value,
    /// The player's own share in the draw.
    pub nonce: Option<String>,
    /// Why, in the player's words; never shown to the opponent before the end.
    pub reasoning: Option<String>,
    /// What proves that the player made this move; `None` from a player that does not sign.
    pub proof: Option<Proof>,
    /// The language model that was asked for it; only a player that signs tells.
    pub model: Option<Box<ModelUse>>,
}

/// A move was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayValidation {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Whose move.
    pub player_id: PlayerId,
    /// The move, where the receiver may see it.
    pub choice: Option<Value>,
    /// Why it was not taken; `None` if it was.
    pub error: Option<String>,
}

objects! {
    /// A referee invites a player to a match.
    pub(crate) GAME_INVITATION: GameInvitation = "000 §4.4.1", api "001 §GAME_INVITATION" {
        /// Which league.
        "league_id" [league_id] Expected api Optional;
        /// Which round.
        "round_id" [round_id as Round] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What is played.
        "game_type" [game_type] Expected;
        /// The seat of the one invited.
        "role_in_match" [role] ExpectedSure in V2;
        /// Who sits opposite.
        "opponent_id" [opponent_id] Expected;
        /// The seat of the one invited.
        "role" [role] ExpectedSure in V2Api;
        /// The hash of the draw's seed (ruling 27).
        "draw_commitment" [commitment ? as Quiet] Optional;
    }
    /// The player comes to the match, or not.
    pub(crate) GAME_JOIN_ACK: GameJoinAck = "000 §4.4.2", api "001 §GAME_JOIN_ACK" {
        /// Which match.
        "match_id" [match_id] Expected;
        /// Who comes.
        "player_id" [player_id ?] Expected api Optional;
        /// When it arrived.
        "arrival_timestamp" [arrival ?] Expected api Optional;
        /// Whether it comes.
        "accept" [accept] Needed;
        /// What proves that the player joined (ruling 27).
        "proof" [proof ? as Quiet] Optional;
    }
    /// The referee asks for even or odd.
    pub(crate) CHOOSE_PARITY_CALL: MoveCall = "000 §4.5.1", api "001 §CHOOSE_PARITY_CALL" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// Which round.
        "round_id" [round_id as Round] Optional;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Who is asked.
        "player_id" [player_id] Expected api Optional;
        /// What is played.
        "game_type" [game_type] Expected api Optional;
        /// What may help to choose.
        "context" [inside CHOICE_CONTEXT] Expected api Optional;
        /// When the answer must be in.
        "deadline" [deadline] Expected;
    }
    /// What may help a player to choose.
    CHOICE_CONTEXT: MoveCall = "000 §4.5.1" {
        /// Who sits opposite.
        "opponent_id" [opponent_id] Expected;
        /// Which round.
        "round_id" [second round_id as Round] Expected;
        /// The player's record so far.
        "your_standings" [record as Record] Expected;
    }
    /// A player's record.
    RECORD: WinLossDraw = "000 §4.5.1" {
        /// Matches won.
        "wins" [wins] Expected;
        /// Matches lost.
        "losses" [losses] Expected;
        /// Matches drawn.
        "draws" [draws] Expected;
    }
    /// The player chooses even or odd.
    pub(crate) CHOOSE_PARITY_RESPONSE: MoveResponse = "000 §4.5.2",
    api "001 §CHOOSE_PARITY_RESPONSE" {
        /// Which match.
        "match_id" [match_id] Expected;
        /// Who chooses.
        "player_id" [player_id ?] Expected api Optional;
        /// `even` or `odd`.
        "parity_choice" [choice as Parity] Needed;
        /// The player's own share in the draw (ruling 27).
        "nonce" [nonce ?] Optional;
        /// What proves that the player made this move (ruling 27).
        "proof" [proof ? as Quiet] Optional;
        /// The language model that was asked for it, as the player tells.
        "language_model" [model ? as Told] Optional;
    }
    /// The referee asks for a move of any game.
    pub(crate) GAME_MOVE_CALL: MoveCall = "000 §3.8.2" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// Which round.
        "round_id" [round_id as Round] Optional;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Who is asked.
        "player_id" [player_id] Expected;
        /// What is played.
        "game_type" [game_type] Expected;
        /// What is asked for.
        "move_request" [inside MOVE_REQUEST] Needed;
        /// When the answer must be in.
        "deadline" [deadline] Expected;
    }
    /// What kind of move is asked for.
    MOVE_REQUEST: MoveCall = "000 §3.8.2" {
        /// The kind of move.
        "move_type" [move_type] Expected;
        /// The moves that are legal now.
        "valid_options" [options] Expected;
        /// What the player may see.
        "context" [inside MOVE_CONTEXT] Expected;
    }
    /// What the player may see of the game, and of its standing.
    MOVE_CONTEXT: MoveCall = "000 §3.8.2" {
        /// Who sits opposite.
        "opponent_id" [opponent_id] Optional;
        /// Which round.
        "round_id" [second round_id as Round] Optional;
        /// The player's record so far.
        "your_standings" [record as Record] Optional;
        /// The position, as this seat sees it.
        "view" [view] Optional;
        /// Which move of this player it is, from 1.
        "turn_number" [turn_number] Optional;
        /// The moves so far that this seat may see, in the order of play (ruling 27).
        "moves" [MoveCall::spell_moves => moves as Moves] Optional;
    }
    /// The player moves.
    pub(crate) GAME_MOVE_RESPONSE: MoveResponse = "000 §3.8.2" {
        /// Which match.
        "match_id" [match_id] Expected;
        /// Who moves.
        "player_id" [player_id ?] Expected;
        /// What is played.
        "game_type" [game_type] Expected;
        /// The move.
        "move_data" [inside MOVE_DATA] Needed;
        /// The player's own share in the draw (ruling 27).
        "nonce" [nonce ?] Optional;
        /// What proves that the player made this move (ruling 27).
        "proof" [proof ? as Quiet] Optional;
        /// The language model that was asked for it, as the player tells.
        "language_model" [model ? as Told] Optional;
    }
    /// A move.
    MOVE_DATA: MoveResponse = "000 §3.8.2" {
        /// The kind of move.
        "move_type" [move_type ?] Expected;
        /// The move itself.
        "choice" [choice] Needed;
    }
}

objects! {
    /// A referee invites a player to a match.
    pub(crate) V1_GAME_INVITATION: GameInvitation = "003 §GAME_INVITATION" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What is played, and against whom.
        "game_info" [inside GAME_INFO] Expected;
    }
    /// What is played, and against whom.
    GAME_INFO: GameInvitation = "003 §GAME_INVITATION" {
        /// What is played.
        "game_type" [game_type] Expected;
        /// Who sits opposite.
        "opponent_id" [opponent_id] Expected;
        /// The seat of the one invited.
        "your_role" [role] ExpectedSure;
        /// How long a move may take.
        "timeout_seconds" [move_seconds] Expected;
        /// The hash of the draw's seed (ruling 27).
        "draw_commitment" [commitment ? as Quiet] Optional;
    }
    /// The player comes to the match, or not.
    pub(crate) GAME_INVITATION_RESPONSE: V1JoinAck = "003 §GAME_INVITATION_RESPONSE" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Whether it comes.
        "status" [accept as Ready] Needed;
    }
    /// Both players are there.
    pub(crate) GAME_START: GameStart = "003 §GAME_START" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What is played, and who is asked first.
        "game_state" [inside START_STATE] Needed;
    }
    /// What is played, and who is asked first.
    START_STATE: GameStart = "003 §GAME_START" {
        /// What is played.
        "game_type" [game_type] Expected;
        /// Who is asked first.
        "current_player" [current_player] Needed;
        /// How it is played.
        "rules" [inside START_RULES] Expected;
    }
    /// How it is played.
    START_RULES: GameStart = "003 §GAME_START" {
        /// Whether each player moves once.
        "single_round" [= bool, GameStart::spell_single] Expected;
        /// How long a move may take, in seconds.
        "timeout_per_move" [move_seconds] Expected;
    }
    /// The referee asks for a play.
    pub(crate) PLAY_REQUEST: MoveCall = "003 §PLAY_REQUEST" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Where the match stands.
        "game_state" [inside PLAY_STATE] Expected;
    }
    /// Where a match stands.
    PLAY_STATE: MoveCall = "003 §PLAY_REQUEST" {
        /// Which play of this player it is, from 1.
        "turn_number" [turn_number] Expected;
        /// How long the play may take.
        "timeout_seconds" [move_seconds] Expected;
        /// What belongs to the game alone.
        "game_specific_state" [inside SPECIFIC_STATE] Expected;
    }
    /// What belongs to the game alone; of hidden plays nothing is told.
    SPECIFIC_STATE: MoveCall = "003 §PLAY_REQUEST" {
        /// The plays that this player may know.
        "previous_plays" [= Vec<Value>, |_, _| Spelling::List(Vec::new())] Expected;
        /// What is played, where it is not Even/Odd.
        "game_type" [MoveCall::spell_game => game_type] Optional;
        /// The kind of play, where it is not Even/Odd.
        "move_type" [MoveCall::spell_move_type => move_type] Optional;
        /// The plays that are legal now, where it is not Even/Odd.
        "valid_options" [MoveCall::spell_options => options] Optional;
        /// The position as this seat sees it, where it is not Even/Odd.
        "view" [MoveCall::spell_view => view] Optional;
    }
    /// The player plays.
    pub(crate) PLAY_RESPONSE: V1Response = "003 §PLAY_RESPONSE" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// The play.
        "play" [play as PlayPart] Needed;
    }
    /// A play.
    PLAY: Play = "003 §PLAY_RESPONSE" {
        /// `choose`
        "action" [action ?] Expected;
        /// What is chosen: `even` or `odd`.
        "value" [value] Needed;
        /// Why, in the player's words.
        "reasoning" [reasoning ?] Optional;
        /// The player's own share in the draw (ruling 27).
        "nonce" [nonce ?] Optional;
    }
    /// A play was looked at.
    pub(crate) PLAY_VALIDATION: V1Validation = "003 §PLAY_VALIDATION" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What came of it.
        "validation" [inside VALIDATION] Needed;
    }
    /// What came of a play.
    VALIDATION: V1Validation = "003 §PLAY_VALIDATION" {
        /// Whose play.
        "player_id" [player_id] Needed;
        /// The play, or null where the receiver may not see it yet.
        "play" [play ? as PlayPart] ExpectedOrNull;
        /// Whether it was taken.
        "status" [is_valid as Valid] Needed;
        /// Why it was not taken, or null.
        "error" [error ?] ExpectedOrNull;
        /// The same in a sentence for people, where `error` is a fixed reason.
        "detail" [detail ?] Optional;
    }
}

parts! {
    Record: WinLossDraw = RECORD;
    PlayPart: Play = PLAY;
}

drafts! {
    GameInvitation {
        league_id, round_id, match_id, game_type, role, opponent_id = Hints::opponent, commitment,
        move_seconds = move_seconds
    }
    GameJoinAck { match_id, player_id, arrival, accept, proof }
    GameStart {
        league_id, round_id, match_id, game_type, current_player, move_seconds = move_seconds
    }
    MoveCall {
        league_id, round_id, match_id, player_id, opponent_id = Hints::opponent, game_type,
        move_type, options, view, moves, turn_number = |_| 1, record,
        // `league.v1` names no deadline, only a number of seconds.
        deadline = |_| Timestamp::LAST,
        move_seconds = move_seconds
    }
    MoveResponse { match_id, player_id, game_type, move_type, choice, nonce, reasoning, proof, model }
    V1JoinAck { league_id, round_id, match_id, accept }
    V1Response { league_id, round_id, match_id, play }
    Play { action, value, reasoning, nonce }
    V1Validation { league_id, round_id, match_id, player_id, play, is_valid, error, detail }
}

impl Draft for Role {
    fn draft(_: &Hints<'_>) -> Self {
        Self::A
    }
}

/// How long a move may take where the message does not say: 000 table 5, and 003.
fn move_seconds(_: &Hints<'_>) -> u32 {
    30
}

pub(crate) fn answer_to_invitation(
    mut ack: GameJoinAck,
    seen: &RowStates<GameJoinAck>,
    cx: &mut Cx<'_>,
) -> Option<Message> {
    let at = &seen.at();
    ack.match_id = answered(&ack.match_id, seen, at, cx)?;
    Some(ack.into())
}

impl GameStart {
    fn spell_single(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Flag(self.game_type.as_str() == EVEN_ODD)
    }
}

impl MoveCall {
    fn spell_moves(&self, dialect: Dialect) -> Spelling<'_> {
        if self.moves.is_empty() {
            return Spelling::Absent;
        }
        Moves::spell(&self.moves, dialect)
    }

    /// With what every call for even or odd asks for.
    fn of_even_odd(mut self) -> Self {
        if self.move_type.is_empty() {
            self.move_type = Arc::from("choose_parity");
        }
        if self.options.is_empty() {
            self.options = Arc::new(["even".into(), "odd".into()]);
        }
        self
    }

    pub(crate) fn finish(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("match_id") {
            return None;
        }
        if !seen.has("player_id") {
            self.player_id = cx.hints.reader(&at.member("player_id", true), cx.notes)?;
        }
        Some(self.into())
    }

    pub(crate) fn finish_parity(self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        self.of_even_odd().finish(seen, cx)
    }

    pub(crate) fn finish_v1(self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        if self.is_even_odd() {
            return self.of_even_odd().finish(seen, cx);
        }
        self.finish(seen, cx)
    }

    pub(crate) fn is_even_odd(&self) -> bool {
        self.game_type.as_str() == EVEN_ODD
    }

    fn spell_game(&self, dialect: Dialect) -> Spelling<'_> {
        self.unless_even_odd(self.game_type.spell(dialect))
    }

    fn spell_move_type(&self, dialect: Dialect) -> Spelling<'_> {
        self.unless_even_odd(self.move_type.spell(dialect))
    }

    fn spell_options(&self, dialect: Dialect) -> Spelling<'_> {
        self.unless_even_odd(self.options.spell(dialect))
    }

    fn spell_view(&self, dialect: Dialect) -> Spelling<'_> {
        self.unless_even_odd(self.view.spell(dialect))
    }

    fn unless_even_odd<'m>(&self, spelled: Spelling<'m>) -> Spelling<'m> {
        if self.is_even_odd() {
            Spelling::Absent
        } else {
            spelled
        }
    }
}

impl MoveResponse {
    pub(crate) fn finish(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        self.match_id = answered(&self.match_id, seen, at, cx)?;
        Some(self.into())
    }

    pub(crate) fn finish_parity(
        mut self,
        seen: &RowStates<Self>,
        cx: &mut Cx<'_>,
    ) -> Option<Message> {
        self.game_type = Hints::default().game(None);
        self.finish(seen, cx)
    }

    /// Whether it is even or odd, which has a message of its own.
    pub(crate) fn is_parity(&self) -> bool {
        self.game_type.as_str() == EVEN_ODD && is_parity(&self.choice)
    }
}

fn is_parity(choice: &Value) -> bool {
    matches!(choice.as_str(), Some("even" | "odd"))
}

/// The match that an answer is about: the one it names, or the one that was asked about.
pub(crate) fn answered<M>(
    named: &MatchId,
    seen: &RowStates<M>,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
) -> Option<MatchId> {
    let named = seen.has("match_id").then_some(named);
    cx.hints
        .answered(named, seen.unreadable("match_id"), at, cx.notes)
}

/// A [`GameJoinAck`] of `league.v1`.
pub(crate) struct V1JoinAck {
    league_id: LeagueId,
    round_id: u32,
    match_id: MatchId,
    accept: bool,
}

impl From<V1JoinAck> for Message {
    fn from(told: V1JoinAck) -> Self {
        Self::from(GameJoinAck {
            match_id: told.match_id,
            player_id: None,
            arrival: None,
            accept: told.accept,
            proof: None,
        })
    }
}

impl V1JoinAck {
    pub(crate) fn new(ack: &GameJoinAck, league: &LeagueId) -> Self {
        Self {
            league_id: league.clone(),
            round_id: ack.match_id.round().unwrap_or_default(),
            match_id: ack.match_id.clone(),
            accept: ack.accept,
        }
    }
}

/// A [`MoveResponse`] of `league.v1`.
pub(crate) struct V1Response {
    league_id: LeagueId,
    round_id: u32,
    match_id: MatchId,
    play: Play,
}

/// A play; 003 knows one action, whatever is chosen by it.
struct Play {
    action: Option<String>,
    value: Value,
    reasoning: Option<String>,
    nonce: Option<String>,
}

impl Play {
    fn of(choice: &Value) -> Self {
        Self {
            action: Some("choose".to_owned()),
            value: choice.clone(),
            reasoning: None,
            nonce: None,
        }
    }

    /// Even/Odd knows one action and two values; a wrong value is an illegal move.
    fn check_parity(&self, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<()> {
        if self
            .action
            .as_ref()
            .is_some_and(|action| action != "choose")
        {
            let detail = "the action of Even/Odd is always `choose`; send it";
            let at = &at.member("action", false);
            cx.note(Code::InvalidMessage, at, "`choose`", detail);
        }
        if is_parity(&self.value) {
            return Some(());
        }
        let found = excerpt(&self.value.to_string());
        let detail = format!("found `{found}`; send `even` or `odd`");
        let at = &at.member("value", true);
        cx.refuse(Code::InvalidMove, at, "`even` or `odd`", detail);
        None
    }
}

impl V1Response {
    pub(crate) fn new(response: &MoveResponse, league: &LeagueId) -> Self {
        Self {
            league_id: league.clone(),
            round_id: response.match_id.round().unwrap_or_default(),
            match_id: response.match_id.clone(),
            play: Play {
                reasoning: response.reasoning.clone(),
                nonce: response.nonce.clone(),
                ..Play::of(&response.choice)
            },
        }
    }

    pub(crate) fn finish(self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("play") {
            return None;
        }
        let game_type = cx.hints.game(None);
        if game_type.as_str() == EVEN_ODD {
            self.play.check_parity(&at.member("play", true), cx)?;
        }
        Some(Message::from(MoveResponse {
            match_id: self.match_id,
            player_id: None,
            game_type,
            move_type: None,
            choice: self.play.value,
            nonce: self.play.nonce,
            reasoning: self.play.reasoning,
            proof: None,
            model: None,
        }))
    }
}

/// A [`PlayValidation`] on the wire; a refused play is said so as well.
pub(crate) struct V1Validation {
    league_id: LeagueId,
    round_id: u32,
    match_id: MatchId,
    player_id: PlayerId,
    play: Option<Play>,
    is_valid: bool,
    error: Option<String>,
    detail: Option<String>,
}

impl From<&PlayValidation> for V1Validation {
    fn from(validation: &PlayValidation) -> Self {
        Self {
            league_id: validation.league_id.clone(),
            round_id: validation.round_id,
            match_id: validation.match_id.clone(),
            player_id: validation.player_id.clone(),
            play: validation.choice.as_ref().map(Play::of),
            is_valid: validation.error.is_none(),
            error: validation.error.clone(),
            detail: None,
        }
    }
}

impl From<V1Validation> for Message {
    fn from(told: V1Validation) -> Self {
        let unexplained = || "the play was not taken".to_owned();
        Self::from(PlayValidation {
            league_id: told.league_id,
            round_id: told.round_id,
            match_id: told.match_id,
            player_id: told.player_id,
            choice: told.play.map(|play| play.value),
            error: (!told.is_valid).then(|| told.error.unwrap_or_else(unexplained)),
        })
    }
}

/// An error about a play is a validation that failed.
impl From<&GameError> for V1Validation {
    fn from(error: &GameError) -> Self {
        Self {
            league_id: error.league_id.clone(),
            round_id: error.round_id,
            match_id: error.match_id.clone(),
            player_id: error.player_id.clone(),
            play: None,
            is_valid: false,
            error: Some(v1_reason(error).to_owned()),
            detail: Some(error.detail.clone()),
        }
    }
}

/// The fixed reason of 003 for an error, or our own sentence where it has none.
fn v1_reason(error: &GameError) -> &str {
    match error.code {
        Code::Timeout | Code::DeadlinePassed => "Timeout exceeded",
        Code::InvalidMove => "Choice not in allowed values",
        Code::InvalidMessage | Code::MissingField => "Invalid choice format",
        _ => &error.detail,
    }
}

impl Closed for Role {
    fn words(dialect: Dialect) -> &'static [(Self, &'static str)] {
        match dialect {
            Dialect::V2 | Dialect::V2Api => &[(Self::A, "PLAYER_A"), (Self::B, "PLAYER_B")],
            Dialect::V1 => &[(Self::A, "challenger"), (Self::B, "defender")],
        }
    }
}

impl Closed for MatchState {
    fn words(_: Dialect) -> &'static [(Self, &'static str)] {
        &[
            (Self::WaitingForPlayers, "WAITING_FOR_PLAYERS"),
            (Self::CollectingChoices, "COLLECTING_CHOICES"),
            (Self::DrawingNumber, "DRAWING_NUMBER"),
            (Self::Finished, "FINISHED"),
        ]
    }
}

/// Whether a player comes to a match.
struct Ready;

impl Choice for Ready {
    fn words(_: Dialect) -> [&'static str; 2] {
        ["READY", "DECLINED"]
    }
}

/// Whether a play was taken.
struct Valid;

impl Choice for Valid {
    fn words(_: Dialect) -> [&'static str; 2] {
        ["VALID", "INVALID"]
    }
}

/// Even or odd.
#[derive(Clone, Copy, PartialEq)]
struct Parity(&'static str);

impl Closed for Parity {
    const CODE: Code = Code::InvalidMove;

    fn words(_: Dialect) -> &'static [(Self, &'static str)] {
        &[(Self("even"), "even"), (Self("odd"), "odd")]
    }
}

impl Codec<Value> for Parity {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Value> {
        <Self as crate::shape::Value>::read(raw, at, cx).map(|Self(word)| word.into())
    }

    fn spell(choice: &Value, _: Dialect) -> Spelling<'_> {
        Spelling::json(choice)
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        <Self as crate::shape::Value>::schema(dialect, reading)
    }
}
