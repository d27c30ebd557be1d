//! How a player chooses.
