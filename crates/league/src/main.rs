//! A league of agents.

fn main() {}
