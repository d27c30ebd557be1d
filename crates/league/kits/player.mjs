// A player of the league in one file; needs only Node's standard library.
//
//     node player.mjs --port 8101 --manager http://localhost:8000/mcp --name "My Player"
//
// A player is a small web server. It registers with the league manager and then answers calls: a
// referee invites it to a match and asks for its choice, and the manager sends news. A call is a
// JSON-RPC 2.0 object posted to /mcp; the answer is another. Write your own strategy in `choose`;
// the rest can stay as it is.
import { createHash, createHmac, randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";

/**
 * Returns "even" or "odd": your strategy. It may be async.
 *
 * `opponent` is the id of the other player, such as "P02". `history` lists the results of your
 * matches, oldest first: `match_id` and the `game_result` of each GAME_OVER, with `choices`,
 * `drawn_number` and `winner_player_id` (null for a draw).
 */
function choose(opponent, history) {
  return Math.random() < 0.5 ? "even" : "odd";
}

/** For any other game: returns one of `options`, the legal moves; `view` is the position. */
function chooseMove(options, view) {
  return options[Math.floor(Math.random() * options.length)];
}

/** Calls the strategy; if it fails, prints the error on standard error and chooses at random. */
async function decide(call, opponent, history) {
  const options = call.move_request?.valid_options ?? ["even", "odd"];
  if (!options.length) throw new Refused("E002", "INVALID_MESSAGE", "the list of options is empty");
  const begun = performance.now();
  try {
    const parity = (call.game_type ?? "even_odd") === "even_odd";
    const choice = await (parity ? choose(opponent, history) : chooseMove(options, call.move_request?.context?.view));
    if (options.includes(choice)) return choice;
    throw new Error(`the choice was ${JSON.stringify(choice)}; it must be one of ${JSON.stringify(options)}`);
  } catch (problem) {
    console.error(problem);
    say(`${call.match_id}: \`choose\` failed, so the move is random`);
    return options[Math.floor(Math.random() * options.length)];
  } finally {
    // The referee's own clock says how long it waits.
    const waits = (Date.parse(call.deadline) - Date.parse(call.timestamp)) / 1000 || 30;
    const took = (performance.now() - begun) / 1000;
    if (took > waits) {
      say(`${call.match_id}: \`choose\` took ${took.toFixed()} s, and the referee waits ${waits.toFixed()} s; make it faster`);
    }
  }
}

const GAMES = ["even_odd"]; // the games of this player: `league new` lists all
const ADVICE = { // what to do after a technical loss, by its code
  __proto__: null,
  E001: "make `choose` faster",
  E004: "return one of the legal moves",
  E005: "ask the organiser",
  E009: "keep this program running, and see that referees reach its port: --host, --bind, firewall",
  E012: "start this program again, so that it registers anew",
};
/** Prints a line; it may quote others, who must not command the terminal. */
const say = (words) => console.log(words.slice(0, 500).replace(/\p{C}/gu, "?"));
/** An address on the site of the manager. */
const page = (path) => OPTIONS.manager.replace(/\/mcp$/, "") + path;

// ---- 1. The memory of the player, in a file, so that it can be stopped and started again.
const text = (value) => ({ type: "string", default: value });
const { values: OPTIONS } = parseArgs({
  options: {
    port: text("8101"), // the port to listen on
    host: text("127.0.0.1"), // the IPv4 address under which others call it
    bind: text(""), // the IPv4 address to listen on, if different: 0.0.0.0 for all
    "public-url": text(""), // the URL under which others call it, if a tunnel leads here: https://NAME/mcp
    manager: text("http://localhost:8000/mcp"),
    "join-code": text(""), // the code of the organiser, if the league has one
    name: text("My Player"), // the name shown to people
    memory: text(""), // the memory file; by default .player-javascript-PORT.json
  },
});
// Completes the manager's address: http:// and /mcp may be omitted.
OPTIONS.manager = OPTIONS.manager.replace(/^(?!\w+:\/\/)/, "http://").replace(/^(\w+:\/\/[^/]+)\/?$/, "$1/mcp");
OPTIONS.memory ||= `.player-javascript-${OPTIONS.port}.json`;
const NOTHING = {
  manager: OPTIONS.manager, // whose tokens they are
  player_id: null, league_id: null, tokens: {}, announced: {}, attempts: {}, matches: {}, history: [],
};
const MEMORY = structuredClone(NOTHING);
if (fs.existsSync(OPTIONS.memory)) {
  const kept = JSON.parse(fs.readFileSync(OPTIONS.memory, "utf8"));
  const isOurs = kept.manager === OPTIONS.manager; // another manager must not see its tokens
  if (isOurs) Object.assign(MEMORY, kept);
  console.log(isOurs ? `using the memory of an earlier league; remove ${OPTIONS.memory} to start without it`
    : `${OPTIONS.memory} is ignored: its tokens are not of ${OPTIONS.manager}`);
}
const THINKING = new Map(); // choices in progress, by match and turn
const EARLY = []; // the latest announcements: one may come before the answer to our registration
const SHOWN = new Map(); // by match: the hash of its referee's own token, which a referee by the documents shows instead
const CALLED = new Map(); // matches that were announced in this run, and whether their referee called
let isFinished = false; // whether the league is over
const MOST_MATCHES = 1000; // older matches are forgotten
const LARGEST_BODY = 256 * 1024;

/** Changes the memory and saves it in a file that only its owner can read: it contains tokens. */
function remember(changes = {}) {
  Object.assign(MEMORY, changes);
  for (const name of ["announced", "attempts", "matches"]) {
    MEMORY[name] = Object.fromEntries(Object.entries(MEMORY[name]).slice(-MOST_MATCHES));
  }
  MEMORY.history = MEMORY.history.slice(-MOST_MATCHES);
  fs.writeFileSync(`${OPTIONS.memory}.new`, JSON.stringify(MEMORY), { mode: 0o600 });
  fs.renameSync(`${OPTIONS.memory}.new`, OPTIONS.memory);
}

// ---- 2. The messages of the league.
/** The refusal of a call that breaks a rule: code, name, and a sentence for people. */
class Refused extends Error {
  constructor(code, name, detail) {
    super(detail);
    Object.assign(this, { code, name });
  }
}

/** The current time in UTC, as in every message. */
const now = () => new Date().toISOString().replace(/\.\d+Z/, "Z");
/** The token that the referee of a match must show, if the manager announced the match. */
const announced = (match) => (Object.hasOwn(MEMORY.announced, match) ? MEMORY.announced[match] : undefined);
/** The number of the attempt at a match; 0 if the manager gives none, because it knows no proofs. */
const attemptAt = (match) => (Object.hasOwn(MEMORY.attempts, match) ? MEMORY.attempts[match] : 0);
const isText = (value) => typeof value === "string";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A message of this player, envelope first. An answer repeats the conversation_id of its call. */
function message(kind, call, fields) {
  const own = `conv-${Math.random().toString(16).slice(2)}`;
  return {
    protocol: "league.v2",
    message_type: kind,
    sender: `player:${MEMORY.player_id ?? OPTIONS.name}`,
    timestamp: now(),
    conversation_id: isText(call.conversation_id) ? call.conversation_id : own,
    ...fields,
  };
}

/** An answer to a referee, with the match, our id and our token. */
function proven(kind, call, fields) {
  // JSON omits undefined values. A player that was invited and did not register takes its id from the call.
  const own = { auth_token: MEMORY.tokens.auth_token, player_id: MEMORY.player_id ?? call.player_id };
  return message(kind, call, { ...own, match_id: call.match_id, ...fields });
}

/** Compact JSON with the members of objects in the order of their names. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

/** The proof of our answer: no referee knows the return token, so none can change or invent an answer. */
function signed(match, turn, moves, choice, nonce = "") {
  const [attempt, token] = [attemptAt(match), MEMORY.tokens.return_token];
  if (!attempt || !token) return {};
  const mac = (key, value) => createHmac("sha256", key).update(canonical(value)).digest();
  const key = mac(token, ["proof_key", MEMORY.league_id, match, attempt]);
  const seen = moves.map((move) => [move.player_id, move.choice]);
  const history = createHash("sha256").update(canonical(seen)).digest("hex");
  return { proof: mac(key, [turn, history, choice, nonce]).toString("hex") };
}

/** Whether our moves of this attempt are in a result, as we made them. */
function isComplete(match, result) {
  const [attempt, table] = [attemptAt(match), MEMORY.matches[match]];
  if (!attempt || !MEMORY.tokens.return_token || result.status === "TECHNICAL_LOSS") return true;
  const moves = (result.evidence?.moves ?? []).filter((move) => move.player_id === MEMORY.player_id);
  const told = moves.map((move) => canonical([move.choice, move.nonce]));
  const made = Object.entries(table).filter(([place]) => place.startsWith(`${attempt} `));
  return made.every(([place, move]) => told[place.split(" ")[1] - 1] === canonical(move));
}

/** Prints how a match ended for us, and what to do after a technical loss. */
function tellResult(match, result, opponent) {
  // A player that was invited and did not register finds its id beside that of its opponent.
  const others = Object.keys({ ...result.choices, ...result.score }).filter((id) => id !== opponent);
  const own = MEMORY.player_id ?? (opponent && others.length === 1 ? others[0] : null);
  const [winner, technical] = [result.winner_player_id, result.status === "TECHNICAL_LOSS"];
  const lost = technical ? "lost by a technical loss" : "lost";
  const decided = winner === own ? "won" : own ? lost : `${winner} won`;
  const outcome = winner ? decided : technical ? lost : "drawn";
  say(`${match}: ${outcome}${opponent ? ` against ${opponent}` : ""}; ${result.reason}`);
  if (own && technical && outcome === lost) {
    const advice = ADVICE[result.failed?.[own]] ?? "read its messages";
    say(`${match}: ${advice}${MEMORY.player_id ? `; see ${page(`/match/${match}`)}` : ""}`);
  }
}

/** Prints the champion and our own place. */
function tellEnd({ champion, final_standings: rows }) {
  say(`the league is over; its champion is ${champion?.display_name ?? champion?.player_id}`);
  const row = Array.isArray(rows) && rows.find((found) => found?.player_id === MEMORY.player_id);
  if (row) say(`we are number ${row.rank} of ${rows.length}, with ${row.points} point${row.points === 1 ? "" : "s"}: ${page(`/player/${row.player_id}`)}`);
  [EARLY.length, isFinished] = [0, true];
  say("when the manager opens its next league, this program joins it");
}

/** Prints that the referee could not use our answer, or got none. */
function tellError(call) {
  const { retry_count, max_retries } = call.retry_info ?? call;
  const count = retry_count === undefined ? "" : `, attempt ${retry_count} of ${max_retries}`;
  say(`${call.match_id}: the referee says ${call.error_code}${count}: ${call.context?.detail ?? call.error_description}`);
}

/** Handles a message. A repeated question gets the same answer: each turn of an attempt has one choice. */
async function react(kind, call) {
  if (kind === "ROUND_ANNOUNCEMENT") {
    for (const row of Array.isArray(call.matches) ? call.matches : []) {
      if (!row?.match_token) continue; // only the row of our match has its referee's token
      const { match_id: match, match_token: token, attempt = 0 } = row;
      SHOWN.set(match, row.referee_token_hash);
      if (!announced(match) || attempt > attemptAt(match)) {
        [MEMORY.announced[match], MEMORY.attempts[match]] = [token, attempt];
        CALLED.set(match, false);
      } else if (announced(match) !== token) { // another referee comes with another attempt
        throw new Refused("E012", "AUTH_TOKEN_INVALID", "this match was announced with another token");
      }
    }
    remember();
  }
  if (kind === "CALL_QUERY") { // the manager asks whether a referee called us; we deny only what we surely know
    const { match_id, attempt } = call;
    const denied = attemptAt(match_id) === attempt && CALLED.get(match_id) === false;
    const { auth_token } = MEMORY.tokens;
    return message("CALL_QUERY_RESPONSE", call, { auth_token, match_id, attempt, called: !denied });
  }
  if (kind === "LEAGUE_COMPLETED") tellEnd(call);
  if (!(kind in REFEREE)) return { status: "ok" }; // news needs only an acknowledgement
  const match = call.match_id;
  if (kind === "GAME_OVER" && !announced(match) && !Object.hasOwn(MEMORY.matches, match)) {
    throw new Refused("E006", "MATCH_NOT_FOUND", "this player was never invited to this match");
  }
  if (!Object.hasOwn(MEMORY.matches, match)) MEMORY.matches[match] = { arrival: now() };
  const table = MEMORY.matches[match];
  table.opponent = call.context?.opponent_id ?? call.opponent_id ?? table.opponent;
  const game = call.game_type ?? "even_odd";
  const { turn_number: turn = 1, moves = [] } = call.move_request?.context ?? {};
  const place = `${attemptAt(match)} ${turn}`; // another attempt gets a fresh choice
  if (!["GAME_OVER", "GAME_ERROR"].includes(kind)) CALLED.set(match, true);
  if (kind === "GAME_OVER" && isObject(call.game_result) && !table.over) {
    table.over = true;
    MEMORY.history.push({ match_id: match, ...call.game_result });
    tellResult(match, call.game_result, table.opponent);
    if (!isComplete(match, call.game_result)) {
      say(`${match}: our moves are not in the evidence; do not trust this result`);
    }
  } else if (kind === "GAME_ERROR") {
    tellError(call);
  } else if (["CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"].includes(kind) && !(place in table)) {
    if (!GAMES.includes(game)) {
      throw new Refused("E002", "INVALID_MESSAGE", `this player plays only ${GAMES.join(", ")}`);
    }
    const thought = `${match} ${place}`;
    if (!THINKING.has(thought)) {
      const choosing = decide(call, table.opponent, MEMORY.history);
      THINKING.set(thought, choosing.finally(() => THINKING.delete(thought)));
    }
    const choice = await THINKING.get(thought);
    table[place] ??= [choice, randomBytes(8).toString("hex")]; // the nonce is our share in the draw
  }
  remember();
  if (kind === "GAME_INVITATION") { // to be answered within 5 seconds
    const accept = GAMES.includes(game);
    const proof = accept ? signed(match, 0, [], true) : {};
    return proven("GAME_JOIN_ACK", call, { arrival_timestamp: table.arrival, accept, ...proof });
  }
  if (kind !== "CHOOSE_PARITY_CALL" && kind !== "GAME_MOVE_CALL") return { status: "ok" };
  const [choice, nonce] = table[place];
  const own = { nonce, ...signed(match, turn, moves, choice, nonce) };
  if (kind === "CHOOSE_PARITY_CALL") { // within 30 seconds
    return proven("CHOOSE_PARITY_RESPONSE", call, { parity_choice: choice, ...own });
  }
  const move = { move_type: call.move_request?.move_type ?? "choose_parity", choice };
  return proven("GAME_MOVE_RESPONSE", call, { game_type: game, move_data: move, ...own }); // the form for all games
}

const REFEREE = { // messages of a referee, and their tools
  __proto__: null,
  GAME_INVITATION: "handle_game_invitation",
  CHOOSE_PARITY_CALL: "choose_parity",
  GAME_MOVE_CALL: "choose_move",
  GAME_OVER: "notify_match_result",
  GAME_ERROR: "notify_game_error",
};
const MANAGER = { // messages of the manager
  __proto__: null,
  ROUND_ANNOUNCEMENT: "notify_round",
  LEAGUE_STANDINGS_UPDATE: "update_standings",
  ROUND_COMPLETED: "notify_round_completed",
  LEAGUE_COMPLETED: "notify_league_completed",
  CALL_QUERY: "was_called",
};
const TOOLS = new Map(Object.entries({ ...REFEREE, ...MANAGER }).map(([kind, tool]) => [tool, kind]));
const METHODS = new Set([...TOOLS.keys(), ...TOOLS.values(), "mcp_message", "ping", "get_player_state"]);
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;

/** Refuses calls that break the rules. Missing parts of an envelope are accepted: many agents omit it. */
async function check(kind, call) {
  if (!(kind in REFEREE || kind in MANAGER) || (call.message_type ?? kind) !== kind) {
    throw new Refused("E002", "INVALID_MESSAGE", "this method needs another message_type");
  }
  if ((call.protocol ?? "league.v2") !== "league.v2") {
    throw new Refused("E018", "PROTOCOL_VERSION_MISMATCH", "this player speaks league.v2");
  }
  if (call.timestamp != null && !UTC.test(call.timestamp)) {
    throw new Refused("E021", "INVALID_TIMESTAMP", "a timestamp is in UTC and ends with Z");
  }
  if (kind in REFEREE && !("match_id" in call)) {
    throw new Refused("E003", "MISSING_REQUIRED_FIELD", "match_id is missing");
  }
  if (kind in REFEREE && !(isText(call.match_id) && call.match_id)) {
    throw new Refused("E002", "INVALID_MESSAGE", "match_id must be a string");
  }
  if (MEMORY.player_id && (call.player_id ?? MEMORY.player_id) !== MEMORY.player_id) {
    throw new Refused("E012", "AUTH_TOKEN_INVALID", "this message is for another player");
  }
  const league = MEMORY.league_id;
  if (kind in MANAGER && league && (call.league_id ?? league) !== league) {
    throw new Refused("E012", "AUTH_TOKEN_INVALID", "this message is about another league");
  }
  // The caller must show the promised token, if the manager promised one. Such a manager announces
  // every match, and no other referee may call; the announcement may come after the referee's call.
  const { manager_token } = MEMORY.tokens;
  if (manager_token && ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"].includes(kind)) {
    for (let tries = 0; tries < 40 && !announced(call.match_id); tries += 1) await pause(50);
    if (!announced(call.match_id)) {
      throw new Refused("E012", "AUTH_TOKEN_INVALID", "the manager did not announce this match");
    }
  }
  const promised = kind in REFEREE ? announced(call.match_id) : manager_token;
  if (promised && !call.auth_token) {
    throw new Refused("E011", "AUTH_TOKEN_MISSING", "the caller's auth_token is missing");
  }
  const hash = () => createHash("sha256").update(String(call.auth_token)).digest("hex");
  if (kind in REFEREE && promised && hash() === SHOWN.get(call.match_id)) return;
  if (promised && call.auth_token !== promised) {
    throw new Refused("E012", "AUTH_TOKEN_INVALID", "the auth_token is not the one of this caller");
  }
}

/** The result of a call: a message of the league, or an acknowledgement. */
async function answer(method, call) {
  if (method === "ping" || method === "get_player_state") {
    return { status: "ok", player_id: MEMORY.player_id, history: MEMORY.history };
  }
  // The method is a tool, a message type, or the general name.
  const kind = TOOLS.get(method) ?? (method === "mcp_message" ? String(call.message_type) : method);
  if (kind === "ROUND_ANNOUNCEMENT") EARLY.splice(0, EARLY.push(call) - 9);
  try {
    await check(kind, call);
    return await react(kind, call);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    return message("LEAGUE_ERROR", call, {
      error_code: problem.code,
      error_name: problem.name,
      error_description: problem.name,
      retryable: false,
      original_message_type: kind,
      context: { detail: problem.message },
    });
  }
}

// ---- 3. JSON-RPC 2.0.
/** The id of each call as it was written, because the answer repeats it exactly: 1e2 as 1e2. */
function exactIds(body) {
  const ids = [];
  const deep = body.trimStart().startsWith("[") ? 2 : 1; // a batch has one more level
  let [depth, key, calls] = [0, "", -1];
  const tokens = body.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  tokens.forEach((token, place) => {
    if (depth === deep - 1 && !"[],".includes(token)) calls += 1; // a call begins
    if (depth === deep && tokens[place - 1] === ":" && key === '"id"') ids[calls] = token;
    if (depth === deep && tokens[place + 1] === ":") key = token;
    depth += "{[".includes(token) ? 1 : "}]".includes(token) ? -1 : 0;
  });
  return ids;
}

const WORDS = { [-32600]: "Invalid Request", [-32601]: "Method not found", [-32602]: "Invalid params" };

/** Answers one call: an error code (0 for success), and a text unless it is a notification. */
async function rpc(call, exactId) {
  let [id, code, wanted] = ["null", -32600, true];
  if (isObject(call) && (call.id == null || ["string", "number"].includes(typeof call.id))) {
    id = exactId ?? "null";
    const params = call.params === undefined ? {} : call.params;
    if (call.jsonrpc === "2.0" && isText(call.method) && (isObject(params) || Array.isArray(params))) {
      wanted = "id" in call; // without one it is a notification
      code = !METHODS.has(call.method) ? -32601 : Array.isArray(params) ? -32602 : 0;
    }
  }
  let said = { error: { code, message: WORDS[code] } };
  try {
    if (code === 0) said = { result: await answer(call.method, call.params ?? {}) };
  } catch (problem) { // an internal error must not end the player
    console.error(problem);
    said = { error: { code: -32603, message: "Internal error" } };
  }
  return [code, wanted ? `{"jsonrpc":"2.0","id":${id},${JSON.stringify(said).slice(1)}` : null];
}

/** Answers a body, one call or a batch: the HTTP status, and the text if there is one. */
async function serve(body) {
  let calls, ids;
  try {
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(body);
    [calls, ids] = [JSON.parse(decoded), exactIds(decoded)];
  } catch {
    return [400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'];
  }
  if (Array.isArray(calls) && calls.length > 0 && calls.length <= 64) {
    const answers = await Promise.all(calls.map((call, place) => rpc(call, ids[place])));
    const texts = answers.map(([, said]) => said).filter((said) => said !== null);
    return texts.length ? [200, `[${texts}]`] : [202, ""];
  }
  const [code, said] = await rpc(calls, ids[0]);
  return said === null ? [202, ""] : [code === -32600 ? 400 : 200, said];
}

function send(response, status, said, headers = {}) {
  const length = Buffer.byteLength(said);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": length, ...headers });
  response.end(said);
}

const server = http.createServer({ requestTimeout: 30_000 }, async (request, response) => {
  const chunks = [];
  let length = 0;
  try {
    for await (const chunk of request) {
      length += chunk.length;
      if (length <= LARGEST_BODY) chunks.push(chunk); // the rest is read and dropped
      if (length > 8 * LARGEST_BODY) break;
    }
  } catch {
    return; // the caller is gone
  }
  const posted = request.method === "POST";
  if (length > LARGEST_BODY) {
    send(response, 413, '{"error":"a body has at most 256 KiB"}', { Connection: "close" });
  } else if (request.url === "/health" && !posted) {
    send(response, 200, JSON.stringify({ status: "ok", player_id: MEMORY.player_id }));
  } else if (request.url !== "/mcp" && request.url !== "/health") {
    send(response, 404, '{"error":"POST calls to /mcp"}');
  } else if (request.url !== "/mcp" || !posted) {
    send(response, 405, '{"error":"POST calls to /mcp"}', { Allow: posted ? "GET" : "POST" });
  } else if (request.headers.origin) { // agents send none, so this is a web page in a browser
    send(response, 403, '{"error":"web pages may not call a player"}');
  } else {
    send(response, ...(await serve(Buffer.concat(chunks))));
  }
});

// ---- 4. Registration.
/** Registers with the manager; retries until it accepts, because it may not be running yet. */
async function register() {
  const meta = {
    display_name: OPTIONS.name,
    version: "1.0.0",
    protocol_version: "2.1.0",
    game_types: GAMES,
    contact_endpoint: OPTIONS["public-url"] || `http://${OPTIONS.host}:${OPTIONS.port}/mcp`,
    proofs: true, // we sign our joins and moves
  };
  for (let wait = 1, told; ; wait = Math.min(wait * 2, 15)) {
    // With an old token a player returns under the same id.
    const proof = MEMORY.tokens.return_token ?? MEMORY.tokens.auth_token;
    const params = message("LEAGUE_REGISTER_REQUEST", {}, {
      auth_token: proof,
      join_code: OPTIONS["join-code"] || undefined,
      player_meta: meta,
    });
    const call = { jsonrpc: "2.0", id: 1, method: "register_player", params };
    let reason;
    try {
      const reply = await fetch(OPTIONS.manager, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(call),
        signal: AbortSignal.timeout(10_000),
      });
      const said = (await reply.json()).result ?? {};
      if (["ACCEPTED", "REGISTERED"].includes(said.status)) {
        const given = Object.entries(said).filter(([name, value]) => name.endsWith("_token") && value);
        const { player_id = null, league_id = null } = said;
        if (league_id !== MEMORY.league_id) { // the memory was of another league
          remember(structuredClone(NOTHING));
          for (const known of [CALLED, SHOWN, THINKING]) known.clear();
        }
        isFinished = false;
        const tokens = { ...MEMORY.tokens, ...Object.fromEntries(given) };
        remember({ player_id, league_id, tokens });
        for (const early of [...EARLY]) await answer("ROUND_ANNOUNCEMENT", early).catch(() => {}); // now we know who may announce
        return say(`${OPTIONS.name} is in the league as ${player_id}: ${page(`/player/${player_id}`)}`);
      }
      reason = String(said.reason ?? said.error_code ?? "an unknown answer");
      if (proof && ["E005", "E012"].includes(said.error_code)) { // the manager does not know us
        remember(structuredClone(NOTHING));
      }
    } catch (problem) {
      reason = String(problem.cause ?? problem);
    }
    // A player that was invited plays without a registration.
    const isLate = reason === "Registration closed" || reason.includes("the league has begun");
    if (isLate && !CALLED.size) end(`${OPTIONS.manager} has closed its registration: the league has begun or is over`);
    if (reason !== told) say(`${OPTIONS.manager} has not admitted us yet: ${reason}`);
    told = reason;
    await pause(wait * 1000);
  }
}

/** Registers, and again when the manager takes players for another league than ours. */
async function stay() {
  for (await register(); ; await pause(2000)) {
    try {
      const health = isFinished && await (await fetch(page("/health"), { signal: AbortSignal.timeout(5_000) })).json();
      if (health?.state === "REGISTERING" && health.league_id !== MEMORY.league_id) await register();
    } catch {
      // The manager is away between two leagues.
    }
  }
}

/** Prints the reason and ends. */
const end = (reason) => process.exit(console.error(reason) ?? 1);
const place = OPTIONS.bind || OPTIONS.host;
server.on("error", (problem) => end(`cannot listen at ${place}:${OPTIONS.port}: ${problem.code}; choose another port with --port; ` +
  "in a container or behind a router, --bind 0.0.0.0 listens on all addresses"));
server.listen(Number(OPTIONS.port), place, stay); // listens before it registers
