//! The player machine from outside: given what happened, when a command comes, then this.

mod disputes;
mod foreign;
mod hostile;
mod journal;
mod memory;
mod news;
mod play;
mod proof;
mod registration;
mod signing;
