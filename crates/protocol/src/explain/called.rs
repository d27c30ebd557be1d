//! Whether a call goes to a tool that there is, and that takes the message in it.

use crate::dialect::types;
use crate::encode::TOOLS;
use crate::fault::Code;
use crate::finding::{Notes, Path, excerpt};
use crate::rpc::members::{Members, split, text};
use crate::sender::Dialect;

/// Tools that take arguments instead of messages.
const PLAIN_TOOLS: [&str; 11] = [
    "collect_choices",
    "create_schedule",
    "draw_number",
    "finalize_match",
    "get_match_state",
    "get_player_state",
    "get_standings",
    "get_step_token",
    "ping",
    "register_to_league",
    "start_league",
];

/// Notes a tool that nobody has, and refuses a message that the tool does not take.
pub(super) fn check(members: &Members<'_>, message_type: Option<&str>, notes: &mut Notes) {
    let Some((tool, place)) = tool(members) else {
        return;
    };
    let root = Path::root("ruling 2");
    let at = root.member(place, false);
    let takes = taken(&tool);
    let known = takes.is_some() || PLAIN_TOOLS.contains(&&*tool) || tool == "mcp_message";
    if !known {
        let detail = format!(
            "no agent has a tool `{}`; name the tool that takes the message, or its type",
            excerpt(&tool)
        );
        return notes.forgive(Code::InvalidMessage, &at, "the name of a tool", detail);
    }
    let (Some(takes), Some(found)) = (takes, message_type.filter(|found| is_type(found))) else {
        return;
    };
    if !takes.contains(&found) {
        let expected = format!("`{}`", takes.join("` or `"));
        let detail = format!("`{}` takes {expected}, not `{found}`", excerpt(&tool));
        notes.refuse(Code::InvalidMessage, &at, expected, detail);
    }
}

/// The tool that is called and where it is named; the other methods of MCP call none.
fn tool(members: &Members<'_>) -> Option<(String, &'static str)> {
    let method = members.get("method").and_then(text)?;
    if method == "tools/call" {
        let params = split(members.get("params")?.get()).ok()?;
        let name = params.get("name").and_then(text)?.into_owned();
        return Some((name, "params.name"));
    }
    let of_mcp = method == "initialize" || method.contains('/') || method.starts_with("rpc.");
    (!of_mcp).then(|| (method.into_owned(), "method"))
}

fn is_type(name: &str) -> bool {
    let mut all = Dialect::ALL.into_iter().flat_map(types);
    all.any(|known| *known == name)
}

/// The messages that a tool takes, in all dialects; a type as the name of a tool takes its own.
fn taken(tool: &str) -> Option<Vec<&str>> {
    if is_type(tool) {
        return Some(vec![tool]);
    }
    TOOLS.contains(&tool).then(|| match tool {
        "register_referee" => vec!["REFEREE_REGISTER_REQUEST"],
        "register_player" => vec!["LEAGUE_REGISTER_REQUEST"],
        "notify_round" => vec!["ROUND_ANNOUNCEMENT", "LEAGUE_START_ANNOUNCEMENT"],
        "notify_round_completed" => vec!["ROUND_COMPLETED", "ROUND_COMPLETE"],
        "notify_league_completed" => vec!["LEAGUE_COMPLETED", "LEAGUE_COMPLETE"],
        "update_standings" => vec!["LEAGUE_STANDINGS_UPDATE"],
        "start_match" => vec!["START_MATCH"],
        "handle_game_invitation" => vec!["GAME_INVITATION"],
        "choose_parity" | "choose_move" => {
            vec!["CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "PLAY_REQUEST"]
        }
        "notify_match_result" => vec!["GAME_OVER", "GAME_RESULT"],
        "notify_game_error" => vec!["GAME_ERROR"],
        "report_match_result" => vec!["MATCH_RESULT_REPORT"],
        _ => vec!["LEAGUE_QUERY", "QUERY_STANDINGS_REQUEST"],
    })
}
