//! The protocol: what is read, what is written, and what is found wrong.

mod agreement;
mod dialects;
mod documents;
mod examples;
mod fuzz;
mod peer;
mod reading;
mod repair;
mod rpc;
