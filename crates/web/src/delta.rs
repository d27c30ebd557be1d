//! Delta encoding of a replay: a frame as edits of the texts of the frame before.
//!
//! A result changes a few numbers in long rows, so a recording of whole rows would be ten times as
//! large. The browser restores the rows (`replay.js`).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::parts::Patch;
use crate::replay::ReplayFrame;

/// Pieces of one text times pieces of the other. Beyond that, only the common beginning and end of
/// two texts are kept.
const MAX_COMPARED: usize = 250_000;
/// The approximate size of an edit without its text, in bytes.
const EDIT_OVERHEAD: usize = 12;
/// Joins the keys of a list into a text.
const KEY_SEPARATOR: &str = "\n";

/// A change in a text: how many characters are kept, how many dropped, and what replaces them.
/// Characters are counted as browsers do, in UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit(pub usize, pub usize, pub String);

/// What a frame changes: new elements and lists, and edits of known ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Delta {
    /// New elements by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The ids of the items of each new list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<&'static str, Vec<String>>,
    /// Edits by the ids of elements.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub edits: BTreeMap<String, Vec<Edit>>,
    /// Edits of the item ids of each list, one id per line.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub moves: BTreeMap<&'static str, Vec<Edit>>,
}

impl Delta {
    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        let set = self.set.iter().map(|(id, html)| id.len() + html.len());
        let lists = self.lists.values().flatten().map(|key| key.len() + 3);
        let edits = self.edits.iter().map(|(id, edits)| id.len() + cost(edits));
        let moves = self.moves.values().map(|edits| cost(edits));
        set.chain(lists).chain(edits).chain(moves).sum()
    }
}

/// Encodes each frame by what changed since the one before.
pub(crate) fn encode(start: &Patch, frames: &[ReplayFrame<Patch>]) -> Vec<ReplayFrame<Delta>> {
    let mut texts = start.set.clone();
    let mut lists: BTreeMap<&str, String> = BTreeMap::new();
    for (list, keys) in &start.lists {
        lists.insert(list, keys.join(KEY_SEPARATOR));
    }
    let encoded = |frame: &ReplayFrame<Patch>| {
        let mut patch = Delta::default();
        for (id, html) in &frame.patch.set {
            let before = texts.insert(id.clone(), html.clone());
            match before.and_then(|before| edits(&before, html)) {
                Some(edits) => drop(patch.edits.insert(id.clone(), edits)),
                None => drop(patch.set.insert(id.clone(), html.clone())),
            }
        }
        for (list, keys) in &frame.patch.lists {
            let text = keys.join(KEY_SEPARATOR);
            let before = lists.insert(list, text.clone());
            match before.and_then(|before| edits(&before, &text)) {
                Some(edits) => drop(patch.moves.insert(list, edits)),
                None => drop(patch.lists.insert(list, keys.clone())),
            }
        }
        ReplayFrame {
            at: frame.at.clone(),
            label: frame.label.clone(),
            results: frame.results,
            patch,
        }
    };
    frames.iter().map(encoded).collect()
}

fn cost(edits: &[Edit]) -> usize {
    edits.iter().map(|edit| EDIT_OVERHEAD + edit.2.len()).sum()
}

/// The edits that turn one text into another; `None` if the new text itself is shorter.
fn edits(old: &str, new: &str) -> Option<Vec<Edit>> {
    let (old, new_pieces) = (pieces(old), pieces(new));
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(&new_pieces).take_while(alike).count();
    let (old_rest, new_rest) = (&old[before..], &new_pieces[before..]);
    let backwards = old_rest.iter().rev().zip(new_rest.iter().rev());
    let after = backwards.take_while(alike).count();
    let old_rest = &old_rest[..old_rest.len() - after];
    let new_rest = &new_rest[..new_rest.len() - after];
    let mut builder = DeltaBuilder::default();
    old[..before].iter().for_each(|piece| builder.keep(piece));
    builder.compare(old_rest, new_rest);
    let edits = builder.finish();
    (cost(&edits) < new.len()).then_some(edits)
}

/// Splits a text at tags and line ends.
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

#[derive(Default)]
struct DeltaBuilder {
    edits: Vec<Edit>,
    kept: usize,
    dropped: usize,
    put: String,
}

impl DeltaBuilder {
    fn keep(&mut self, piece: &str) {
        if self.dropped > 0 || !self.put.is_empty() {
            let put = std::mem::take(&mut self.put);
            self.edits.push(Edit(self.kept, self.dropped, put));
            (self.kept, self.dropped) = (0, 0);
        }
        self.kept += utf16_len(piece);
    }

    /// Keeps the longest common subsequence of pieces.
    fn compare(&mut self, old: &[&str], new: &[&str]) {
        let columns = new.len() + 1;
        if old.len() * columns > MAX_COMPARED {
            self.dropped += old.iter().map(|piece| utf16_len(piece)).sum::<usize>();
            new.iter().for_each(|piece| self.put.push_str(piece));
            return;
        }
        // The length of the longest common subsequence of both rests, from each place on.
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
                    self.dropped += utf16_len(one);
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

    fn finish(mut self) -> Vec<Edit> {
        self.keep("");
        self.edits
    }
}

fn utf16_len(piece: &str) -> usize {
    if piece.is_ascii() {
        piece.len()
    } else {
        piece.encode_utf16().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies edits as the browser does.
    fn edited(old: &str, edits: &[Edit]) -> String {
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
    fn row_is_encoded_as_its_changed_cells() {
        let row = |rank, points| {
            format!("<tr><td>{rank}</td><th>Zoë 🦊</th><td>{points}</td><td>9</td></tr>")
        };
        let (old, new) = (row(1, 30), row(2, 33));
        let edits = edits(&old, &new).unwrap();
        let put: Vec<&str> = edits.iter().map(|edit| edit.2.as_str()).collect();
        assert_eq!(put, ["2", "33"]);
        assert_eq!(edited(&old, &edits), new);
    }

    #[test]
    fn reordered_list_is_encoded_as_moves() {
        let keys = |order: &[u32]| {
            let keys: Vec<String> = order.iter().map(|key| format!("row-P{key:02}")).collect();
            keys.join(KEY_SEPARATOR)
        };
        let old = keys(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let new = keys(&[1, 9, 2, 3, 4, 5, 6, 7, 8, 10, 12, 11]);
        let edits = edits(&old, &new).unwrap();
        assert_eq!(edited(&old, &edits), new);
        assert!(cost(&edits) < new.len(), "{edits:?}");
    }

    #[test]
    fn texts_with_nothing_in_common_have_no_edits() {
        assert_eq!(edits("<p>one</p>", "<b>two</b>"), None);
        assert_eq!(edits("", "new"), None);
    }

    #[test]
    fn texts_too_long_to_compare_keep_their_common_ends() {
        let text = |word: &str| format!("<p>{}</p>", format!("<i>{word}</i>").repeat(400));
        let (old, new) = (
            text("a") + &"<u>".repeat(900),
            text("b") + &"<u>".repeat(900),
        );
        let edits = edits(&old, &new).unwrap();
        assert_eq!(edits.len(), 1);
        assert_eq!(edited(&old, &edits), new);
    }

    proptest::proptest! {
        #[test]
        fn edits_turn_any_text_into_any_other(old in "[<>a-cö🦊\n]{0,60}", new in "[<>a-cö🦊\n]{0,60}") {
            if let Some(edits) = edits(&old, &new) {
                proptest::prop_assert_eq!(edited(&old, &edits), new);
            }
        }
    }
}
