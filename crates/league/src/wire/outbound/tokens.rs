//! Tokens in answers that are not the ones that registration gave.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::token::TokenHash;

/// The most players that are remembered; of more nothing is noted.
const MOST_PLAYERS: usize = 20_000;

/// The wrong token that each player showed last, and in which match.
///
/// One who came back has a new token before its referee hears of it, so that one match may show a
/// token that is right although it looks wrong. Only the same token in another match is a habit.
#[derive(Debug, Default)]
pub(crate) struct WrongTokens(Mutex<BTreeMap<PlayerId, (TokenHash, MatchId)>>);

impl WrongTokens {
    /// Remembers a wrong token; tells whether it was seen in another match already.
    pub(super) fn again(&self, player: &PlayerId, shown: TokenHash, match_id: &MatchId) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, elsewhere)) = seen.get(player)
            && *before == shown
        {
            return elsewhere != match_id;
        }
        if seen.len() < MOST_PLAYERS || seen.contains_key(player) {
            seen.insert(player.clone(), (shown, match_id.clone()));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::token::AuthToken;

    use super::*;

    #[test]
    fn a_wrong_token_is_a_habit_in_the_second_match() {
        let tokens = WrongTokens::default();
        let player = PlayerId::numbered(1);
        let [first, second] = ["R1M1", "R2M1"].map(|id| MatchId::new(id).unwrap());
        let [old, constant] = ["tok-old", "tok-same"].map(|token| AuthToken::new(token).hash());
        assert!(!tokens.again(&player, old, &first));
        assert!(
            !tokens.again(&player, old, &first),
            "the same match says nothing new"
        );
        assert!(
            !tokens.again(&player, constant, &second),
            "another token is another story"
        );
        assert!(tokens.again(&player, constant, &first));
    }
}
