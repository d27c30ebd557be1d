//! The games that a league plays.
