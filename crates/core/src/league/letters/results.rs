//! What is said of results: the table after a round, and the end of the league.

use std::sync::Arc;

use league_protocol::message::{
    Champion, LeagueCompleted, Message, RoundCompleted, StandingRow, StandingsUpdate,
};

use super::super::standings::Table;
use super::super::{ClosedRound, League};
use super::Letters;

impl League {
    pub(super) fn tell_table(&self, out: &mut Letters) {
        let Some(closed) = &self.closed else { return };
        let rounds = self.schedule.rounds();
        let next_round_id = Some(closed.number + 1).filter(|&next| next <= rounds);
        let mut news = None;
        for (number, player) in self.listeners() {
            let told = || self.end_of_round(closed, next_round_id, number);
            // All are told the same, unless the league is so large that each has rows of its own.
            let [update, completed] = if self.is_large() {
                told()
            } else {
                news.get_or_insert_with(told).clone()
            };
            out.push(self.notice(&player.member, update));
            out.push(self.notice(&player.member, completed));
        }
    }

    fn end_of_round(
        &self,
        closed: &ClosedRound,
        next_round_id: Option<u32>,
        receiver: u32,
    ) -> [Message; 2] {
        let standings = self.rows_for(&closed.table, Some(receiver));
        let update = Message::from(StandingsUpdate {
            league_id: self.rules.league_id.clone(),
            round_id: closed.number,
            standings: Arc::clone(&standings),
        });
        let completed = Message::from(RoundCompleted {
            league_id: self.rules.league_id.clone(),
            round_id: closed.number,
            next_round_id,
            summary: closed.summary,
            standings,
        });
        [update, completed]
    }

    /// The last word goes to everyone, heard lately or not.
    pub(super) fn tell_end(&self, out: &mut Letters) {
        let table = self.table();
        for (number, player) in (0..).zip(&self.players.members) {
            out.push(self.notice(&player.member, self.end(&table, Some(number))));
        }
        for referee in &self.referees.members {
            out.push(self.notice(&referee.member, self.end(&table, None)));
        }
    }

    pub(super) fn end(&self, table: &Table, receiver: Option<u32>) -> Message {
        Message::from(LeagueCompleted {
            league_id: self.rules.league_id.clone(),
            total_rounds: self.schedule.rounds(),
            total_matches: u32::try_from(self.schedule.total_matches()).unwrap_or(u32::MAX),
            champion: table.rows.first().map(champion),
            final_standings: self.rows_for(table, receiver),
        })
    }

    /// The whole table, or the top of it and the receiver's own row in a large league.
    fn rows_for(&self, table: &Table, receiver: Option<u32>) -> Arc<[StandingRow]> {
        if !self.is_large() {
            return Arc::clone(&table.rows);
        }
        let top = table.rows.iter().take(self.rules.top_rows);
        let own = receiver
            .and_then(|receiver| table.row(receiver))
            .filter(|row| row.rank as usize > self.rules.top_rows);
        top.chain(own).cloned().collect()
    }
}

fn champion(row: &StandingRow) -> Champion {
    Champion {
        player_id: row.player_id.clone(),
        display_name: Arc::clone(&row.display_name),
        points: row.points,
        wins: row.wins,
        losses: row.losses,
        played: row.played,
    }
}
