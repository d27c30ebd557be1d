//! The configuration of 000 chapter 9, typed and loaded when it is asked for.
