//! Words that people use for the fields of messages: what is told to their authors and what a
//! message is mended by is one table.

/// Names that people use for a field, beside other ways to write it.
pub(super) fn synonyms(field: &str) -> &'static [&'static str] {
    let found = SYNONYMS.iter().find(|(name, _)| *name == field);
    found.map_or(&[], |(_, words)| words)
}

const SYNONYMS: &[(&str, &[&str])] = &[
    (
        "display_name",
        &[
            "name",
            "player_name",
            "agent_name",
            "referee_name",
            "bot_name",
            "team_name",
            "nickname",
            "username",
        ],
    ),
    (
        "contact_endpoint",
        &[
            "endpoint",
            "endpoint_url",
            "url",
            "address",
            "callback",
            "callback_url",
            "contact",
            "contact_url",
            "server_url",
            "base_url",
            "uri",
            "mcp_endpoint",
        ],
    ),
    (
        "game_types",
        &[
            "games",
            "game_type",
            "game",
            "supported_games",
            "supported_game_types",
        ],
    ),
    ("version", &["agent_version", "player_version"]),
    (
        "max_concurrent_matches",
        &["max_matches", "capacity", "max_concurrent"],
    ),
    ("player_id", &["id", "agent_id", "assigned_id", "player"]),
    ("referee_id", &["id", "agent_id", "assigned_id"]),
    (
        "auth_token",
        &["token", "access_token", "api_key", "session_token"],
    ),
    ("match_id", &["game_id", "match"]),
    ("round_id", &["round", "round_number"]),
    ("league_id", &["league"]),
    ("opponent_id", &["opponent", "opponent_player_id"]),
    ("role_in_match", &["role", "your_role"]),
    ("deadline", &["expires_at", "respond_by"]),
    (
        "accept",
        &[
            "accepted",
            "accepts",
            "ready",
            "join",
            "joined",
            "will_play",
            "status",
            "response",
            "answer",
            "decision",
            "ack",
            "acknowledged",
            "ok",
            "success",
            "result",
        ],
    ),
    (
        "accepted",
        &[
            "accept", "status", "response", "ack", "ok", "success", "result",
        ],
    ),
    (
        "parity_choice",
        &[
            "choice",
            "parity",
            "move",
            "pick",
            "guess",
            "selection",
            "value",
            "answer",
            "bet",
            "decision",
            "play",
            "result",
        ],
    ),
    (
        "choice",
        &["move", "value", "action", "selection", "play", "answer"],
    ),
    (
        "value",
        &["choice", "parity_choice", "parity", "move", "pick"],
    ),
    (
        "status",
        &[
            "result",
            "outcome",
            "state",
            "registration_status",
            "response",
            "ready",
            "accept",
            "accepted",
            "success",
            "registered",
            "ok",
        ],
    ),
    ("winner_player_id", &["winner", "winner_id"]),
    (
        "drawn_number",
        &["number", "random_number", "draw", "drawn"],
    ),
    ("number_parity", &["parity", "result_parity"]),
    (
        "standings",
        &["table", "ranking", "rankings", "leaderboard"],
    ),
    ("final_standings", &["standings", "table", "rankings"]),
    ("query_type", &["query", "type"]),
    ("timestamp", &["time", "ts", "sent_at"]),
    (
        "conversation_id",
        &["conversation", "correlation_id", "request_id"],
    ),
    ("sender", &["from", "source"]),
    ("error_code", &["code"]),
    (
        "error_description",
        &["error_message", "description", "message", "detail"],
    ),
    ("reason", &["message", "detail", "error"]),
];
