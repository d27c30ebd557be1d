//! The decisions of a league.
