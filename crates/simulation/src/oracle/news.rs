//! Watches the order in which a player gets its messages: the announcement of a round, its match, the
//! end of the round, and the end of the league last.

use std::collections::{BTreeMap, BTreeSet};

use league_core::league::Event;
use league_protocol::id::PlayerId;
use league_protocol::message::Message;
use league_protocol::time::Timestamp;

use super::Oracle;
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

/// The players that the present process of the manager has to wait for with its news.
#[derive(Default)]
pub(crate) struct NewsWatch {
    /// Players that do not know yet how their match of a round ended.
    untold: BTreeSet<(u32, PlayerId)>,
    /// Since when their news wait.
    held: BTreeMap<(u32, PlayerId), Timestamp>,
}

/// What a player has received in a league without faults.
#[derive(Default, Clone)]
pub(crate) struct ReceivedNews {
    announced: u32,
    /// The round of the last `GAME_OVER`.
    over: u32,
    closed: u32,
    completed: bool,
}

impl Oracle {
    /// Takes in an event of the manager.
    pub(crate) fn watch_news(&mut self, event: &Event, at: Timestamp) -> CheckResult {
        match event {
            Event::ResultRecorded {
                match_id,
                referee: Some(_),
                result,
                ..
            } => {
                let round = match_id.numbers().map_or(0, |(round, _)| round);
                let players = result.players.iter().cloned();
                self.news
                    .untold
                    .extend(players.map(|player| (round, player)));
            }
            Event::GameOverTold { match_id, players } => {
                let round = match_id.numbers().map_or(0, |(round, _)| round);
                for player in players {
                    self.news.untold.remove(&(round, player.clone()));
                }
            }
            Event::RoundClosed { round, .. } => {
                let untold = self.news.untold.iter().filter(|(open, _)| open == round);
                let held = untold.map(|untold| (untold.clone(), at));
                self.news.held.extend(held);
            }
            Event::MatchesAdded {
                round, pairings, ..
            } => {
                let players = pairings.as_flattened().iter();
                let held = players.map(|player| ((*round, player.clone()), at));
                self.news.held.extend(held);
            }
            Event::NewsReleased { players, .. } => {
                for (player, round) in players {
                    self.release_player(player, *round, at)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// News wait until their receiver knows its result, or was told for long enough.
    fn release_player(&mut self, player: &PlayerId, round: u32, at: Timestamp) -> CheckResult {
        let timeouts = &self.facts.rules.timeouts;
        let wait = timeouts.retrying(timeouts.game_over).longest();
        let key = (round, player.clone());
        let held = self.news.held.remove(&key);
        let early = held.is_none_or(|held| at < held + wait);
        if self.news.untold.remove(&key) && early {
            let what = format!("`{player}` gets news of round {round} before its result");
            return breach(Invariant::MessagesComeInOrder, what);
        }
        Ok(())
    }

    /// The end of a round is written to a player.
    pub(crate) fn check_news(&self, to: NodeId, round: u32) -> CheckResult {
        let mut untold = self.news.untold.iter();
        let waits = untold.any(|(open, player)| *open == round && self.holder(player) == Some(to));
        if waits {
            let what = format!("agent {to} gets the end of round {round} before its result");
            return breach(Invariant::MessagesComeInOrder, what);
        }
        Ok(())
    }

    /// A new process of the manager waits for no one.
    pub(crate) fn forget_news(&mut self) {
        self.news = NewsWatch::default();
    }

    /// A player receives a message. Where nothing fails, the order is that of the documents.
    pub(crate) fn delivered(&mut self, to: NodeId, message: &Message) -> CheckResult {
        if self.facts.faults || to as usize <= self.facts.capacities.len() {
            return Ok(());
        }
        let place = self.player_place(to);
        let is_listed = self.facts.is_listed();
        let rounds = match is_listed {
            true => self.league.closed_rounds(),
            false => self.facts.rounds(),
        };
        let players = self.facts.players;
        let Some(news) = self.received.get_mut(place) else {
            return Ok(());
        };
        // With levers a match may be over without a word, and a player that is out hears less.
        let levers = self.facts.levers;
        let rests = players % 2 == 1 || levers || is_listed;
        // A player that came late hears first of the round that is played then, or comes then.
        let is_first = self.facts.rules.late_entry && (news.announced, news.closed) == (0, 0);
        let in_order = match message {
            Message::RoundAnnouncement(round) => {
                let next = news.closed + 1 == round.round_id;
                let follows = next || levers && round.round_id > news.closed || is_first;
                let follows = follows && !news.completed;
                news.closed = round.round_id - 1;
                news.announced = round.round_id;
                follows
            }
            Message::GameInvitation(invitation) => news.announced == invitation.round_id,
            Message::GameOver(over) => {
                news.over = over.round_id;
                news.announced == over.round_id && news.closed < over.round_id
            }
            Message::StandingsUpdate(update) => news.over == update.round_id || rests,
            Message::RoundCompleted(round) => {
                let next = news.closed + 1 == round.round_id;
                let follows = next || levers && round.round_id > news.closed || is_first;
                news.closed = round.round_id;
                follows && (news.over == round.round_id || rests)
            }
            Message::LeagueCompleted(_) => {
                let first = !std::mem::replace(&mut news.completed, true);
                news.closed == rounds || levers && first
            }
            _ => true,
        };
        if in_order {
            return Ok(());
        }
        let kind = message.v2_type().unwrap_or_default();
        let what = format!("agent {to} gets `{kind}` out of order");
        breach(Invariant::MessagesComeInOrder, what)
    }
}
