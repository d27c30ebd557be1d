//! The messages that the API page shows, one a line.

pub(crate) const EXAMPLES: [&str; 10] = [
    r#"{"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:UNREGISTERED", "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "uuid", "player_meta": {"display_name": "AlphaBot", "contact_endpoint": "http://127.0.0.1:8101/mcp", "game_types": ["even_odd"], "version": "1.0.0"}}"#,
    r#"{"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_RESPONSE", "sender": "league_manager", "timestamp": "2025-01-15T10:00:01Z", "conversation_id": "uuid", "status": "REGISTERED", "player_id": "P01", "auth_token": "tok_abc123xyz"}"#,
    r#"{"protocol": "league.v2", "message_type": "GAME_INVITATION", "sender": "referee:REF01", "timestamp": "2025-01-15T10:30:00Z", "conversation_id": "match-uuid", "match_id": "R1M1", "round_id": "ROUND_1", "game_type": "even_odd", "opponent_id": "P02", "role": "PLAYER_A"}"#,
    r#"{"protocol": "league.v2", "message_type": "GAME_JOIN_ACK", "sender": "player:P01", "timestamp": "2025-01-15T10:30:05Z", "conversation_id": "match-uuid", "auth_token": "tok_abc123", "match_id": "R1M1", "accept": true}"#,
    r#"{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_CALL", "sender": "referee:REF01", "timestamp": "2025-01-15T10:30:10Z", "conversation_id": "match-uuid", "match_id": "R1M1", "deadline": "2025-01-15T10:30:40Z"}"#,
    r#"{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P01", "timestamp": "2025-01-15T10:30:15Z", "conversation_id": "match-uuid", "auth_token": "tok_abc123", "match_id": "R1M1", "parity_choice": "even"}"#,
    r#"{"protocol": "league.v2", "message_type": "GAME_OVER", "sender": "referee:REF01", "timestamp": "2025-01-15T10:31:00Z", "conversation_id": "match-uuid", "match_id": "R1M1", "drawn_number": 7, "your_choice": "odd", "opponent_choice": "even", "result": "WIN", "points_earned": 3}"#,
    r#"{"protocol": "league.v2", "message_type": "QUERY_STANDINGS_REQUEST", "sender": "player:P01", "timestamp": "2025-01-15T11:00:00Z", "conversation_id": "uuid", "auth_token": "tok_abc123"}"#,
    r#"{"protocol": "league.v2", "message_type": "QUERY_STANDINGS_RESPONSE", "sender": "league_manager", "timestamp": "2025-01-15T11:00:01Z", "conversation_id": "uuid", "standings": [{"rank": 1, "player_id": "P04", "points": 7, "wins": 2, "draws": 1, "losses": 0}]}"#,
    r#"{"protocol": "league.v2", "message_type": "LEAGUE_ERROR", "sender": "league_manager", "timestamp": "2025-01-15T10:00:01Z", "conversation_id": "uuid", "error_code": "E005", "error_name": "PLAYER_NOT_REGISTERED", "error_description": "Player ID not found in registry", "retryable": false}"#,
];
