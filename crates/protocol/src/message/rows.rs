//! Rows that many receivers are told: their text is written once for each dialect, and copied into
//! each message.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::sender::Dialect;
use crate::shape::{Object, PartList, Spelling};

/// Rows that messages share, and perhaps one more at their end for one receiver.
pub struct Rows<T> {
    shared: Arc<SharedRows<T>>,
    own: Option<Arc<T>>,
}

struct SharedRows<T> {
    rows: Arc<[T]>,
    /// By dialect.
    texts: [OnceLock<RowTexts>; Dialect::ALL.len()],
}

/// The text of each row, once it was asked for.
struct RowTexts {
    /// The address of the object that declares the rows.
    form: usize,
    rows: Box<[OnceLock<Box<RawValue>>]>,
}

impl<T> Rows<T> {
    /// The same rows, and one at their end for one receiver.
    #[must_use]
    pub fn and(&self, own: T) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            own: Some(Arc::new(own)),
        }
    }

    /// Whether the text of both is written once.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.shared.rows.iter().chain(self.own.as_deref())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.shared.rows.len() + usize::from(self.own.is_some())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of a row as an object declares it. A shared row is written for the first receiver;
    /// written in another form before, it is written again.
    pub(crate) fn text<M>(
        &self,
        object: &'static Object<M>,
        dialect: Dialect,
        place: usize,
        spell: impl FnOnce(&T) -> Box<RawValue>,
    ) -> Cow<'_, RawValue> {
        let form = std::ptr::from_ref(object).addr();
        let texts = self.shared.texts[dialect as usize].get_or_init(|| RowTexts {
            form,
            rows: self.shared.rows.iter().map(|_| OnceLock::new()).collect(),
        });
        match (
            self.shared.rows.get(place),
            texts.rows.get(place),
            &self.own,
        ) {
            (Some(row), Some(text), _) if texts.form == form => {
                Cow::Borrowed(text.get_or_init(|| spell(row)))
            }
            (Some(row), ..) => Cow::Owned(spell(row)),
            (None, _, Some(own)) => Cow::Owned(spell(own)),
            (None, _, None) => Cow::Owned(Box::default()),
        }
    }
}

impl<T: 'static> PartList<T> for Rows<T> {
    fn spell(&self, object: &'static Object<T>, dialect: Dialect) -> Spelling<'_> {
        let write = |row: &T| object.spell(row, dialect).written();
        let texts = (0..self.len()).map(|place| self.text(object, dialect, place, write));
        Spelling::List(texts.map(Spelling::Written).collect())
    }
}

impl<T> From<Arc<[T]>> for Rows<T> {
    fn from(rows: Arc<[T]>) -> Self {
        let shared = SharedRows {
            rows,
            texts: Default::default(),
        };
        Self {
            shared: Arc::new(shared),
            own: None,
        }
    }
}

impl<T> From<Vec<T>> for Rows<T> {
    fn from(rows: Vec<T>) -> Self {
        Self::from(Arc::from(rows))
    }
}

impl<T, const N: usize> From<[T; N]> for Rows<T> {
    fn from(rows: [T; N]) -> Self {
        Self::from(Arc::from(rows))
    }
}

impl<T> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        Self::from(Arc::from_iter(rows))
    }
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            own: self.own.clone(),
        }
    }
}

impl<T: PartialEq> PartialEq for Rows<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) && self.own == other.own || self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Rows<T> {}

impl<T: fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::message::StandingRow;
    use crate::message::round::TABLE_ROW;
    use crate::shape::{Draft, objects};

    objects! {
        /// A row in another form.
        OTHER: StandingRow = "000" {
            /// Points.
            "points" [points] Needed;
        }
    }

    fn row(points: u32) -> StandingRow {
        StandingRow {
            points,
            ..StandingRow::draft(&Default::default())
        }
    }

    #[test]
    fn shared_row_is_written_once_for_each_dialect() {
        let rows = Rows::from([row(1), row(2)]);
        let written = Cell::new(0);
        let write = |row: &StandingRow| {
            written.set(written.get() + 1);
            TABLE_ROW.spell(row, Dialect::V2).written()
        };
        for (receiver, told) in [rows.clone(), rows.and(row(3)), rows.clone()]
            .iter()
            .enumerate()
        {
            for place in 0..told.len() {
                let text = told.text(&TABLE_ROW, Dialect::V2, place, write);
                assert!(text.get().contains(&format!("\"points\":{}", place + 1)));
            }
            // The row that only the second receiver is told is its own.
            assert_eq!(written.get(), [2, 3, 3][receiver]);
        }
        rows.text(&TABLE_ROW, Dialect::V1, 0, write);
        assert_eq!(written.get(), 4);
        let other = rows.text(&OTHER, Dialect::V2, 0, |row| {
            OTHER.spell(row, Dialect::V2).written()
        });
        assert_eq!(other.get(), "{\"points\":1}");
    }

    #[test]
    fn rows_are_equal_however_they_are_shared() {
        let top = Rows::from([row(1)]);
        assert_eq!(top.and(row(2)), Rows::from([row(1), row(2)]));
        assert_ne!(top.and(row(2)), top.and(row(3)));
        assert_ne!(top, top.and(row(2)));
    }
}
