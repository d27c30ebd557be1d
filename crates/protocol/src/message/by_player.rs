//! Something that is told of each player of a match.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::PlayerId;

/// How many players a match has; more are read all the same.
const USUAL: usize = 2;

/// A map from players to things, in the order of their ids; made for the two of a match.
#[derive(Clone, PartialEq, Eq)]
pub struct ByPlayer<T>(Vec<(PlayerId, T)>);

impl<T> ByPlayer<T> {
    /// A map of nobody.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// What is told of a player.
    pub fn get(&self, player: &PlayerId) -> Option<&T> {
        let place = self.place(player).ok()?;
        self.0.get(place).map(|(_, thing)| thing)
    }

    /// Whether anything is told of a player.
    pub fn contains_key(&self, player: &PlayerId) -> bool {
        self.get(player).is_some()
    }

    /// Tells something of a player; what was told before is given back.
    pub fn insert(&mut self, player: PlayerId, thing: T) -> Option<T> {
        match self.place(&player) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, thing)),
            Err(place) => {
                if self.0.capacity() == 0 {
                    self.0.reserve_exact(USUAL);
                }
                self.0.insert(place, (player, thing));
                None
            }
        }
    }

    /// Whether nothing is told of anybody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of how many something is told.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Players and what is told of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&PlayerId, &T)> {
        self.0.iter().map(|(player, thing)| (player, thing))
    }

    /// Those of whom something is told.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &PlayerId> {
        self.0.iter().map(|(player, _)| player)
    }

    /// What is told of them.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.iter().map(|(_, thing)| thing)
    }

    /// What is told of them, to be changed.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, thing)| thing)
    }

    /// Where a player stands, or belongs.
    fn place(&self, player: &PlayerId) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(player))
    }
}

impl<T> Default for ByPlayer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for ByPlayer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> Index<&PlayerId> for ByPlayer<T> {
    type Output = T;

    /// What is told of a player.
    ///
    /// # Panics
    ///
    /// If nothing is.
    fn index(&self, player: &PlayerId) -> &T {
        match self.get(player) {
            Some(thing) => thing,
            None => panic!("nothing is told of `{player}`"),
        }
    }
}

impl<T> FromIterator<(PlayerId, T)> for ByPlayer<T> {
    fn from_iter<I: IntoIterator<Item = (PlayerId, T)>>(things: I) -> Self {
        let mut all = Vec::with_capacity(USUAL);
        all.extend(things);
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of two things that are told of one player the later one stands.
        all.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        Self(all)
    }
}

impl<T, const N: usize> From<[(PlayerId, T); N]> for ByPlayer<T> {
    fn from(things: [(PlayerId, T); N]) -> Self {
        things.into_iter().collect()
    }
}

impl<T: Serialize> Serialize for ByPlayer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByPlayer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
    type Value = ByPlayer<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the ids of players as keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut read: A) -> Result<ByPlayer<T>, A::Error> {
        std::iter::from_fn(|| read.next_entry().transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_written_and_shown_as_a_map_in_the_order_of_ids() {
        let [a, b] = [1, 2].map(PlayerId::numbered);
        let map = ByPlayer::from([(b.clone(), 2), (a.clone(), 0), (a.clone(), 1)]);
        assert_eq!((map[&a], map.get(&b), map.keys().len()), (1, Some(&2), 2));
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, r#"{"P01":1,"P02":2}"#);
        assert_eq!(serde_json::from_str::<ByPlayer<u32>>(&text).unwrap(), map);
        assert_eq!(format!("{map:?}"), "{P01: 1, P02: 2}");
        assert!(serde_json::from_str::<ByPlayer<u32>>(r#"{"":1}"#).is_err());
    }
}
