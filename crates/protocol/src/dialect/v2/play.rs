//! One match, in `league.v2`.

use crate::dialect::words::{ModeWord, ParityWord, RoleWord};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::shape;
use crate::shape::{Any, Flag, List, Parsed, Round, Secret, Text, Whole};
use crate::time::Timestamp;

shape! {
    /// A referee invites a player to a match.
    GameInvitation<'a> "000 §4.4.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// Which round.
        round_id: Round, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// The seat of the one invited.
        role_in_match: Parsed<'a, RoleWord>, ExpectedSure;
        /// Who sits opposite.
        opponent_id: Parsed<'a, PlayerId>, Expected;
        /// The hash of the draw's seed (ruling 27).
        draw_commitment: Text<'a>, Optional;
    }
    /// The player comes to the match, or not.
    GameJoinAck<'a> "000 §4.4.2" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Who comes.
        player_id: Parsed<'a, PlayerId>, Expected;
        /// When it arrived.
        arrival_timestamp: Parsed<'a, Timestamp>, Expected;
        /// Whether it comes.
        accept: Flag, Needed;
    }
    /// The referee asks for even or odd.
    ChooseParityCall<'a> "000 §4.5.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Who is asked.
        player_id: Parsed<'a, PlayerId>, Expected;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// What may help to choose.
        context: ChoiceContext<'a>, Expected;
        /// When the answer must be in.
        deadline: Parsed<'a, Timestamp>, Expected;
    }
    /// What may help a player to choose.
    ChoiceContext<'a> "000 §4.5.1" {
        /// Who sits opposite.
        opponent_id: Parsed<'a, PlayerId>, Expected;
        /// Which round.
        round_id: Round, Expected;
        /// The player's record so far.
        your_standings: Record<'a>, Expected;
    }
    /// A player's record.
    Record<'a> "000 §4.5.1" {
        /// Matches won.
        wins: Whole, Expected;
        /// Matches lost.
        losses: Whole, Expected;
        /// Matches drawn.
        draws: Whole, Expected;
    }
    /// The player chooses even or odd.
    ChooseParityResponse<'a> "000 §4.5.2" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Who chooses.
        player_id: Parsed<'a, PlayerId>, Expected;
        /// `even` or `odd`.
        parity_choice: Parsed<'a, ParityWord>, Needed;
        /// The player's own share in the draw (ruling 27).
        nonce: Text<'a>, Optional;
    }
    /// The referee asks for a move of any game.
    GameMoveCall<'a> "000 §3.8.2" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Who is asked.
        player_id: Parsed<'a, PlayerId>, Expected;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// What is asked for.
        move_request: MoveRequest<'a>, Needed;
        /// When the answer must be in.
        deadline: Parsed<'a, Timestamp>, Expected;
    }
    /// What kind of move is asked for.
    MoveRequest<'a> "000 §3.8.2" {
        /// The kind of move.
        move_type: Text<'a>, Expected;
        /// The moves that are legal now.
        valid_options: List<'a, Any<'a>>, Expected;
        /// What the player may see.
        context: MoveContext<'a>, Expected;
    }
    /// What the player may see of the game, and of its standing.
    MoveContext<'a> "000 §3.8.2" {
        /// Who sits opposite.
        opponent_id: Parsed<'a, PlayerId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// The player's record so far.
        your_standings: Record<'a>, Optional;
        /// The position, as this seat sees it.
        view: Any<'a>, Optional;
        /// Which move of this player it is, from 1.
        turn_number: Whole, Optional;
    }
    /// The player moves.
    GameMoveResponse<'a> "000 §3.8.2" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Who moves.
        player_id: Parsed<'a, PlayerId>, Expected;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// The move.
        move_data: MoveDetail<'a>, Needed;
        /// The player's own share in the draw (ruling 27).
        nonce: Text<'a>, Optional;
    }
    /// A move.
    MoveDetail<'a> "000 §3.8.2" {
        /// The kind of move.
        move_type: Text<'a>, Expected;
        /// The move itself.
        choice: Any<'a>, Needed;
    }
    /// The manager orders a referee to run a match.
    StartMatch<'a> "ruling 4" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Needed;
        /// Which round.
        round_id: Round, Needed;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Counts the referees that were told to run this match, from 1.
        attempt: Whole, Needed;
        /// What is played.
        game_type: Parsed<'a, GameType>, Needed;
        /// The game's own settings.
        game_settings: Any<'a>, Optional;
        /// Whether it goes forward by itself.
        mode: Parsed<'a, ModeWord>, Optional;
        /// The hash of the token by which people step it, if it is stepped.
        step_token_hash: Text<'a>, Optional;
        /// Whether players are read strictly.
        strict: Flag, Optional;
        /// What a result is worth.
        scoring: Scoring<'a>, Needed;
        /// The secret behind the draw.
        draw_seed: Secret<'a>, Needed;
        /// Seat A and seat B.
        players: List<'a, MatchPlayer<'a>>, Needed;
    }
    /// What a result is worth.
    Scoring<'a> "000 §9.3.3" {
        /// Points for a win.
        win_points: Whole, Needed;
        /// Points for a draw.
        draw_points: Whole, Needed;
        /// Points for a loss.
        loss_points: Whole, Needed;
        /// Points for a loss by not playing.
        technical_loss_points: Whole, Needed;
    }
    /// What a referee has to know of a player.
    MatchPlayer<'a> "ruling 25" {
        /// Who.
        player_id: Parsed<'a, PlayerId>, Needed;
        /// Where it answers.
        contact_endpoint: Text<'a>, Needed;
        /// How it speaks: `v2`, `v2-api` or `v1`.
        dialect: Text<'a>, Optional;
        /// How it takes calls: `simple` or `mcp`, if that is known.
        speech: Text<'a>, Optional;
        /// The hash of the token it proves itself with.
        token_hash: Text<'a>, Needed;
        /// What the referee shows to this player to prove itself.
        match_token: Secret<'a>, Needed;
        /// Its record so far.
        record: Record<'a>, Optional;
    }
    /// The referee takes the match, or not.
    StartMatchAck<'a> "ruling 4" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Whether the referee runs it.
        accepted: Flag, Needed;
        /// Why not.
        reason: Text<'a>, Optional;
    }
}
