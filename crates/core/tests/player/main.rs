//! The player machine from outside: given what happened, when a command comes, then this.

#[cfg(test)]
mod disputes;
#[cfg(test)]
mod foreign;
mod hostile;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod news;
#[cfg(test)]
mod play;
mod proof;
#[cfg(test)]
mod registration;
