//! Rules about how a player gets in: what it sends to the manager, and how often.

use serde_json::Value;

use super::{OfPlayer, PlayerStage};
use crate::envelope;
use crate::listener::Heard;
use crate::office::{is_registration, port};
use crate::overheard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The most registrations that an admitted player may send.
const FEW: usize = 2;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "registration",
        rules: rules! {
            "REG-01" Must "000 §4.2.1": "The player registers with the manager"
                => "call the manager's tool `register_player` when the player starts", registers;
            "REG-02" Must "000 §1.3": "The registration is posted to /mcp as JSON"
                => "POST to `/mcp` with `Content-Type: application/json`", posted;
            "REG-03" Must "000 §1.4": "The registration is a JSON-RPC call with version, method, params and id"
                => "send {\"jsonrpc\": \"2.0\", \"method\": \"register_player\", \"params\": {…}, \"id\": 1}", framed;
            "REG-04" Must "000 §4.2.1": "The message is a LEAGUE_REGISTER_REQUEST"
                => "set `message_type` to LEAGUE_REGISTER_REQUEST", kind;
            "REG-05" Must "000 §2.4.1": "The registration names the protocol"
                => "set `protocol` to league.v2", protocol;
            "REG-06" Must "000 §2.4.4": "The sender is written player:NAME"
                => "set `sender` to `player:` and a name, as long as there is no id", sender;
            "REG-07" Must "000 §2.4.2": "The time of the registration is in UTC"
                => "write times as 2025-01-15T10:30:00Z", time;
            "REG-08" Must "000 §2.4.1": "The registration names a conversation"
                => "set `conversation_id` to a text of your own", conversation;
            "REG-09" Must "000 §4.2.1": "The player has a display name of 1 to 64 characters"
                => "set `player_meta.display_name`", display_name;
            "REG-10" Must "000 §4.2.1": "The player names its own version as three numbers"
                => "set `player_meta.version` to something like 1.0.0", version;
            "REG-11" Should "000 §2.10.1": "The player names the protocol version that it speaks"
                => "set `player_meta.protocol_version` to 2.1.0", protocol_version;
            "REG-12" Must "000 §4.2.1": "The player plays even_odd"
                => "set `player_meta.game_types` to [\"even_odd\"]", game_types;
            "REG-13" Must "000 §4.2.1": "The address that the player names is an address of HTTP"
                => "set `player_meta.contact_endpoint` to something like http://localhost:8101/mcp", endpoint;
            "REG-14" Must "000 §4.2.1": "The address that the player names leads to the player"
                => "name the port and the path at which the player really listens", leads_home;
            "REG-15" Should "000 §2.8.1": "A player that was admitted does not register again by itself"
                => "stop registering once the answer says ACCEPTED", once;
            "REG-16" Should "RFC 9112 §9.3": "The player sends no body that is compressed"
                => "send the body plain", plain;
        },
    }
}

/// The registration as it came; what is found about it is shown with it.
fn registration(act: &OfPlayer) -> Result<Heard, Trouble> {
    let heard = act.stage.admitted()?.heard;
    overheard::note(act, &heard, "the manager");
    Ok(heard)
}

fn meta<'h>(heard: &'h Heard, name: &str) -> Result<&'h Value, Trouble> {
    let found = &heard.message()["player_meta"][name];
    if found.is_null() {
        return Err(Trouble::broken(format!("`player_meta.{name}` is missing")));
    }
    Ok(found)
}

fn meta_text<'h>(heard: &'h Heard, name: &str) -> Result<&'h str, Trouble> {
    let found = meta(heard, name)?;
    let text = found.as_str();
    text.ok_or_else(|| Trouble::broken(format!("`player_meta.{name}` is {found}, not a text")))
}

async fn registers(act: &OfPlayer) -> Played {
    let registered = registration(act);
    if act.stage.launched.is_some() && registered.is_err() {
        let wait = act.stage.wait;
        return Err(Trouble::broken(format!(
            "it was started, and did not register within {wait:?}"
        )));
    }
    registered.map(drop)
}

async fn posted(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    hold(heard.method == "POST", || {
        format!("the method is {}", heard.method)
    })?;
    let kind = heard.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    hold(kind.starts_with("application/json"), || {
        format!("the media type is `{kind}`")
    })
}

async fn framed(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    hold(heard.json["jsonrpc"] == "2.0", || {
        "`jsonrpc` is not \"2.0\"".to_owned()
    })?;
    hold(heard.tool() == Some("register_player"), || {
        format!(
            "the method is {} instead of `register_player`",
            heard.json["method"]
        )
    })?;
    hold(heard.json["params"].is_object(), || {
        "`params` is no object".to_owned()
    })?;
    hold(heard.json.get("id").is_some(), || {
        "there is no `id`".to_owned()
    })
}

async fn kind(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let kind = heard.kind();
    hold(kind == "LEAGUE_REGISTER_REQUEST", || {
        format!("the type is `{kind}`")
    })
}

async fn protocol(act: &OfPlayer) -> Played {
    envelope::protocol(registration(act)?.message())
}

async fn sender(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let sender = envelope::text(heard.message(), "sender")?;
    let name = sender.strip_prefix("player:").unwrap_or_default();
    hold(!name.is_empty(), || format!("`sender` is `{sender}`"))
}

async fn time(act: &OfPlayer) -> Played {
    envelope::time(registration(act)?.message(), "timestamp", false)
}

async fn conversation(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let id = envelope::text(heard.message(), "conversation_id")?;
    hold(!id.is_empty(), || "`conversation_id` is empty".to_owned())
}

async fn display_name(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let name = meta_text(&heard, "display_name")?.trim();
    let length = name.chars().count();
    hold((1..=64).contains(&length), || {
        format!("the name has {length} characters")
    })?;
    hold(!name.chars().any(char::is_control), || {
        "the name holds control characters".to_owned()
    })
}

async fn version(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let version = meta_text(&heard, "version")?;
    hold(envelope::is_version(version), || {
        format!("`version` is `{version}`")
    })
}

async fn protocol_version(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let version = meta_text(&heard, "protocol_version")?;
    hold(
        envelope::is_version(version) && version.starts_with("2."),
        || format!("`protocol_version` is `{version}`, and 2.0.0 is the least"),
    )
}

async fn game_types(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let games = meta(&heard, "game_types")?;
    let plays = games
        .as_array()
        .is_some_and(|games| games.contains(&"even_odd".into()));
    hold(plays, || format!("`game_types` is {games}"))
}

async fn endpoint(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let endpoint = meta_text(&heard, "contact_endpoint")?;
    let good = endpoint.starts_with("http://") && port(endpoint).is_some();
    hold(good, || format!("`contact_endpoint` is `{endpoint}`"))
}

async fn leads_home(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let endpoint = meta_text(&heard, "contact_endpoint")?;
    let agent = act.agent();
    let path = endpoint
        .splitn(4, '/')
        .nth(3)
        .map(|path| format!("/{path}"));
    let same =
        port(endpoint) == Some(agent.address.port()) && path.as_deref() == Some(&*agent.path);
    hold(same, || {
        format!("`{endpoint}` is not `{agent}`, which is checked here")
    })
}

async fn once(act: &OfPlayer) -> Played {
    registration(act)?;
    let all = act.stage.office.listener.since(0);
    let count = all.iter().filter(|heard| is_registration(heard)).count();
    hold(count <= FEW, || format!("{count} registrations came"))
}

async fn plain(act: &OfPlayer) -> Played {
    let heard = registration(act)?;
    let coding = heard.headers.get("content-encoding");
    hold(coding.is_none(), || {
        format!("the body is coded as {coding:?}")
    })
}
