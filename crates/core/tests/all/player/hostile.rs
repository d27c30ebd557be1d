//! Any commands in any order, with any JSON in them: nothing panics, nothing counts twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use league_core::letter::PeerAnswer;
use league_core::machine::Machine;
use league_core::player::{Command, CorrelationId, OPEN_MATCHES, PlayerNotice, PlayerRules, Reply};
use league_protocol::fault::Code;
use league_protocol::message::{MatchStatus, MoveCall};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use proptest::prelude::*;
use serde_json::{Value, json};

use league_testkit::player::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|halves| Value::from(f64::from(halves) / 2.0)),
        ".{0,80}".prop_map(Value::from),
        Just(json!("even")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_match() -> impl Strategy<Value = String> {
    (0..4_u32).prop_map(|number| format!("R{number}M1"))
}

fn any_token() -> impl Strategy<Value = Option<TokenHash>> {
    prop_oneof![
        3 => Just(Some(TokenHash::of(MATCH_TOKEN))),
        1 => Just(None),
        1 => Just(Some(TokenHash::of("forged"))),
    ]
}

fn any_move_call() -> impl Strategy<Value = Command> {
    let options = prop::collection::vec(any_json(), 0..4);
    let parts = (any_match(), any_json(), options, 0..3_u32, any::<u32>());
    (parts, any::<i64>(), any_token()).prop_map(|(parts, deadline, token)| {
        let (id, view, options, turn_number, move_seconds) = parts;
        let shell = PlayerWorld::new(rules());
        let call = MoveCall {
            view: view.into(),
            options: options.into(),
            turn_number,
            move_seconds,
            deadline: Timestamp::from_millis(deadline),
            ..call(&shell, &id, 1)
        };
        Command::MoveWanted {
            call: Box::new(call),
            token,
        }
    })
}

fn any_end() -> impl Strategy<Value = Command> {
    let status = prop_oneof![
        Just(MatchStatus::Win),
        Just(MatchStatus::Draw),
        Just(MatchStatus::TechnicalLoss)
    ];
    let winner = prop_oneof![
        Just(None),
        Just(Some("P01")),
        Just(Some("P02")),
        Just(Some("P09"))
    ];
    let parts = (any_match(), 0..3_u32, status, winner);
    (parts, any_json(), any_token()).prop_map(|((id, round, status, winner), choice, token)| {
        let over = changed(over(&id, round, status, winner), |result| {
            result.choices.insert(player("P02"), choice);
        });
        Command::Told {
            news: PlayerNotice::GameOver(over.into()),
            token,
        }
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    let outcome = prop_oneof![
        Just(silence(Code::Connection)),
        Just(Ok(PeerAnswer {
            message: accepted("P01"),
            token: None,
        })),
    ];
    prop_oneof![
        1 => Just(begin()),
        1 => (1..4_u32, outcome).prop_map(|(number, outcome)| Command::Outcome {
            correlation: CorrelationId::Registration(number),
            outcome,
        }),
        1 => Just(Command::Tick),
        1 => Just(Command::TokenRefused),
        1 => Just(Command::StateWanted),
        1 => (any_match(), any_token()).prop_map(|(id, token)| Command::Invited {
            invitation: Box::new(invitation(&id)),
            token,
        }),
        1 => any_match().prop_map(|id| Command::Told {
            news: announcement(&id),
            token: None,
        }),
        4 => any_move_call(),
        4 => (any_match(), 0..3_u32, prop::option::of(any_json()))
            .prop_map(|(id, turn, choice)| chooses(&id, turn, choice)),
        4 => any_end(),
    ]
}

proptest! {
    #[test]
    fn arbitrary_commands_never_panic_or_count_twice(
        strict in any::<bool>(),
        commands in prop::collection::vec(any_command(), 0..60),
    ) {
        let mut shell = PlayerWorld::new(PlayerRules { strict, ..rules() });
        for command in commands {
            let asks = matches!(command, Command::MoveWanted { .. });
            let reply = shell.tries(command);
            if let (true, Ok(Reply::Think(think))) = (asks, reply) {
                prop_assert!(!think.options.is_empty());
            }
            let memory = shell.player.memory();
            let ends: BTreeSet<_> = memory
                .history()
                .map(|record| (record.round_id, record.match_id.clone()))
                .collect();
            prop_assert_eq!(ends.len(), memory.history().len());
            let sums = memory.statistics();
            prop_assert_eq!(sums.total_matches, sums.wins + sums.draws + sums.losses);
            prop_assert!(shell.player.view().open_matches.len() <= OPEN_MATCHES);
        }
        let statistics = *shell.player.memory().statistics();
        shell.restart();
        prop_assert_eq!(*shell.player.memory().statistics(), statistics);
        prop_assert_eq!(shell.player.wakeup(), None);
    }

    #[test]
    fn answer_is_always_one_of_the_options(
        options in prop::collection::vec(any_json(), 1..5),
        choice in prop::option::of(any_json()),
    ) {
        let mut shell = PlayerWorld::enrolled(rules());
        let mut asked = call(&shell, "R1M1", 1);
        asked.options = Arc::from(options.clone());
        shell.does(wants(asked));
        let reply = shell.does(chooses("R1M1", 1, choice));
        let Reply::Move { response, .. } = reply else {
            panic!("{reply:?}")
        };
        prop_assert!(options.contains(&response.choice));
    }
}
