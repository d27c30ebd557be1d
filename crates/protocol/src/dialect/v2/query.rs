//! Questions to the manager, and its refusals, in `league.v2`.

use crate::dialect::words::QueryWord;
use crate::fault::Code;
use crate::id::{LeagueId, PlayerId};
use crate::shape;
use crate::shape::{Any, Flag, Parsed, Text};

shape! {
    /// A question to the manager.
    LeagueQuery<'a> "000 §4.9.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// What is asked.
        query_type: Parsed<'a, QueryWord>, Needed;
        /// What the question needs to know.
        query_params: QueryParams<'a>, Optional;
    }
    /// What a question needs to know.
    QueryParams<'a> "000 §4.9.1" {
        /// Whom it is about.
        player_id: Parsed<'a, PlayerId>, Optional;
    }
    /// The manager's answer.
    LeagueQueryResponse<'a> "000 §4.9.2" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// What was asked.
        query_type: Parsed<'a, QueryWord>, Expected;
        /// Whether there is an answer.
        success: Flag, Needed;
        /// The answer; its form follows from the question.
        data: Any<'a>, Optional;
        /// Why there is none.
        error: Any<'a>, Optional;
    }
    /// The manager refuses.
    LeagueError<'a> "000 §4.10.1" {
        /// Which rule.
        error_code: Parsed<'a, Code>, Needed;
        /// The name of the rule.
        error_name: Text<'a>, Optional;
        /// The name of the rule, or a sentence.
        error_description: Text<'a>, Expected;
        /// What kind of message was refused.
        original_message_type: Text<'a>, Optional;
        /// More that helps to find the cause.
        context: Any<'a>, Optional;
        /// Whether trying again may help.
        retryable: Flag, Optional;
    }
}
