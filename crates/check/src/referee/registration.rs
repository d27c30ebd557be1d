//! Rules about how a referee gets in: what it sends to the manager.

use serde_json::Value;

use super::{OfReferee, RefereeStage, overheard};
use crate::envelope;
use crate::listener::Heard;
use crate::office::{is_registration, port};
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The most registrations that an admitted referee may send.
const FEW: usize = 2;

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "registration",
        rules: rules! {
            "REG-01" Must "000 §4.1.1": "The referee registers with the manager"
                => "call the manager's tool `register_referee` when the referee starts", registers;
            "REG-02" Must "000 §1.3, §1.4": "The registration is a JSON-RPC call posted as JSON"
                => "POST {\"jsonrpc\": \"2.0\", \"method\": \"register_referee\", \"params\": {…}, \"id\": 1} to /mcp", framed;
            "REG-03" Must "000 §4.1.1": "The message is a REFEREE_REGISTER_REQUEST"
                => "set `message_type` to REFEREE_REGISTER_REQUEST", kind;
            "REG-04" Must "000 §2.4.1": "The registration names the protocol"
                => "set `protocol` to league.v2", protocol;
            "REG-05" Must "000 §2.4.4": "The sender is written referee:NAME"
                => "set `sender` to `referee:` and a name, as long as there is no id", sender;
            "REG-06" Must "000 §2.4.2": "The time of the registration is in UTC"
                => "write times as 2025-01-15T10:30:00Z", time;
            "REG-07" Must "000 §2.4.1": "The registration names a conversation"
                => "set `conversation_id` to a text of your own", conversation;
            "REG-08" Must "000 §4.1.1": "The referee has a display name of 1 to 64 characters"
                => "set `referee_meta.display_name`", display_name;
            "REG-09" Must "000 §4.1.1": "The referee names its own version as three numbers"
                => "set `referee_meta.version` to something like 1.0.0", version;
            "REG-10" Should "000 §2.10.1": "The referee names the protocol version that it speaks"
                => "set `referee_meta.protocol_version` to 2.1.0", protocol_version;
            "REG-11" Must "000 §4.1.1": "The referee runs even_odd"
                => "set `referee_meta.game_types` to [\"even_odd\"]", game_types;
            "REG-12" Must "000 §4.1.1": "The referee says how many matches it runs at once"
                => "set `referee_meta.max_concurrent_matches` to a number from 1 on", capacity;
            "REG-13" Must "000 §4.1.1": "The address that the referee names leads to the referee"
                => "set `referee_meta.contact_endpoint` to where the referee really listens", leads_home;
            "REG-14" Should "000 §2.8.1": "A referee that was admitted does not register again by itself"
                => "stop registering once the answer says ACCEPTED", once;
        },
    }
}

/// The registration as it came; what is found about it is shown with it.
fn registration(act: &OfReferee) -> Result<Heard, Trouble> {
    let heard = act.stage.admitted()?.heard;
    overheard::note(act, &heard, "the manager");
    Ok(heard)
}

fn meta<'h>(heard: &'h Heard, name: &str) -> Result<&'h Value, Trouble> {
    let found = &heard.message()["referee_meta"][name];
    if found.is_null() {
        return Err(Trouble::broken(format!("`referee_meta.{name}` is missing")));
    }
    Ok(found)
}

fn meta_text<'h>(heard: &'h Heard, name: &str) -> Result<&'h str, Trouble> {
    let found = meta(heard, name)?;
    let text = found.as_str();
    text.ok_or_else(|| Trouble::broken(format!("`referee_meta.{name}` is {found}, not a text")))
}

async fn registers(act: &OfReferee) -> Played {
    registration(act).map(drop)
}

async fn framed(act: &OfReferee) -> Played {
    overheard::framed(&registration(act)?, "register_referee")
}

async fn kind(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let kind = heard.kind();
    hold(kind == "REFEREE_REGISTER_REQUEST", || {
        format!("the type is `{kind}`")
    })
}

async fn protocol(act: &OfReferee) -> Played {
    envelope::protocol(registration(act)?.message())
}

async fn sender(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let sender = envelope::text(heard.message(), "sender")?;
    let name = sender.strip_prefix("referee:").unwrap_or_default();
    hold(!name.is_empty(), || format!("`sender` is `{sender}`"))
}

async fn time(act: &OfReferee) -> Played {
    envelope::time(registration(act)?.message(), "timestamp", false)
}

async fn conversation(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let id = envelope::text(heard.message(), "conversation_id")?;
    hold(!id.is_empty(), || "`conversation_id` is empty".to_owned())
}

async fn display_name(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let length = meta_text(&heard, "display_name")?.trim().chars().count();
    hold((1..=64).contains(&length), || {
        format!("the name has {length} characters")
    })
}

async fn version(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let version = meta_text(&heard, "version")?;
    hold(envelope::is_version(version), || {
        format!("`version` is `{version}`")
    })
}

async fn protocol_version(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let version = meta_text(&heard, "protocol_version")?;
    hold(
        envelope::is_version(version) && version.starts_with("2."),
        || format!("`protocol_version` is `{version}`, and 2.0.0 is the least"),
    )
}

async fn game_types(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let games = meta(&heard, "game_types")?;
    let runs = games
        .as_array()
        .is_some_and(|games| games.contains(&"even_odd".into()));
    hold(runs, || format!("`game_types` is {games}"))
}

async fn capacity(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let at_once = meta(&heard, "max_concurrent_matches")?;
    hold(at_once.as_u64().is_some_and(|at_once| at_once > 0), || {
        format!("`max_concurrent_matches` is {at_once}")
    })
}

async fn leads_home(act: &OfReferee) -> Played {
    let heard = registration(act)?;
    let endpoint = meta_text(&heard, "contact_endpoint")?;
    let agent = act.agent();
    let path = endpoint
        .splitn(4, '/')
        .nth(3)
        .map(|path| format!("/{path}"));
    let home =
        port(endpoint) == Some(agent.address.port()) && path.as_deref() == Some(&*agent.path);
    hold(home && endpoint.starts_with("http://"), || {
        format!("`{endpoint}` is not `{agent}`, which is checked here")
    })
}

async fn once(act: &OfReferee) -> Played {
    registration(act)?;
    let all = act.stage.office.listener.since(0);
    let count = all.iter().filter(|heard| is_registration(heard)).count();
    hold(count <= FEW, || format!("{count} registrations came"))
}
