//! Moments told by what changed in the texts of the moment before.
//!
//! A result changes a few numbers in rows that are long, so that a film of whole rows would be ten
//! times as large. The browser makes the rows whole again (`film.js`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Frame;
use crate::parts::Patch;

/// Texts that differ in more places than this, pieces of one times pieces of the other, are told
/// by their common beginning and end alone.
const MOST_COMPARED: usize = 250_000;
/// What an edit costs besides its text, about, in bytes.
const AN_EDIT: usize = 12;
/// What stands between two keys of a list when it is told as a text.
const BETWEEN_KEYS: &str = "\n";

/// A change in a text: so many signs of it are kept, so many dropped, and these put in their
/// place. Signs are counted as browsers count them, in UTF-16.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit(pub usize, pub usize, pub String);

/// What a moment changed: elements and lists that are new, and edits of those that were there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Folded {
    /// Elements by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The ids of the items of each list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<&'static str, Vec<String>>,
    /// By the ids of elements: edits of their text, one after the other.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub edits: BTreeMap<String, Vec<Edit>>,
    /// By lists: edits of the ids of their items, each in a line of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub moves: BTreeMap<&'static str, Vec<Edit>>,
}

impl Folded {
    /// How many bytes it has, about.
    pub(super) fn size(&self) -> usize {
        let set = self.set.iter().map(|(id, html)| id.len() + html.len());
        let lists = self.lists.values().flatten().map(|key| key.len() + 3);
        let edits = self.edits.iter().map(|(id, edits)| id.len() + cost(edits));
        let moves = self.moves.values().map(|edits| cost(edits));
        set.chain(lists).chain(edits).chain(moves).sum()
    }
}

/// Tells each moment by what changed since the one before.
pub(super) fn fold(start: &Patch, frames: &[Frame<Patch>]) -> Vec<Frame<Folded>> {
    let mut texts = start.set.clone();
    let mut lists: BTreeMap<&str, String> = BTreeMap::new();
    for (list, keys) in &start.lists {
        lists.insert(list, keys.join(BETWEEN_KEYS));
    }
    let folded = |frame: &Frame<Patch>| {
        let mut patch = Folded::default();
        for (id, html) in &frame.patch.set {
            let before = texts.insert(id.clone(), html.clone());
            match before.and_then(|before| edits(&before, html)) {
                Some(edits) => drop(patch.edits.insert(id.clone(), edits)),
                None => drop(patch.set.insert(id.clone(), html.clone())),
            }
        }
        for (list, keys) in &frame.patch.lists {
            let text = keys.join(BETWEEN_KEYS);
            let before = lists.insert(list, text.clone());
            match before.and_then(|before| edits(&before, &text)) {
                Some(edits) => drop(patch.moves.insert(list, edits)),
                None => drop(patch.lists.insert(list, keys.clone())),
            }
        }
        Frame {
            at: frame.at.clone(),
            label: frame.label.clone(),
            results: frame.results,
            patch,
        }
    };
    frames.iter().map(folded).collect()
}

fn cost(edits: &[Edit]) -> usize {
    edits.iter().map(|edit| AN_EDIT + edit.2.len()).sum()
}

/// What leads from one text to another; `None` if the other itself is shorter.
fn edits(old: &str, new: &str) -> Option<Vec<Edit>> {
    let (old, new_pieces) = (pieces(old), pieces(new));
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(&new_pieces).take_while(alike).count();
    let (old_rest, new_rest) = (&old[before..], &new_pieces[before..]);
    let backwards = old_rest.iter().rev().zip(new_rest.iter().rev());
    let after = backwards.take_while(alike).count();
    let old_rest = &old_rest[..old_rest.len() - after];
    let new_rest = &new_rest[..new_rest.len() - after];
    let mut script = Script::default();
    old[..before].iter().for_each(|piece| script.keep(piece));
    script.compare(old_rest, new_rest);
    let edits = script.done();
    (cost(&edits) < new.len()).then_some(edits)
}

/// A text in tags, what stands between them, and lines.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for part in text.split_inclusive(['>', '\n']) {
        match part.find('<') {
            Some(tag) if tag > 0 => pieces.extend([&part[..tag], &part[tag..]]),
            _ => pieces.push(part),
        }
    }
    pieces
}

/// Edits in the making.
#[derive(Default)]
struct Script {
    edits: Vec<Edit>,
    kept: usize,
    dropped: usize,
    put: String,
}

impl Script {
    fn keep(&mut self, piece: &str) {
        if self.dropped > 0 || !self.put.is_empty() {
            let put = std::mem::take(&mut self.put);
            self.edits.push(Edit(self.kept, self.dropped, put));
            (self.kept, self.dropped) = (0, 0);
        }
        self.kept += signs(piece);
    }

    /// Keeps as many pieces as both texts have in the same order.
    fn compare(&mut self, old: &[&str], new: &[&str]) {
        let columns = new.len() + 1;
        if old.len() * columns > MOST_COMPARED {
            self.dropped += old.iter().map(|piece| signs(piece)).sum::<usize>();
            new.iter().for_each(|piece| self.put.push_str(piece));
            return;
        }
        // How many pieces the rests of both texts have in common, from each place on.
        let mut common = vec![0_u32; (old.len() + 1) * columns];
        for (row, one) in old.iter().enumerate().rev() {
            for (column, other) in new.iter().enumerate().rev() {
                let below = (row + 1) * columns + column;
                common[row * columns + column] = if one == other {
                    common[below + 1] + 1
                } else {
                    common[below].max(common[row * columns + column + 1])
                };
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < old.len() || column < new.len() {
            let (one, other) = (old.get(row), new.get(column));
            match (one, other) {
                (Some(one), Some(other)) if one == other => {
                    self.keep(one);
                    (row, column) = (row + 1, column + 1);
                }
                (Some(one), _)
                    if other.is_none()
                        || common[(row + 1) * columns + column]
                            >= common[row * columns + column + 1] =>
                {
                    self.dropped += signs(one);
                    row += 1;
                }
                (_, Some(other)) => {
                    self.put.push_str(other);
                    column += 1;
                }
                (_, None) => break,
            }
        }
    }

    fn done(mut self) -> Vec<Edit> {
        self.keep("");
        self.edits
    }
}

fn signs(piece: &str) -> usize {
    if piece.is_ascii() {
        piece.len()
    } else {
        piece.encode_utf16().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser makes of a text and its edits.
    fn mended(old: &str, edits: &[Edit]) -> String {
        let old: Vec<u16> = old.encode_utf16().collect();
        let (mut new, mut place) = (Vec::new(), 0);
        for Edit(kept, dropped, put) in edits {
            new.extend_from_slice(&old[place..place + kept]);
            new.extend(put.encode_utf16());
            place += kept + dropped;
        }
        new.extend_from_slice(&old[place..]);
        String::from_utf16(&new).unwrap()
    }

    #[test]
    fn a_row_is_told_by_the_cells_that_changed() {
        let row = |rank, points| {
            format!("<tr><td>{rank}</td><th>Zoë 🦊</th><td>{points}</td><td>9</td></tr>")
        };
        let (old, new) = (row(1, 30), row(2, 33));
        let edits = edits(&old, &new).unwrap();
        let put: Vec<&str> = edits.iter().map(|edit| edit.2.as_str()).collect();
        assert_eq!(put, ["2", "33"]);
        assert_eq!(mended(&old, &edits), new);
    }

    #[test]
    fn a_list_is_told_by_who_moved() {
        let keys = |order: &[u32]| {
            let keys: Vec<String> = order.iter().map(|key| format!("row-P{key:02}")).collect();
            keys.join(BETWEEN_KEYS)
        };
        let old = keys(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let new = keys(&[1, 9, 2, 3, 4, 5, 6, 7, 8, 10, 12, 11]);
        let edits = edits(&old, &new).unwrap();
        assert_eq!(mended(&old, &edits), new);
        assert!(cost(&edits) < new.len(), "{edits:?}");
    }

    #[test]
    fn texts_with_nothing_in_common_are_told_as_they_are() {
        assert_eq!(edits("<p>one</p>", "<b>two</b>"), None);
        assert_eq!(edits("", "new"), None);
    }

    #[test]
    fn texts_that_are_too_long_to_compare_are_told_by_their_ends() {
        let text = |word: &str| format!("<p>{}</p>", format!("<i>{word}</i>").repeat(400));
        let (old, new) = (
            text("a") + &"<u>".repeat(900),
            text("b") + &"<u>".repeat(900),
        );
        let edits = edits(&old, &new).unwrap();
        assert_eq!(edits.len(), 1);
        assert_eq!(mended(&old, &edits), new);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_led_to_any_other(old in "[<>a-cö🦊\n]{0,60}", new in "[<>a-cö🦊\n]{0,60}") {
            if let Some(edits) = edits(&old, &new) {
                proptest::prop_assert_eq!(mended(&old, &edits), new);
            }
        }
    }
}
