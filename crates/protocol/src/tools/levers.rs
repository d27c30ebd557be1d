//! The levers of the tool `admin`: their names, what they do, and their arguments. The manager reads
//! the arguments; the command line and the page send them.

use serde_json::{Map, Value, json};

use super::Argument;

/// A lever of the organiser.
#[derive(Debug, Clone, Copy)]
pub struct LeverEntry {
    /// The value of `lever`.
    pub name: &'static str,
    /// What it does.
    pub sentence: &'static str,
    pub arguments: &'static [Argument],
    /// Whether it must have a reason.
    pub needs_reason: bool,
}

const fn lever(
    name: &'static str,
    sentence: &'static str,
    arguments: &'static [Argument],
) -> LeverEntry {
    LeverEntry {
        name,
        sentence,
        arguments,
        needs_reason: false,
    }
}

const fn with_reason(entry: LeverEntry) -> LeverEntry {
    LeverEntry {
        needs_reason: true,
        ..entry
    }
}

const MATCH: Argument = ("match_id", "Which match, such as `R1M1`.", true);
const PLAYER: Argument = ("player_id", "Which player, such as `P01`.", true);
const AGENT: Argument = ("agent", "Which agent, such as `P01` or `REF01`.", true);
const SECONDS: Argument = ("seconds", "How many seconds more for each answer.", true);
const ENDPOINT: Argument = (
    "contact_endpoint",
    "The address, such as `http://localhost:8003/mcp`.",
    true,
);

/// Every lever, in the order of a league's life.
pub const LEVERS: [LeverEntry; 24] = [
    lever(
        "start",
        "The league begins with the players that are registered.",
        &[],
    ),
    lever(
        "pause",
        "No match begins until `resume`. Matches that are played are finished; agents and page \
            stay up.",
        &[],
    ),
    lever("resume", "A paused league goes on.", &[]),
    lever(
        "open_registration",
        "New players are admitted, until a time if one is given.",
        &[(
            "until",
            "When registration closes by itself: `10m` from now, or `2026-05-04T14:00:00Z`.",
            false,
        )],
    ),
    lever("close_registration", "No new player is admitted.", &[]),
    lever(
        "set_capacity",
        "So many players have a seat. Some more may wait until one is free.",
        &[
            ("players", "How many seats there are.", true),
            (
                "waiting",
                "How many more players may wait; none if left out.",
                false,
            ),
        ],
    ),
    lever(
        "set_join_code",
        "New players must show this code; without one they need none.",
        &[(
            "join_code",
            "The code, which the journal does not hold.",
            false,
        )],
    ),
    lever(
        "set_roster",
        "Only players of these names are admitted; an empty list admits all.",
        &[("names", "The names, one a line.", false)],
    ),
    lever(
        "admit_referee",
        "The referee at this address may register without a key, also after the start.",
        &[ENDPOINT],
    ),
    lever(
        "share_address",
        "Several players may answer at this address.",
        &[ENDPOINT],
    ),
    lever(
        "rename",
        "An agent goes by another name; its own choice does not change it back.",
        &[AGENT, ("name", "The new name.", true)],
    ),
    lever(
        "withdraw",
        "A player leaves. Its results count, and it loses the matches that it does not play. \
            Before the start its seat is free again.",
        &[PLAYER],
    ),
    with_reason(lever(
        "remove",
        "A player leaves as if it had never played: none of its matches counts. Before the start \
            its seat, name and address are free again.",
        &[PLAYER],
    )),
    with_reason(lever(
        "disqualify",
        "A player is put out by a rule of the organiser.",
        &[
            PLAYER,
            (
                "played",
                "`kept`: its results count and it loses the rest; `annulled`: none of its matches \
                    counts.",
                true,
            ),
        ],
    )),
    lever(
        "reinstate",
        "A player that is out takes part again; results that did not count for it do.",
        &[PLAYER],
    ),
    with_reason(lever(
        "annul",
        "A match does not count. One that is played is dropped by its referee.",
        &[MATCH],
    )),
    with_reason(lever(
        "replay",
        "A match is played again after the last round; its first result does not count.",
        &[MATCH],
    )),
    with_reason(lever(
        "rule",
        "A match counts as the organiser says: give a winner, or a draw, or that both lose. The \
            result that it had stays in the record.",
        &[
            MATCH,
            ("winner", "The player that wins.", false),
            ("draw", "Whether the match is drawn.", false),
            ("both_lose", "Whether both players lose.", false),
        ],
    )),
    lever(
        "extend_match",
        "Both players of a match have more time for each answer.",
        &[MATCH, SECONDS],
    ),
    lever(
        "extend_player",
        "A player has more time for each answer, in all its matches.",
        &[PLAYER, SECONDS],
    ),
    lever(
        "new_token",
        "An agent gets a new return token, which the answer tells once. What it had before \
            proves nothing.",
        &[AGENT],
    ),
    lever(
        "readmit",
        "An agent that lost its tokens may register once under its name without them, \
            within 30 minutes.",
        &[AGENT],
    ),
    lever(
        "announce",
        "The page shows a message to all. No agent is sent anything.",
        &[("text", "The message.", true)],
    ),
    with_reason(lever(
        "end",
        "The league ends now; matches without a result do not count.",
        &[],
    )),
];

/// The lever of this name.
pub fn find_lever(name: &str) -> Option<&'static LeverEntry> {
    LEVERS.iter().find(|entry| entry.name == name)
}

/// The properties of the tool, and one branch for each lever.
pub(super) fn schema() -> (Map<String, Value>, Value) {
    let mut properties = Map::new();
    let names: Vec<&str> = LEVERS.iter().map(|entry| entry.name).collect();
    let about = "What to do.";
    properties.insert(
        "lever".into(),
        json!({"type": "string", "enum": names, "description": about}),
    );
    for (name, description, _) in LEVERS.iter().flat_map(|entry| entry.arguments) {
        let property = json!({"type": "string", "description": description});
        properties.entry(*name).or_insert(property);
    }
    let branch = |entry: &LeverEntry| {
        let needed = entry.arguments.iter().filter(|(_, _, needed)| *needed);
        let needed = needed.map(|(name, ..)| *name);
        let reason = entry.needs_reason.then_some("reason");
        let required: Vec<&str> = ["lever"].into_iter().chain(needed).chain(reason).collect();
        json!({
            "description": entry.sentence,
            "properties": {"lever": {"const": entry.name}},
            "required": required,
        })
    };
    let branches: Vec<Value> = LEVERS.iter().map(branch).collect();
    (properties, branches.into())
}
