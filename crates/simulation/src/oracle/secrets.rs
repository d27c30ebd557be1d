//! Looks for leaked secrets: in every letter by its shape, in events by their text.

use std::sync::Arc;

use league_core::letter::{Credential, Letter};
use league_core::machine::Persistence;
use league_protocol::id::MatchId;
use league_protocol::message::{Message, MoveCall, StartMatch};
use serde::Serialize;

use super::{Oracle, QUIET_SAMPLE, SAMPLE, number};
use crate::behaviour::MARK;
use crate::environment::ReturnPath;
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

impl Oracle {
    /// Looks at a letter that leaves.
    pub(crate) fn letter<T>(
        &mut self,
        from: NodeId,
        to: NodeId,
        letter: &Letter<T>,
        reached: [bool; 2],
    ) -> CheckResult {
        if self.is_lying_referee(from) {
            return Ok(());
        }
        let referees = u32::try_from(self.facts.capacities.len()).unwrap_or(0);
        if to > referees && letter.credential == Credential::Own {
            let what = format!("agent {from} shows its own token to player {to}");
            return breach(Invariant::IdsAndTokens, what);
        }
        match &letter.message {
            Message::StartMatch(order) => {
                self.check_order(order, reached)?;
                self.check_beginning(order)?;
                let hand = self.league.hand(&order.match_id);
                let referee = hand.and_then(|(referee, _)| referee.as_ref());
                let holder = referee.and_then(|referee| self.league.referee(referee));
                if holder != Some(to) {
                    let what = format!("agent {to} is given the secrets of `{}`", order.match_id);
                    return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
                }
                Ok(())
            }
            Message::MoveCall(call) => self.check_call(call),
            Message::PlayValidation(validation) if self.facts.listing.rules.hidden_moves => {
                let shown = validation.choice.is_some();
                let own = self.holder(&validation.player_id) == Some(to);
                if shown && !own && !self.is_decided(&validation.match_id) {
                    let what = format!("agent {to} sees a choice in `{}`", validation.match_id);
                    return breach(Invariant::NothingHiddenIsSeen, what);
                }
                Ok(())
            }
            Message::StandingsUpdate(update) => self.check_news(to, update.round_id),
            Message::RoundCompleted(round) => self.check_news(to, round.round_id),
            Message::GameOver(over) => self.check_over(from, &over.match_id),
            Message::MatchResultReport(report) => self.check_end(&report.match_id),
            Message::DrawRequest(request) if to != 0 => {
                let what = format!("agent {to} is handed the moves of `{}`", request.match_id);
                breach(Invariant::NothingHiddenIsSeen, what)
            }
            _ => Ok(()),
        }
    }

    /// Looks at an answer that leaves; no answer but a move carries anything hidden.
    pub(crate) fn answer(
        &mut self,
        from: NodeId,
        back: Option<ReturnPath>,
        message: &Message,
        backed: bool,
    ) -> CheckResult {
        if !backed {
            let what = "a seed leaves before the moves that it is for are safe";
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        if let Message::DrawResponse(response) = message {
            self.check_draw_given(back, &response.match_id)?;
        }
        let referees = u32::try_from(self.facts.capacities.len()).unwrap_or(0);
        let to_referee = back.is_none_or(|back| (1..=referees).contains(&back.to));
        let hidden = matches!(
            message,
            Message::MoveResponse(_) | Message::StartMatch(_) | Message::GameOver(_)
        );
        if hidden && (!to_referee || from <= referees) {
            let what = format!("agent {from} answers with what is hidden");
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        Ok(())
    }

    /// Writes some facts out and searches them.
    pub(crate) fn sample(&mut self, event: &impl Serialize, keep: Persistence) -> CheckResult {
        if keep == Persistence::Memory {
            return Ok(());
        }
        self.seen += 1;
        let one_in = if self.facts.faults {
            SAMPLE
        } else {
            QUIET_SAMPLE
        };
        if self.seen.is_multiple_of(one_in) {
            self.search(event)?;
        }
        Ok(())
    }

    /// Searches the text of an event for tokens, seeds and hidden choices.
    ///
    /// A match reveals its secrets in events with its result; all others must hold neither a seed
    /// nor a player's answer.
    pub(crate) fn search(&self, event: &impl Serialize) -> CheckResult {
        let text = serde_json::to_string(event).unwrap_or_default();
        if let Some(at) = text.find("tok-")
            && self
                .tokens
                .iter()
                .any(|token| text[at..].starts_with(token.as_str()))
        {
            return breach(Invariant::IdsAndTokens, "a token stands in a journal");
        }
        let opens = [
            "\"result\":{",
            "\"event\":\"remembered\"",
            "\"event\":\"move_played\"",
            "\"opened\":{",
        ];
        if opens.iter().any(|word| text.contains(word)) {
            return Ok(());
        }
        // Moves that were handed over stand in the manager's journal, and no seed beside them.
        let handed = text.starts_with("{\"moves_received\":{");
        let said = !handed
            && (text.contains("nonce-")
                || (self.facts.listing.rules.seals_moves() && text.contains(MARK)));
        let hidden = text.contains("\"seed\"") || said || self.holds_a_seed(&text);
        if hidden {
            let what = format!("a journal shows what is hidden: {text}");
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        Ok(())
    }

    /// Whether a text names a match and its seed.
    fn holds_a_seed(&self, text: &str) -> bool {
        let Some((_, rest)) = text.split_once("\"match_id\":\"") else {
            return false;
        };
        let id = rest.split('"').next().and_then(|id| MatchId::new(id).ok());
        id.is_some_and(|id| {
            let rolls = [1, 2].map(|attempt| self.facts.roll_seed(&id, attempt, 0));
            let seeds = [self.facts.seed(&id)].into_iter().chain(rolls);
            seeds.into_iter().any(|seed| text.contains(&seed.to_hex()))
        })
    }

    /// An order shows what was promised and what was handed over, and comes after the announcement
    /// of its attempt.
    fn check_order(&mut self, order: &StartMatch, reached: [bool; 2]) -> CheckResult {
        let match_id = &order.match_id;
        let held = self.league.handed(match_id);
        let is_held = match &order.handed_over {
            None => true,
            Some(told) => held.is_some_and(|held| {
                held.moves == told.moves
                    && held.drawn_in == told.attempt
                    && told.seeds.len() == held.rolls
            }),
        };
        if !is_held {
            let what =
                format!("the order of `{match_id}` shows seeds that nothing was handed over for");
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        self.check_promise(match_id, order.commitment)?;
        for (seat, reached) in reached.into_iter().enumerate() {
            let player = &order.players[seat].player_id;
            let Some(who) = self.holder(player).filter(|_| reached) else {
                continue;
            };
            let signs = self.facts.signing.get(self.player_place(who)).copied();
            let announced = self.note(match_id).map_or(0, |note| {
                let announced = note.announced.get(&who).copied();
                announced.unwrap_or(0).max(note.released)
            });
            let is_keyless = self.league.keyless.contains(player);
            if signs == Some(true) && !is_keyless && announced < order.attempt {
                let what =
                    format!("`{match_id}` is ordered before `{player}` is told of the attempt");
                return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
            }
        }
        Ok(())
    }

    /// A seed goes to the referee that handed moves over for it, which may have lost the match since.
    fn check_draw_given(&self, back: Option<ReturnPath>, match_id: &MatchId) -> CheckResult {
        let held = self.league.handed(match_id);
        let holder = held.and_then(|held| self.league.referee(&held.referee));
        if holder.is_some() && back.is_none_or(|back| Some(back.to) == holder) {
            return Ok(());
        }
        let what = format!("the draw of `{match_id}` is given away");
        breach(Invariant::NothingHiddenIsSeen, what)
    }

    /// Before the first move is open, a seat sees what it sees at the opening.
    fn check_call(&mut self, call: &MoveCall) -> CheckResult {
        let rules = &self.facts.listing.rules;
        let is_open = call.moves.len() == rules.open_moves(call.moves.len());
        if is_open && !rules.hidden_moves {
            return Ok(());
        }
        if !is_open {
            let what = format!("`{}` is shown moves of `{}`", call.player_id, call.match_id);
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        let mut known = self.openings.iter();
        if known.any(|known| Arc::ptr_eq(known, &call.view)) {
            return Ok(());
        }
        if self.facts.opening.contains(&call.view) {
            // A referee has two of them; after a fall it makes new ones.
            self.openings.truncate(2 * self.facts.capacities.len());
            self.openings.insert(0, Arc::clone(&call.view));
            return Ok(());
        }
        let what = format!(
            "`{}` is shown {} in `{}`",
            call.player_id, call.view, call.match_id
        );
        breach(Invariant::NothingHiddenIsSeen, what)
    }

    fn check_end(&self, match_id: &MatchId) -> CheckResult {
        if self.is_decided(match_id) {
            return Ok(());
        }
        let what = format!("the end of `{match_id}` is told before it has one");
        breach(Invariant::NothingHiddenIsSeen, what)
    }

    /// The result opens the seed, so it is sent only when no other referee can need the seed.
    fn check_over(&self, from: NodeId, match_id: &MatchId) -> CheckResult {
        let ruled = from == 0 && self.league.result(match_id).is_some();
        if ruled || self.is_acked(match_id) {
            return Ok(());
        }
        let what = format!("the seed of `{match_id}` is opened before its result is taken");
        breach(Invariant::NothingHiddenIsSeen, what)
    }

    /// Whether the manager has acknowledged the result to a referee.
    pub(crate) fn is_acked(&self, match_id: &MatchId) -> bool {
        let number = number(match_id, self.facts.matches_a_round());
        let note = number.and_then(|number| self.matches.get(number));
        note.is_some_and(|note| note.acked.is_some())
    }

    fn is_decided(&self, match_id: &MatchId) -> bool {
        let number = number(match_id, self.facts.matches_a_round());
        let note = number.and_then(|number| self.matches.get(number));
        note.is_some_and(|note| !note.decided.is_empty())
    }
}
