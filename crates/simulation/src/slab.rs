//! A slab: stored values get an index, and freed indexes are reused.

/// Things by place; as many places as there ever were things at once.
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<SlabKey>,
}

/// Where something lies.
pub(crate) type SlabKey = u32;

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts something down; says where.
    pub(crate) fn put(&mut self, thing: T) -> SlabKey {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(thing);
            return place;
        }
        self.places.push(Some(thing));
        SlabKey::try_from(self.places.len() - 1).unwrap_or(SlabKey::MAX)
    }

    /// What lies at a place.
    pub(crate) fn get(&self, place: SlabKey) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    /// What lies at a place, to be changed.
    pub(crate) fn get_mut(&mut self, place: SlabKey) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Takes what lies at a place, which is free then.
    pub(crate) fn take(&mut self, place: SlabKey) -> Option<T> {
        let thing = self.places.get_mut(place as usize)?.take();
        if thing.is_some() {
            self.free.push(place);
        }
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_taken_once_and_its_place_is_used_again() {
        let mut slab = Slab::new();
        let (first, second) = (slab.put("first"), slab.put("second"));
        assert_eq!(slab.take(first), Some("first"));
        assert_eq!(slab.take(first), None);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut "second"));
        assert_eq!(slab.put("third"), first);
        assert_eq!(slab.take(second), Some("second"));
        assert_eq!(slab.take(first), Some("third"));
        assert_eq!(slab.take(7), None);
    }
}
