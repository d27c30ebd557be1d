//! Largest matchings by Edmonds' blossom algorithm: how many of some players can be paired at once,
//! and whether a pair may be taken without leaving another player over.

use std::collections::VecDeque;

/// A largest matching of vertices, which shrinks as pairs are taken.
#[derive(Clone)]
pub(super) struct Matching<'g> {
    may_meet: &'g dyn Fn(usize, usize) -> bool,
    vertices: Vec<usize>,
    /// The place of each vertex in `vertices`.
    mate: Vec<Option<usize>>,
    is_left: Vec<bool>,
}

impl<'g> Matching<'g> {
    /// A largest matching of these vertices, in ascending order.
    pub(super) fn largest(
        vertices: Vec<usize>,
        may_meet: &'g dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let count = vertices.len();
        let mut matching = Self {
            may_meet,
            vertices,
            mate: vec![None; count],
            is_left: vec![true; count],
        };
        for one in 0..count {
            let is_free = |matching: &Self, at: usize| matching.mate[at].is_none();
            if is_free(&matching, one) {
                let others = one + 1..count;
                let other = others
                    .clone()
                    .find(|&other| is_free(&matching, other) && matching.may_meet(one, other));
                if let Some(other) = other {
                    matching.join(one, other);
                }
            }
        }
        for one in 0..count {
            if matching.mate[one].is_none() {
                matching.augment(one);
            }
        }
        matching
    }

    /// Whether every vertex has a mate.
    pub(super) fn is_perfect(&self) -> bool {
        let mut places = self.mate.iter().zip(&self.is_left);
        places.all(|(mate, is_left)| mate.is_some() || !is_left)
    }

    /// Takes a pair out if as many of the others as before can be paired; else nothing changes.
    pub(super) fn take(&mut self, one: usize, other: usize) -> bool {
        let before = self.mate.clone();
        let places = [one, other].map(|vertex| self.place(vertex));
        let [Some(one), Some(other)] = places else {
            return false;
        };
        if !self.may_meet(one, other) {
            return false;
        }
        let is_as_large = self.leave(one, other);
        if !is_as_large {
            self.mate = before;
            (self.is_left[one], self.is_left[other]) = (true, true);
        }
        is_as_large
    }

    /// Takes a vertex out if as many of the others as before can be paired; else nothing changes.
    pub(super) fn spare(&mut self, vertex: usize) -> bool {
        let Some(at) = self.place(vertex) else {
            return false;
        };
        let before = self.mate.clone();
        self.is_left[at] = false;
        let is_as_large = self.mate[at].take().is_none_or(|mate| {
            self.mate[mate] = None;
            self.augment(mate)
        });
        if !is_as_large {
            self.mate = before;
            self.is_left[at] = true;
        }
        is_as_large
    }

    /// Takes vertices out, whatever it costs.
    pub(super) fn drop_pair(&mut self, one: usize, other: usize) {
        if let [Some(one), Some(other)] = [one, other].map(|vertex| self.place(vertex)) {
            self.leave(one, other);
        } else if let Some(at) = self.place(one).or_else(|| self.place(other)) {
            self.is_left[at] = false;
            if let Some(mate) = self.mate[at].take() {
                self.mate[mate] = None;
                self.augment(mate);
            }
        }
    }

    fn leave(&mut self, one: usize, other: usize) -> bool {
        let mates = [self.mate[one].take(), self.mate[other].take()];
        (self.is_left[one], self.is_left[other]) = (false, false);
        let [Some(first), Some(second)] = mates else {
            for mate in mates.into_iter().flatten() {
                self.mate[mate] = None;
            }
            return true;
        };
        if first == other {
            return true;
        }
        (self.mate[first], self.mate[second]) = (None, None);
        if self.may_meet(first, second) {
            self.join(first, second);
            return true;
        }
        self.augment(first) || self.augment(second)
    }

    fn place(&self, vertex: usize) -> Option<usize> {
        self.vertices.binary_search(&vertex).ok()
    }

    fn may_meet(&self, one: usize, other: usize) -> bool {
        one != other && (self.may_meet)(self.vertices[one], self.vertices[other])
    }

    fn join(&mut self, one: usize, other: usize) {
        self.mate[one] = Some(other);
        self.mate[other] = Some(one);
    }

    /// Looks for a path from a free vertex along which one more pair can be made, and makes it.
    fn augment(&mut self, root: usize) -> bool {
        let mut search = Search::new(self.vertices.len(), root);
        while let Some(from) = search.queue.pop_front() {
            for to in 0..self.vertices.len() {
                let is_inside = search.base[from] == search.base[to] || self.mate[from] == Some(to);
                if !self.is_left[to] || is_inside || !self.may_meet(from, to) {
                    continue;
                }
                let is_outer = |at: usize| {
                    at == root || self.mate[at].is_some_and(|mate| search.parent[mate].is_some())
                };
                if is_outer(to) {
                    search.shrink(&self.mate, from, to);
                } else if search.parent[to].is_none() {
                    search.parent[to] = Some(from);
                    match self.mate[to] {
                        None => {
                            self.flip(&search, to);
                            return true;
                        }
                        Some(mate) => search.enter(mate),
                    }
                }
            }
        }
        false
    }

    fn flip(&mut self, search: &Search, end: usize) {
        let mut at = Some(end);
        while let Some(to) = at {
            let Some(from) = search.parent[to] else {
                return;
            };
            at = self.mate[from];
            self.join(from, to);
        }
    }
}

/// A search tree of alternating paths.
struct Search {
    parent: Vec<Option<usize>>,
    /// The base of the blossom that a vertex is in.
    base: Vec<usize>,
    is_entered: Vec<bool>,
    queue: VecDeque<usize>,
}

impl Search {
    fn new(count: usize, root: usize) -> Self {
        let mut search = Self {
            parent: vec![None; count],
            base: (0..count).collect(),
            is_entered: vec![false; count],
            queue: VecDeque::new(),
        };
        search.enter(root);
        search
    }

    fn enter(&mut self, vertex: usize) {
        if !std::mem::replace(&mut self.is_entered[vertex], true) {
            self.queue.push_back(vertex);
        }
    }

    /// Makes one vertex of an odd circle, which two paths to the root close.
    fn shrink(&mut self, mate: &[Option<usize>], from: usize, to: usize) {
        let base = self.meeting(mate, from, to);
        let mut is_in = vec![false; self.base.len()];
        self.mark(mate, &mut is_in, base, from, to);
        self.mark(mate, &mut is_in, base, to, from);
        for at in 0..self.base.len() {
            if is_in[self.base[at]] {
                self.base[at] = base;
                self.enter(at);
            }
        }
    }

    /// Where the paths of two vertices to the root meet.
    fn meeting(&self, mate: &[Option<usize>], one: usize, other: usize) -> usize {
        let mut is_above = vec![false; self.base.len()];
        let mut at = Some(one);
        while let Some(vertex) = at {
            let base = self.base[vertex];
            is_above[base] = true;
            at = mate[base].and_then(|mate| self.parent[mate]);
        }
        let mut at = self.base[other];
        while !is_above[at] {
            let up = mate[at].and_then(|mate| self.parent[mate]);
            at = self.base[up.unwrap_or(one)];
        }
        at
    }

    fn mark(
        &mut self,
        mate: &[Option<usize>],
        is_in: &mut [bool],
        base: usize,
        mut at: usize,
        mut child: usize,
    ) {
        while self.base[at] != base {
            let Some(above) = mate[at] else { return };
            is_in[self.base[at]] = true;
            is_in[self.base[above]] = true;
            self.parent[at] = Some(child);
            child = above;
            let Some(next) = self.parent[above] else {
                return;
            };
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of a largest matching, by trying all.
    fn best(edges: &[Vec<bool>], left: u32) -> u32 {
        let Some(one) = (0..edges.len()).find(|one| left >> one & 1 == 1) else {
            return 0;
        };
        let rest = left & !(1 << one);
        let pairs = (0..edges.len())
            .filter(|other| rest >> other & 1 == 1 && edges[one][*other])
            .map(|other| 1 + best(edges, rest & !(1 << other)));
        pairs.chain([best(edges, rest)]).max().unwrap_or(0)
    }

    #[test]
    fn matching_is_largest_before_and_after_pairs_are_taken() {
        let mut chance = 1_u64;
        let mut draw = |below: u64| {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (chance >> 33) % below
        };
        for _ in 0..2_000 {
            let count = 2 + draw(8) as usize;
            let mut edges = vec![vec![false; count]; count];
            for (one, other) in (0..count * count).map(|pair| (pair / count, pair % count)) {
                let is_edge = one < other && draw(10) < 4;
                edges[one][other] |= is_edge;
                edges[other][one] |= is_edge;
            }
            let may_meet = |one: usize, other: usize| edges[one][other];
            let mut matching = Matching::largest((0..count).collect(), &may_meet);
            let all = (1 << count) - 1;
            let size = |matching: &Matching<'_>| matching.mate.iter().flatten().count() as u32 / 2;
            assert_eq!(size(&matching), best(&edges, all));
            assert_eq!(matching.is_perfect(), best(&edges, all) * 2 == count as u32);
            for one in 0..count {
                let can = best(&edges, all & !(1 << one)) == best(&edges, all);
                assert_eq!(matching.clone().spare(one), can, "{one} of {edges:?}");
                for other in one + 1..count {
                    let rest = all & !(1 << one) & !(1 << other);
                    let can = edges[one][other] && best(&edges, rest) + 1 == best(&edges, all);
                    let before = matching.clone();
                    assert_eq!(
                        matching.take(one, other),
                        can,
                        "{one} and {other} of {edges:?}"
                    );
                    if can {
                        assert_eq!(size(&matching), best(&edges, rest));
                    }
                    matching = before;
                }
            }
        }
    }
}
