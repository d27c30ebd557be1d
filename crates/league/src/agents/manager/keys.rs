//! Which keys a league is run with: new ones if it is new, else its own.

use league_core::league::LeagueRules;
use league_protocol::id::LeagueId;

use crate::agents::assemble::{Beginning, Shared, StartError};
use crate::storage::secrets::LeagueKeys;

/// The keys of a league and the rules it began with, if it has begun.
///
/// A new league has new keys, whatever was played under its name before: what was drawn then is
/// known. One that goes on needs its own.
pub(super) fn keys_of(
    shared: &Shared,
    league: &LeagueId,
    beginning: Beginning<'_>,
) -> Result<(LeagueKeys, Option<LeagueRules>), StartError> {
    match beginning {
        Beginning::Known(opening) => {
            let keys = LeagueKeys::of(&shared.root, league, opening.secret.as_deref())?;
            Ok((keys, opening.rules.clone()))
        }
        Beginning::New(opening) => {
            let made = shared.root.standings(league);
            if made.exists() {
                return Err(StartError::Lost {
                    journal: shared.root.league_journal(league).display().to_string(),
                    made: made.display().to_string(),
                });
            }
            let keys = LeagueKeys::make(&shared.root, league, &shared.chance)?;
            opening.secret = Some(keys.fingerprint());
            Ok((keys, None))
        }
    }
}
