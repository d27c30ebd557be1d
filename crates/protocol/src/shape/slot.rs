//! Slots: the place in the model that a member of an object stands for.

use std::marker::PhantomData;

use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::finding::{Path, Reading};
use crate::sender::Dialect;

use super::{Codec, Cx, Field, Object, Spelled, Value};

/// Reads a member into a model and writes it from there.
pub(crate) trait Slot<M>: Sync {
    /// Reads a member that is there and not null; says whether it could be read.
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool;

    /// Takes notice that the member is null.
    fn null(&self, _model: &mut M) {}

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m>;

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json;
}

/// A field of the model, spelled by a codec.
pub(crate) struct Lens<M, T, C> {
    pub(crate) get: fn(&M) -> &T,
    pub(crate) set: fn(&mut M) -> &mut T,
    pub(crate) codec: PhantomData<fn() -> C>,
}

impl<M, T: 'static, C: Codec<T>> Slot<M> for Lens<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        value.map(|value| *(self.set)(model) = value).is_some()
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        C::spell((self.get)(model), dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        C::schema(dialect, reading)
    }
}

/// A field of the model that may be empty.
pub(crate) struct Maybe<M, T, C>(pub(crate) Lens<M, Option<T>, C>);

impl<M, T: 'static, C: Codec<T>> Slot<M> for Maybe<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        let is_readable = value.is_some();
        if is_readable {
            *(self.0.set)(model) = value;
        }
        is_readable
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        let value = (self.0.get)(model).as_ref();
        value.map_or(Spelled::Absent, |value| C::spell(value, dialect))
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        C::schema(dialect, reading)
    }
}

/// A second place of a field: it is read only where the first says nothing.
pub(crate) struct Second<M, T, C>(pub(crate) Lens<M, T, C>);

impl<M, T: Default + PartialEq + 'static, C: Codec<T>> Slot<M> for Second<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        let is_readable = value.is_some();
        let place = (self.0.set)(model);
        if let Some(value) = value.filter(|_| *place == T::default()) {
            *place = value;
        }
        is_readable
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        self.0.spell(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.0.schema(dialect, reading)
    }
}

/// A nested object that stands for parts of the same model.
pub(crate) struct Inside<M: 'static> {
    pub(crate) object: &'static Object<M>,
    pub(crate) is_written: fn(&M) -> bool,
}

impl<M> Slot<M> for Inside<M> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        self.object.read(model, raw, at, cx).is_some()
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        if (self.is_written)(model) {
            self.object.spell(model, dialect)
        } else {
            Spelled::Absent
        }
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.object.schema(dialect, reading).into()
    }
}

/// A member that is given and taken by functions.
pub(crate) struct By<M, T> {
    pub(crate) give: for<'m> fn(&'m M, Dialect) -> Spelled<'m>,
    pub(crate) take: fn(&mut M, Field<T>),
}

impl<M, T: Value> Slot<M> for By<M, T> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = T::read(raw, at, cx);
        let is_readable = value.is_some();
        (self.take)(model, value.map_or(Field::Unreadable, Field::Is));
        is_readable
    }

    fn null(&self, model: &mut M) {
        (self.take)(model, Field::Null);
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        (self.give)(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// A slot whose value is written by a function.
pub(crate) struct Given<M, S> {
    pub(crate) give: for<'m> fn(&'m M, Dialect) -> Spelled<'m>,
    pub(crate) slot: S,
}

impl<M, S: Slot<M>> Slot<M> for Given<M, S> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        self.slot.read(model, raw, at, cx)
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelled<'m> {
        (self.give)(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.slot.schema(dialect, reading)
    }
}

/// A member that is checked and goes nowhere.
pub(crate) struct Check<T>(pub(crate) PhantomData<fn() -> T>);

impl<M, T: Value> Slot<M> for Check<T> {
    fn read(&self, _: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        T::read(raw, at, cx).is_some()
    }

    fn spell<'m>(&self, _: &'m M, _: Dialect) -> Spelled<'m> {
        Spelled::Absent
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}
