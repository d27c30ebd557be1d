//! A page as keyed parts, and the patch between two states of it.
//!
//! A block is replaced as a whole; the items of a list come, go, change and move one by one. So a
//! result that changes two rows of four hundred makes a patch of a few hundred bytes.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

/// The parts of a page that change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PageParts {
    blocks: BTreeMap<&'static str, String>,
    lists: BTreeMap<&'static str, Vec<ListItem>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListItem {
    /// The `id` of the element, unique on the page.
    pub key: String,
    pub html: String,
}

/// The difference between two states of a page.
///
/// In the browser, every element of `set` replaces the one with the same id, or waits to be put into
/// a list; then each list of `lists` is made to hold exactly these items in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Patch {
    /// Elements by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The item ids of each list whose ids or order have changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<&'static str, Vec<String>>,
}

impl PageParts {
    /// Adds a block: an element with this id.
    pub fn block(&mut self, id: &'static str, html: impl Into<String>) {
        self.blocks.insert(id, html.into());
    }

    /// Adds a list: the element with this id holds the items and nothing else.
    pub fn list(&mut self, id: &'static str, items: Vec<ListItem>) {
        self.lists.insert(id, items);
    }

    /// The HTML of a block; empty if there is none.
    pub fn block_html(&self, id: &str) -> &str {
        self.blocks.get(id).map_or("", String::as_str)
    }

    /// The HTML of all items of a list.
    pub fn list_html(&self, id: &str) -> String {
        let items = self.lists.get(id).into_iter().flatten();
        items.map(|item| item.html.as_str()).collect()
    }

    /// A patch that turns any state of the same page into this one.
    pub fn whole(&self) -> Patch {
        Patch::between(&Self::default(), self)
    }

    /// Names this state of the page, in every process of a version alike.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn items(&self) -> BTreeMap<&str, &str> {
        let items = self.lists.values().flatten();
        items
            .map(|item| (item.key.as_str(), item.html.as_str()))
            .collect()
    }
}

impl Patch {
    pub fn between(before: &PageParts, after: &PageParts) -> Self {
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

    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.lists.is_empty()
    }

    /// The approximate size in bytes.
    pub fn size(&self) -> usize {
        let set = self.set.iter().map(|(id, html)| id.len() + html.len());
        let keys = self.lists.values().flatten().map(String::len);
        set.chain(keys).sum()
    }

    /// Merges a later patch into this one.
    pub fn then(&mut self, later: Self) {
        self.set.extend(later.set);
        self.lists.extend(later.lists);
    }
}

fn same_keys(old: &[ListItem], new: &[ListItem]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(one, other)| one.key == other.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str)]) -> PageParts {
        let mut parts = PageParts::default();
        let item = |(key, html): &(&str, &str)| ListItem {
            key: (*key).to_owned(),
            html: (*html).to_owned(),
        };
        parts.block("head", "<p id=head>league</p>".to_owned());
        parts.list("rows", rows.iter().map(item).collect());
        parts
    }

    #[test]
    fn patch_holds_only_changes() {
        let before = table(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = table(&[("a", "1"), ("b", "9"), ("c", "3")]);
        let patch = Patch::between(&before, &after);
        assert_eq!(
            patch.set.into_iter().collect::<Vec<_>>(),
            [("b".into(), "9".into())]
        );
        assert!(patch.lists.is_empty(), "no row moved");
        assert!(Patch::between(&after, &after).is_empty());
    }

    #[test]
    fn moved_rows_are_listed_by_key() {
        let before = table(&[("a", "1"), ("b", "2")]);
        let after = table(&[("b", "2"), ("a", "1"), ("c", "3")]);
        let patch = Patch::between(&before, &after);
        assert_eq!(patch.lists["rows"], ["b", "a", "c"]);
        assert_eq!(patch.set.keys().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn whole_page_is_a_patch() {
        let page = table(&[("a", "1")]);
        let patch = page.whole();
        assert_eq!(patch.set.len(), 2);
        assert_eq!(patch.lists["rows"], ["a"]);
    }

    #[test]
    fn merged_patches_equal_the_direct_one() {
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
