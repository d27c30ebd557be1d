//! Lines in all directions, full columns, and the full board.

use super::*;

fn after(columns: &[u8]) -> ConnectFour {
    let mut game = ConnectFour::new(&NoSettings {});
    for (seat, &column) in [Seat::A, Seat::B].into_iter().cycle().zip(columns) {
        game.play(seat, Column::try_from(column).unwrap()).unwrap();
    }
    game
}

#[test]
fn four_in_a_line_win_in_each_direction() {
    let games: [(&str, &[u8], Seat); 5] = [
        ("across", &[0, 0, 1, 1, 2, 2, 3], Seat::A),
        ("upright", &[0, 6, 0, 6, 0, 6, 1, 6], Seat::B),
        ("rising", &[0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3], Seat::A),
        ("falling", &[6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3], Seat::A),
        ("at the right edge", &[6, 6, 5, 5, 4, 4, 3], Seat::A),
    ];
    for (direction, columns, winner) in games {
        let game = after(columns);
        assert_eq!(game.turn(), Turn::Over(Outcome::Win(winner)), "{direction}");
        let before = after(&columns[..columns.len() - 1]);
        assert!(matches!(before.turn(), Turn::Seats(_)), "{direction}");
    }
}

#[test]
fn three_in_a_line_and_a_broken_line_do_not_win() {
    for columns in [&[0, 0, 1, 1, 2][..], &[0, 0, 1, 1, 2, 2, 4]] {
        assert!(
            matches!(after(columns).turn(), Turn::Seats(_)),
            "{columns:?}"
        );
    }
}

#[test]
fn full_column_is_not_offered() {
    let game = after(&[3, 3, 3, 3, 3, 3]);
    assert_eq!(game.options(Seat::A), [0, 1, 2, 4, 5, 6].map(Column));
    let refusal = game.clone().play(Seat::A, Column(3));
    assert!(matches!(refusal, Err(Illegal::NotLegalHere { .. })));
}

#[test]
fn full_board_without_a_line_is_a_draw() {
    let pairs = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0];
    let mut columns: Vec<u8> = pairs.to_vec();
    columns.extend(pairs.map(|column| column + 2));
    columns.extend(pairs.map(|column| column + 4));
    columns.extend([6; 6]);
    let game = after(&columns);
    assert_eq!(game.turn(), Turn::Over(Outcome::Draw));
    assert_eq!(game.reason(&[]), "the board is full without four in a line");
}

#[test]
fn board_is_shown_from_the_top() {
    let view = after(&[0, 0]).view(Seat::B);
    assert_eq!(view.board[5][0], Some(Disc::Red));
    assert_eq!(view.board[4][0], Some(Disc::Yellow));
    assert_eq!(view.your_disc, Some(Disc::Yellow));
    assert_eq!(view.next_disc, Some(Disc::Red));
}
