//! The levers of the organiser, as tools and the page send them: arguments become a lever of the core.

use league_core::league::{Command, Lever, LeverPull, Reply};
use league_protocol::fault::Code;
use league_protocol::message::LeagueError;
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;
use league_protocol::tools::{LeverEntry, ToolArguments, find_lever};
use serde_json::{Map, Value, json};

use super::ManagerService;
use crate::agents::missing;
use crate::clock;
use crate::wire::dispatcher::ServiceReply;

/// Arguments that are numbers or truth values, which may come as texts.
const NUMBERS: [&str; 3] = ["players", "waiting", "seconds"];
const TRUTHS: [&str; 2] = ["draw", "both_lose"];

impl ManagerService {
    /// The command of a lever; the error is what the caller is told.
    pub(super) async fn lever_command(
        &self,
        arguments: &ToolArguments,
        admin: bool,
    ) -> Result<Command, ServiceReply> {
        let Some(name) = arguments.text("lever") else {
            return Err(missing("lever"));
        };
        let mut members = arguments.members.clone();
        let reason = take_text(&mut members, "reason")?.unwrap_or_default();
        let code = take_text(&mut members, "join_code")?.filter(|code| !code.is_empty());
        check_names(name, &members)?;
        for name in NUMBERS {
            retype(&mut members, name, |text| {
                text.trim().parse::<u32>().ok().map(Value::from)
            })?;
        }
        for name in TRUTHS {
            retype(&mut members, name, |text| {
                text.trim().parse::<bool>().ok().map(Value::from)
            })?;
        }
        if name == "set_roster" {
            let names = members.remove("names");
            members.insert("names".to_owned(), lines(names));
        }
        if let Some(text) = take_text(&mut members, "agent")? {
            let agent = self.agent_of(&text).await?;
            members.insert("agent".to_owned(), json!(agent));
        }
        members.retain(|name, value| !is_left_out(name, value));
        check_result(name, &mut members)?;
        read_until(&mut members)?;
        let lever: Lever = serde_json::from_value(Value::Object(members))
            .map_err(|error| invalid("lever", format!("`{name}`: {error}")))?;
        if let Lever::AdmitReferee { contact_endpoint } | Lever::ShareAddress { contact_endpoint } =
            &lever
            && admin
            && let Err(error) = self.allowed.find_named(contact_endpoint).await
        {
            return Err(invalid("contact_endpoint", error.to_string()));
        }
        Ok(Command::Pull(Box::new(LeverPull {
            admin,
            lever,
            reason,
            code: code.map(AuthToken::new),
        })))
    }

    /// The agent that goes by an id.
    async fn agent_of(&self, id: &str) -> Result<Agent, ServiceReply> {
        let id = id.trim();
        let id = id.strip_prefix("player:").unwrap_or(id);
        let id = id.strip_prefix("referee:").unwrap_or(id).to_owned();
        let unknown = format!("there is no agent `{id}` in this league");
        let found = self.actor.query(move |league| league.agent_named(&id));
        match found.await {
            Ok(Some(agent)) => Ok(agent),
            Ok(None) => Err(invalid("agent", unknown)),
            Err(error) => Err(crate::agents::actor_unavailable(error)),
        }
    }
}

/// The reply to a lever, without an envelope.
pub(super) fn pulled(reply: &Reply) -> Option<Value> {
    match reply {
        Reply::Pulled(pulled) => {
            let (lever, effect) = &**pulled;
            let mut told = json!({
                "status": if *lever == Lever::Start { "started" } else { "ok" },
                "lever": lever.name(),
                "sentence": lever.sentence(effect),
            });
            if !effect.matches.is_empty() {
                told["matches"] = json!(effect.matches);
            }
            if let Some(replay) = &effect.replay {
                told["replay"] = json!(replay);
            }
            if !effect.seated.is_empty() {
                told["seated"] = json!(effect.seated);
            }
            Some(told)
        }
        Reply::Unchanged(lever, state) => Some(json!({
            "status": "unchanged",
            "lever": lever,
            "sentence": format!("nothing to do: {state}"),
        })),
        Reply::NewToken(token) => Some(json!({
            "status": "ok",
            "lever": "new_token",
            "sentence": "the agent gets a new token: hand it over, it is told only once",
            "return_token": token.reveal(),
        })),
        _ => None,
    }
}

/// Whether an argument is not given; a form leaves optional fields empty.
fn is_left_out(name: &str, value: &Value) -> bool {
    value.is_null() || value == "" && !matches!(name, "text" | "name")
}

/// Refuses a lever that does not exist, an argument that it does not have, and a missing argument.
fn check_names(name: &str, members: &Map<String, Value>) -> Result<(), ServiceReply> {
    let Some(entry) = find_lever(name) else {
        let excerpt: String = name.chars().take(40).collect();
        let known: Vec<&str> = league_protocol::tools::LEVERS
            .iter()
            .map(|it| it.name)
            .collect();
        let known = known.join("`, `");
        return Err(invalid(
            "lever",
            format!("there is no lever `{excerpt}`; give `{known}`"),
        ));
    };
    let is_known = |member: &str| {
        let mut arguments = entry.arguments.iter();
        member == "lever"
            || member == "auth_token"
            || arguments.any(|(argument, ..)| *argument == member)
    };
    match members.keys().find(|member| !is_known(member)) {
        Some(stranger) => {
            let stranger: String = stranger.chars().take(40).collect();
            Err(invalid(
                "lever",
                format!("`{name}` takes no argument `{stranger}`"),
            ))
        }
        None => check_needed(entry, members),
    }
}

fn check_needed(entry: &LeverEntry, members: &Map<String, Value>) -> Result<(), ServiceReply> {
    let is_given = |argument: &str| {
        let value = members.get(argument);
        value.is_some_and(|value| !is_left_out(argument, value))
    };
    let mut needed = entry
        .arguments
        .iter()
        .filter(|(_, _, is_needed)| *is_needed);
    match needed.find(|(argument, ..)| !is_given(argument)) {
        Some((argument, what, _)) => Err(invalid(
            argument,
            format!(
                "`{}` needs `{argument}`: {}",
                entry.name,
                what.trim_end_matches('.')
            ),
        )),
        None => Ok(()),
    }
}

/// Reads a time from now, such as `10m`, as the moment that it means.
fn read_until(members: &mut Map<String, Value>) -> Result<(), ServiceReply> {
    if let Some(Value::String(until)) = members.get("until") {
        let until = clock::moment(until.trim()).map_err(|wrong| invalid("until", wrong))?;
        members.insert("until".to_owned(), json!(until));
    }
    Ok(())
}

/// Refuses a ruling that does not say exactly one result: what is left out decides nothing. The lever
/// itself needs no word for a draw.
fn check_result(name: &str, members: &mut Map<String, Value>) -> Result<(), ServiceReply> {
    let given = ["winner", "draw", "both_lose"].map(|result| {
        let value = members.get(result);
        value.is_some_and(|value| *value != Value::Bool(false))
    });
    members.remove("draw");
    if name == "rule" && given.into_iter().filter(|given| *given).count() != 1 {
        let told = "`rule` needs one result: `winner`, or `draw`, or `both_lose`";
        return Err(invalid("winner", told.to_owned()));
    }
    Ok(())
}

fn take_text(
    members: &mut Map<String, Value>,
    name: &'static str,
) -> Result<Option<String>, ServiceReply> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(name, format!("`{name}` must be a text"))),
    }
}

/// Reads a text as another kind of value.
fn retype(
    members: &mut Map<String, Value>,
    name: &'static str,
    read: impl Fn(&str) -> Option<Value>,
) -> Result<(), ServiceReply> {
    let Some(Value::String(text)) = members.get(name) else {
        return Ok(());
    };
    if text.trim().is_empty() {
        members.remove(name);
        return Ok(());
    }
    let value = read(text);
    let Some(value) = value else {
        let shown: String = text.chars().take(40).collect();
        return Err(invalid(name, format!("`{name}` cannot be `{shown}`")));
    };
    members.insert(name.to_owned(), value);
    Ok(())
}

/// Names as a list: one a line, or a list already.
fn lines(names: Option<Value>) -> Value {
    match names {
        Some(Value::String(text)) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().into()
        }
        Some(list) => list,
        None => json!([]),
    }
}

fn invalid(path: &str, detail: String) -> ServiceReply {
    let mut error = LeagueError::new(Code::InvalidMessage, detail);
    error.path = Some(path.to_owned());
    ServiceReply::error(error)
}

#[cfg(test)]
mod tests {
    use league_protocol::id::PlayerId;
    use league_protocol::time::Timestamp;
    use league_protocol::tools::LEVERS;

    use super::*;

    /// The table of the tool and the levers of the core are the same.
    #[test]
    fn every_lever_of_the_table_is_a_lever_of_the_core() {
        for entry in &LEVERS {
            let mut object = Map::new();
            object.insert("lever".to_owned(), entry.name.into());
            for (argument, ..) in entry.arguments {
                let value = match *argument {
                    "players" | "waiting" | "seconds" => json!(3),
                    "draw" | "both_lose" => json!(true),
                    "names" => json!(["Ann"]),
                    "agent" => json!(Agent::Player(PlayerId::numbered(1))),
                    "match_id" => json!("R1M1"),
                    "played" => json!("kept"),
                    "until" => json!("2026-05-04T14:00:00Z"),
                    _ => json!("P01"),
                };
                object.insert((*argument).to_owned(), value);
            }
            let lever: Lever = serde_json::from_value(Value::Object(object)).unwrap();
            assert_eq!(lever.name(), entry.name);
            assert!(!lever.to_string().is_empty());
        }
    }

    #[test]
    fn registration_may_close_some_time_from_now() {
        let read = |text: &str| {
            let mut members = Map::new();
            members.insert("until".to_owned(), text.into());
            let read = read_until(&mut members).map(|()| members["until"].clone());
            read.map_err(|_| "refused")
        };
        let moment = "2026-05-04T14:00:00Z";
        let given: Timestamp = serde_json::from_value(read(moment).unwrap()).unwrap();
        assert_eq!(given, Timestamp::parse(moment).unwrap());
        let (now, soon) = (clock::now(), read(" 10m ").unwrap());
        let soon: Timestamp = serde_json::from_value(soon).unwrap();
        let from_now = soon.since(now).as_secs();
        assert!((600..3_600).contains(&from_now), "{from_now}");
        assert_eq!(read("soon"), Err("refused"));
    }

    #[test]
    fn ruling_says_exactly_one_result() {
        for (members, fits) in [
            (json!({}), false),
            (json!({"both_lose": false}), false),
            (json!({"draw": false, "both_lose": false}), false),
            (json!({"winner": "P01", "draw": true}), false),
            (json!({"draw": true, "both_lose": true}), false),
            (json!({"winner": "P01", "both_lose": false}), true),
            (json!({"draw": true}), true),
            (json!({"both_lose": true}), true),
        ] {
            let mut ruling = members.as_object().unwrap().clone();
            let checked = check_result("rule", &mut ruling);
            assert_eq!(checked.is_ok(), fits, "{members}");
            assert!(!ruling.contains_key("draw"));
        }
        assert!(check_result("annul", &mut Map::new()).is_ok());
    }

    #[test]
    fn stranger_among_the_arguments_is_refused() {
        let members = |text: &str| serde_json::from_str(text).unwrap();
        assert!(check_names("pause", &members(r#"{"lever":"pause"}"#)).is_ok());
        assert!(check_names("pause", &members(r#"{"lever":"pause","player_id":"P01"}"#)).is_err());
        assert!(check_names("explode", &members("{}")).is_err());
        assert!(check_names("withdraw", &members(r#"{"player_id":""}"#)).is_err());
        assert!(check_names("withdraw", &members(r#"{"player_id":"P01"}"#)).is_ok());
    }
}
