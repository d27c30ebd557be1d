"""A player of the league in one file; needs only Python's standard library.

    python3 player.py --port 8101 --manager http://localhost:8000/mcp --name "My Player"

On Windows the command begins with `py player.py`. A player is a small web server. It registers with
the league manager and then answers calls: a referee invites it and asks for its choice, the manager
sends news. A call is a JSON-RPC 2.0 object posted to /mcp; the answer is another. Write your own
strategy in `choose`.
"""
import argparse, hashlib, hmac, json, os, random, secrets, ssl, sys, threading, time, traceback, urllib.request
from collections import defaultdict, deque
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer


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


def decide(call):
    """Calls the strategy; if it fails, prints the error on standard error and chooses at random."""
    asked = call.get("move_request") or {"valid_options": ["even", "odd"], "context": call.get("context")}
    options, context, begun = asked["valid_options"], asked.get("context") or {}, time.monotonic()
    try:
        if call.get("game_type", "even_odd") == "even_odd":
            choice = choose(context.get("opponent_id"), list(history))
        else:
            choice = choose_move(options, context.get("view"))
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
LARGEST, MOST = 256 * 1024, 1000  # bytes of a body; remembered matches
me = dict.fromkeys(("player_id", "league_id", "auth_token", "manager_token", "return_token"))  # given by the manager
announced, attempts = {}, {}  # by match: its referee's token, and the number of the attempt; 0: nothing is signed
early = deque(maxlen=9)  # the latest announcements: one may come before the answer to our registration
shown = {}  # by match: the hash of its referee's own token, which a referee by the documents shows instead
saving, finished = threading.Lock(), threading.Event()  # finished: the league is over
called, choices, history = {}, {}, deque(maxlen=MOST)  # by match: False until its referee calls; our choices, by turn
opponents, choosing = {}, defaultdict(threading.Lock)  # by match; a repeated question waits for the first choice
ADVICE = {"E001": "make `choose` faster", "E004": "return one of the legal moves",  # by the code of a technical loss
          "E005": "ask the organiser",
          "E009": "keep this program running, and see that referees reach its port: --host, --bind, firewall",
          "E012": "start this program again, so that it registers anew"}


def remember():
    """Saves the tokens, so that the player can be stopped and started again."""
    with saving:  # each call has a thread of its own
        with open(os.open(memory + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump([me.copy(), announced.copy(), attempts.copy(), options.manager], file)
        os.replace(memory + ".new", memory)  # atomic, even if the player is stopped


def say(words):
    """Prints a line; it may quote others, who must not command the terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in words[:500])
    print(shown + "\n", end="", flush=True)  # in one piece: other threads print as well


page = lambda path: options.manager.removesuffix("/mcp") + path  # on the site of the manager
now = lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())  # all times of the league are in UTC


# ---- 1. The messages of the league.
def message(kind, call, **fields):
    """A message of this player, envelope first. An answer repeats the conversation_id of its call."""
    envelope = {"protocol": "league.v2", "message_type": kind, "timestamp": now(),
                "sender": f"player:{me['player_id'] or options.name}",
                "conversation_id": call.get("conversation_id") or f"conv-{random.getrandbits(64):x}"}
    return {**envelope, **fields}


def proven(kind, call, **fields):
    """An answer to a referee, with our id and token."""
    # A player that was invited and did not register has no token, and takes its id from the call.
    own = {"player_id": me["player_id"] or call.get("player_id"), "auth_token": me["auth_token"]}
    own = {name: value for name, value in own.items() if value}
    return message(kind, call, **own, match_id=call["match_id"], **fields)


def signed(match, turn, moves, choice, nonce=""):
    """The proof of our answer: no referee knows the return token, so none can change or invent an answer."""
    if not (attempts.get(match) and me["return_token"]):
        return {}  # the manager knows no proofs
    text = lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    mac = lambda key, value: hmac.digest(key, text(value), "sha256")
    key = mac(me["return_token"].encode(), ["proof_key", me["league_id"], match, attempts[match]])
    seen = hashlib.sha256(text([[move["player_id"], move["choice"]] for move in moves])).hexdigest()
    return {"proof": mac(key, [turn, seen, choice, nonce]).hex()}


def error(call, code, name):
    return message("LEAGUE_ERROR", call, error_code=code, error_name=name, error_description=name,
                   retryable=False, original_message_type=call.get("message_type"), context={})


def wrong(kind, call):
    """The error for a call that breaks a rule, or None."""
    match, token = call.get("match_id"), call.get("auth_token")
    if not str(call.get("timestamp") or "Z").endswith(("Z", "+00:00")):
        return error(call, "E021", "INVALID_TIMESTAMP")
    if kind not in TOOLS.values() or call.get("message_type", kind) != kind:
        return error(call, "E002", "INVALID_MESSAGE")  # a tool accepts only its own message
    if kind in REFEREE and not isinstance(match, str):
        return error(call, *("E002", "INVALID_MESSAGE") if match else ("E003", "MISSING_REQUIRED_FIELD"))
    if me["player_id"] and call.get("player_id", me["player_id"]) != me["player_id"]:
        return error(call, "E012", "AUTH_TOKEN_INVALID")  # meant for another player
    # The caller must show the promised token; the announcement may come after the referee's call.
    for _ in range(40 if me["manager_token"] and kind in REFEREE else 0):
        match in announced or time.sleep(0.05)
    promised = announced.get(match, me["manager_token"]) if kind in REFEREE else me["manager_token"]
    if kind in REFEREE and token and hashlib.sha256(str(token).encode()).hexdigest() == shown.get(match):
        return None
    if promised and token != promised:
        return error(call, *("E012", "AUTH_TOKEN_INVALID") if token else ("E011", "AUTH_TOKEN_MISSING"))


def answer(kind, call):
    """Answers a call; only invitations and requests for a choice need more than an acknowledgement."""
    if kind == "ping":
        return {"status": "ok"}
    if kind == "ROUND_ANNOUNCEMENT":
        early.append(call)
    if problem := wrong(kind, call):
        return problem
    log(kind, str(call.get("sender")))
    if kind == "ROUND_ANNOUNCEMENT":  # the row of our match has its referee's token
        for row in call.get("matches") or []:
            match, token, attempt = row.get("match_id"), row.get("match_token"), row.get("attempt") or 0
            if token:
                shown[match] = row.get("referee_token_hash")
            if token and (match not in announced or attempt > attempts.get(match, 0)):  # another referee, a fresh game
                announced[match], attempts[match], called[match] = token, attempt, False
        remember()
    match = call.get("match_id")
    if kind == "CALL_QUERY":  # the manager asks whether a referee called us; we deny only what we surely know
        denied = attempts.get(match) == call["attempt"] and called.get(match) is False
        own = {"auth_token": me["auth_token"]} if me["auth_token"] else {}
        return message("CALL_QUERY_RESPONSE", call, **own, match_id=match, attempt=call["attempt"], called=not denied)
    if kind == "GAME_INVITATION":  # to be answered within 5 seconds
        called[match], ours = True, call.get("game_type", "even_odd") in GAMES
        opponents[match] = call.get("opponent_id")
        proof = signed(match, 0, [], True) if ours else {}
        return proven("GAME_JOIN_ACK", call, arrival_timestamp=now(), accept=ours, **proof)
    if kind in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):  # within 30 seconds; a repeated question gets the same answer
        called[match], asked = True, call.get("move_request") or {}
        context = asked.get("context") or {}
        turn = context.get("turn_number", 1)
        opponents[match] = (call.get("context") or context).get("opponent_id") or opponents.get(match)
        place = match, attempts.get(match, 0), turn  # another attempt gets a fresh choice
        with choosing[place]:
            choice, nonce = choices.get(place) or choices.setdefault(place, (decide(call), secrets.token_hex(8)))
        own = {"nonce": nonce, **signed(match, turn, context.get("moves") or [], choice, nonce)}
        if kind == "CHOOSE_PARITY_CALL":  # the nonce is our share in the draw
            return proven("CHOOSE_PARITY_RESPONSE", call, parity_choice=choice, **own)
        return proven("GAME_MOVE_RESPONSE", call, game_type=call.get("game_type"), **own,
                      move_data={"move_type": asked.get("move_type"), "choice": choice})
    if kind == "GAME_OVER" and not any(match == result["match_id"] for result in history):
        over(call, match)
    if kind == "GAME_ERROR":  # the referee could not use our answer, or got none
        tries, detail = call.get("retry_info") or call, (call.get("context") or {}).get("detail")
        count = f", attempt {tries['retry_count']} of {tries.get('max_retries')}" if "retry_count" in tries else ""
        say(f"{match}: the referee says {call.get('error_code')}{count}: {detail or call.get('error_description')}")
    if kind == "LEAGUE_COMPLETED":
        champion, rows = call.get("champion") or {}, call.get("final_standings") or []
        say(f"the league is over; its champion is {champion.get('display_name') or champion.get('player_id')}")
        for row in [row for row in rows if row["player_id"] == me["player_id"]]:
            say(f"we are number {row.get('rank')} of {len(rows)}, with {row.get('points')} point{'s' * (row.get('points') != 1)}: "
                + page(f"/player/{me['player_id']}"))
        early.clear(), finished.set()
        say("when the manager opens its next league, this program joins it")
    for known in (announced, shown, attempts, called, choices, opponents, choosing):
        while len(known) > MOST:
            known.pop(next(iter(known.copy())), None)
    return {"status": "ok"}


def over(call, match):
    """Records the result of a match, and checks that our moves and nonces are in it as we made them."""
    result, opponent = call.get("game_result") or {}, opponents.get(match)
    history.append({"match_id": match, **result})
    winner, status = result.get("winner_player_id"), str(result.get("status")).lower()
    # A player that was invited and did not register finds its id beside that of its opponent.
    others = {*(result.get("choices") or {}), *(result.get("score") or {})} - {opponent}
    own = me["player_id"] or (others.pop() if opponent and len(others) == 1 else None)
    lost = "lost by a technical loss" if status == "technical_loss" else "lost"
    if winner:
        outcome = "won" if winner == own else lost if own else f"{winner} won"
    else:
        outcome = lost if status == "technical_loss" else "drawn"
    say(f"{match}: {outcome}{f' against {opponent}' if opponent else ''}; {result.get('reason')}")
    if own and outcome == "lost by a technical loss":
        advice = ADVICE.get((result.get("failed") or {}).get(own), "read its messages")
        say(f"{match}: {advice}" + (f"; see {page(f'/match/{match}')}" if me["player_id"] else ""))
    nonces, attempt = (result.get("draw") or {}).get("nonces"), attempts.get(match, 0)
    ours = {turn: made for (where, when, turn), made in choices.items() if (where, when) == (match, attempt)}
    if 1 in ours and nonces and result.get("drawn_number") and ours[1][1] not in nonces:
        say(f"{match}: our nonce is missing in the draw; do not trust this result")
    moves = [move for move in (result.get("evidence") or {}).get("moves") or [] if move["player_id"] == me["player_id"]]
    told = {turn: (move["choice"], move.get("nonce")) for turn, move in enumerate(moves, 1)}
    if attempt and me["return_token"] and status != "technical_loss" and not ours.items() <= told.items():
        say(f"{match}: our moves are not in the evidence; do not trust this result")


# ---- 2. JSON-RPC 2.0: the called tool, and the frame of the answer.
TOOLS = {"handle_game_invitation": "GAME_INVITATION",
         "choose_parity": "CHOOSE_PARITY_CALL", "choose_move": "GAME_MOVE_CALL",
         "notify_match_result": "GAME_OVER", "notify_game_error": "GAME_ERROR", "ping": "ping",
         "notify_round": "ROUND_ANNOUNCEMENT", "notify_round_completed": "ROUND_COMPLETED",
         "update_standings": "LEAGUE_STANDINGS_UPDATE", "notify_league_completed": "LEAGUE_COMPLETED",
         "was_called": "CALL_QUERY"}
REFEREE = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER", "GAME_ERROR")  # else the manager


def respond(call):
    """The answer to one call, with its id; None for a call without an id."""
    fits = isinstance(call, dict) and call.get("jsonrpc") == "2.0" and isinstance(call.get("method"), str)
    fits = fits and isinstance(call.get("params", {}), (dict, list))
    if not fits or isinstance(call.get("id"), (dict, list, bool)):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}
    method, params, reply = call["method"], call.get("params", {}), {"jsonrpc": "2.0", "id": call.get("id")}
    if method not in (*TOOLS, *TOOLS.values(), "mcp_message"):
        reply["error"] = {"code": -32601, "message": "Method not found"}
    elif isinstance(params, list):
        reply["error"] = {"code": -32602, "message": "Invalid params"}
    else:
        kind = params.get("message_type") if method == "mcp_message" else TOOLS.get(method, method)
        try:
            reply["result"] = answer(kind, params)
        except (AttributeError, LookupError, TypeError):  # a field has the wrong type
            reply["result"] = error(params, "E002", "INVALID_MESSAGE")
    return reply if "id" in call else None


def serve(body):
    try:
        calls = json.loads(body, parse_constant=int)  # NaN is not JSON
    except (ValueError, RecursionError):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    several = isinstance(calls, list) and 0 < len(calls) <= 64  # a batch; an empty one is invalid
    return [reply for reply in map(respond, calls) if reply] if several else respond(calls)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # sends head and body without delay

    def body(self):
        """The body, plain or chunked; None if it is too large."""
        length, body = int(self.headers.get("Content-Length") or 0), b""
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        while chunked and (size := int(self.rfile.readline(20), 16)) and 0 < size <= LARGEST - len(body):
            body += self.rfile.read(size) + self.rfile.readline(2)[:0]
        if chunked:
            return None if size else body
        return self.rfile.read(length) if 0 <= length <= LARGEST else None

    def do_POST(self):
        body = self.body()
        if body is None:
            self.close_connection = True
            return self.send(413, {"error": "a body has at most 256 KiB"})
        if self.headers.get("Origin"):  # agents send none, so this is a web page in a browser
            return self.send(403, {"error": "web pages may not call a player"})
        reply = serve(body) if self.path == "/mcp" else {}
        code = reply.get("error", {}).get("code") if isinstance(reply, dict) else None
        status = 400 if code in (-32700, -32600) else 200 if reply else 202  # 202: a notification
        self.send(status if self.path == "/mcp" else 404, reply)

    def do_GET(self):
        self.send({"/health": 200, "/mcp": 405}.get(self.path, 404), {"status": "ok"})

    do_HEAD = do_PUT = do_DELETE = do_GET

    def send(self, status, reply):
        body = json.dumps(reply).encode() if reply else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, *_):
        """Logs no requests."""


class Server(ThreadingHTTPServer):
    allow_reuse_address = os.name == "posix"  # elsewhere it would let two programs share a port

    server_bind = TCPServer.server_bind  # skips a slow DNS lookup

    def handle_error(self, *_):
        """A caller that did not wait for the answer is not an error of ours."""
        isinstance(sys.exc_info()[1], ConnectionError) or traceback.print_exc()


# ---- 3. Registration.
def register():
    """Registers with the manager; retries until it accepts, or until its registration is closed."""
    meta = {"display_name": options.name, "version": "1.0.0", "protocol_version": "2.1.0",
            "game_types": GAMES, "proofs": True,
            "contact_endpoint": options.public_url or f"http://{options.host}:{options.port}/mcp"}
    admitted, told = False, None
    while not admitted:
        token = me["return_token"] or me["auth_token"]  # with its old token a player returns under the same id
        proof = {"auth_token": token} if token else {}
        code = {"join_code": options.join_code} if options.join_code else {}
        params = message("LEAGUE_REGISTER_REQUEST", {}, **proof, **code, player_meta=meta)
        call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params})
        posted = urllib.request.Request(options.manager, call.encode(), {"Content-Type": "application/json"})
        try:
            reply = json.load(urllib.request.urlopen(posted, timeout=10, context=trust))["result"]
            admitted, reason = bool(reply.get("player_id")), reply.get("reason") or reply.get("error_code")
            if admitted and (reply.get("return_token") or me["return_token"]) != me["return_token"]:  # another league
                me.update(dict.fromkeys(me))
                for known in (announced, shown, attempts, called, choices, opponents, history):
                    known.clear()
            me.update({name: reply.get(name) or (admitted and me[name]) or None for name in me})
        except Exception as problem:
            reason = str(problem)  # not reachable, or an unknown answer
        is_late = reason == "Registration closed" or "the league has begun" in str(reason)
        if is_late and not called:  # an invited player plays without a registration
            sys.exit(f"{options.manager} has closed its registration: the league has begun or is over")
        if not admitted:
            reason == told or say(f"{options.manager} has not admitted us yet: {reason}")
            told = reason
            time.sleep(2)
    finished.clear()
    for call in list(early):  # now we know who may announce
        respond({"jsonrpc": "2.0", "method": "notify_round", "params": call})
    remember()
    say(f"{options.name} is in the league as {me['player_id']}: {page('/player/' + me['player_id'])}")


def has_next_league():
    """Whether the manager takes players for another league than ours."""
    try:
        with urllib.request.urlopen(page("/health"), timeout=5, context=trust) as reply:
            health = json.loads(reply.read(LARGEST))
        return health["state"] == "REGISTERING" and health["league_id"] != me["league_id"]
    except Exception:
        return False  # it is away between two leagues


def whole(manager):
    """Completes the manager's address: http:// and /mcp may be omitted."""
    manager = manager if "://" in manager else f"http://{manager}"
    return manager if manager.split("://")[1].partition("/")[2] else manager.rstrip("/") + "/mcp"


def log_below(root):
    """Logs received messages in the files of the league; needs `league_sdk`."""
    from league_sdk import JsonLogger
    return JsonLogger(f"player:{options.port}", log_root=f"{root}/logs").log_message_received


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8101, help="the port to listen on")
    parser.add_argument("--host", default="localhost", help="the IPv4 address under which others call it")
    parser.add_argument("--bind", help="the IPv4 address to listen on, if different: 0.0.0.0 for all")
    parser.add_argument("--public-url", help="the URL under which others call it, if a tunnel leads here: https://NAME/mcp")
    parser.add_argument("--manager", type=whole, default="http://localhost:8000/mcp", help="the address of the manager")
    parser.add_argument("--ca", help="a file of certificates to trust, for a manager with https://")
    parser.add_argument("--join-code", help="the code of the organiser, if the league has one")
    parser.add_argument("--name", default="My Player", help="the name shown to people")
    parser.add_argument("--root", help="the folder of a league, for logs with league_sdk")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="replace")  # a terminal may lack letters of a name
    try:
        trust = ssl.create_default_context(cafile=options.ca)
    except OSError as problem:
        sys.exit(f"cannot use the certificates in {options.ca}: {problem.strerror or problem}")
    memory = f".player-python-{options.port}.json"
    try:
        saved = list(json.load(open(memory)))
        if saved[3:] != [options.manager]:
            raise ValueError(f"its tokens are not of {options.manager}")  # which must not see them
        for known, kept in zip((me, announced, attempts), saved):
            known.update(kept)
    except FileNotFoundError:
        pass  # the first start
    except (OSError, ValueError, TypeError) as problem:
        say(f"{memory} is ignored: {problem}")
    log = log_below(options.root) if options.root else lambda *_: None
    place = (options.bind or options.host, options.port)
    try:
        server = Server(place, Handler)  # listens before it registers
    except OSError as problem:
        sys.exit(f"cannot listen at {place[0]}:{place[1]}: {problem.strerror}; choose another port with --port; "
                 "in a container or behind a router, --bind 0.0.0.0 listens on all addresses")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        register()
        while True:
            time.sleep(2)  # Ctrl-C ends it on Windows too, unlike a wait for an event
            finished.is_set() and has_next_league() and register()
    except KeyboardInterrupt:
        say(f"{options.name} was stopped; start it again to continue")
