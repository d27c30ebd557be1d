//! Whole leagues by seed: with faults, with planted bugs, and repeated.

mod leagues;
mod planted;
mod repeatable;
