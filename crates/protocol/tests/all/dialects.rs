//! Each dialect: what its document shows is read whole, and what we say is spelled its way.

mod examples_001;
mod examples_003;
mod kit;
mod samples;
mod tables;
mod v1;
mod v2;
mod v2_api;
mod wrong;
