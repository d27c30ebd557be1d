//! The last move of a seat, and the position that followed from it: after the move and at the end of
//! the match. It is drawn from the moves of both, so a game in which chance, settings or hidden
//! moves have a part is drawn as it was before the move.

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::{Listing, Picture, Seat, SeatPicture, Table, Tone, Turn};
use league_protocol::id::PlayerId;
use serde_json::{Value, json};

/// The last question of a seat, and the answer to it.
#[derive(Debug, Clone)]
pub(crate) struct LastMove {
    pub(crate) think: Arc<Think>,
    /// `None` if the strategy chose.
    pub(crate) choice: Option<Value>,
}

impl LastMove {
    /// The position after the move, and after the match if it is over.
    pub(crate) fn position(&self, own: &PlayerId, ended: Option<&MatchRecord>) -> SeatPicture {
        let opened = opens(&self.think, own);
        let last = opened.and_then(|opened| last_picture(ended?, opened));
        let last = last.map(|picture| SeatPicture {
            picture,
            facts: Vec::new(),
        });
        last.or_else(|| self.after_move(own, opened?))
            .unwrap_or_else(|| SeatPicture::of(&self.think.view, &self.think.options))
    }

    fn after_move(&self, own: &PlayerId, we_opened: bool) -> Option<SeatPicture> {
        let choice = self.choice.as_ref()?;
        let mut table = open_table(self.think.game_type.as_str())?;
        let (seat, other) = seats(we_opened);
        for made in self.think.moves.iter() {
            let by = if made.player_id == *own { seat } else { other };
            table.play(by, &made.choice).ok()?;
        }
        table.play(seat, choice).ok()?;
        let options = self.think.options.iter();
        let left: Vec<Value> = options
            .filter(|option| *option != choice)
            .cloned()
            .collect();
        Some(SeatPicture::of(&table.view(seat), &left))
    }
}

/// Whether the player of a seat made the first move of a match; `None` if that is not known, as a
/// referee need not tell the moves.
fn opens(think: &Think, own: &PlayerId) -> Option<bool> {
    match think.moves.first() {
        Some(first) => Some(first.player_id == *own),
        None => (think.turn == 1).then_some(true),
    }
}

/// The position in which a match of open moves ended, from the moves of both. Our cells have the tone
/// of seat A. `None` if chance or settings had a part in it, or it was not played to its end.
fn last_picture(record: &MatchRecord, we_opened: bool) -> Option<Picture> {
    let mut table = open_table(record.game_type.as_str())?;
    let (own_seat, _) = seats(we_opened);
    let mut own = record.my_choice.as_ref()?.as_array()?.iter();
    let mut others = record.opponent_choice.as_ref()?.as_array()?.iter();
    loop {
        let seat = match table.turn() {
            Turn::Over(_) => break,
            Turn::Seats(seats) => *seats.first()?,
            Turn::Dice => return None,
        };
        let moves = if seat == own_seat {
            &mut own
        } else {
            &mut others
        };
        table.play(seat, moves.next()?).ok()?;
    }
    let mut picture = table.picture();
    let own_tone = if we_opened { Tone::A } else { Tone::B };
    for cell in picture.rows.iter_mut().flat_map(|row| &mut row.cells) {
        cell.tone = match cell.tone {
            tone if tone == own_tone => Tone::A,
            Tone::A | Tone::B => {
                // Without colours only the sign tells whose it is.
                cell.text = cell.text.replace('●', "○");
                Tone::B
            }
            tone => tone,
        };
    }
    Some(picture)
}

/// The beginning of a game whose positions follow from its moves alone.
fn open_table(game: &str) -> Option<Box<dyn Table>> {
    let listing: &Listing = league_games::find(game)?;
    let has_settings = (listing.default_settings)() != json!({});
    if has_settings || listing.rules.hidden_moves {
        return None;
    }
    (listing.open)(&Value::Null).ok()
}

/// The own seat and that of the opponent.
const fn seats(we_opened: bool) -> (Seat, Seat) {
    if we_opened {
        (Seat::A, Seat::B)
    } else {
        (Seat::B, Seat::A)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use league_protocol::id::{GameType, MatchId};
    use league_protocol::message::{SignedMove, WinLossDraw};

    use super::*;
    use crate::clock;

    /// The second move of P01 in tic-tac-toe, which P02 opened at 4 if it opened.
    fn last_move(moves: &[(u32, i32)], choice: Option<i32>) -> LastMove {
        let made = |&(player, place): &(u32, i32)| SignedMove {
            player_id: PlayerId::numbered(player),
            choice: json!(place),
            nonce: None,
            proof: None,
            model: None,
        };
        let is_free = |place: &i32| !moves.iter().any(|(_, taken)| taken == place);
        let think = Think {
            attempt: 1,
            match_id: MatchId::new("R1M1").unwrap(),
            turn: 2,
            game_type: GameType::new("tic_tac_toe").unwrap(),
            move_type: "move".into(),
            view: Arc::new(json!({"board": "as it was"})),
            options: (0..9).filter(is_free).map(Value::from).collect(),
            until: clock::now() + Duration::from_secs(1),
            opponent: None,
            opponent_id: PlayerId::numbered(2),
            record: WinLossDraw::default(),
            moves: moves.iter().map(made).collect(),
        };
        LastMove {
            think: Arc::new(think),
            choice: choice.map(Value::from),
        }
    }

    fn tones(position: &SeatPicture) -> Vec<Tone> {
        let cells = position.picture.rows.iter().flat_map(|row| &row.cells);
        cells.map(|cell| cell.tone).collect()
    }

    #[test]
    fn own_move_is_on_the_board_at_once() {
        let own = PlayerId::numbered(1);
        let opened = last_move(&[(1, 0), (2, 4)], Some(8)).position(&own, None);
        let answered = last_move(&[(2, 4), (1, 0), (2, 5)], Some(8)).position(&own, None);
        for position in [opened, answered] {
            let tones = tones(&position);
            let marks = [0, 4, 8].map(|place| tones[place]);
            assert_eq!(marks, [Tone::A, Tone::B, Tone::A]);
        }
    }

    #[test]
    fn position_is_as_it_was_if_the_moves_do_not_tell_it() {
        let own = PlayerId::numbered(1);
        for last in [
            last_move(&[(1, 0), (2, 4)], None),
            last_move(&[], Some(8)),
            last_move(&[(1, 0), (2, 0)], Some(8)),
        ] {
            let facts = last.position(&own, None).facts;
            assert_eq!(facts[0].1, "as it was", "{last:?}");
        }
    }
}
