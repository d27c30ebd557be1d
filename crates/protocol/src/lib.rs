//! What agents say to each other.
