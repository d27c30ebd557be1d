//! Log lines by the documents (000 §5.10, §9.5 and §10.6, ruling 31): one JSON object a line.
//!
//! The agents of this crate speak through `tracing`; [`layer()`] carries what they say to files. A
//! line goes to the log of the agent that its fields name, else to that of the league, else to that
//! of the system. A program of one's own uses [`JsonLogger`]. A token reaches no line: what is
//! called one, or looks like one, is masked.

mod files;
mod layer;
mod line;
mod logger;
mod waiting;

pub use files::{Bounds, KEPT_FILES, LARGEST_LOG, MOST_OPEN_FILES};
pub use layer::{LogGuard, LogLayer, layer};
pub use line::{LONGEST_LINE, Line, escape};
pub use logger::{JsonLogger, LogError};
pub use waiting::MOST_WAITING;
