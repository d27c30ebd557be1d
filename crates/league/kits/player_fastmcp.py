"""A player of the league in one file, served by FastMCP as a standard MCP server.

    pip install fastmcp
    python3 player_fastmcp.py --port 8101 --manager http://localhost:8000/mcp --name "My Player"

On Windows write `py` for `python3`. A player is an MCP server. It registers with the league manager
and then answers calls of its tools: a referee invites it to a match and asks for its choice, and the
manager sends news. The arguments of a tool are a message of the league, and its result is the answer.
Write your own strategy in `choose`; the rest can stay as it is.
"""
import argparse, asyncio, collections, hashlib, hmac, json, os, random, re, secrets, socket, ssl, sys, threading, time, traceback, urllib.request
from datetime import datetime

from fastmcp import FastMCP
from fastmcp.tools import Tool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

try:
    from fastmcp.tools import ToolResult
except ImportError:  # FastMCP 2 keeps it elsewhere
    from fastmcp.tools.tool import ToolResult


def choose(opponent, history):
    """Returns "even" or "odd": your strategy.

    `opponent` is the id of the other player, such as "P02". `history` lists the results of your
    matches, oldest first: `match_id` and the `game_result` of each GAME_OVER, with `choices`,
    `drawn_number` and `winner_player_id` (None for a draw).
    """
    return random.choice(["even", "odd"])


def choose_move(options, view):
    """For any other game: returns one of `options`, the legal moves; `view` is the position."""
    return random.choice(options)


def decide(call, opponent, history):
    """Calls the strategy; if it fails, prints the error on standard error and chooses at random."""
    asked = call.get("move_request") or {}
    options = asked.get("valid_options", ["even", "odd"])
    parity, view = call.get("game_type", "even_odd") == "even_odd", (asked.get("context") or {}).get("view")
    begun = time.monotonic()
    try:
        choice = choose(opponent, history) if parity else choose_move(options, view)
        if choice not in options:
            raise ValueError(f"the choice was {choice!r}; it must be one of {options}")
        return choice
    except Exception:
        traceback.print_exc()
        say(f"{call['match_id']}: `choose` failed, so the move is random")
        return random.choice(options)
    finally:
        if (took := time.monotonic() - begun) > (limit := patience(call)):
            say(f"{call['match_id']}: `choose` took {took:.0f} s, and the referee waits {limit:.0f} s; make it faster")


def patience(call):
    """The seconds that the referee waits for an answer, by its own clock."""
    moment = lambda name: datetime.fromisoformat(call[name].replace("Z", "+00:00"))
    try:
        return (moment("deadline") - moment("timestamp")).total_seconds()
    except (AttributeError, LookupError, TypeError, ValueError):
        return 30


GAMES = ["even_odd"]  # the games of this player: `league new` lists all
ADVICE = {  # what to do after a technical loss, by its code
    "E001": "make `choose` faster", "E004": "return one of the legal moves",
    "E005": "ask the organiser",
    "E009": "keep this program running, and see that referees reach its port: --host, --bind, firewall",
    "E012": "start this program again, so that it registers anew",
}


def say(words):
    """Prints a line; it may quote others, who must not command the terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in words[:500])
    print(shown + "\n", end="", flush=True)  # in one piece: other threads print as well


def page(path):
    """An address on the site of the manager."""
    return OPTIONS.manager.removesuffix("/mcp") + path


# ---- 1. The memory of the player, in a file, so that it can be stopped and started again.
def nothing():
    """The memory of a player that was never in a league."""
    return {"player_id": None, "league_id": None, "tokens": {}, "announced": {}, "attempts": {}, "matches": {}, "history": []}


MEMORY = nothing()
EARLY = collections.deque(maxlen=9)  # the latest announcements: one may come before the answer to our registration
SHOWN = {}  # by match: the hash of its referee's own token, which a referee by the documents shows instead
CALLED = {}  # matches that were announced in this run, and whether their referee called
FINISHED = threading.Event()  # the league is over
LOCK = threading.RLock()  # several matches may call at the same time
THINKING = collections.defaultdict(threading.Lock)  # one for each move that is being chosen
MOST_MATCHES = 1000  # older matches are forgotten
LARGEST_BODY = 256 * 1024


def remember(**changes):
    """Changes the memory and saves it in a file that only its owner can read: it contains tokens."""
    with LOCK:
        MEMORY.update(changes)
        for name in ("announced", "attempts", "matches"):
            MEMORY[name] = dict(list(MEMORY[name].items())[-MOST_MATCHES:])
        MEMORY["history"] = MEMORY["history"][-MOST_MATCHES:]
        new = os.open(OPTIONS.memory + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(new, "w") as file:
            file.write(json.dumps({**MEMORY, "manager": OPTIONS.manager}))
        os.replace(OPTIONS.memory + ".new", OPTIONS.memory)


# ---- 2. The messages of the league.
class Refused(Exception):
    """The refusal of a call that breaks a rule: code, name, and a sentence for people."""


now = lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())  # all times of the league are in UTC


def message(kind, call, **fields):
    """A message of this player, envelope first. An answer repeats the conversation_id of its call."""
    given, sender = call.get("conversation_id"), f"player:{MEMORY['player_id'] or OPTIONS.name}"
    given = given if isinstance(given, str) else f"conv-{random.getrandbits(64):016x}"
    return {"protocol": "league.v2", "message_type": kind, "sender": sender, "timestamp": now(),
            "conversation_id": given, **fields}


def proven(kind, call, **fields):
    """An answer to a referee, with the match, our id and our token."""
    # A player that was invited and did not register has no token, and takes its id from the call.
    own = ("auth_token", MEMORY["tokens"].get("auth_token")), ("player_id", MEMORY["player_id"] or call.get("player_id"))
    return message(kind, call, **{name: value for name, value in own if value}, match_id=call["match_id"], **fields)


def signed(match, turn, moves, choice, nonce=""):
    """The proof of our answer: no referee knows the return token, so none can change or invent an answer."""
    attempt, token = MEMORY["attempts"].get(match), MEMORY["tokens"].get("return_token")
    if not (attempt and token):
        return {}  # the manager knows no proofs
    text = lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    mac = lambda key, value: hmac.digest(key, text(value), "sha256")
    key = mac(token.encode(), ["proof_key", MEMORY["league_id"], match, attempt])
    seen = hashlib.sha256(text([[move["player_id"], move["choice"]] for move in moves])).hexdigest()
    return {"proof": mac(key, [turn, seen, choice, nonce]).hex()}


def is_complete(match, result):
    """Whether our moves of this attempt are in a result, as we made them."""
    attempt, own = MEMORY["attempts"].get(match), MEMORY["player_id"]
    moves = [move for move in (result.get("evidence") or {}).get("moves") or [] if move["player_id"] == own]
    told = {f"{attempt} {turn}": [move["choice"], move.get("nonce")] for turn, move in enumerate(moves, 1)}
    made = {place: move for place, move in MEMORY["matches"][match].items() if place.startswith(f"{attempt} ")}
    proves = attempt and MEMORY["tokens"].get("return_token") and result.get("status") != "TECHNICAL_LOSS"
    return not proves or made.items() <= told.items()


def tell_result(match, result, opponent):
    """Prints how a match ended for us, and what to do after a technical loss."""
    # A player that was invited and did not register finds its id beside that of its opponent.
    others = {*(result.get("choices") or {}), *(result.get("score") or {})} - {opponent}
    own = MEMORY["player_id"] or (others.pop() if opponent and len(others) == 1 else None)
    winner, technical = result.get("winner_player_id"), result.get("status") == "TECHNICAL_LOSS"
    lost = "lost by a technical loss" if technical else "lost"
    if winner:
        outcome = "won" if winner == own else lost if own else f"{winner} won"
    else:
        outcome = lost if technical else "drawn"
    say(f"{match}: {outcome}{f' against {opponent}' if opponent else ''}; {result.get('reason')}")
    if own and outcome == "lost by a technical loss":
        advice = ADVICE.get((result.get("failed") or {}).get(own), "read its messages")
        say(f"{match}: {advice}" + (f"; see {page(f'/match/{match}')}" if MEMORY["player_id"] else ""))


def tell_end(call):
    """Prints the champion and our own place."""
    champion, rows = call.get("champion") or {}, call.get("final_standings") or []
    say(f"the league is over; its champion is {champion.get('display_name') or champion.get('player_id')}")
    for row in [row for row in rows if row["player_id"] == MEMORY["player_id"]]:
        say(f"we are number {row.get('rank')} of {len(rows)}, with {row.get('points')} point{'s' * (row.get('points') != 1)}: "
            + page(f"/player/{MEMORY['player_id']}"))
    EARLY.clear(), FINISHED.set()
    say("when the manager opens its next league, this program joins it")


def think(call, table, place):
    """Chooses a move. `choose` may be slow: other matches go on, and a repeated question waits for the same choice."""
    move = call["match_id"], place
    LOCK.release()
    try:
        with THINKING[move]:
            if place not in table:
                table[place] = [decide(call, table["opponent"], list(MEMORY["history"])), secrets.token_hex(8)]
    finally:
        THINKING.pop(move, None)
        LOCK.acquire()


def react(kind, call):
    """Handles a message. A repeated question gets the same answer: each turn of an attempt has one choice."""
    attempts = MEMORY["attempts"]
    if kind == "ROUND_ANNOUNCEMENT":
        for row in call.get("matches") or []:
            match, token, attempt = row.get("match_id"), row.get("match_token"), row.get("attempt") or 0
            if token:
                SHOWN[match] = row.get("referee_token_hash")
            if token and (match not in MEMORY["announced"] or attempt > attempts.get(match, 0)):
                MEMORY["announced"][match], attempts[match], CALLED[match] = token, attempt, False
            elif token and MEMORY["announced"][match] != token:  # another referee comes with another attempt
                raise Refused("E012", "AUTH_TOKEN_INVALID", "this match was announced with another token")
        remember()
    if kind == "CALL_QUERY":  # the manager asks whether a referee called us; we deny only what we surely know
        denied = attempts.get(call["match_id"]) == call["attempt"] and CALLED.get(call["match_id"]) is False
        return message("CALL_QUERY_RESPONSE", call, auth_token=MEMORY["tokens"].get("auth_token", ""),
                       match_id=call["match_id"], attempt=call["attempt"], called=not denied)
    if kind == "LEAGUE_COMPLETED":
        tell_end(call)
    if kind not in REFEREE:
        return {"status": "ok"}  # news needs only an acknowledgement
    match, result = call["match_id"], call.get("game_result")
    if kind == "GAME_OVER" and match not in {**MEMORY["announced"], **MEMORY["matches"]}:
        raise Refused("E006", "MATCH_NOT_FOUND", "this player was never invited to this match")
    table = MEMORY["matches"].setdefault(match, {"arrival": now()})
    table["opponent"] = (call.get("context") or call).get("opponent_id") or table.get("opponent")
    game, asked = call.get("game_type", "even_odd"), call.get("move_request") or {}
    context = asked.get("context") or {}
    turn = context.get("turn_number", 1)
    place = f"{attempts.get(match, 0)} {turn}"  # another attempt gets a fresh choice
    if kind not in ("GAME_OVER", "GAME_ERROR"):
        CALLED[match] = True
    if kind == "GAME_OVER" and result and "over" not in table:
        table["over"] = True
        MEMORY["history"].append({"match_id": match, **result})
        tell_result(match, result, table["opponent"])
        if not is_complete(match, result):
            say(f"{match}: our moves are not in the evidence; do not trust this result")
    elif kind == "GAME_ERROR":  # the referee could not use our answer, or got none
        tries, detail = call.get("retry_info") or call, (call.get("context") or {}).get("detail")
        count = f", attempt {tries['retry_count']} of {tries.get('max_retries')}" if "retry_count" in tries else ""
        say(f"{match}: the referee says {call.get('error_code')}{count}: {detail or call.get('error_description')}")
    elif kind in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL") and place not in table:
        if game not in GAMES:
            raise Refused("E002", "INVALID_MESSAGE", f"this player plays only {', '.join(GAMES)}")
        think(call, table, place)
    remember()
    if kind == "GAME_INVITATION":  # to be answered within 5 seconds
        ours = game in GAMES
        return proven("GAME_JOIN_ACK", call, arrival_timestamp=table["arrival"], accept=ours,
                      **(signed(match, 0, [], True) if ours else {}))
    if kind not in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
        return {"status": "ok"}
    choice, nonce = table[place]  # the nonce is our share in the draw
    own = {"nonce": nonce, **signed(match, turn, context.get("moves") or [], choice, nonce)}
    if kind == "CHOOSE_PARITY_CALL":  # within 30 seconds
        return proven("CHOOSE_PARITY_RESPONSE", call, parity_choice=choice, **own)
    move = {"move_type": asked.get("move_type", "choose_parity"), "choice": choice}
    return proven("GAME_MOVE_RESPONSE", call, game_type=game, move_data=move, **own)  # the form for all games


REFEREE = {  # messages of a referee, and their tools
    "GAME_INVITATION": "handle_game_invitation", "CHOOSE_PARITY_CALL": "choose_parity",
    "GAME_MOVE_CALL": "choose_move", "GAME_OVER": "notify_match_result",
    "GAME_ERROR": "notify_game_error",
}
MANAGER = {  # messages of the manager
    "ROUND_ANNOUNCEMENT": "notify_round", "LEAGUE_STANDINGS_UPDATE": "update_standings",
    "ROUND_COMPLETED": "notify_round_completed", "LEAGUE_COMPLETED": "notify_league_completed",
    "CALL_QUERY": "was_called",
}
TOOLS = {tool: kind for kind, tool in {**REFEREE, **MANAGER}.items()}
METHODS = {*TOOLS, *REFEREE, *MANAGER, "mcp_message", "ping", "get_player_state"}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


def check(kind, call):
    """Refuses calls that break the rules. Missing parts of an envelope are accepted: many agents omit it."""
    if kind not in REFEREE and kind not in MANAGER or (call.get("message_type") or kind) != kind:
        raise Refused("E002", "INVALID_MESSAGE", "this method needs another message_type")
    if (call.get("protocol") or "league.v2") != "league.v2":
        raise Refused("E018", "PROTOCOL_VERSION_MISMATCH", "this player speaks league.v2")
    if call.get("timestamp") is not None and not UTC.fullmatch(str(call["timestamp"])):
        raise Refused("E021", "INVALID_TIMESTAMP", "a timestamp is in UTC and ends with Z")
    if kind in REFEREE and "match_id" not in call:
        raise Refused("E003", "MISSING_REQUIRED_FIELD", "match_id is missing")
    if kind in REFEREE and not (isinstance(call["match_id"], str) and call["match_id"]):
        raise Refused("E002", "INVALID_MESSAGE", "match_id must be a string")
    own, manager_token = MEMORY["player_id"], MEMORY["tokens"].get("manager_token")
    if own and (call.get("player_id") or own) != own:
        raise Refused("E012", "AUTH_TOKEN_INVALID", "this message is for another player")
    league = MEMORY["league_id"]
    if kind in MANAGER and league and (call.get("league_id") or league) != league:
        raise Refused("E012", "AUTH_TOKEN_INVALID", "this message is about another league")
    # The caller must show the promised token, if the manager promised one. Such a manager announces
    # every match, and no other referee may call; the announcement may come after the referee's call.
    if manager_token and kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
        for _ in range(40):
            call["match_id"] in MEMORY["announced"] or time.sleep(0.05)
        if call["match_id"] not in MEMORY["announced"]:
            raise Refused("E012", "AUTH_TOKEN_INVALID", "the manager did not announce this match")
    promised = MEMORY["announced"].get(call["match_id"]) if kind in REFEREE else manager_token
    if promised and not call.get("auth_token"):
        raise Refused("E011", "AUTH_TOKEN_MISSING", "the caller's auth_token is missing")
    if kind in REFEREE and promised and hashlib.sha256(str(call["auth_token"]).encode()).hexdigest() == SHOWN.get(call["match_id"]):
        return
    if promised and call["auth_token"] != promised:
        raise Refused("E012", "AUTH_TOKEN_INVALID", "the auth_token is not the one of this caller")


def answer(method, call):
    """The result of a call: a message of the league, or an acknowledgement."""
    if method in ("ping", "get_player_state"):
        return {"status": "ok", "player_id": MEMORY["player_id"], "history": MEMORY["history"]}
    # The method is a tool, a message type, or the general name.
    kind = TOOLS.get(method, str(call.get("message_type")) if method == "mcp_message" else method)
    if kind == "ROUND_ANNOUNCEMENT":
        EARLY.append(call)
    try:
        check(kind, call)
        with LOCK:
            said = react(kind, call)
    except (Refused, AttributeError, LookupError, TypeError) as problem:
        broken = ("E002", "INVALID_MESSAGE", "a field has the wrong type")
        code, name, detail = problem.args if isinstance(problem, Refused) else broken
        said = message("LEAGUE_ERROR", call, error_code=code, error_name=name, error_description=name,
                       retryable=False, original_message_type=kind, context={"detail": detail})
    LOG(kind, str(call.get("sender")), answer=said.get("message_type"))
    return said


# ---- 3. The tools, served by FastMCP.
class LeagueTool(Tool):
    """A tool whose arguments are a message of the league, with any fields."""

    parameters: dict = {"type": "object", "additionalProperties": True}

    async def run(self, arguments):
        said = await asyncio.to_thread(answer, self.name, arguments)  # `choose` may take its time
        return ToolResult(structured_content=said)


def start():
    """Serves the tools at /mcp, and the status at /health."""
    server = FastMCP(OPTIONS.name)
    for kind, tool in {**REFEREE, **MANAGER, "": "get_player_state"}.items():
        server.add_tool(LeagueTool(name=tool, description=f"Takes {kind or 'no message'}."))

    @server.custom_route("/health", methods=["GET"])
    async def health(_):
        return JSONResponse({"status": "ok", "player_id": MEMORY["player_id"]})

    server.run(transport="http", host=OPTIONS.bind, port=OPTIONS.port, stateless_http=True,
               json_response=True, show_banner=False, middleware=[Middleware(Gateway)],
               uvicorn_config={"log_level": "error"})


# ---- 4. Simple calls, as in the documents: the method is the tool, the parameters are the message.
# Both kinds of callers use the same address.
class Gateway:
    def __init__(self, fastmcp):
        self.fastmcp = fastmcp

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["path"] != "/mcp" or scope["method"] != "POST":
            return await self.fastmcp(scope, receive, send)
        request, body = Request(scope, receive), b""
        try:
            async for chunk in request.stream():
                body += chunk if len(body) <= LARGEST_BODY else b""  # the rest is read and dropped
        except ClientDisconnect:
            return None
        if len(body) > LARGEST_BODY:
            answer = JSONResponse({"error": "a body has at most 256 KiB"}, 413)
        elif request.headers.get("origin"):  # agents send none, so this is a web page in a browser
            answer = JSONResponse({"error": "web pages may not call a player"}, 403)
        elif is_mcp(request.headers, body):
            return await self.fastmcp(scope, again(body, receive), send)
        else:
            status, text = await asyncio.to_thread(serve, body)
            answer = Response(text, status, media_type="application/json")
        return await answer(scope, receive, send)


def is_mcp(headers, body):
    """MCP names its revision in a header, or its methods have a slash."""
    try:
        method = json.loads(body).get("method", "")
    except (ValueError, RecursionError, AttributeError):
        method = ""
    named = isinstance(method, str) and ("/" in method or method == "initialize")
    return named or "mcp-protocol-version" in headers


def again(body, receive):
    """Passes on a body that was already read."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    async def hand_on():
        return parts.pop() if parts else await receive()
    return hand_on


class Exact(str):
    """A number as it was written, because the answer repeats an id exactly: 1e2 as 1e2."""


def rpc(call, exact):
    """Answers one call: an error code (0 for success), and a text unless it is a notification."""
    identity, code, wanted = "null", -32600, True
    if isinstance(call, dict) and not isinstance(call.get("id"), (bool, dict, list)):
        own = exact.get("id")
        identity = own if isinstance(own, Exact) else json.dumps(own)
        method, params = call.get("method"), call.get("params", {})
        if call.get("jsonrpc") == "2.0" and isinstance(method, str) and isinstance(params, (dict, list)):
            wanted = "id" in call  # without one it is a notification
            code = -32601 if method not in METHODS else -32602 if isinstance(params, list) else 0
    words = {-32600: "Invalid Request", -32601: "Method not found", -32602: "Invalid params"}
    said = {"error": {"code": code, "message": words[code]}} if code else {"result": answer(method, params)}
    return code, f'{{"jsonrpc":"2.0","id":{identity},{json.dumps(said)[1:]}' if wanted else None


def serve(body):
    """Answers a body, one call or a batch: the HTTP status, and the text if there is one."""
    try:
        calls = json.loads(body.decode(), parse_constant=int)  # NaN is not JSON
        exact = json.loads(body.decode(), parse_int=Exact, parse_float=Exact)
    except (ValueError, RecursionError):
        return 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    if isinstance(calls, list) and 0 < len(calls) <= 64:
        texts = [text for _, text in map(rpc, calls, exact) if text]
        return (200, f"[{','.join(texts)}]") if texts else (202, "")
    code, text = rpc(calls, exact)
    return (202, "") if text is None else (400 if code == -32600 else 200, text)


# ---- 5. Registration.
def register():
    """Registers with the manager; retries until it accepts, because it may not be running yet."""
    here = OPTIONS.bind.replace("0.0.0.0", "127.0.0.1")  # Windows does not call 0.0.0.0
    while socket.socket().connect_ex((here, OPTIONS.port)):
        time.sleep(0.1)  # register only after our own port is open
    meta = {"display_name": OPTIONS.name, "version": "1.0.0", "protocol_version": "2.1.0",
            "game_types": GAMES, "proofs": True,
            "contact_endpoint": OPTIONS.public_url or f"http://{OPTIONS.host}:{OPTIONS.port}/mcp"}
    wait, told = 1, None
    while True:
        # With an old token a player returns under the same id.
        proof = MEMORY["tokens"].get("return_token") or MEMORY["tokens"].get("auth_token")
        given = {"auth_token": proof, "join_code": OPTIONS.join_code}
        given = {name: value for name, value in given.items() if value}
        params = message("LEAGUE_REGISTER_REQUEST", {}, **given, player_meta=meta)
        call = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
        posted = urllib.request.Request(OPTIONS.manager, json.dumps(call).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(posted, timeout=10, context=TRUST) as reply:
                said = json.loads(reply.read(LARGEST_BODY)).get("result") or {}
            if said.get("status") in ("ACCEPTED", "REGISTERED"):
                given = {name: said[name] for name in said if name.endswith("_token") and said[name]}
                if said.get("league_id") != MEMORY["league_id"]:
                    remember(**nothing())  # the memory was of another league
                    SHOWN.clear(), CALLED.clear()
                FINISHED.clear()
                remember(player_id=said.get("player_id"), league_id=said.get("league_id"),
                         tokens={**MEMORY["tokens"], **given})
                for early in list(EARLY):  # now we know who may announce
                    answer("ROUND_ANNOUNCEMENT", early)
                own = MEMORY["player_id"]
                return say(f"{OPTIONS.name} is in the league as {own}: {page(f'/player/{own}')}")
            reason = str(said.get("reason") or said.get("error_code") or "an unknown answer")
            if proof and said.get("error_code") in ("E005", "E012"):  # the manager does not know us
                remember(**nothing())
        except (OSError, ValueError, AttributeError) as problem:
            reason = str(problem)
        is_late = reason == "Registration closed" or "the league has begun" in str(reason)
        if is_late and not CALLED:  # an invited player plays without a registration
            say(f"{OPTIONS.manager} has closed its registration: the league has begun or is over")
            os._exit(1)
        if reason != told:
            say(f"{OPTIONS.manager} has not admitted us yet: {reason}")
        wait, told = min(wait * 2, 15), reason
        time.sleep(wait)


def stay():
    """Registers, and again when the manager takes players for another league than ours."""
    register()
    while True:
        time.sleep(2)
        try:
            if FINISHED.is_set():
                with urllib.request.urlopen(page("/health"), timeout=5, context=TRUST) as reply:
                    health = json.loads(reply.read(LARGEST_BODY))
                if health["state"] == "REGISTERING" and health["league_id"] != MEMORY["league_id"]:
                    register()
        except (OSError, ValueError, LookupError, TypeError):
            pass  # the manager is away between two leagues


def use_the_sdk():
    """Reads the manager's address from the files of the league, and writes a log there."""
    global LOG
    try:
        from league_sdk import ConfigLoader, JsonLogger
    except ImportError:
        return print("league_sdk is not installed, so --root has no effect", flush=True)
    agents = ConfigLoader(os.path.join(OPTIONS.root, "config")).load_agents()
    OPTIONS.manager = OPTIONS.manager or agents.league_manager.endpoint
    LOG = JsonLogger(f"player:{OPTIONS.port}", log_root=os.path.join(OPTIONS.root, "logs")).log_message_received


def whole(manager):
    """Completes the manager's address: http:// and /mcp may be omitted."""
    manager = manager if "://" in manager else f"http://{manager}"
    return manager if manager.split("://")[1].partition("/")[2] else manager.rstrip("/") + "/mcp"


LOG = lambda *_, **__: None
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--port", type=int, default=8101, help="the port to listen on")
parser.add_argument("--host", default="127.0.0.1", help="the IPv4 address under which others call it")
parser.add_argument("--bind", help="the IPv4 address to listen on, if different: 0.0.0.0 for all")
parser.add_argument("--public-url", help="the URL under which others call it, if a tunnel leads here: https://NAME/mcp")
parser.add_argument("--manager", type=whole, help="the address of the manager (default: http://localhost:8000/mcp)")
parser.add_argument("--join-code", help="the code of the organiser, if the league has one")
parser.add_argument("--ca", help="a file of certificates to trust, for a manager with https://")
parser.add_argument("--name", default="My Player", help="the name shown to people")
parser.add_argument("--memory", help="the memory file (default: .player-fastmcp-PORT.json)")
parser.add_argument("--root", help="the folder of a league, if league_sdk is installed")

if __name__ == "__main__":
    OPTIONS = parser.parse_args()
    sys.stdout.reconfigure(errors="replace")  # a terminal may lack letters of a name
    try:
        TRUST = ssl.create_default_context(cafile=OPTIONS.ca)
    except OSError as problem:
        sys.exit(f"cannot use the certificates in {OPTIONS.ca}: {problem.strerror or problem}")
    OPTIONS.memory = OPTIONS.memory or f".player-fastmcp-{OPTIONS.port}.json"
    if OPTIONS.root:
        use_the_sdk()
    OPTIONS.manager, OPTIONS.bind = OPTIONS.manager or "http://localhost:8000/mcp", OPTIONS.bind or OPTIONS.host
    if os.path.exists(OPTIONS.memory):
        with open(OPTIONS.memory) as file:
            kept = json.load(file)
        if kept.get("manager") == OPTIONS.manager:
            MEMORY.update(kept)
            print(f"using the memory of an earlier league; remove {OPTIONS.memory} to start without it", flush=True)
        else:  # another manager must not see its tokens
            print(f"{OPTIONS.memory} is ignored: its tokens are not of {OPTIONS.manager}", flush=True)
    try:
        with socket.socket() as probe:  # for a short error message; without listening, so no caller is lost
            os.name == "posix" and probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((OPTIONS.bind, OPTIONS.port))
    except OSError as problem:
        sys.exit(f"cannot listen at {OPTIONS.bind}:{OPTIONS.port}: {problem.strerror}; choose another port with --port; "
                 "in a container or behind a router, --bind 0.0.0.0 listens on all addresses")
    threading.Thread(target=stay, daemon=True).start()
    try:
        start()
    except KeyboardInterrupt:
        print(f"{OPTIONS.name} was stopped; start it again to continue", flush=True)
