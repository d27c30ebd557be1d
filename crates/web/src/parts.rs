//! A page in parts that have keys, and what changed between two moments.
//!
//! A block is replaced as a whole; a list has items that come, go, change and move one by one. So
//! a result that changes two rows of four hundred is told in a few hundred bytes.

use std::collections::BTreeMap;

use serde::Serialize;

/// The parts of a page that change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    blocks: BTreeMap<&'static str, String>,
    lists: BTreeMap<&'static str, Vec<Item>>,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The `id` of its element: no other element of the page has it.
    pub key: String,
    /// The element.
    pub html: String,
}

/// What changed between two moments of a page.
///
/// In the browser, every element of `set` takes the place of the one with the same id, or waits to
/// be put into a list; then each list of `lists` holds exactly these items in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Patch {
    /// Elements by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The ids of the items of each list, in order, where these have changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<&'static str, Vec<String>>,
}

impl Parts {
    /// Adds a block: an element with this id.
    pub fn block(&mut self, id: &'static str, html: String) {
        self.blocks.insert(id, html);
    }

    /// Adds a list: the element with this id holds the items and nothing else.
    pub fn list(&mut self, id: &'static str, items: Vec<Item>) {
        self.lists.insert(id, items);
    }

    /// The element of a block; empty if there is none.
    pub fn of_block(&self, id: &str) -> &str {
        self.blocks.get(id).map_or("", String::as_str)
    }

    /// The items of a list, one after the other.
    pub fn of_list(&self, id: &str) -> String {
        let items = self.lists.get(id).into_iter().flatten();
        items.map(|item| item.html.as_str()).collect()
    }

    /// Everything, as a patch that fits on any moment of the same page.
    pub fn whole(&self) -> Patch {
        Patch::between(&Self::default(), self)
    }

    fn items(&self) -> BTreeMap<&str, &str> {
        let items = self.lists.values().flatten();
        items
            .map(|item| (item.key.as_str(), item.html.as_str()))
            .collect()
    }
}

impl Patch {
    /// What leads from one moment to another.
    pub fn between(before: &Parts, after: &Parts) -> Self {
        let mut patch = Self::default();
        for (id, html) in &after.blocks {
            if before.blocks.get(id) != Some(html) {
                patch.set.insert((*id).to_owned(), html.clone());
            }
        }
        let known = before.items();
        for (id, items) in &after.lists {
            for item in items {
                if known.get(item.key.as_str()) != Some(&item.html.as_str()) {
                    patch.set.insert(item.key.clone(), item.html.clone());
                }
            }
            if !before
                .lists
                .get(id)
                .is_some_and(|old| same_keys(old, items))
            {
                let keys = items.iter().map(|item| item.key.clone());
                patch.lists.insert(id, keys.collect());
            }
        }
        patch
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.lists.is_empty()
    }

    /// How many bytes it has, about.
    pub fn size(&self) -> usize {
        let set = self.set.iter().map(|(id, html)| id.len() + html.len());
        let keys = self.lists.values().flatten().map(String::len);
        set.chain(keys).sum()
    }

    /// Adds what changed later, so that one patch does for both.
    ///
    /// What a list no longer holds is left out.
    pub fn then(&mut self, later: Self) {
        self.set.extend(later.set);
        self.lists.extend(later.lists);
    }
}

fn same_keys(old: &[Item], new: &[Item]) -> bool {
    let keys =
        |items: &[Item]| -> Vec<String> { items.iter().map(|item| item.key.clone()).collect() };
    keys(old) == keys(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str)]) -> Parts {
        let mut parts = Parts::default();
        let item = |(key, html): &(&str, &str)| Item {
            key: (*key).to_owned(),
            html: (*html).to_owned(),
        };
        parts.block("head", "<p id=head>league</p>".to_owned());
        parts.list("rows", rows.iter().map(item).collect());
        parts
    }

    #[test]
    fn only_what_changed_is_told() {
        let before = table(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = table(&[("a", "1"), ("b", "9"), ("c", "3")]);
        let patch = Patch::between(&before, &after);
        assert_eq!(
            patch.set.into_iter().collect::<Vec<_>>(),
            [("b".into(), "9".into())]
        );
        assert!(patch.lists.is_empty(), "nobody moved");
        assert!(Patch::between(&after, &after).is_empty());
    }

    #[test]
    fn rows_that_change_places_are_told_by_their_keys() {
        let before = table(&[("a", "1"), ("b", "2")]);
        let after = table(&[("b", "2"), ("a", "1"), ("c", "3")]);
        let patch = Patch::between(&before, &after);
        assert_eq!(patch.lists["rows"], ["b", "a", "c"]);
        assert_eq!(patch.set.keys().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn a_whole_page_is_a_patch_too() {
        let page = table(&[("a", "1")]);
        let patch = page.whole();
        assert_eq!(patch.set.len(), 2);
        assert_eq!(patch.lists["rows"], ["a"]);
    }

    #[test]
    fn two_patches_make_one() {
        let moments = [
            table(&[("a", "1")]),
            table(&[("a", "2"), ("b", "1")]),
            table(&[("b", "1"), ("a", "3")]),
        ];
        let mut patch = Patch::between(&moments[0], &moments[1]);
        patch.then(Patch::between(&moments[1], &moments[2]));
        assert_eq!(patch, Patch::between(&moments[0], &moments[2]));
    }
}
