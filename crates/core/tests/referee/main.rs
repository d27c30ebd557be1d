//! The referee, told what happened and asked what follows.

mod failing;
mod kit;
mod manual;
mod orders;
mod playing;
mod registering;
mod restarting;
mod secrecy;
mod telling;
