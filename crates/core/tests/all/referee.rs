//! The referee, told what happened and asked what follows.

mod alike;
mod failing;
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
