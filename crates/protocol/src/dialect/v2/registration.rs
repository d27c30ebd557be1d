//! Joining a league, in `league.v2`.

use crate::dialect::words::RegisterWord;
use crate::id::{LeagueId, PlayerId, RefereeId};
use crate::shape;
use crate::shape::{List, Parsed, Secret, Text, Whole};

shape! {
    /// A referee asks to be admitted.
    RefereeRegisterRequest<'a> "000 §4.1.1" {
        /// What the referee says of itself.
        referee_meta: RefereeMeta<'a>, Needed;
        /// The id it would like to have.
        referee_id: Text<'a>, Optional;
    }
    /// What a referee says of itself.
    RefereeMeta<'a> "000 §4.1.1" {
        /// The name that people see.
        display_name: Text<'a>, Needed;
        /// The referee's own version.
        version: Text<'a>, Expected;
        /// The protocol version it speaks.
        protocol_version: Text<'a>, Optional;
        /// The games it can run.
        game_types: List<'a, Text<'a>>, Expected;
        /// Where it answers.
        contact_endpoint: Text<'a>, Expected;
        /// How many matches it runs at once.
        max_concurrent_matches: Whole, Expected;
        /// How it takes calls: `simple` or `mcp`; an addition to the documents (ruling 46).
        speech: Text<'a>, Optional;
    }
    /// The manager admits a referee or not.
    RefereeRegisterResponse<'a> "000 §4.1.2" {
        /// Admitted or not.
        status: Parsed<'a, RegisterWord>, Needed;
        /// The referee's id from now on.
        referee_id: Parsed<'a, RefereeId>, Optional;
        /// The referee's token from now on.
        auth_token: Secret<'a>, Optional;
        /// What the manager will show the referee; an addition to the documents (ruling 45).
        manager_token: Secret<'a>, Optional;
        /// What proves the referee when it comes back; an addition to the documents (ruling 7).
        return_token: Secret<'a>, Optional;
        /// The league it is in.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Why it is not admitted.
        reason: Text<'a>, Optional;
    }
    /// A player asks to be admitted.
    LeagueRegisterRequest<'a> "000 §4.2.1" {
        /// What the player says of itself.
        player_meta: PlayerMeta<'a>, Needed;
        /// The id it would like to have.
        player_id: Text<'a>, Optional;
    }
    /// What a player says of itself.
    PlayerMeta<'a> "000 §4.2.1" {
        /// The name that people see.
        display_name: Text<'a>, Needed;
        /// The player's own version.
        version: Text<'a>, Expected;
        /// The protocol version it speaks.
        protocol_version: Text<'a>, Optional;
        /// The games it can play.
        game_types: List<'a, Text<'a>>, Expected;
        /// Where it answers.
        contact_endpoint: Text<'a>, Expected;
        /// How it takes calls: `simple` or `mcp`; an addition to the documents (ruling 46).
        speech: Text<'a>, Optional;
    }
    /// The manager admits a player or not.
    LeagueRegisterResponse<'a> "000 §4.2.2" {
        /// Admitted or not.
        status: Parsed<'a, RegisterWord>, Needed;
        /// The player's id from now on.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// The player's token from now on.
        auth_token: Secret<'a>, Optional;
        /// What the manager will show the player; an addition to the documents (ruling 45).
        manager_token: Secret<'a>, Optional;
        /// What proves the player when it comes back; an addition to the documents (ruling 7).
        return_token: Secret<'a>, Optional;
        /// The league it is in.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Why it is not admitted.
        reason: Text<'a>, Optional;
    }
}
