//! Rules about how a player or a referee registers: what it sends to the manager, and how often.

pub mod form;

use crate::fake_manager::{is_registration, port};
use crate::prelude::*;
use crate::wire::RoundTrip;
use league_protocol::time::in_words;

/// The most registrations that an admitted agent may send.
const MAX_REGISTRATIONS: u64 = 2;

pub(crate) fn of_player() -> Topic {
    topic! { "registration" needs "REG-01":
        "REG-01" Must "000 §4.2.1": "The player registers with the manager"
            => "call the manager's tool `register_player` when the player starts",
            steps!(registers);
        "REG-02" Must "000 §1.3": "The registration is posted to /mcp as JSON"
            => "POST to `/mcp` with `Content-Type: application/json`",
            seen!(registration()), [Posted];
        "REG-03" Must "000 §1.4": "The registration is a JSON-RPC call with version, method, params and id"
            => "send {\"jsonrpc\": \"2.0\", \"method\": \"register_player\", \"params\": {…}, \"id\": 1}",
            seen!(registration()), [Framed("register_player")];
        "REG-04" Must "000 §4.2.1": "The message is a LEAGUE_REGISTER_REQUEST"
            => "set `message_type` to LEAGUE_REGISTER_REQUEST",
            seen!(registration()), [Kind(&["LEAGUE_REGISTER_REQUEST"])];
        "REG-05" Must "000 §2.4.1": "The registration names the protocol"
            => "set `protocol` to league.v2", seen!(registration()), [PROTOCOL];
        "REG-06" Must "000 §2.4.4": "The sender is written player:NAME"
            => "set `sender` to `player:` and a name, as long as there is no id",
            seen!(registration()), [By(signs_with_a_name)];
        "REG-07" Must "000 §2.4.2": "The time of the registration is in UTC"
            => "write times as 2025-01-15T10:30:00Z", seen!(registration()), [Utc("timestamp")];
        "REG-08" Must "000 §2.4.1": "The registration names a conversation"
            => "set `conversation_id` to a text of your own",
            seen!(registration()), [By(names_conversation)];
        "REG-09" Must "000 §4.2.1": "The player has a display name of 1 to 64 characters"
            => "set `player_meta.display_name`",
            seen!(registration()), [By(has_a_name), By(has_a_printable_name)];
        "REG-10" Must "000 §4.2.1": "The player names its own version as three numbers"
            => "set `player_meta.version` to something like 1.0.0",
            seen!(registration()), [By(|it| meta_is(it, "version", is_version))];
        "REG-11" Should "000 §2.10.1": "The player names the protocol version that it speaks"
            => "set `player_meta.protocol_version` to 2.1.0",
            seen!(registration()), [By(has_a_protocol_version)];
        "REG-12" Must "000 §4.2.1": "The player plays even_odd"
            => "set `player_meta.game_types` to [\"even_odd\"]",
            seen!(registration()), [By(plays_even_odd)];
        "REG-13" Must "000 §4.2.1": "The address that the player names is an address of HTTP"
            => "set `player_meta.contact_endpoint` to something like http://localhost:8101/mcp",
            seen!(registration()), [By(|it| meta_is(it, "contact_endpoint", is_address))];
        "REG-14" Must "000 §4.2.1": "The address that the player names leads to the player"
            => "name the port and the path at which the player really listens",
            seen!(registration()), [By(leads_to_the_agent)];
        "REG-15" Should "000 §2.8.1": "A player that was admitted does not register again by itself"
            => "stop registering once the answer says ACCEPTED",
            seen!(registration()), [By(registers_once)];
        "REG-16" Should "RFC 9112 §9.3": "The player sends no body that is compressed"
            => "send the body plain", seen!(registration()), [By(is_plain)];
    }
}

pub(crate) fn of_referee() -> Topic {
    topic! { "registration" needs "REG-01":
        "REG-01" Must "000 §4.1.1": "The referee registers with the manager"
            => "call the manager's tool `register_referee` when the referee starts",
            steps!(registers);
        "REG-02" Must "000 §1.3, §1.4": "The registration is a JSON-RPC call posted as JSON"
            => "POST {\"jsonrpc\": \"2.0\", \"method\": \"register_referee\", \"params\": {…}, \"id\": 1} to /mcp",
            seen!(registration()), [Posted, Framed("register_referee")];
        "REG-03" Must "000 §4.1.1": "The message is a REFEREE_REGISTER_REQUEST"
            => "set `message_type` to REFEREE_REGISTER_REQUEST",
            seen!(registration()), [Kind(&["REFEREE_REGISTER_REQUEST"])];
        "REG-04" Must "000 §2.4.1": "The registration names the protocol"
            => "set `protocol` to league.v2", seen!(registration()), [PROTOCOL];
        "REG-05" Must "000 §2.4.4": "The sender is written referee:NAME"
            => "set `sender` to `referee:` and a name, as long as there is no id",
            seen!(registration()), [By(signs_with_a_name)];
        "REG-06" Must "000 §2.4.2": "The time of the registration is in UTC"
            => "write times as 2025-01-15T10:30:00Z", seen!(registration()), [Utc("timestamp")];
        "REG-07" Must "000 §2.4.1": "The registration names a conversation"
            => "set `conversation_id` to a text of your own",
            seen!(registration()), [By(names_conversation)];
        "REG-08" Must "000 §4.1.1": "The referee has a display name of 1 to 64 characters"
            => "set `referee_meta.display_name`", seen!(registration()), [By(has_a_name)];
        "REG-09" Must "000 §4.1.1": "The referee names its own version as three numbers"
            => "set `referee_meta.version` to something like 1.0.0",
            seen!(registration()), [By(|it| meta_is(it, "version", is_version))];
        "REG-10" Should "000 §2.10.1": "The referee names the protocol version that it speaks"
            => "set `referee_meta.protocol_version` to 2.1.0",
            seen!(registration()), [By(has_a_protocol_version)];
        "REG-11" Must "000 §4.1.1": "The referee runs even_odd"
            => "set `referee_meta.game_types` to [\"even_odd\"]",
            seen!(registration()), [By(plays_even_odd)];
        "REG-12" Must "000 §4.1.1": "The referee says how many matches it runs at once"
            => "set `referee_meta.max_concurrent_matches` to a number from 1 on",
            seen!(registration()), [By(has_a_capacity)];
        "REG-13" Must "000 §4.1.1": "The address that the referee names leads to the referee"
            => "set `referee_meta.contact_endpoint` to where the referee really listens",
            seen!(registration()),
            [By(|it| meta_is(it, "contact_endpoint", is_address)), By(leads_to_the_agent)];
        "REG-14" Should "000 §2.8.1": "A referee that was admitted does not register again by itself"
            => "stop registering once the answer says ACCEPTED",
            seen!(registration()), [By(registers_once)];
    }
}

/// The registration as the manager received it.
pub(crate) async fn registration(caller: &Caller) -> Records {
    let stage = &caller.stage;
    let said = Statement::Call(stage.admitted()?.call, "the manager");
    let calls = stage.calls_since(0);
    let registrations = calls.iter().filter(|call| is_registration(call)).count();
    let record = stage
        .record(Value::Null, said)
        .with("registrations", registrations)
        .with("port", stage.agent.address.port())
        .with("path", &*stage.agent.path);
    Ok(vec![record])
}

/// An agent that the check started must register; other agents may have registered elsewhere.
async fn registers(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    let registered = registration(caller).await;
    if registered.is_err()
        && let Some(attempt) = stage.latest_registration()
    {
        caller.note(RoundTrip::overheard("the manager", &attempt.body));
        let departure = form::departure(&attempt, stage.kind);
        return Err(Trouble::broken(departure.unwrap_or_default()));
    }
    if stage.process.is_some() && registered.is_err() {
        let wait = stage.wait;
        return Err(Trouble::broken(format!(
            "it was started, and did not register within {}",
            in_words(wait)
        )));
    }
    registered?.iter().for_each(|record| record.note(caller));
    Ok(())
}

/// A member of the agent's metadata.
fn meta<'r>(record: &'r Record, name: &str) -> Result<&'r Value, Trouble> {
    let path = format!("{}_meta.{name}", record.kind.as_str());
    match record.member(&path) {
        Value::Null => Err(Trouble::broken(format!("`{path}` is missing"))),
        found => Ok(found),
    }
}

fn meta_text<'r>(record: &'r Record, name: &str) -> Result<&'r str, Trouble> {
    let found = meta(record, name)?;
    let text = found.as_str();
    text.ok_or_else(|| Trouble::broken(format!("`{name}` is {found}, not a text")))
}

fn meta_is(record: &Record, name: &str, passes: fn(&str) -> bool) -> Judgement {
    let text = meta_text(record, name)?;
    hold!(passes(text), else "`{name}` is `{text}`")
}

fn signs_with_a_name(record: &Record) -> Judgement {
    let sender = record.text("sender")?;
    let name = sender.strip_prefix(record.kind.as_str());
    let name = name.and_then(|name| name.strip_prefix(':'));
    hold!(name.is_some_and(|name| !name.is_empty()), else "`sender` is `{sender}`")
}

fn has_a_name(record: &Record) -> Judgement {
    let length = meta_text(record, "display_name")?.trim().chars().count();
    hold!((1..=64).contains(&length), else "the name has {length} characters")
}

fn has_a_printable_name(record: &Record) -> Judgement {
    let name = meta_text(record, "display_name")?.trim();
    hold!(!name.chars().any(char::is_control), else "the name holds control characters")
}

/// Whether a text is three numbers with an optional suffix.
fn is_version(text: &str) -> bool {
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<_> = numbers.split('.').map(str::parse::<u32>).collect();
    parts.len() == 3 && parts.iter().all(Result::is_ok)
}

fn has_a_protocol_version(record: &Record) -> Judgement {
    let version = meta_text(record, "protocol_version")?;
    hold!(is_version(version) && version.starts_with("2."),
        else "`protocol_version` is `{version}`, and 2.0.0 is the least")
}

fn plays_even_odd(record: &Record) -> Judgement {
    let games = meta(record, "game_types")?;
    let listed = games.as_array();
    let plays = listed.is_some_and(|games| games.contains(&"even_odd".into()));
    hold!(plays, else "`game_types` is {games}")
}

fn has_a_capacity(record: &Record) -> Judgement {
    let at_once = meta(record, "max_concurrent_matches")?;
    hold!(at_once.as_u64().is_some_and(|at_once| at_once > 0),
        else "`max_concurrent_matches` is {at_once}")
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") && port(text).is_some()
}

fn leads_to_the_agent(record: &Record) -> Judgement {
    let endpoint = meta_text(record, "contact_endpoint")?;
    let path = endpoint.splitn(4, '/').nth(3);
    let path = path.map(|path| format!("/{path}")).unwrap_or_default();
    let port = port(endpoint).map(u64::from);
    let same = record.fact("port")?.as_u64() == port && *record.fact("path")? == *path;
    hold!(same, else "`{endpoint}` is not the address that is checked here")
}

fn registers_once(record: &Record) -> Judgement {
    let count = record.fact("registrations")?.as_u64().unwrap_or_default();
    hold!(count <= MAX_REGISTRATIONS, else "{count} registrations came")
}

fn is_plain(record: &Record) -> Judgement {
    let coding = record.call()?.headers.get("content-encoding");
    hold!(coding.is_none(), else "the body is coded as {coding:?}")
}
