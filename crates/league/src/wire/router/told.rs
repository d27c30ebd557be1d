//! What is merely told: a player of somebody else's league nods at it, understood or not, for an
//! error would only stop a league that is none of ours (ruling 47).

/// The messages that want an answer of their own.
const QUESTIONS: [&str; 9] = [
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_MOVE_CALL",
    "PLAY_REQUEST",
    "LEAGUE_REGISTER_REQUEST",
    "REFEREE_REGISTER_REQUEST",
    "LEAGUE_QUERY",
    "QUERY_STANDINGS_REQUEST",
    "START_MATCH",
];

/// How the names of tools begin by which something is told.
const TELLING: [&str; 6] = ["notify", "update", "on_", "announce", "game_over", "round_"];

/// Whether a message of this type wants no answer but a nod.
pub(super) fn is_told(message_type: &str) -> bool {
    !QUESTIONS.contains(&message_type)
}

/// Whether a call of this name wants no answer but a nod.
pub(super) fn tells(method: &str) -> bool {
    let method = method.to_ascii_lowercase();
    TELLING.iter().any(|telling| method.starts_with(telling))
}

#[cfg(test)]
mod tests {
    use league_protocol::dialect::types;
    use league_protocol::sender::Dialect;

    use super::*;

    #[test]
    fn every_type_that_asks_for_something_is_a_question() {
        let asks = ["_REQUEST", "_CALL", "_INVITATION", "_QUERY", "START_MATCH"];
        for kind in Dialect::ALL.into_iter().flat_map(types) {
            let asked = asks.iter().any(|ending| kind.ends_with(ending));
            assert_eq!(is_told(kind), !asked, "{kind}");
        }
        for question in ["choose_parity", "handle_game_invitation", "play", "ping"] {
            assert!(!tells(question), "{question}");
        }
    }

    #[test]
    fn news_is_known_by_its_type_or_by_the_name_of_the_call() {
        for news in ["GAME_OVER", "ROUND_STARTED", "LEAGUE_PAUSED"] {
            assert!(is_told(news), "{news}");
        }
        for call in ["notify_round_started", "on_game_over", "ROUND_STARTED"] {
            assert!(tells(call), "{call}");
        }
    }
}
