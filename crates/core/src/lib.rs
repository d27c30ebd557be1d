//! The decisions of a league.

pub mod breaker;
pub mod draw;
pub mod league;
pub mod letter;
pub mod machine;
pub mod patience;
pub mod player;
