//! Suggests the intended name for a misspelled one. Decoders only report the suggestion; the repair
//! acts on it, and only where a value of the right kind does not fit elsewhere.

/// How many letters may be wrong in a recognised name.
const MAX_TYPOS: usize = 2;

/// The longest name that is compared; the protocol does not have longer names.
const MAX_NAME: usize = 64;

/// The missing field that an unknown field was meant to be.
pub(super) fn meant<'n>(
    unknown: &str,
    missing: impl Iterator<Item = &'n str> + Clone,
) -> Option<&'n str> {
    let mut known = missing
        .clone()
        .filter(|name| synonyms(name).any(|word| word == unknown));
    // A synonym of two missing fields is ambiguous, so it matches neither.
    let synonym = known.next().filter(|_| known.next().is_none());
    synonym.or_else(|| nearest(unknown, missing))
}

/// The known name nearest to an unknown one, if they differ little.
pub(crate) fn nearest<'n>(unknown: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.filter_map(|name| Some((wrong(unknown, name)?, name)));
    near.min_by_key(|(wrong, _)| *wrong).map(|(_, name)| name)
}

/// How many letters of a misspelled name are wrong; `None` if too many are.
pub(super) fn wrong(unknown: &str, known: &str) -> Option<usize> {
    // In a short name two wrong letters make a different word.
    let little = |wrong: &usize| *wrong <= MAX_TYPOS && wrong * 2 < known.len();
    distance(unknown, known).filter(little)
}

/// The edit distance of two names; `None` if their lengths alone differ too much.
fn distance(one: &str, other: &str) -> Option<usize> {
    let comparable = one.len() <= MAX_NAME && one.len().abs_diff(other.len()) <= MAX_TYPOS;
    if !comparable {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, byte) in one.bytes().enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        for (above, letter) in row.iter_mut().skip(1).zip(other.bytes()) {
            let changed = corner + usize::from(letter != byte);
            corner = *above;
            left = changed.min(left + 1).min(corner + 1);
            *above = left;
        }
    }
    row.last().copied()
}

/// Common synonyms of a field, besides other spellings of its name.
pub(super) fn synonyms(field: &str) -> impl Iterator<Item = &'static str> {
    let lines = SYNONYMS.lines().filter_map(|line| line.split_once(": "));
    let own = lines.filter(move |(name, _)| *name == field);
    own.flat_map(|(_, words)| words.split(' '))
}

/// Each line has a field and its common synonyms.
const SYNONYMS: &str = "
display_name: name player_name agent_name referee_name bot_name team_name nickname username
contact_endpoint: endpoint endpoint_url url address callback callback_url contact contact_url
contact_endpoint: server_url base_url uri mcp_endpoint
game_types: games game_type game supported_games supported_game_types
version: agent_version player_version
max_concurrent_matches: max_matches capacity max_concurrent
player_id: id agent_id assigned_id player
referee_id: id agent_id assigned_id
auth_token: token access_token api_key session_token
match_id: game_id match
round_id: round round_number
league_id: league
opponent_id: opponent opponent_player_id
role_in_match: role your_role
deadline: expires_at respond_by
accept: accepted accepts ready join joined will_play status response answer decision ack
accept: acknowledged ok success result
accepted: accept status response ack ok success result
parity_choice: choice parity move pick guess selection value answer bet decision play result
choice: move value action selection play answer
value: choice parity_choice parity move pick
status: result outcome state registration_status response ready accept accepted success
status: registered ok
winner_player_id: winner winner_id
drawn_number: number random_number draw drawn
number_parity: parity result_parity
standings: table ranking rankings leaderboard
final_standings: standings table rankings
query_type: query type
timestamp: time ts sent_at
conversation_id: conversation correlation_id request_id
sender: from source
error_code: code
error_description: error_message description message detail
reason: message detail error
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_recognised_with_two_letters_wrong_and_not_with_three() {
        let known = ["parity_choice", "match_id", "mode"];
        for (unknown, expected) in [
            ("parity_choise", Some("parity_choice")),
            ("paritychoice", Some("parity_choice")),
            ("matchId", Some("match_id")),
            ("macth_id", Some("match_id")),
            ("choice", Some("parity_choice")),
            ("mood", None),
            ("modes", Some("mode")),
            ("party_chose", None),
            ("", None),
        ] {
            assert_eq!(meant(unknown, known.into_iter()), expected, "{unknown}");
        }
    }

    #[test]
    fn a_synonym_counts_only_for_what_is_missing() {
        assert_eq!(meant("choice", ["match_id"].into_iter()), None);
        let url = meant("url", ["match_id", "contact_endpoint"].into_iter());
        assert_eq!(url, Some("contact_endpoint"));
    }

    #[test]
    fn a_synonym_of_two_names_that_are_missing_is_neither() {
        let missing = ["parity_choice", "accept"];
        assert_eq!(meant("answer", missing.into_iter()), None);
    }

    #[test]
    fn a_name_without_end_is_not_compared() {
        let long = "x".repeat(100_000);
        assert_eq!(nearest(&long, [long.as_str()].into_iter()), None);
    }
}
