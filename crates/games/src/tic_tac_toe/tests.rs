//! All lines, the draw, the order of turns, and the whole tree of games.

use super::*;

fn after(cells: &[u8]) -> TicTacToe {
    let mut game = TicTacToe::new(&NoSettings {});
    for (seat, &cell) in [Seat::A, Seat::B].into_iter().cycle().zip(cells) {
        game.play(seat, Cell::try_from(cell).unwrap()).unwrap();
    }
    game
}

#[test]
fn each_of_the_eight_lines_wins_for_either_seat() {
    // (cells in the order played, winner, the line)
    let games: [(&[u8], Seat, &str); 16] = [
        (&[0, 3, 1, 4, 2], Seat::A, "0, 1, 2"),
        (&[3, 0, 4, 1, 5], Seat::A, "3, 4, 5"),
        (&[6, 0, 7, 1, 8], Seat::A, "6, 7, 8"),
        (&[0, 1, 3, 2, 6], Seat::A, "0, 3, 6"),
        (&[1, 0, 4, 2, 7], Seat::A, "1, 4, 7"),
        (&[2, 0, 5, 1, 8], Seat::A, "2, 5, 8"),
        (&[0, 1, 4, 2, 8], Seat::A, "0, 4, 8"),
        (&[2, 0, 4, 1, 6], Seat::A, "2, 4, 6"),
        (&[3, 0, 4, 1, 8, 2], Seat::B, "0, 1, 2"),
        (&[0, 3, 1, 4, 8, 5], Seat::B, "3, 4, 5"),
        (&[0, 6, 1, 7, 5, 8], Seat::B, "6, 7, 8"),
        (&[1, 0, 2, 3, 4, 6], Seat::B, "0, 3, 6"),
        (&[0, 1, 2, 4, 3, 7], Seat::B, "1, 4, 7"),
        (&[0, 2, 1, 5, 4, 8], Seat::B, "2, 5, 8"),
        (&[1, 0, 2, 4, 3, 8], Seat::B, "0, 4, 8"),
        (&[0, 2, 1, 4, 3, 6], Seat::B, "2, 4, 6"),
    ];
    for (cells, winner, line) in games {
        let game = after(cells);
        assert_eq!(game.turn(), Turn::Over(Outcome::Win(winner)), "{cells:?}");
        let name = ["P01", "P02"][winner.index()];
        assert_eq!(
            game.reason(&["P01", "P02"]),
            format!("{name} has three in a row at {line}")
        );
        assert_eq!(game.view(winner).next_mark, None);
    }
}

#[test]
fn full_board_without_a_line_is_a_draw() {
    let game = after(&[0, 1, 2, 4, 3, 5, 7, 6, 8]);
    assert_eq!(game.turn(), Turn::Over(Outcome::Draw));
    assert_eq!(
        game.reason(&[]),
        "the board is full and nobody has three in a row"
    );
    let board = json!({"board": ["X", "O", "X", "X", "O", "O", "O", "X", "X"]});
    assert_eq!(Value::Object(game.details()), board);
}

#[test]
fn ninth_mark_can_still_win() {
    let game = after(&[0, 1, 2, 3, 4, 5, 7, 6, 8]);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::A)));
}

#[test]
fn seat_a_begins_and_the_seats_take_turns() {
    assert_eq!(after(&[]).turn(), Turn::Seats([Seat::A].into()));
    assert_eq!(after(&[4]).turn(), Turn::Seats([Seat::B].into()));
    assert_eq!(after(&[4, 0]).turn(), Turn::Seats([Seat::A].into()));
    assert_eq!(after(&[4]).reason(&[]), "the game is not over yet");
}

#[test]
fn taken_cell_is_refused_and_the_free_ones_are_shown() {
    let refusal = after(&[4, 0]).play(Seat::A, Cell(0)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`0` is not legal here; the options are `1`, `2`, `3`, `5`, `6`, `7`, `8`"
    );
}

#[test]
fn cell_beyond_the_board_is_refused() {
    assert_eq!(Cell::try_from(8).map(Cell::index), Ok(8));
    assert_eq!(Cell::try_from(9), Err(NotACell(9)));
    assert!(serde_json::from_str::<Cell>("255").is_err());
}

#[test]
fn whole_tree_of_games_has_its_known_size() {
    fn count(game: &TicTacToe, ends: &mut [u32; 3]) {
        let seat = match game.turn() {
            Turn::Over(Outcome::Win(Seat::A)) => return ends[0] += 1,
            Turn::Over(Outcome::Win(_)) => return ends[1] += 1,
            Turn::Over(Outcome::Draw) => return ends[2] += 1,
            Turn::Seats(seats) => seats[0],
            Turn::Dice => panic!("no dice in this game"),
        };
        for cell in game.options(seat) {
            let mut next = game.clone();
            next.play(seat, cell).unwrap();
            count(&next, ends);
        }
    }
    let mut ends = [0; 3];
    count(&after(&[]), &mut ends);
    assert_eq!(ends, [131_184, 77_904, 46_080]);
}
