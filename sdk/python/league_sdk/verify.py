"""Verifies leagues by docs/verify.md, with the standard library alone: python3 verify.py SHARED"""
import collections, hashlib, hmac, json, pathlib, re, struct, sys, zlib
NOT_KNOWN = "their rules are not known here"  # why this verifier leaves something out
QUIET = {"start", "pause", "resume", "announce", "extend_match", "extend_player",
         "open_registration", "close_registration"}  # levers that change nothing checked here

# ---- Words: comparisons, compact JSON with SHA-256 and HMAC over it, the lines of a journal.
def expect(holds, what):
    if not holds: raise ValueError(what)
def compare(found, due):  # the members of a document with those that are due
    for member, value in due.items():
        expect(found.get(member) == value, f"`{member}`: expected {value}, not {found.get(member)}")
def text(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
def sha256(value): return hashlib.sha256(text(value)).hexdigest()
def mac(key, value): return hmac.digest(key, text(value), "sha256")
def facts(path, at):  # without an unfinished batch at the end; `at` names what is read
    batch, more, previous = [], 0, "0" * 64
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        at.update(file=str(path), line=number)
        form = re.fullmatch(rb'\{"crc32":"([0-9a-f]{8})",(.*)', line, re.DOTALL)
        expect(form and int(form[1], 16) == zlib.crc32(form[2]), "the checksum is wrong")
        entry = {"more": 0, **json.loads(line)}
        compare(entry, {"sequence": number, "previous": previous})
        expect(more in (0, entry["more"] + 1), "the batch of the line before does not go on")
        previous, more = hashlib.sha256(line).hexdigest(), entry["more"]
        batch.append((number, entry["fact"]))
        while batch and not more:
            at["line"], fact = batch.pop(0)
            yield fact

# ---- Games: the ends of both seats with the details, or None while moves are missing.
def even_odd(moves, settings, place, draw):
    choices, faces = dict(moves), range(settings.get("lowest", 1), settings.get("highest", 10) + 1)
    expect(len(moves) < 3 and set(choices.values()) <= {"even", "odd"}, "a choice is not legal")
    if len(moves) < 2: return None
    fair = 2**64 // len(faces) * len(faces)  # words below it leave no face out
    seed = mac(bytes.fromhex(draw["seed"]), ["attempt_seed", draw["attempt"]])
    blocks = (mac(seed, [*place, draw["attempt"], *draw["nonces"], block]) for block in range(32))
    words = (word for block in blocks for word in struct.unpack(">4Q", block))
    number = next(faces[word % len(faces)] for word in words if word < fair)
    parity, same = ("even", "odd")[number % 2], choices[0] == choices[1]
    ends = ["draw" if same else "win" if choices[seat] == parity else "loss" for seat in (0, 1)]
    return ends, {"drawn_number": number, "number_parity": parity}
def tic_tac_toe(moves, _settings, _place, _draw):
    board, ends = [None] * 9, ["draw", "draw"]
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    for number, (seat, cell) in enumerate(moves):
        legal = type(cell) is int and 0 <= cell < 9 and not board[cell]
        expect(legal and "win" not in ends and seat == number % 2, "a move is not legal")
        board[cell] = "XO"[seat]
        if any({board[place] for place in line} == {board[cell]} for line in lines):
            ends = ["loss", "win"] if seat else ["win", "loss"]
    return None if "win" not in ends and None in board else (ends, {"board": board})
GAMES, OTHER_RULES = {"even_odd": even_odd, "tic_tac_toe": tic_tac_toe}, {"tiebreakers", "format"}

# ---- The league, from its opening to its last line.
class League:
    def __init__(self, name, opening):
        self.id, self.rules, self.phase, self.round = name, opening["rules"], "new", 0
        self.mode, self.game = self.rules["draws"], self.rules["game_type"]
        modes = {"chance": False, "reproducible": True}
        compare(opening, dict(role="league_manager", league_id=name, reproducible=modes[self.mode]))
        self.players, self.referees, self.rounds, self.signs = [], [], 0, {}
        self.open, self.results, self.left_out = {}, {}, collections.Counter()
        is_known = self.game in GAMES and not OTHER_RULES & {*self.rules}
        self.stopped = None if is_known else f"lines of a league of `{self.game}`"
    def take(self, kind, event):
        before, after, handle = EVENTS.get(kind, (None, None, None))
        is_quiet = event.get("act", {}).get("lever") in QUIET
        if self.stopped or kind not in EVENTS and not is_quiet:  # what follows cannot be judged
            self.stopped = self.stopped or f"lines from `{kind}` on"
            self.left_out[self.stopped, NOT_KNOWN] += 1
        else:
            fits = {"league_started": len(self.players) > 1 and self.referees,
                    "round_closed": not self.open and event.get("round") == self.round,
                    "league_completed": self.round == self.rounds}.get(kind, True)
            expect(fits and before in (None, self.phase), f"{kind} cannot follow the lines before")
            if handle: handle(self, event)
        self.phase = after or self.phase
    def register(self, event):  # also agents that return
        name = event.get("player_id") or event.get("referee_id") or [*event["agent"].values()][0]
        expect((name in self.signs) == ("agent" in event), f"{name} is there already, or is not")
        self.signs[name] = event["meta"].get("proofs", False)
        if "player_id" in event:
            self.players = sorted([*self.players, name], key=lambda one: (len(one), one.upper()))
            self.circle = len(self.players) - 1 + len(self.players) % 2
            self.rounds = self.circle * self.rules.get("legs", 1)
        elif "referee_id" in event:
            words = ("key", "listed", "open" if self.rules["open_referees"] else "key")
            expect(event["admitted"] in words, f"{name} cannot be admitted")
            self.referees.append(name)
    def open_round(self, event):
        self.round, promises = self.round + 1, event["commitments"]
        referees = event["referees"] or [None] * len(promises)
        compare(event, {"round": min(self.round, self.rounds)})
        expect(len(promises) == len(referees) == len(self.players) // 2, "matches are missing")
        for number, (promise, referee) in enumerate(zip(promises, referees), 1):
            seats, name = self.pair(number), f"R{self.round}M{number}"
            signing = {player for player in seats if self.signs[player]}
            self.open[name] = dict(promise=promise, seats=seats, signing=signing, attempt=0)
            self.move({"moves": [{"match_id": name, "to": referee, "attempt": 1}]})
    def pair(self, number):  # the players of a match at their seats, by the circle method
        even, (leg, turned) = len(self.players) % 2 == 0, divmod(self.round - 1, self.circle)
        distance = number - even
        first = (turned - distance) % self.circle + even if distance else 0
        second = (turned + distance) % self.circle + even
        swap = (first > second) != (turned > 0)
        if self.rules["sides_matter"]: swap = (distance + 1 if distance else turned) % 2
        pair = (first, second) if swap == leg % 2 else (second, first)  # each leg swaps the seats
        return [self.players[place] for place in pair]
    def move(self, event):  # matches to referees; the manager ends those that are handed over
        for moved in event["moves"]:
            match, to = self.open[moved["match_id"]], moved["to"]
            free, step = "moves" not in match, moved["attempt"] - match["attempt"]
            fits = 0 <= step <= free and (to is None or free and to in self.referees)
            expect(fits, f"{moved['match_id']} cannot go to {to}")
            match.update(referee=to, attempt=match["attempt"] + (step if to else 0))
    def hand_over(self, event):
        match = self.open[event["match_id"]]
        compare(event, {"referee": match["referee"], "attempt": match["attempt"], "last": True})
        expect("moves" not in match, "the moves are handed over already")
        nonces = {move["player_id"]: move.get("nonce", "") for move in event["moves"]}
        match.update(moves=event["moves"], nonces=[nonces[player] for player in match["seats"]])

    def record(self, event):
        name, result, match = event["match_id"], event["result"], self.open.pop(event["match_id"])
        seats, draw, failed = match["seats"], result["draw"], result.get("failed", {})
        compare(event, {"referee": match["referee"], "attempt": match["attempt"]})
        promise = sha256(["league.draw", self.id, name, self.mode, draw["seed"]])
        compare(match, {"promise": promise, "nonces": match.get("nonces") and draw["nonces"]})
        compare(draw, {"commitment": promise, "mode": self.mode, "attempt": event["attempt"]})
        moves, settings = self.check_moves(result, match), self.rules["game_settings"] or {}
        end = GAMES[self.game](moves, settings, [self.id, name], draw)
        expect((end is None) == bool(failed) and set(failed) <= set(seats), "the end is another")
        absent = ["technical_loss" if player in failed else "win" for player in seats]
        ends, details = end or (absent, {})
        points = [self.rules["score"][one] for one in ends]
        winner = seats[ends.index("win")] if "win" in ends else None
        status = "TECHNICAL_LOSS" if failed else "WIN" if winner else "DRAW"
        due = dict(players=seats, status=status, winner=winner, points=points, details=details)
        compare(result, due)
        kept = result, list(zip(seats, ends, points)), 0 if failed else len(match["signing"])
        self.results[name, event["referee"], event["attempt"]] = kept
    def check_moves(self, result, match):  # gives them with the seats of their players
        evidence, seats = {"players": [], "moves": [], **result["evidence"]}, match["seats"]
        hidden, keys, seen = self.game == "even_odd", {}, []
        for one in evidence["players"]:
            key = keys[one["player_id"]] = bytes.fromhex(one["key"])
            join = mac(key, [0, sha256([]), True, ""]).hex()
            expect(one.get("join") in (None, join), f"{one['player_id']} did not sign its join")
        expect(match["signing"] <= set(keys), "a key is missing")
        for move in evidence["moves"]:
            player, choice, nonce = move["player_id"], move["choice"], move.get("nonce", "")
            turn = 1 + sum(one == player for one, _ in seen)
            if player in match["signing"]:
                signed = [turn, sha256([] if hidden else seen), choice, nonce]
                compare(move, {"proof": mac(keys[player], signed).hex()})
            seen.append([player, choice])
        lists = {player: [choice for one, choice in seen if one == player] for player, _ in seen}
        compare(result, {"choices": dict(seen) if hidden else lists})
        is_drawn = hidden and not result.get("failed")
        compare(match, {"moves": evidence["moves"] if is_drawn else None})
        expect(match["referee"] or is_drawn, "the manager cannot end this match")
        return [(seats.index(player), choice) for player, choice in seen]

    def standings(self):  # by points, wins, draws minus losses, points among equals, id
        zeros = {"wins": 0, "draws": 0, "losses": 0, "technical_losses": 0, "points": 0}
        table, among = {player: dict(zeros) for player in self.players}, collections.Counter()
        pairs = [pair for _, pair, _ in self.results.values()]
        for player, end, points in (row for pair in pairs for row in pair):
            table[player][{"win": "wins", "draw": "draws"}.get(end, "losses")] += 1
            table[player]["technical_losses"] += end == "technical_loss"
            table[player]["points"] += points
        first = {player: (-row["points"], -row["wins"], row["losses"] - row["draws"])
                 for player, row in table.items()}
        for (a, _, to_a), (b, _, to_b) in pairs:
            if first[a] == first[b]: among.update({a: to_a, b: to_b})
        order = sorted(table, key=lambda one: (first[one], -among[one], len(one), one))
        return [{"rank": rank, "player_id": one, **table[one]} for rank, one in enumerate(order, 1)]

EVENTS = {  # the phase before, the phase after, and what takes the event in
    **dict.fromkeys(("player_registered", "referee_registered"), ("new", "new", League.register)),
    "agent_returned": (None, None, League.register), "matches_moved": (None, None, League.move),
    "moves_received": (None, None, League.hand_over), "league_started": ("new", "closed", None),
    "round_opened": ("closed", "open", League.open_round), "round_closed": ("open", "closed", None),
    "result_recorded": (None, None, League.record), "league_completed": ("closed", "over", None)}

# ---- The records of referees, and the verdict.
def unopened(result):  # without what the manager opens at the end
    draw, moves = {**result.get("draw", {}), "seed": None}, result.get("evidence", {}).get("moves")
    return {**result, "draw": draw, "evidence": moves}
def confirm(path, league, at):  # the results that the journal of a referee confirms
    name, attempts, told, taken = path.parent.name, {}, {}, set()
    for fact in facts(path, at):
        event = {**fact.get("event", {}).get("fixture", {}), **fact.get("event", {})}
        match, name = event.get("match_id"), event.get("referee_id", name)
        attempts[match] = event.get("attempt", attempts.get(match, 1))
        key = match, name, attempts[match]
        if event.get("event") == "decided": told[key] = unopened(event["result"])
        if event.get("report") == "acknowledged": taken.add(key)
    for key, result in told.items():
        own = league.results.get(key)
        same = unopened(own[0]) == result if own else key not in taken
        is_own = (path.parent / ".lock").exists()  # else it was handed in
        expect(same or not is_own, f"{name} recorded another result of {key[0]}")
        if same: yield key
        else: league.left_out[f"statements of `{name}`", "other records contradict them"] += 1

def judge(folder, at):  # the members of the verdict on a league that holds
    shown, journal, told = folder / "standings.json", facts(folder / "journal.jsonl", at), set()
    document = json.loads(shown.read_text("utf8", "replace")) if shown.exists() else {}
    league = League(folder.name, next(journal)["opened"])
    for fact in journal:
        ((kind, event),) = fact["event"].items()
        league.take(kind, event)
        if at["line"] == document.get("version") and not league.stopped:
            at["file"], table, rows = str(shown), league.standings(), document["standings"]
            same = [{**row, **due} for row, due in zip(rows, table)] == rows
            expect(same and len(rows) == len(table), "the journal leads to another table")
    expect(document.get("version", 0) <= at["line"], "standings.json knows of later lines")
    for path in () if league.stopped else folder.glob("referees/*/journal.jsonl"):
        told.update(confirm(path, league, at))
    matches = {"told": 0, "one_proof": 0, "proven": 0, "referee_record": 0}
    for key, (_, _, signers) in league.results.items():
        matches[("referee_record" if key in told else "told", "one_proof", "proven")[signers]] += 1
        if key[1] and key not in told and not league.stopped:
            league.left_out[f"results of `{key[1]}`", "its journal is not here"] += 1
    rows = [dict(count=one, what=what, why=why) for (what, why), one in league.left_out.items()]
    again = [dict(match_id=name, attempts=attempt, why="referee failed")
             for name, _, attempt in league.results if attempt > 1]
    return dict(verdict="consistent, not complete" if rows else "verified", mode=league.mode,
                finished=league.phase == "over", matches=matches, attempts_above_1=again,
                open_referees=league.rules["open_referees"], not_compared=rows)

def verify(folder):
    at = {"file": str(folder), "line": None}  # what is read
    try:
        return {"league_id": folder.name, "wrong": None, **judge(folder, at)}
    except Exception as problem:  # a forger may write anything
        at["what"] = str(problem) if type(problem) is ValueError else f"unreadable: {problem!r}"
        return {"league_id": folder.name, "verdict": "failed", "wrong": at}
if __name__ == "__main__":
    shared = pathlib.Path(*sys.argv[1:2])
    verdicts = [verify(path.parent) for path in sorted(shared.glob("data/leagues/*/journal.jsonl"))]
    sys.stdout.writelines(json.dumps(verdict) + "\n" for verdict in verdicts)
    if not verdicts:
        sys.stderr.write(f"no league below `{shared}`: give the folder that holds `data/leagues`\n")
    found = {verdict["verdict"] for verdict in verdicts}
    sys.exit(1 if "failed" in found else 4 if found - {"verified"} else 0 if found else 2)
