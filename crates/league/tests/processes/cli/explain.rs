//! `league explain`: messages, and the schemas of messages.

use crate::cli::league;

const INVITATION: &str = r#"{"jsonrpc": "2.0", "method": "handle_game_invitation", "id": 1001,
    "params": {"protocol": "league.v2", "message_type": "GAME_INVITATION",
    "sender": "referee:REF01", "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001", "league_id": "league_2025_even_odd", "round_id": 1,
    "match_id": "R1M1", "game_type": "even_odd", "role_in_match": "PLAYER_A",
    "opponent_id": "P02"}}"#;

#[test]
fn valid_request_is_explained_in_two_lines() {
    insta::assert_snapshot!(league(&["explain", "-"], INVITATION), @"
    exit code 0
    --- out
    GAME_INVITATION in dialect v2, JSON-RPC request `handle_game_invitation`
    valid
    --- errors
    ");
}

#[test]
fn sample_player_of_the_document_is_forgiven() {
    let reply = r#"{"message_type": "GAME_JOIN_ACK", "match_id": "R1M1",
        "arrival_timestamp": "2025-01-15T10:15:01.123456", "accept": true}"#;
    insta::assert_snapshot!(league(&["explain", "-"], reply), @"
    exit code 0
    --- out
    GAME_JOIN_ACK in dialect v2
    valid, 6 deviations

    deviation E003 MISSING_REQUIRED_FIELD at protocol
      `protocol` is missing; add it
      expected: `protocol`: The protocol: `league.v2` or `league.v1`
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at sender
      `sender` is missing; add it
      expected: `sender`: Who says it
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at timestamp
      `timestamp` is missing; add it
      expected: `timestamp`: When it was said, in UTC
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at conversation_id
      `conversation_id` is missing; add it
      expected: `conversation_id`: Ties the messages of one exchange together
      clause: 000 §2.4.1

    deviation E021 INVALID_TIMESTAMP at arrival_timestamp
      the time has no zone: end it with `Z`
      expected: a time in UTC, such as `2025-01-15T10:30:00Z`
      clause: 000 §2.4.2

    deviation E003 MISSING_REQUIRED_FIELD at player_id
      `player_id` is missing; add it
      expected: `player_id`: Who comes
      clause: 000 §4.4.2
    --- errors
    ");
}

#[test]
fn repaired_message_is_a_deviation_with_its_repair() {
    let reply = r#"{"jsonrpc": "2.0", "id": 7, "result": {"protocol": "league.v2",
        "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P01",
        "timestamp": "2025-01-15T10:15:10Z", "conversation_id": "c", "match_id": "R1M1",
        "player_id": "P01", "choice": "EVEN", "auth_token": "tok-p01-0123456789abcdef"}}"#;
    insta::assert_snapshot!(league(&["explain", "-"], reply), @r#"
    exit code 0
    --- out
    CHOOSE_PARITY_RESPONSE in dialect v2, JSON-RPC response
    valid, 3 deviations

    deviation E002 INVALID_MESSAGE at result
      a lenient league reads this as {"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","sender":"player:P01","timestamp":"2025-01-15T10:15:10Z","conversation_id":"c","auth_token":"tok-p01-…","match_id":"R1M1","player_id":"P01","parity_choice":"even"}
      expected: a message as the documents spell it
      clause: ruling 13

    deviation E003 MISSING_REQUIRED_FIELD at result.parity_choice
      `parity_choice` is missing; add it
      expected: `parity_choice`: `even` or `odd`
      clause: 000 §4.5.2

    deviation E002 INVALID_MESSAGE at result.choice
      the protocol has no such field here; did you mean `parity_choice`?
      expected: `parity_choice`
      clause: 000 §4.5.2
    --- errors
    "#);
    let strict = league(&["explain", "--strict", "-"], reply);
    assert!(strict.contains("exit code 1"), "{strict}");
    assert!(!strict.contains("a lenient league"), "{strict}");
}

#[test]
fn ambiguous_message_is_an_error() {
    let reply = r#"{"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1",
        "player_id": "P01", "choice": "even", "pick": "odd"}"#;
    let told = league(&["explain", "-"], reply);
    assert!(told.contains("exit code 1"), "{told}");
    assert!(!told.contains("a lenient league"), "{told}");
}

#[test]
fn strict_reader_forgives_nothing() {
    let reply = r#"{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": "player:P01", "timestamp": "2025-01-15T10:15:10Z", "conversation_id": "c",
        "match_id": "R1M1", "player_id": "P01", "parity_choice": "even", "mood": "good"}"#;
    insta::assert_snapshot!(league(&["explain", "--strict", "-"], reply), @"
    exit code 1
    --- out
    CHOOSE_PARITY_RESPONSE in dialect v2
    not valid, 1 error

    error E002 INVALID_MESSAGE at mood
      the protocol has no such field here; leave it out
      expected: no such field
      clause: 000 §4.5.2
    --- errors
    ");
}

#[test]
fn unforgivable_deviation_is_an_error_with_its_place() {
    let reply = r#"{"jsonrpc": "2.0", "id": 7, "result": {"protocol": "league.v2",
        "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P01",
        "timestamp": "2025-01-15T10:15:10+02:00", "conversation_id": "c", "match_id": "R1M1",
        "player_id": "P01", "parity_choice": "EVEN"}}"#;
    insta::assert_snapshot!(league(&["explain", "-"], reply), @"
    exit code 1
    --- out
    CHOOSE_PARITY_RESPONSE in dialect v2, JSON-RPC response
    not valid, 2 errors

    error E021 INVALID_TIMESTAMP at result.timestamp
      the time must be in UTC: end it with `Z` or `+00:00`, not `+02:00`
      expected: a time in UTC, such as `2025-01-15T10:30:00Z`
      clause: 000 §2.4.2

    error E004 INVALID_PARITY_CHOICE at result.parity_choice
      found `EVEN`; send `even` or `odd`
      expected: `even` or `odd`
      clause: 000 §4.5.2
    --- errors
    ");
}

#[test]
fn registration_without_an_address_is_an_error() {
    let request = r#"{"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:Heron", "timestamp": "2025-01-15T10:00:00Z",
        "conversation_id": "conv-1", "player_meta": {"display_name": "Heron",
        "version": "1.0.0", "game_types": ["even_odd"]}}"#;
    insta::assert_snapshot!(league(&["explain", "-"], request), @"
    exit code 1
    --- out
    LEAGUE_REGISTER_REQUEST in dialect v2
    not valid, 1 error

    error E003 MISSING_REQUIRED_FIELD at player_meta.contact_endpoint
      `contact_endpoint` is missing; send the address at which you answer
      expected: the address at which the agent answers
      clause: 000 §2.10.2
    --- errors
    ");
}

#[test]
fn number_that_no_game_draws_is_an_error() {
    let over = |number: &str| {
        format!(
            r#"{{"protocol": "league.v2", "message_type": "GAME_OVER", "sender": "referee:REF01",
            "timestamp": "2025-01-15T10:15:30Z", "conversation_id": "c", "match_id": "R1M1",
            "game_type": "even_odd", "game_result": {{"status": "WIN", "winner_player_id": "P01",
            "drawn_number": {number}, "number_parity": "even",
            "choices": {{"P01": "even", "P02": "odd"}}, "reason": "P01 chose even"}}}}"#
        )
    };
    let told = league(&["explain", "-"], &over("3.5"));
    let error = "error E002 INVALID_MESSAGE at game_result.drawn_number\n  found `3.5`; send a";
    assert!(told.contains(error), "{told}");
    for (number, code) in [
        ("8", "exit code 0"),
        ("\"8\"", "exit code 0"),
        ("8.25", "exit code 1"),
    ] {
        let told = league(&["explain", "-"], &over(number));
        assert!(told.starts_with(code), "{number}: {told}");
    }
}

#[test]
fn machines_get_the_same_facts_as_one_object_a_line() {
    let two = r#"[{"message_type": "GAME_OVER"}, {"game_registry": {}}]"#;
    insta::assert_snapshot!(league(&["explain", "--output", "json", "-"], two), @r#"
    exit code 1
    --- out
    {"kind":"message","message_type":"GAME_OVER","dialect":"v2","valid":false,"findings":[{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].protocol","severity":"deviation","expected":"`protocol`: The protocol: `league.v2` or `league.v1`","clause":"000 §2.4.1","detail":"`protocol` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].sender","severity":"deviation","expected":"`sender`: Who says it","clause":"000 §2.4.1","detail":"`sender` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].timestamp","severity":"deviation","expected":"`timestamp`: When it was said, in UTC","clause":"000 §2.4.1","detail":"`timestamp` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].conversation_id","severity":"deviation","expected":"`conversation_id`: Ties the messages of one exchange together","clause":"000 §2.4.1","detail":"`conversation_id` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].match_id","severity":"error","expected":"`match_id`: Which match","clause":"000 §4.6.1","detail":"`match_id` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].game_type","severity":"deviation","expected":"`game_type`: What was played","clause":"000 §4.6.1","detail":"`game_type` is missing; add it"},{"code":"E003","name":"MISSING_REQUIRED_FIELD","path":"[0].game_result","severity":"error","expected":"`game_result`: How it ended","clause":"000 §4.6.1","detail":"`game_result` is missing; add it"}]}
    {"kind":"games registry","message_type":null,"dialect":null,"valid":true,"findings":[]}
    --- errors
    "#);
}

#[test]
fn folder_is_wrong_use() {
    insta::assert_snapshot!(league(&["explain", "."], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not read `.`
      cause: it is a folder
    hint: give a file with a message, or `-` for standard input
    ");
}

#[test]
fn empty_input_and_nonsense_are_e002() {
    insta::assert_snapshot!(league(&["explain", "-"], ""), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      the body is empty; send a JSON object
      expected: a JSON object
      clause: 000 §1.4
    --- errors
    ");
    insta::assert_snapshot!(league(&["explain", "-"], "{\"message_type\": "), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      the body is not JSON at line `1`, column `17`; repair it there: a message must be JSON
      expected: JSON
      clause: 000 §1.4
    --- errors
    ");
    insta::assert_snapshot!(league(&["explain", "-"], "42"), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      found a number; send an object
      expected: an object
      clause: 000 §1.4
    --- errors
    ");
    insta::assert_snapshot!(league(&["explain", "-"], "[]"), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      the array is empty; send a JSON object
      expected: a JSON object
      clause: 000 §1.4
    --- errors
    ");
}

#[test]
fn hostile_text_is_shown_harmlessly() {
    let hostile = "{\"message_type\": \"\\u001b[2J\\u202eGAME_OVER\"}";
    insta::assert_snapshot!(league(&["explain", "-"], hostile), @r"
    exit code 1
    --- out
    unknown message type \u{1b}[2J\u{202e}GAME_OVER
    not valid, 1 error, 4 deviations

    error E002 INVALID_MESSAGE at message_type
      `\u{1b}[2J\u{202e}GAME_OVER` is no message type of any dialect; `league explain --list` names them all
      expected: a message type of the protocol
      clause: 000 §4.11

    deviation E003 MISSING_REQUIRED_FIELD at protocol
      `protocol` is missing; add it
      expected: `protocol`: The protocol: `league.v2` or `league.v1`
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at sender
      `sender` is missing; add it
      expected: `sender`: Who says it
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at timestamp
      `timestamp` is missing; add it
      expected: `timestamp`: When it was said, in UTC
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at conversation_id
      `conversation_id` is missing; add it
      expected: `conversation_id`: Ties the messages of one exchange together
      clause: 000 §2.4.1
    --- errors
    ");
}

#[test]
fn missing_file_is_reported_with_a_hint() {
    insta::assert_snapshot!(league(&["explain", "no-such-file.json"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not read `no-such-file.json`
      cause: No such file or directory (os error 2)
    hint: give a file with a message, or `-` for standard input
    ");
}

#[test]
fn message_that_is_too_large_is_refused() {
    let huge = format!("{{\"message_type\": \"{}\"}}", "x".repeat(300_000));
    insta::assert_snapshot!(league(&["explain", "-"], &huge), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      the body is larger than 262144 bytes; shorten it
      expected: a shorter message
      clause: 000 §1.4
    --- errors
    ");
}

#[test]
fn text_in_another_encoding_gets_a_hint() {
    insta::assert_snapshot!(league(&["explain", "-"], "\u{feff}{}"), @"
    exit code 1
    --- out
    nothing readable
    not valid, 1 error

    error E002 INVALID_MESSAGE at the whole message
      the body starts with a byte order mark; save it as UTF-8 without a byte order mark
      expected: UTF-8 without a byte order mark
      clause: 000 §1.4
    --- errors
    ");
}

#[test]
fn misspelled_field_gets_a_suggestion() {
    let reply = r#"{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": "player:P01", "timestmap": "2025-01-15T10:15:10Z", "conversation_id": "c",
        "match_id": "R1M1", "player_id": "P01", "choice": "even"}"#;
    insta::assert_snapshot!(league(&["explain", "-"], reply), @r#"
    exit code 0
    --- out
    CHOOSE_PARITY_RESPONSE in dialect v2
    valid, 5 deviations

    deviation E002 INVALID_MESSAGE at the whole message
      a lenient league reads this as {"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","sender":"player:P01","timestamp":"2025-01-15T10:15:10Z","conversation_id":"c","match_id":"R1M1","player_id":"P01","parity_choice":"even"}
      expected: a message as the documents spell it
      clause: ruling 13

    deviation E003 MISSING_REQUIRED_FIELD at timestamp
      `timestamp` is missing; add it
      expected: `timestamp`: When it was said, in UTC
      clause: 000 §2.4.1

    deviation E003 MISSING_REQUIRED_FIELD at parity_choice
      `parity_choice` is missing; add it
      expected: `parity_choice`: `even` or `odd`
      clause: 000 §4.5.2

    deviation E002 INVALID_MESSAGE at timestmap
      the protocol has no such field here; did you mean `timestamp`?
      expected: `timestamp`
      clause: 000 §4.5.2

    deviation E002 INVALID_MESSAGE at choice
      the protocol has no such field here; did you mean `parity_choice`?
      expected: `parity_choice`
      clause: 000 §4.5.2
    --- errors
    "#);
}

#[test]
fn each_element_of_an_array_has_its_number_and_an_unknown_type_its_nearest() {
    let two = r#"[{"game_registry": {}}, {"protocol": "league.v2", "message_type": "GAME_OVR",
        "sender": "referee:REF01", "timestamp": "2025-01-15T10:15:10Z", "conversation_id": "c"}]"#;
    insta::assert_snapshot!(league(&["explain", "-"], two), @"
    exit code 1
    --- out
    [0] games registry
    valid

    [1] GAME_OVR in dialect v2
    not valid, 1 error

    error E002 INVALID_MESSAGE at [1].message_type
      `GAME_OVR` is no message type of any dialect; did you mean `GAME_OVER`? `league explain --list` names them all
      expected: a message type of the protocol
      clause: 000 §4.11
    --- errors
    ");
}

#[test]
fn lines_of_an_exported_match_are_read_one_by_one_and_may_be_held_to_a_dialect() {
    let answer = r#"{"protocol":"league.v2","message_type":"CHOOSE_PARITY_RESPONSE","sender":"player:P01","timestamp":"2025-01-15T10:15:10Z","conversation_id":"c","match_id":"R1M1","parity_choice":"even"}"#;
    let lines = format!(
        "{}\n{{\"event\":\"said\",\"from\":\"player:P01\",\"to\":\"referee:REF01\",\"message\":{answer}}}\n",
        r#"{"event":"match","match_id":"R1M1","lifecycle":{}}"#
    );
    let told = league(&["explain", "--strict", "-"], &lines);
    assert!(told.starts_with("exit code 0\n"), "{told}");
    assert!(
        told.contains("CHOOSE_PARITY_RESPONSE in dialect v2-api"),
        "{told}"
    );
    insta::assert_snapshot!(league(&["explain", "--strict", "--dialect", "v2", "-"], &lines), @"
    exit code 1
    --- out
    [0] match of an export
    valid

    [1] CHOOSE_PARITY_RESPONSE in dialect v2
    not valid, 1 error

    error E003 MISSING_REQUIRED_FIELD at [1].message.player_id
      `player_id` is missing; add it
      expected: `player_id`: Who chooses
      clause: 000 §4.5.2
    --- errors
    ");
}

#[test]
fn schema_of_a_message_in_one_dialect() {
    let arguments = [
        "explain",
        "--schema",
        "GAME_JOIN_ACK",
        "--dialect",
        "v2",
        "--strict",
    ];
    insta::assert_snapshot!("schema_of_a_message", league(&arguments, ""));
}

#[test]
fn every_message_of_every_dialect_is_listed() {
    insta::assert_snapshot!("schema_list", league(&["explain", "--list"], ""));
}

#[test]
fn schema_of_a_message_of_several_dialects_allows_each() {
    let told = league(
        &["explain", "--schema", "GAME_OVER", "--output", "json"],
        "",
    );
    let line = told.lines().nth(2).expect("there is output");
    let schema: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    assert!(
        schema["anyOf"].as_array().is_some_and(|any| any.len() > 1),
        "{told}"
    );
}

#[test]
fn machines_get_the_list_as_one_object_a_line() {
    let list = league(
        &["explain", "--list", "--dialect", "v1", "--output", "json"],
        "",
    );
    let first = r#"{"dialect":"v1","message_type":""#;
    let lines = list.lines().filter(|line| line.starts_with(first)).count();
    assert_eq!(lines, list.lines().count() - 3, "{list}");
}

#[test]
fn unknown_name_or_dialect_is_wrong_use() {
    insta::assert_snapshot!(league(&["explain", "--schema", "GAME_OVR"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not print the schema of `GAME_OVR`
      cause: there is no such message type in any dialect
    hint: list the message types with `league explain --list`
    ");
    insta::assert_snapshot!(league(&["explain", "--schema", "GAME_START", "--dialect", "v2"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not print the schema of `GAME_START`
      cause: there is no such message type in v2
    hint: list the message types with `league explain --list`
    ");
    insta::assert_snapshot!(league(&["explain", "--list", "--dialect", "v3"], ""), @"
    exit code 2
    --- out
    --- errors
    error: invalid value 'v3' for '--dialect <DIALECT>': unknown dialect; choose one of `v2`, `v2-api`, `v1`

    For more information, try '--help'.
    ");
}

#[test]
fn examples_are_written_and_explained_without_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().to_str().unwrap();
    let written = league(&["explain", "--examples", below, "--dialect", "v2"], "");
    let said = format!("28 examples in {below}");
    assert!(written.contains(&said), "{written}");
    // A second time replaces them.
    let again = league(&["explain", "--examples", below, "--output", "json"], "");
    assert!(again.contains(r#"{"examples":70,"#), "{again}");
    for file in [
        "v2/registration/referee_register_request.json",
        "v2/game-flow/game_over.json",
        "v2/errors/game_error.json",
        "v2/league/league_standings_update.json",
        "v1/game-flow/game_result.json",
    ] {
        let file = folder.path().join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("{\n  \"protocol\": "), "{text}");
        let explained = league(&["explain", "--strict", file.to_str().unwrap()], "");
        assert!(explained.starts_with("exit code 0"), "{explained}");
    }
}

#[test]
fn file_schema_or_list_is_needed_and_one_of_them() {
    let none = league(&["explain"], "");
    assert!(none.starts_with("exit code 2\n"), "{none}");
    let both = league(&["explain", "reply.json", "--schema", "GAME_OVER"], "");
    assert!(both.starts_with("exit code 2\n"), "{both}");
}
