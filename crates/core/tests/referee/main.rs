//! The referee, told what happened and asked what follows.

#![expect(
    clippy::unwrap_used,
    reason = "every function here serves a test, where a panic is the verdict"
)]

mod alike;
mod failing;
mod house;
mod kit;
mod manual;
mod orders;
mod playing;
mod proof;
mod registering;
mod restarting;
mod secrecy;
mod speech;
mod telling;
mod weighing;
