//! The referee machine: commands in, events and letters out.

mod alike;
mod drawing;
mod evidence;
mod failing;
mod manual;
mod orders;
mod playing;
mod proof;
mod registering;
mod restarting;
mod secrecy;
mod spectating;
mod speech;
mod telling;
mod turns;
mod weighing;
