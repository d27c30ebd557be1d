//! Whether a league is what its journal says.
