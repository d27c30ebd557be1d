//! A short list of seats that needs no memory of its own: whose turn it is, is asked all the time.

use std::ops::Deref;

use crate::Seat;

/// The most seats that may owe a move at once.
pub const MAX_SEATS: usize = 8;

/// Seats in the order in which they were named; those beyond [`MAX_SEATS`] are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatSet {
    places: [Seat; MAX_SEATS],
    count: usize,
}

impl FromIterator<Seat> for SeatSet {
    fn from_iter<I: IntoIterator<Item = Seat>>(seats: I) -> Self {
        let mut list = Self {
            places: [Seat::A; MAX_SEATS],
            count: 0,
        };
        for (place, seat) in list.places.iter_mut().zip(seats) {
            *place = seat;
            list.count += 1;
        }
        list
    }
}

impl<const N: usize> From<[Seat; N]> for SeatSet {
    fn from(seats: [Seat; N]) -> Self {
        seats.into_iter().collect()
    }
}

impl Deref for SeatSet {
    type Target = [Seat];

    fn deref(&self) -> &[Seat] {
        self.places.get(..self.count).unwrap_or_default()
    }
}

impl IntoIterator for SeatSet {
    type Item = Seat;
    type IntoIter = std::iter::Take<std::array::IntoIter<Seat, MAX_SEATS>>;

    fn into_iter(self) -> Self::IntoIter {
        self.places.into_iter().take(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seat_set_keeps_order_and_drops_excess_seats() {
        let two = SeatSet::from([Seat::B, Seat::A]);
        assert_eq!(&*two, [Seat::B, Seat::A]);
        assert!(two.into_iter().eq([Seat::B, Seat::A]));
        assert!(SeatSet::from([]).is_empty());
        let many: SeatSet = (0..20).map(Seat::new).collect();
        assert_eq!(many.len(), MAX_SEATS);
    }
}
