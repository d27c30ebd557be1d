//! Every expectation of every rule is seen to fail: a good record of our own agents is changed in
//! one place after another until it is not met any more.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use league_check::caller::Caller;
use league_check::fake_manager::FakeManager;
use league_check::launch::AgentProcess;
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::manager::season::Sizes;
use league_check::record::{Record, Statement};
use league_check::reply::Reply;
use league_check::rule::{Rule, Trouble};
use league_check::stage::Stage;
use league_check::wire::Answer;
use league_check::{AgentKind, RandomBytes, Target};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::check::processes::{KEY, post};
use crate::end_to_end::process::free_port;

/// How long our agents may take to come up and to register, on a busy machine.
const WAIT: Duration = Duration::from_secs(60);

/// How many records of a rule are changed, and how often each.
const MAX_RECORDS: usize = 12;
const MAX_CHANGES: usize = 20_000;

/// Values that stand for all others in the place of a member.
fn others(value: &Value) -> Vec<Value> {
    let mut others = vec![
        Value::Null,
        json!("another"),
        json!(""),
        json!("x".repeat(200)),
        json!("2026-11-15T14:00:00+02:00"),
        json!("2026-11-15T14:00:00Z"),
        json!(11),
        json!(7),
        json!([]),
        json!({}),
    ];
    others.extend(value.as_bool().map(|flag| json!(!flag)));
    others.extend(value.as_u64().map(|number| json!(number + 1)));
    others.retain(|other| other != value);
    others
}

/// The path of every member, the whole first.
fn paths(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            paths(member, &format!("{at}/{name}"), into);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(place, item)| {
            paths(item, &format!("{at}/{place}"), into);
        }),
        _ => {}
    }
}

type Changed<T> = Box<dyn Iterator<Item = T>>;

/// A message changed in one place, in every way.
fn messages(message: &Value) -> Changed<Value> {
    let mut all = Vec::new();
    paths(message, "", &mut all);
    let message = message.clone();
    let extra = ["opponent_choice", "choices"].map(|name| {
        let mut more = message.clone();
        if let Some(members) = more.as_object_mut() {
            members.insert(name.to_owned(), json!("even"));
        }
        more
    });
    let changed = all.into_iter().flat_map(move |path| {
        let found = message.pointer(&path).unwrap_or(&Value::Null);
        let changed: Vec<Value> = others(found)
            .into_iter()
            .map(|other| {
                let mut changed = message.clone();
                *changed.pointer_mut(&path).unwrap() = other;
                changed
            })
            .collect();
        changed
    });
    Box::new(extra.into_iter().chain(changed))
}

/// An answer with other bytes.
fn answered(reply: &Reply, change: impl FnOnce(&mut Answer)) -> Reply {
    let mut trip = reply.trip.clone();
    if let Ok(answer) = &mut trip.came {
        change(answer);
    }
    Reply::read(trip)
}

fn with_body(reply: &Reply, body: &Value) -> Reply {
    answered(reply, |answer| answer.body = body.to_string().into_bytes())
}

fn result(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// Other answers than a good one.
fn replies(reply: &Reply, secrets: &[String]) -> Changed<Reply> {
    let message = reply.result().cloned().unwrap_or_default();
    let error = json!({"code": -32601, "message": "no"});
    let mut all = vec![
        with_body(reply, &json!({"jsonrpc": "2.0", "id": 1, "error": error})),
        with_body(
            reply,
            &json!({"jsonrpc": "2.0", "id": 1, "result": message, "error": error}),
        ),
        with_body(reply, &message),
        with_body(reply, &json!({"jsonrpc": 2, "id": 99, "result": message})),
        with_body(reply, &result(&json!({"status": "ok", "tools": [{}]}))),
        with_body(
            reply,
            &result(&json!({"message_type": "LEAGUE_ERROR", "error_code": "E999"})),
        ),
        with_body(
            reply,
            &result(&json!({"message_type": "GAME_MOVE_RESPONSE", "accepted": true})),
        ),
        with_body(
            reply,
            &result(&json!({"status": "ACCEPTED", "success": true})),
        ),
        answered(reply, |answer| answer.body = b"Traceback".to_vec()),
        answered(reply, |answer| answer.status = 500),
        answered(reply, |answer| answer.status = 200),
        answered(reply, |answer| answer.headers.clear()),
        answered(reply, |answer| {
            let coding = ("content-encoding".to_owned(), "gzip".to_owned());
            answer.headers.push(coding);
        }),
    ];
    let mut late = reply.clone();
    late.trip.took = Duration::from_secs(1_000);
    all.push(late);
    let leaks = secrets.iter().map(|secret| {
        let leak = json!({"leak": secret, "error_code": "E012"});
        with_body(reply, &result(&leak))
    });
    all.extend(leaks);
    // An old token may be given again.
    all.extend(secrets.iter().map(|secret| {
        let mut message = message.clone();
        if let Some(members) = message.as_object_mut() {
            members.insert("auth_token".to_owned(), json!(secret));
        }
        with_body(reply, &result(&message))
    }));
    let reply = reply.clone();
    let changed = messages(&message).map(move |message| with_body(&reply, &result(&message)));
    Box::new(all.into_iter().chain(changed))
}

fn call_with(call: &IncomingCall, change: impl FnOnce(&mut IncomingCall)) -> Arc<IncomingCall> {
    let mut changed = call.clone();
    change(&mut changed);
    changed.body = changed.json.to_string().into();
    Arc::new(changed)
}

/// Other calls than a good one.
fn calls(call: &IncomingCall, secrets: &[String]) -> Changed<Arc<IncomingCall>> {
    let plain = HeaderValue::from_static("text/plain");
    let gzip = HeaderValue::from_static("gzip");
    let mut all = vec![
        call_with(call, |call| call.method = "GET".to_owned()),
        call_with(call, |call| drop(call.headers.insert(CONTENT_TYPE, plain))),
        call_with(call, |call| {
            drop(call.headers.insert(CONTENT_ENCODING, gzip))
        }),
        call_with(call, |call| call.json["jsonrpc"] = json!("1.0")),
        call_with(call, |call| call.json["method"] = json!("another")),
        call_with(call, |call| call.json["params"] = json!("text")),
        call_with(call, |call| {
            call.json.as_object_mut().unwrap().remove("id");
        }),
        call_with(call, |call| call.at += Duration::from_secs(100)),
        call_with(call, |call| {
            call.at = call
                .at
                .checked_sub(Duration::from_secs(1))
                .unwrap_or(call.at);
        }),
    ];
    all.extend(
        secrets
            .iter()
            .map(|secret| call_with(call, |call| call.json["params"]["leak"] = json!(secret))),
    );
    all.extend(["CHOOSE_PARITY_CALL", "GAME_ERROR"].map(|kind| {
        call_with(call, |call| {
            call.json["params"]["message_type"] = json!(kind)
        })
    }));
    let call = call.clone();
    let changed = messages(call.message())
        .map(move |message| call_with(&call, |call| call.json["params"] = message));
    Box::new(all.into_iter().chain(changed))
}

type Row = Vec<Arc<IncomingCall>>;

/// A row of calls in which some are missing or doubled.
fn shortened(row: &Row) -> Changed<Row> {
    let kinds: BTreeSet<&str> = row.iter().map(|call| call.kind()).collect();
    let mut all = vec![Vec::new(), [&row[..], row].concat()];
    for kind in kinds {
        let others = row.iter().filter(|call| call.kind() != kind);
        all.push(others.cloned().collect());
    }
    Box::new(all.into_iter())
}

/// A row of calls of which one is changed.
fn changed(row: &Row) -> Changed<Row> {
    let row = row.clone();
    Box::new((0..row.len()).flat_map(move |place| {
        let row = row.clone();
        calls(&row[place].clone(), &[]).map(move |call| {
            let mut row = row.clone();
            row[place] = call;
            row
        })
    }))
}

/// Everything that must not be told.
fn secrets(record: &Record) -> Vec<String> {
    let mut all = Vec::new();
    let facts = record.facts.iter();
    all.extend(facts.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
    all.extend(record.asked["auth_token"].as_str().map(str::to_owned));
    if let Some(played) = &record.match_record {
        all.extend(played.seeds());
        for seat in &played.seats {
            all.extend([&seat.token, &seat.match_token, &seat.nonce].map(String::clone));
        }
    }
    if let Some(league) = &record.league {
        all.extend(league.members().map(|member| member.token.clone()));
    }
    all
}

/// Records that differ from a good one in a single thing that the agent said or did.
fn mutations(record: &Record) -> Changed<Record> {
    let (secrets, record) = (secrets(record), record.clone());
    let of_facts = counted(&record);
    let of_whole = whole_mutations(&record);
    let said: Changed<Statement> = match &record.said {
        Statement::Nothing => Box::new(std::iter::empty()),
        Statement::Reply(reply) => {
            // An earlier answer may come again.
            let facts = record.facts.iter();
            let given = facts.filter(|(name, _)| *name == "given");
            let again: Vec<Reply> = given
                .map(|(_, given)| with_body(reply, &result(given)))
                .collect();
            let all = again.into_iter().chain(replies(reply, &secrets));
            Box::new(all.map(Statement::Reply))
        }
        Statement::Call(call, whom) => {
            let whom = *whom;
            Box::new(calls(call, &secrets).map(move |call| Statement::Call(call, whom)))
        }
    };
    let of_said = said.map(move |said| Record {
        said,
        ..record.clone()
    });
    Box::new(of_facts.into_iter().chain(of_said).chain(of_whole))
}

/// What the agent did is counted in facts.
fn counted(record: &Record) -> Vec<Record> {
    let others = [
        ("registrations", json!(9)),
        ("registered", json!(false)),
        ("invited", json!("P01")),
        ("ended", json!("GAME_OVER")),
    ];
    let change = |(name, other): (&str, Value)| {
        let mut changed = record.clone();
        let mut facts = changed.facts.iter_mut();
        if let Some((_, value)) = facts.find(|(known, _)| *known == name) {
            *value = other;
        }
        changed
    };
    others.map(change).into()
}

/// Which row of calls is changed.
#[derive(Debug, Clone, Copy)]
enum Place {
    Reports,
    Seat(usize),
    Player(usize),
    Referee(usize),
}

fn row(record: &mut Record, place: Place) -> &mut Row {
    match place {
        Place::Reports => &mut with_match(record).reports,
        Place::Seat(seat) => &mut with_match(record).seats[seat].calls,
        Place::Player(place) => &mut with_league(record).players[place].calls,
        Place::Referee(place) => &mut with_league(record).referees[place].calls,
    }
}

/// Records that differ in what was said elsewhere in the match or the league.
fn whole_mutations(record: &Record) -> Changed<Record> {
    let mut places = Vec::new();
    if record.match_record.is_some() {
        places.extend([Place::Reports, Place::Seat(0), Place::Seat(1)]);
    }
    let mut of_season = Vec::new();
    if let Some(league) = &record.league {
        places.extend((0..league.players.len()).map(Place::Player));
        places.extend((0..league.referees.len()).map(Place::Referee));
        of_season.extend(seasons(record));
    }
    let of_rows = |change: fn(&Row) -> Changed<Row>| {
        let (record, places) = (record.clone(), places.clone());
        places.into_iter().flat_map(move |place| {
            let mut record = record.clone();
            let rows = change(row(&mut record, place));
            rows.map(move |other| {
                let mut record = record.clone();
                *row(&mut record, place) = other;
                record
            })
        })
    };
    let shortened = of_rows(shortened);
    Box::new(
        of_season
            .into_iter()
            .chain(shortened)
            .chain(of_rows(changed)),
    )
}

/// Leagues in which other things came of reports, or one referee has everything to do.
fn seasons(record: &Record) -> [Record; 3] {
    let [mut lost, mut refused, mut one] = [record.clone(), record.clone(), record.clone()];
    with_league(&mut lost).season.outcomes.clear();
    let told = ("R1M1".to_owned(), "E002".to_owned());
    with_league(&mut refused).season.refused.extend([told]);
    let referees = &mut with_league(&mut one).referees;
    let given: Row = referees.iter().flat_map(|one| one.calls.clone()).collect();
    let more = given.iter().enumerate().map(|(place, call)| {
        call_with(call, |call| {
            call.json["params"]["match_id"] = json!(format!("R9M{place}"));
        })
    });
    referees[0].calls = given.iter().cloned().chain(more).collect();
    [lost, refused, one]
}

fn with_match(record: &mut Record) -> &mut league_check::referee::match_run::MatchRecord {
    Arc::make_mut(record.match_record.as_mut().unwrap())
}

fn with_league(record: &mut Record) -> &mut league_check::manager::season::LeagueRecord {
    Arc::make_mut(record.league.as_mut().unwrap())
}

/// The expectations of a rule that no change of its records breaks.
fn unbroken(rule: &Rule, records: &[Record]) -> Vec<String> {
    let expectations = rule.expectations();
    let is_broken = |expect: &league_check::record::Expect, record: &Record| {
        matches!(
            expect.judge(record),
            Err(Trouble::Broken(_) | Trouble::Forgiven(_))
        )
    };
    let unbroken = expectations.iter().enumerate().filter(|(_, expect)| {
        let mut changed = records
            .iter()
            .take(MAX_RECORDS)
            .flat_map(|record| mutations(record).take(MAX_CHANGES));
        !changed.any(|record| is_broken(expect, &record))
    });
    unbroken
        .map(|(place, _)| format!("{} expectation {place}", rule.id))
        .collect()
}

/// Sees that each rule passes its records as they are, and breaks when they are changed.
async fn see_rules_fail(stage: Arc<Stage>) {
    let mut problems = Vec::new();
    for topic in stage.topics() {
        for rule in &topic.rules {
            let caller = Caller::new(Arc::clone(&stage));
            if rule.expectations().is_empty() {
                // What it does is judged as it is done; scripted agents are seen to fail it.
                let _ = rule.play(&caller).await;
                continue;
            }
            match rule.exchange.records(&caller).await {
                Ok(records) => {
                    for record in &records {
                        if let Err(Trouble::Broken(found) | Trouble::Forgiven(found)) =
                            rule.judge(record)
                        {
                            problems.push(format!("{} is broken: {found}", rule.id));
                        }
                    }
                    problems.extend(unbroken(rule, &records));
                }
                Err(trouble) => problems.push(format!("{} has no records: {trouble:?}", rule.id)),
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

fn random() -> RandomBytes {
    let drawn = std::sync::atomic::AtomicU8::new(0);
    Arc::new(move || [drawn.fetch_add(1, std::sync::atomic::Ordering::Relaxed); 32])
}

/// One of our agents as a process, on a root of its own.
fn launched(arguments: &str, folder: &tempfile::TempDir) -> AgentProcess {
    let mut words = vec![env!("CARGO_BIN_EXE_league").to_owned()];
    words.extend(arguments.split(' ').map(str::to_owned));
    words.extend(["--root".to_owned(), folder.path().display().to_string()]);
    let launched = AgentProcess::new(words);
    launched.start().unwrap();
    launched
}

async fn fake_manager(kind: AgentKind, agent: u16) -> FakeManager {
    let anywhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let manager = FakeManager::open(anywhere, kind, agent, random()).await;
    manager.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_for_players_is_seen_to_fail() {
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let manager = fake_manager(AgentKind::Player, port).await;
    let home = manager.listener.address.port();
    let arguments = format!("player --port {port} --manager http://localhost:{home}/mcp");
    let launched = launched(&arguments, &folder);
    let stage = Stage::player(Target::local(port), manager, Some(launched), WAIT);
    let stage = Arc::new(stage);
    assert!(stage.begin().await);
    see_rules_fail(stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_for_referees_is_seen_to_fail() {
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let manager = fake_manager(AgentKind::Referee, port).await;
    let home = manager.listener.address.port();
    let arguments = format!("referee --port {port} --manager http://localhost:{home}/mcp");
    let launched = launched(&arguments, &folder);
    let stage = Stage::referee(Target::local(port), manager, Some(launched), WAIT, random());
    let stage = Arc::new(stage);
    assert!(stage.begin().await);
    see_rules_fail(stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_for_managers_is_seen_to_fail() {
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let arguments = format!("manager --port {port} --players 4 --referees 2 --referee-key {KEY}");
    let launched = launched(&arguments, &folder);
    let sizes = Sizes {
        players: 4,
        referees: 2,
    };
    let key = Some(KEY.to_owned());
    let stage = Stage::manager(Target::local(port), Some(launched), WAIT, sizes, None, key);
    let stage = Arc::new(stage);
    assert!(stage.begin().await);
    see_rules_fail(stage).await;
}

/// A player of `league.v1` without a fault.
fn v1_player(call: &IncomingCall) -> ScriptedAnswer {
    let asked = call.message();
    let says = |kind: &str, name: &str, value: Value| {
        ScriptedAnswer::Result(json!({
            "protocol": "league.v1", "message_type": kind, "league_id": asked["league_id"],
            "round_id": asked["round_id"], "match_id": asked["match_id"],
            "conversation_id": asked["conversation_id"], "sender": "player_001",
            "timestamp": "2026-11-15T12:00:00.000Z", name: value,
        }))
    };
    match call.tool() {
        Some("handle_game_invitation") => {
            says("GAME_INVITATION_RESPONSE", "status", json!("READY"))
        }
        Some("choose_parity") => {
            let play = json!({"action": "choose", "value": "even"});
            says("PLAY_RESPONSE", "play", play)
        }
        _ => ScriptedAnswer::Result(json!({"status": "ok"})),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_for_players_of_v1_is_seen_to_fail() {
    let anywhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let player = Listener::open(anywhere, v1_player).await.unwrap();
    let port = player.address.port();
    let manager = fake_manager(AgentKind::Player, port).await;
    let message = json!({
        "protocol": "league.v1", "message_type": "LEAGUE_REGISTER_REQUEST", "round_id": 0,
        "league_id": "550e8400-e29b-41d4-a716-446655440000", "match_id": "REGISTRATION",
        "conversation_id": "770e8400-e29b-41d4-a716-446655440000", "sender": "player_heron",
        "timestamp": "2026-11-15T12:00:00.000Z",
        "player_meta": {
            "display_name": "Heron", "version": "0.3.0", "game_types": ["even_odd"],
            "contact_endpoint": format!("http://localhost:{port}/mcp"),
        },
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message});
    let home = Target::local(manager.listener.address.port());
    let began = Instant::now();
    let admitted = post(&home, &call).await;
    assert!(
        admitted.came.is_ok(),
        "{admitted:?} after {:?}",
        began.elapsed()
    );
    let stage = Arc::new(Stage::player(Target::local(port), manager, None, WAIT));
    assert!(stage.begin().await);
    let own = stage.topics().pop().unwrap();
    let mut problems = Vec::new();
    for rule in own
        .rules
        .iter()
        .filter(|rule| !rule.expectations().is_empty())
    {
        let caller = Caller::new(Arc::clone(&stage));
        let records = rule.exchange.records(&caller).await.unwrap();
        let kept = records.iter().try_for_each(|record| rule.judge(record));
        assert_eq!(kept, Ok(()), "{}", rule.id);
        problems.extend(unbroken(rule, &records));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}
