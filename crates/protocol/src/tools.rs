//! Tools: the tables of the three kinds of agents, and the schemas of input and result.
//!
//! The message types that a tool takes, and their answers, are columns of the message types
//! (`message/forms.rs`).

use crate::fault::Code;
use crate::finding::Reading;
use crate::message::{LeagueError, Message, is_taken, reply_type, types_taken};
use crate::schema::message_schema;
use crate::sender::Dialect;
use crate::token::AuthToken;
use serde_json::{Map, Value, json};

mod levers;

pub use levers::{LEVERS, LeverEntry, find_lever};

/// The fields of an envelope, which an MCP caller may leave out.
const ENVELOPE: [&str; 5] = [
    "protocol",
    "message_type",
    "sender",
    "timestamp",
    "conversation_id",
];

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolEntry {
    /// The name in calls.
    pub name: &'static str,
    /// The name in user interfaces.
    pub title: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    takes: Takes,
    gives: Gives,
    /// Whether calling it changes nothing.
    pub read_only: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// The input of a tool.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// A message of one of the types that name the tool.
    Message,
    /// Plain arguments; a message whose type names the tool is accepted as well.
    Arguments(&'static [Argument]),
    /// A lever of the organiser with its own arguments, and these.
    Lever(&'static [Argument]),
}

/// A plain argument, a string: name, description, whether it is required.
type Argument = (&'static str, &'static str, bool);

/// The result of a tool, unless it fails.
#[derive(Debug, Clone, Copy)]
enum Gives {
    /// The answer to its message: a message, or `{"status":"ok"}` if it has none.
    Reply,
    /// A plain object with these members, each of any kind: name, description.
    Members(&'static [(&'static str, &'static str)]),
}

/// The arguments of a tool that does not take a message.
#[derive(Debug, Clone, Default)]
pub struct ToolArguments {
    /// The token that came with them.
    pub token: Option<AuthToken>,
    pub members: Map<String, Value>,
}

impl ToolArguments {
    /// The text of an argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

impl ToolEntry {
    const fn taking_message(
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            description,
            takes: Takes::Message,
            gives: Gives::Reply,
            read_only: false,
            idempotent: true,
        }
    }

    const fn taking_arguments(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        arguments: &'static [Argument],
        gives: Gives,
    ) -> Self {
        Self {
            name,
            title,
            description,
            takes: Takes::Arguments(arguments),
            gives,
            read_only: false,
            idempotent: false,
        }
    }

    const fn read_only(mut self) -> Self {
        self.read_only = true;
        self.idempotent = true;
        self
    }

    /// Calling it again may change more.
    const fn once(mut self) -> Self {
        self.idempotent = false;
        self
    }

    /// Whether its input is a message.
    pub const fn takes_message(&self) -> bool {
        matches!(self.takes, Takes::Message)
    }

    /// The type of its message if the caller does not name one; empty if it takes none.
    pub(crate) fn message_type(&self) -> &'static str {
        types_taken(self.name).first().copied().unwrap_or_default()
    }

    /// Checks that the tool takes the message, in any dialect.
    pub(crate) fn admit(&self, message: &Message) -> Result<(), LeagueError> {
        let kind = message.v2_type().unwrap_or_default();
        if is_taken(kind, self.name) {
            return Ok(());
        }
        let taken = match types_taken(self.name).as_slice() {
            [] => "no message".to_owned(),
            taken => format!("`{}`", taken.join("` or `")),
        };
        let detail = format!("`{}` takes {taken}, and this is `{kind}`", self.name);
        let mut error = LeagueError::new(Code::InvalidMessage, detail);
        error.path = Some("message_type".to_owned());
        Err(error)
    }

    /// The schema of the arguments, as MCP lists it.
    pub fn input_schema(&self) -> Map<String, Value> {
        let mut schema = match self.takes {
            Takes::Message => message_input(self.message_type()),
            Takes::Lever(arguments) => {
                let (mut properties, branches) = levers::schema();
                for (name, description, _) in arguments {
                    let property = json!({"type": "string", "description": description});
                    properties.insert((*name).to_owned(), property);
                }
                let mut schema = object(properties, &json!(["lever"]));
                schema.insert("oneOf".into(), branches);
                schema
            }
            Takes::Arguments(arguments) => {
                let mut properties = Map::new();
                for (name, description, _) in arguments {
                    let property = json!({"type": "string", "description": description});
                    properties.insert((*name).to_owned(), property);
                }
                let needed = arguments.iter().filter(|(_, _, needed)| *needed);
                let required: Vec<&str> = needed.map(|(name, ..)| *name).collect();
                object(properties, &json!(required))
            }
        };
        without_null(&mut schema);
        schema
    }

    /// The schema of the result, as MCP lists it.
    pub fn output_schema(&self) -> Map<String, Value> {
        let given = match self.gives {
            Gives::Reply => match reply_type(Dialect::V2, self.message_type()) {
                Some(kind) => vec![reply(Dialect::V2, kind), reply(Dialect::V2Api, kind)],
                None => vec![Some(acknowledgement())],
            },
            Gives::Members(members) => {
                let mut properties = Map::new();
                for (name, description) in members {
                    let property = json!({"description": description});
                    properties.insert((*name).to_owned(), property);
                }
                let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
                vec![Some(object(properties, &json!(required)).into())]
            }
        };
        let in_v1 = json!({
            "description": "The same in the words of `league.v1`, for a caller that speaks it.",
            "type": "object",
            "properties": {"protocol": {"const": Dialect::V1.protocol()}},
            "required": ["protocol"],
        });
        let error = reply(Dialect::V2, "LEAGUE_ERROR");
        let mut any: Vec<Value> = Vec::new();
        for schema in given.into_iter().chain([error, Some(in_v1)]).flatten() {
            if !any.contains(&schema) {
                any.push(schema);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("anyOf".into(), any.into());
        with_single_types(&mut schema);
        schema
    }
}

/// The tool of this name, of any kind of agent.
pub(crate) fn find(name: &str) -> Option<&'static ToolEntry> {
    let mut all = MANAGER_TOOLS
        .iter()
        .chain(&REFEREE_TOOLS)
        .chain(&PLAYER_TOOLS);
    all.find(|tool| tool.name == name)
}

/// Whether a tool of this name exists and takes a message.
pub fn takes_message(name: &str) -> bool {
    find(name).is_some_and(ToolEntry::takes_message)
}

pub static MANAGER_TOOLS: [ToolEntry; 11] = [
    ToolEntry::taking_message(
        "register_referee",
        "Register a referee",
        "Admits a referee to the league. Give `referee_meta` with `display_name`, \
            `version`, `game_types` and the `contact_endpoint` at which it answers. The answer \
            holds its id and its token.",
    )
    .once(),
    ToolEntry::taking_message(
        "register_player",
        "Register a player",
        "Admits a player to the league. Give `player_meta` with `display_name`, \
            `version`, `game_types` and the `contact_endpoint` at which it answers. The answer \
            holds its id and its token.",
    )
    .once(),
    ToolEntry::taking_arguments(
        "create_schedule",
        "Show the schedule to the administrator",
        "Tells the rounds and matches that the present players have, or would have \
            if the league began now. Changes nothing. Only for the administrator; everybody else \
            reads `league://schedule` once the league has begun.",
        &[ADMIN_TOKEN],
        Gives::Members(&[
            ("total_rounds", "How many rounds there are."),
            ("rounds", "The rounds, each with its matches."),
        ]),
    )
    .read_only(),
    ToolEntry::taking_arguments(
        "start_league",
        "Start the league",
        "Begins the league with the agents that are registered. Only for the \
            administrator.",
        &[ADMIN_TOKEN],
        Gives::Members(&[("status", "`started`.")]),
    ),
    ToolEntry::taking_arguments(
        "get_step_token",
        "Take the reins of a match",
        "Tells the administrator of a league with manual matches what it takes to \
            step one: the referee that runs it, where that answers, and the token that its tools \
            `collect_choices`, `draw_number` and `finalize_match` want to see. Changes nothing.",
        &[
            ("match_id", "Which match, such as `R1M1`.", true),
            ADMIN_TOKEN,
        ],
        Gives::Members(&[
            ("match_id", "Which match."),
            ("referee_id", "Who runs it."),
            ("contact_endpoint", "Where that referee answers."),
            (
                "step_token",
                "What its tools want as `auth_token`, for this match alone.",
            ),
        ]),
    )
    .read_only(),
    ToolEntry {
        name: "admin",
        title: "Organise the league",
        description: "Pulls a lever of the organiser: pauses the league, puts a player out, annuls a \
            match and so on. Each lever is written to the journal with its reason and shown on \
            the page. Only for the administrator.",
        takes: Takes::Lever(&[("reason", "Why; everybody sees it.", false), ADMIN_TOKEN]),
        gives: Gives::Members(&[
            ("lever", "What was done."),
            ("sentence", "The same in words."),
        ]),
        read_only: false,
        idempotent: false,
    },
    ToolEntry::taking_message(
        "request_draw",
        "Request the draw of a match",
        "Takes the moves of a match from the referee that runs it, writes them down, and answers \
            with the seed of the draw that is due. Needs the token of the order. Requesting the \
            same again gives the same seed.",
    ),
    ToolEntry::taking_message(
        "report_match_result",
        "Report the result of a match",
        "Takes the result of a match from the referee that ran it, who proves itself \
            by its token. Reporting the same result again changes nothing.",
    ),
    ToolEntry::taking_message(
        "notify_game_over_told",
        "Tell that players know a result",
        "Takes word from the referee of a match that its players have received `GAME_OVER`, or \
            cannot be told. Until then the players get no news of the round.",
    ),
    ToolEntry::taking_arguments(
        "get_standings",
        "Show the table",
        "Tells the table: rank, points, wins, draws and losses of every player. \
            Needs no token and no arguments.",
        &[],
        Gives::Reply,
    )
    .read_only(),
    ToolEntry::taking_message(
        "league_query",
        "Ask about the league",
        "Answers a question of a registered agent. `query_type` is `GET_STANDINGS`, \
            `GET_SCHEDULE`, `GET_NEXT_MATCH`, `GET_PLAYER_STATS` or `GET_SUPPORTED_GAMES`; next \
            match and stats want `query_params.player_id`. Needs the `auth_token` of the agent \
            that asks.",
    )
    .read_only(),
];

pub static REFEREE_TOOLS: [ToolEntry; 10] = [
    ToolEntry::taking_arguments(
        "register_to_league",
        "Tell whether it is registered",
        "Tells how far the referee is with its registration, which it sees to by \
            itself. Changes nothing.",
        &[],
        Gives::Members(&[
            ("status", "`registered` or `registering`."),
            ("agent", "Who it is."),
            ("league_id", "Its league, once it is in one."),
        ]),
    )
    .read_only(),
    ToolEntry::taking_message(
        "start_match",
        "Order a match",
        "Orders the referee to run a match and to report its result. Only for the \
            league manager. With `\"mode\": \"manual\"` the match waits for `collect_choices`, \
            `draw_number` and `finalize_match`.",
    ),
    ToolEntry::taking_arguments(
        "collect_choices",
        "Ask the players for their choices",
        "Asks both players of a match that is stepped by hand. Only for the league \
            manager; first of three steps.",
        &[MATCH, MANAGER_TOKEN],
        Gives::Reply,
    ),
    ToolEntry::taking_arguments(
        "draw_number",
        "Draw the number",
        "Draws the number of a match that is stepped by hand. Only for the league \
            manager; second of three steps.",
        &[MATCH, MANAGER_TOKEN],
        Gives::Reply,
    ),
    ToolEntry::taking_arguments(
        "finalize_match",
        "End the match",
        "Tells the players of a match that is stepped by hand how it ended, and \
            reports it. Only for the league manager; last of three steps.",
        &[MATCH, MANAGER_TOKEN],
        Gives::Reply,
    ),
    ToolEntry::taking_arguments(
        "get_match_state",
        "Show a match",
        "Tells how far a match is, and its result once it is over. Needs no token.",
        &[MATCH],
        Gives::Members(&[
            ("league_id", "Which league."),
            ("round_id", "Which round."),
            ("match_id", "Which match."),
            ("attempt", "Counts the referees that were given this match."),
            ("game_type", "What is played."),
            ("state", "How far it is."),
            ("player_A_id", "The first player."),
            ("player_B_id", "The second player."),
            ("moves", "What was played, as far as everybody may see it."),
            ("result", "How it ended; null until then."),
        ]),
    )
    .read_only(),
    ToolEntry::taking_arguments(
        "get_running_matches",
        "Show the running matches to spectators",
        "Tells of each match that is being played what spectators may see: the position, whose \
            move is awaited and until when, and never a hidden choice. Only for the league \
            manager.",
        &[MANAGER_TOKEN],
        Gives::Members(&[("matches", "The matches.")]),
    )
    .read_only(),
    ToolEntry::taking_arguments(
        "get_journal",
        "Hand in the journal",
        "Gives a piece of the referee's journal once its league is over, so that the \
            manager can keep a copy for verification. Only for the league manager.",
        &[
            (
                "from",
                "The offset of the first byte in decimal, `0` for the beginning.",
                true,
            ),
            MANAGER_TOKEN,
        ],
        Gives::Members(&[
            (
                "journal",
                "The piece, less than 100 KB of whole characters.",
            ),
            ("more", "Whether the journal goes on after it."),
            ("complete", "Whether no match is open."),
        ]),
    )
    .read_only(),
    ToolEntry::taking_message(
        "notify_round",
        "Order the matches of a round",
        "Runs those of the listed matches that name this referee and where their players answer. For \
            a league manager that does not call `start_match`.",
    ),
    ToolEntry::taking_message(
        "notify_league_completed",
        "Tell that the league is over",
        "Tells the referee that its league is over. Only for the league manager.",
    ),
];

pub static PLAYER_TOOLS: [ToolEntry; OF_PLAYERS.len()] = OF_PLAYERS;

/// The tools of a player whose moves an assistant makes: those of every player, and two more.
pub static ASSISTANT_TOOLS: [ToolEntry; OF_PLAYERS.len() + 2] = {
    let mut tools = [MAKE_MOVE; OF_PLAYERS.len() + 2];
    let mut place = 0;
    while place < OF_PLAYERS.len() {
        tools[place] = OF_PLAYERS[place];
        place += 1;
    }
    tools[place] = WAIT_FOR_TURN;
    tools
};

const SEAT_CODE: Argument = (
    "auth_token",
    "The code of the seat; it may also come as `Authorization: Bearer`.",
    false,
);

const WAIT_FOR_TURN: ToolEntry = ToolEntry::taking_arguments(
    "wait_for_turn",
    "Wait for your turn",
    "Waits until the player owes a move, at most 20 seconds. If `status` is `your_turn`, choose one \
        of the `legal_moves` of `turn` by its `rules` and `view`, and call `make_move` before \
        `seconds_left` are over; if it is `waiting`, call again.",
    &[SEAT_CODE],
    Gives::Members(&[
        ("status", "`your_turn` or `waiting`."),
        ("turn", "The move that is wanted; null while waiting."),
    ]),
)
.read_only();

const MAKE_MOVE: ToolEntry = ToolEntry::taking_arguments(
    "make_move",
    "Make your move",
    "Makes the move that `wait_for_turn` told of. Give the `number` of that turn: a move that comes \
        late is then refused, and not taken for the next turn.",
    &[
        MATCH,
        ("number", "The `number` of the turn.", false),
        (
            "choice",
            "One of the legal moves, as JSON or as its text.",
            true,
        ),
        ("reasoning", "Why, in a sentence.", false),
        SEAT_CODE,
    ],
    Gives::Members(&[
        ("status", "`taken`."),
        ("choice", "The move that was made."),
    ]),
);

const OF_PLAYERS: [ToolEntry; 11] = [
    ToolEntry::taking_message(
        "handle_game_invitation",
        "Invite to a match",
        "Invites the player to a match; it answers whether it comes. For the \
            referee of the match.",
    ),
    ToolEntry::taking_message(
        "choose_parity",
        "Ask for a parity",
        "Asks the player to choose `even` or `odd` in a match of Even/Odd. For the \
            referee of the match.",
    ),
    ToolEntry::taking_message(
        "choose_move",
        "Ask for a move",
        "Asks the player for a move in a match of any other game. For the referee \
            of the match.",
    ),
    ToolEntry::taking_message(
        "notify_match_result",
        "Tell how a match ended",
        "Tells the player how its match ended. For the referee of the match.",
    ),
    ToolEntry::taking_message(
        "notify_round",
        "Announce a round",
        "Tells the player which matches the next round has. For the league manager.",
    ),
    ToolEntry::taking_message(
        "update_standings",
        "Tell the table",
        "Tells the player the table after a round. For the league manager.",
    ),
    ToolEntry::taking_message(
        "notify_round_completed",
        "Tell that a round is over",
        "Tells the player that a round is over. For the league manager.",
    ),
    ToolEntry::taking_message(
        "notify_league_completed",
        "Tell that the league is over",
        "Tells the player that its league is over, and who won. For the league \
            manager.",
    ),
    ToolEntry::taking_message(
        "notify_game_error",
        "Tell of an error in a match",
        "Tells the player what went wrong in its match and what follows. For the \
            referee of the match.",
    )
    .once(),
    ToolEntry::taking_message(
        "was_called",
        "Ask whether a referee has called",
        "Tells the league manager whether a referee has called the player in an attempt at a \
            match.",
    )
    .read_only(),
    ToolEntry::taking_arguments(
        "get_player_state",
        "Show the player",
        "Tells how the player does: its statistics, its standing, the matches that \
            are open and its history. Needs no token and no arguments.",
        &[],
        Gives::Members(&[
            ("player_id", "Its id, once it has one."),
            ("display_name", "Its name."),
            ("league_id", "Its league."),
            ("state", "How far it is in its league."),
            ("stats", "Its statistics."),
            ("standing", "Its row of the table."),
            ("open_matches", "Its matches that are not over."),
            ("history", "Its matches that are."),
            ("disputed_draws", "Draws that do not fit their promise."),
        ]),
    )
    .read_only(),
];

const ADMIN_TOKEN: Argument = (
    "auth_token",
    "The token of the administrator; it may also come as `Authorization: Bearer`.",
    false,
);

const MATCH: Argument = ("match_id", "Which match, such as `R1M1`.", true);

const MANAGER_TOKEN: Argument = (
    "auth_token",
    "The token by which the manager proves itself; it may also come as `Authorization: Bearer`.",
    false,
);

fn acknowledgement() -> Value {
    let mut properties = Map::new();
    properties.insert("status".into(), json!({"const": "ok"}));
    object(properties, &json!(["status"])).into()
}

/// A message as we send it, without the keywords of a standalone schema.
fn reply(dialect: Dialect, kind: &str) -> Option<Value> {
    let mut schema = message_schema(dialect, kind, Reading::Lenient)?;
    let members = schema.as_object_mut()?;
    members.remove("$schema");
    members.remove("$id");
    Some(schema)
}

/// The input for a message, without the fields that the tool implies.
fn message_input(kind: &str) -> Map<String, Value> {
    let schema = message_schema(Dialect::V2, kind, Reading::Lenient).unwrap_or_default();
    let mut properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let named = json!({"enum": [kind], "description": "May be left out."});
    properties.insert("message_type".into(), named);
    let mut required = schema["required"].as_array().cloned().unwrap_or_default();
    required.retain(|name| !ENVELOPE.iter().any(|field| name == field));
    object(properties, &required.into())
}

/// Removes `null` as an alternative: a field that may be `null` may also be left out.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            schema.extend(only);
        }
    }
    with_single_type(schema);
    below(schema, without_null);
}

/// Writes a list of types as one branch for each, because not all schema readers support lists.
fn with_single_types(schema: &mut Map<String, Value>) {
    with_single_type(schema);
    below(schema, with_single_types);
}

fn with_single_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = schema.get("type") else {
        return;
    };
    if let [kind] = kinds.as_slice() {
        let kind = kind.clone();
        schema.insert("type".into(), kind);
    } else if !schema.contains_key("anyOf") {
        let branches = kinds.iter().map(|kind| json!({"type": kind})).collect();
        schema.remove("type");
        schema.insert("anyOf".into(), branches);
    }
}

/// Applies the same change to every nested schema.
fn below(schema: &mut Map<String, Value>, act: fn(&mut Map<String, Value>)) {
    fn visit(value: &mut Value, act: fn(&mut Map<String, Value>)) {
        match value {
            Value::Object(schema) => act(schema),
            Value::Array(values) => values.iter_mut().for_each(|value| visit(value, act)),
            _ => {}
        }
    }
    schema.values_mut().for_each(|value| visit(value, act));
}

fn object(properties: Map<String, Value>, required: &Value) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.clone());
    schema
}
