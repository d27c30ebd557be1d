"""Verifies leagues by docs/verify.md: python3 verify.py SHARED; exit code 0: verified, 1: failed, 2: no league, 4: not complete."""
import hashlib, hmac, json, re, struct, sys, zlib
from collections import Counter
from pathlib import Path

def expect(holds, what):
    if not holds: raise ValueError(what)

# ---- 1. Words: compact JSON, and SHA-256 and HMAC over it; lines of a journal.
text = lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
sha256 = lambda value: hashlib.sha256(text(value)).hexdigest()
mac = lambda key, value: hmac.digest(key, text(value), "sha256")
listed = lambda moves: moves if isinstance(moves, list) else [moves]  # a game of one move has no list
unopened = lambda one: {**one, "draw": {**one.get("draw", {}), "seed": None}, "evidence": one.get("evidence", {}).get("moves")}

def address(url):  # host, port and path: how addresses are compared
    scheme, host, port, path = re.fullmatch(r"(?:(\w+)://)?([^/]*?)(?::(\d+))?(/.*)?", url.lower()).groups("")
    return "127.0.0.1" if host == "localhost" else host, port or {"https": "443"}.get(scheme, "80"), path.rstrip("/") or "/mcp"

def facts(path, at):  # tells in `at` what it reads; an unfinished batch at the end counts as not written
    batch, more, previous = [], 0, "0" * 64
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        at.update(file=path, line=number)
        form = re.fullmatch(rb'\{"crc32":"([0-9a-f]{8})",(.*)', line, re.DOTALL)
        expect(form and int(form[1], 16) == zlib.crc32(form[2]), "the checksum does not fit the line")
        entry = {"more": 0, **json.loads(line)}
        found, due = [entry["sequence"], entry["previous"], entry["more"]], [number, previous, more - 1 if more else entry["more"]]
        expect(found == due, "it does not follow the line before")
        previous, more = hashlib.sha256(line).hexdigest(), entry["more"]
        batch.append((number, entry["fact"]))
        while batch and not more:
            at["line"], fact = batch.pop(0)
            yield fact

# ---- 2. Games: which seat wins (None for a draw), and the details of the result.
def even_odd(moves, settings, words):
    expect(all(made in (["even"], ["odd"]) for made in moves), "the choices do not make a game")
    faces = range(settings.get("lowest", 1), settings.get("highest", 10) + 1)
    fair = (word for word in words if word < 2**64 // len(faces) * len(faces))
    number = faces[next(fair, -1) % len(faces)]
    parity = ("even", "odd")[number % 2]
    return None if moves[0] == moves[1] else moves.index([parity]), {"drawn_number": number, "number_parity": parity}

def tic_tac_toe(moves, _settings, _words):
    board, left = [None] * 9, [list(made) for made in moves]
    lines = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
    for place in range(10):
        won = [board[a] for a, b, c in lines if board[a] and board[a] == board[b] == board[c]]
        if won or place == 9:
            expect(not any(left), "there are moves after the end")
            return ("XO".index(won[0]) if won else None), {"board": board}
        cell = left[place % 2].pop(0)
        expect(type(cell) is int and 0 <= cell < 9 and not board[cell], "a move is not legal")
        board[cell] = "XO"[place % 2]

GAMES = {play.__name__: play for play in (even_odd, tic_tac_toe)}  # other games are said to be not replayed
KINDS = ("told", "one_proof", "proven", "referee_record")
EPOCH = 1_000_000  # after each accepted loss attempts are counted from the next multiple on

def words(place, draw):  # words of 64 bits for the first roll of a match; a league of 0.1 has one seed for all attempts
    seed, attempt = bytes.fromhex(draw["seed"]), draw["attempt"]
    seed = mac(seed, ["attempt_seed", attempt]) if draw.get("mode") else seed
    for number in range(32):
        yield from struct.unpack(">4Q", mac(seed, [*place, attempt, *draw["nonces"], number]))

# ---- 3. The league, from its opening to its last line.
class League:
    def __init__(self, opening):
        self.id, self.rules = opening["league_id"], opening["rules"]
        self.game, self.mode = self.rules["game_type"], self.rules.get("draws")
        # How many moves a player can have seen when it signs the next: none of others before the draw, or all; where both
        # move at once, those of complete turns. Which one holds in a game that is not known here, its players show.
        shown = {"even_odd": (lambda made: 0,), "tic_tac_toe": (lambda made: made,)}
        self.shown = shown.get(self.game, (lambda made: made, lambda made: made - made % 2, lambda made: 0))
        self.hidden = self.game == "even_odd"  # all moves are handed over for the one draw
        expect(opening["role"] == "league_manager", "the journal is not a manager's")
        expect(self.mode in (None, ("chance", "reproducible")[opening["reproducible"]]), "`draws` and `reproducible` name two modes")
        self.players, self.referees, self.signs, self.phase, self.round = [], [], {}, "registering", 0
        self.open, self.results, self.forfeits, self.absences, self.out, self.losses = {}, {}, {}, {}, {}, 0
        self.why, self.blamed, self.repeated, self.left_out, self.invited = {}, {}, [], Counter(), set()
        self.exposed, self.unproven = [], 0

    def take(self, kind, event):  # takes in an event, if it is a possible successor of those before it
        before, player = self.phase, event.get("player_id")
        rounds = (len(self.players) - 1 + len(self.players) % 2) * self.rules.get("legs", 1)
        absent = self.forfeits.get(player) == self.absences.get(player)
        fits = {"player_registered": before == "registering", "league_completed": before == "closed" and self.round == rounds,
                "league_started": before == "registering" and len(self.players) > 1 and self.referees,
                "round_opened": before == "closed" and event.get("round") == self.round + 1 <= rounds,
                "round_closed": before == "open" and event.get("round") == self.round and not self.open,
                "player_shut_down": self.forfeits.get(player, 0) >= self.rules["max_fail"] and (absent or not event.get("absence")),
                "player_reinstated": self.out.get(player)}
        word, place = event.get("admitted", "open"), address(event.get("meta", {}).get("contact_endpoint") or "")
        spoken = place in self.invited if word == "organiser" else before == "registering"
        fits["referee_registered"] = not self.mode or spoken and (word != "open" or self.rules["open_referees"])
        expect(fits.get(kind, True), f"{kind} cannot follow the lines before it")
        self.phase = dict(league_started="closed", round_opened="open", round_closed="closed", league_completed="over").get(kind, before)
        if kind == "player_shut_down":
            self.out[player] = event.get("absence", False)  # whether it may come back
        elif kind == "player_reinstated":
            self.forfeits[player] = self.absences[player] = 0
            del self.out[player]
        self.invited |= {address(event["endpoint"])} if kind == "referee_invited" else set()
        match = self.open.get(event.get("match_id"))
        if kind in ("player_registered", "referee_registered", "agent_returned"):
            name = event.get("player_id") or event.get("referee_id") or next(iter(event["agent"].values()))
            expect((name in self.signs) == (kind == "agent_returned"), f"{name} is in the league already, or is not")
            {"player_registered": self.players, "referee_registered": self.referees}.get(kind, []).append(name)
            self.signs[name], self.invited = event["meta"].get("proofs", False), self.invited - {place}
            self.players.sort(key=lambda player: (len(player), player.upper()))
        elif kind == "round_opened":
            self.open_round(event["commitments"], event["referees"] or [None] * len(event["commitments"]))
        elif kind == "matches_moved":
            for moved in event["moves"]:
                self.place(self.open[moved["match_id"]], moved["to"], moved["attempt"])
        elif kind == "moves_received":
            same = [event["referee"], event["attempt"], False] == [match["referee"], match["attempt"], match["fixed"]]
            handed = match["moves"] or []
            more = match["moves"] is None or event["moves"][:len(handed)] == handed and len(event["moves"]) > len(handed)
            expect(same and more and (event["last"] or not self.hidden), "the moves come from another referee or attempt, or again")
            match.update(moves=event["moves"], fixed=event["last"], drawn_in=match.get("drawn_in", event["attempt"]))
        elif kind == "referee_by_documents":
            fits = self.mode and not self.rules.get("strict") and not self.rules.get("proven_draws") and event["referee"] not in self.exposed
            expect(fits and event["referee"] in self.referees, f"the draws of {event['referee']} must be proven")
            self.exposed.append(event["referee"])
        elif kind == "result_told":
            same = [event["referee"], event["attempt"], None, None] == [match["referee"], match["attempt"], match["moves"], match.get("told")]
            expect(same and event["referee"] in self.exposed, "a result is told once, by the referee of the match, which shows its token")
            match["told"], self.why[match["name"]] = event["result"], "reports differ"
        elif kind == "result_recorded":
            self.weigh(event, event["result"], self.open.pop(event["match_id"]))
        elif kind == "loss_accepted":
            undrawn, self.losses = [name for name in self.open if not self.open[name]["fixed"]], self.losses + 1
            expect([event["epoch"], *dict(event["commitments"])] == [self.losses, *undrawn], f"expected loss {self.losses} with {undrawn}")
            for name, promise in event["commitments"]:
                self.open[name].update(promise=promise, attempt=self.losses * EPOCH + 1, moves=None)
                self.open[name].pop("drawn_in", None)
            self.why.update(dict.fromkeys(undrawn, "loss accepted"))
        elif kind in ("report_refused", "loss_doubted", "declined_after_call"):
            key, self.why[event.get("match_id")] = str(event.get("problem", kind)), kind.replace("_", " ")
            told = self.blamed.setdefault((event.get("match_id"), key), [])
            expect(kind != "loss_doubted" or not told, "a loss is doubted once in a match")
            told.append(event.get("referee"))
        elif kind == "report_conflicted" and match:  # another result was told: neither counts
            match["told"] = match.get("told") and "contested"
        elif kind not in ("report_conflicted", "referee_invited", *fits):
            self.left_out[f"events `{kind}`", "they are not known here"] += 1

    def open_round(self, promises, referees):  # pairs the players by the circle method
        count, turned, self.round = len(self.players), self.round, self.round + 1
        even, circle, matters = 1 - count % 2, count - 1 + count % 2, self.rules["sides_matter"]
        leg, turned = divmod(turned, circle)  # each leg swaps the seats of the one before
        expect(len(promises) == len(referees) == count // 2, "a match has one commitment and one referee")
        for index, (promise, referee) in enumerate(zip(promises, referees)):
            name, distance = f"R{self.round}M{index + 1}", index + 1 - even
            pair = [(turned - distance) % circle + even if distance else 0, (turned + distance) % circle + even]
            swap = (distance + 1 if distance else turned) % 2 if matters else (pair[0] > pair[1]) != (turned > 0)
            seats = [self.players[seat] for seat in (pair[::-1] if swap != leg % 2 else pair)]
            signing = [player for player in seats if self.signs[player]]
            match = dict(name=name, promise=promise, seats=seats, signing=signing, attempt=self.losses * EPOCH, moves=None, fixed=False)
            self.place(self.open.setdefault(name, match), referee, match["attempt"] + 1)

    def losers(self, match):  # out of the league, or with wrong proofs: at two referees, or four times
        wrong = lambda one: self.blamed.get((match["name"], str({"proof": one})), [])
        return [one for one in match["seats"] if one in self.out or len(set(wrong(one))) > 1 or len(wrong(one)) > 3]

    def place(self, match, referee, attempt):  # to a referee, unless the manager rules on it
        fixed = match["fixed"]
        fits = attempt - match["attempt"] in (0, not fixed)
        expect(fits and referee in (None, *([] if fixed else self.referees)), f"{match['name']} cannot go to {referee} at attempt {attempt}")
        match["referee"] = None if fixed or self.losers(match) else referee
        match["attempt"] = attempt if match["referee"] else match["attempt"]

    def weigh(self, event, result, match):  # checks a result, and keeps it with its end and who signed
        name, seats, failed, draw = event["match_id"], match["seats"], result.get("failed", {}), result.get("draw")
        lost = event.get("restored", False)  # its promise may be among the lost lines
        promised = draw["commitment"] if draw else match["promise"]
        due, told = [match["referee"], match["attempt"], match["promise"]], [event["referee"], event["attempt"], promised]
        expect(self.losses if lost else told == due, f"expected {due}, found {told}")
        if draw:
            promise = sha256(["league.draw", self.id, name, *([self.mode] if self.mode else []), draw["seed"]])
            expect([draw.get("mode"), draw["attempt"], draw["commitment"]] == [self.mode, match.get("drawn_in", event["attempt"]), promise], "the seed does not keep the promise")
            rolled = words([self.id, name], draw)
        else:  # the number is only told; it must lead to the end
            expect(match.get("told") == result and not result.get("evidence"), "a result without a draw must be the one that was told")
            lowest = (self.rules["game_settings"] or {}).get("lowest", 1)
            rolled, self.unproven = [result["details"].get("drawn_number", lowest) - lowest], self.unproven + 1
        signers, moves = len(self.signers(result, match, lost)) if draw else 0, [listed(result["choices"].get(player, [])) for player in seats]
        if result["status"] == "TECHNICAL_LOSS":
            ruled = not match["fixed"] and (event["referee"] or sorted(failed) == sorted(self.losers(match)))
            expect(ruled and failed and set(failed) <= set(seats) and not result["details"], f"{sorted(failed)} cannot have lost {name} by absence")
            won = next((seat for seat, player in enumerate(seats) if player not in failed), None)
        elif self.game not in GAMES:  # moves and draw are not replayed; the end is the one that is told
            won = seats.index(result["winner"]) if result.get("winner") else None
            expect([result["status"], failed] == ["DRAW" if won is None else "WIN", {}], "the status does not fit the winner")
            self.left_out[f"games of `{self.game}`", "their rules are not known here"] += 1
        else:
            won, details = GAMES[self.game](moves, self.rules["game_settings"] or {}, rolled)
            details = details if draw or result["details"] else {}
            expect([result["status"], result["details"], failed] == ["DRAW" if won is None else "WIN", details, {}], f"moves and draw lead to another end, with {details}")
        end = lambda seat: "draw" if won is None else ("loss", "win")[won == seat]
        ends = ["technical_loss" if player in failed else end(seat) for seat, player in enumerate(seats)]
        due = [seats, None if won is None else seats[won], [self.rules["score"][end] for end in ends]]
        expect([result["players"], result.get("winner"), result["points"]] == due, f"this end gives {due}")
        self.forfeits |= {player: (player in failed) * (self.forfeits.get(player, 0) + 1) for player in seats}
        self.absences |= {player: (failed.get(player) in ("E001", "E009")) * (self.absences.get(player, 0) + 1) for player in seats}
        why = "loss accepted" if event["attempt"] == self.losses * EPOCH + 1 else "referee failed"
        row = {"match_id": name, "attempts": event["attempt"], "why": self.why.get(name, why)}
        self.repeated += [row] if event["attempt"] > 1 else []
        self.results[name] = {**event, "rows": list(zip(seats, ends, result["points"])), "signers": signers}

    def signers(self, result, match, lost):  # players whose keys prove all their moves
        evidence, seen = {"players": [], "moves": [], **result.get("evidence", {})}, []
        prove = lambda one, *signed: one.get("key") and mac(bytes.fromhex(one["key"]), list(signed)).hex()
        for one in evidence["players"]:
            expect(one.get("join") in (None, prove(one, 0, sha256([]), True, "")), f"the join of {one['player_id']} is not signed by its key")
        for move in evidence["moves"]:
            player, choice, nonce = move["player_id"], move["choice"], move.get("nonce", "")
            turn, keys = 1 + sum(one == player for one, _ in seen), [one for one in evidence["players"] if one["player_id"] == player]
            proofs = [prove(one, turn, sha256(seen[:shown(len(seen))]), choice, nonce) for one in keys for shown in self.shown]
            due = [*filter(None, proofs)] or ["any"] if player in match["signing"] else [None, *proofs]
            expect(player in match["seats"] and move.get("proof") in due, f"the proof of {player} for {choice!r} is missing or wrong")
            seen.append([player, choice])
        choices = {player: [choice for one, choice in seen if one == player] for player, _ in seen}
        shown = {player: listed(choice) for player, choice in result["choices"].items()}
        expect(choices == shown or not self.mode, "`choices` and `evidence` have other moves")
        if not self.mode or result["status"] == "TECHNICAL_LOSS": return []
        nonces = {move["player_id"]: move.get("nonce", "") for move in evidence["moves"]}
        handed = [[nonces.get(player, "") for player in match["seats"]], evidence["moves"] if lost else match["moves"]]
        expect(evidence["moves"][:len(match["moves"] or [])] == (match["moves"] or []) or lost, "the result leaves out moves that were handed over")
        expect(not self.hidden or handed == [result["draw"]["nonces"], evidence["moves"]], "result and hand-over have other moves or nonces")
        return set(match["seats"]) - {move["player_id"] for move in evidence["moves"] if "proof" not in move}

    def standings(self):  # by points, wins, draws minus losses, points among equals, id; or in the league's own order
        usual = ["points", "wins", "draw_difference", "head_to_head", "player_id"]
        order = self.rules.get("tiebreakers", usual)
        count = {player: Counter(wins=0, draws=0, losses=0, technical_losses=0, points=0) for player in self.players}
        among, names = Counter(), {"win": "wins", "draw": "draws"}
        for player, end, points in (row for one in self.results.values() for row in one["rows"]):
            count[player].update({names.get(end, "losses"): 1, "technical_losses": "_" in end, "points": points})
        figures = {"points": lambda one: -count[one]["points"], "wins": lambda one: -count[one]["wins"], "head_to_head": lambda one: -among[one],
                   "draw_difference": lambda one: count[one]["losses"] - count[one]["draws"], "player_id": lambda one: (len(one), one)}
        rank = lambda one, names: [figures[name](one) for name in names]
        before = order[:order.index("head_to_head")]
        for (a, _, to_a), (b, _, to_b) in (one["rows"] for one in self.results.values()):
            among.update({a: to_a, b: to_b} if rank(a, before) == rank(b, before) else {})
        table = enumerate(sorted(count, key=lambda one: rank(one, order)), 1)
        return [{"rank": place, "player_id": one, **count[one]} for place, one in table]

# ---- 4. The records of referees, and the verdict.
def confirm(folder, league, at):  # which results the journals of referees confirm
    counted, known = {(one["match_id"], one["referee"], one["attempt"]): one["result"] for one in league.results.values()}, {}
    for path in folder.glob("referees/*/journal.jsonl"):
        name, attempts, ended = path.parent.name, {}, {}
        for fact in facts(path, at):  # `match_opened` begins an attempt; its draw may be that of an earlier one
            event = {**fact.get("event", {}).get("fixture", {}), **fact.get("event", {})}
            name, match = event.get("referee_id", name), event.get("match_id")
            attempts[match] = attempt = event.get("attempt", attempts.get(match, 1))
            result = event.get("result") or ended.get((match, attempt))
            if event.get("event") not in ("decided", "closed") or not result: continue
            ended[match, attempt], own = result, counted.get((match, name, attempt))
            same = unopened(result) == unopened(own) if own else event.get("report") != "acknowledged"
            expect(same or not (path.parent / ".lock").exists(), f"{name} recorded another result of {match}")
            known |= {match: same and known.get(match, True)} if own else {}
            league.left_out[f"statements of `{name}`", "other records contradict the journal that it handed in"] += not same
    return known

def judge(folder, at):  # the members of the verdict on a league that holds
    league, table = None, folder / "standings.json"
    document = json.loads(table.read_text("utf8", "replace")) if table.exists() else {}
    for fact in facts(folder / "journal.jsonl", at):
        league = league or League(fact["opened"])
        expect(league.id == folder.name and ("opened" in fact) == (at["line"] == 1), "it begins once, as its league's")
        for kind, event in fact.get("event", {}).items():
            league.take(kind, event)
        if at["line"] == document.get("version"):
            at["file"], rows = table, league.standings()
            same = [shown | due for shown, due in zip(document["standings"], rows)] == document["standings"]
            expect(same and len(rows) == len(document["standings"]), "the journal leads to another table")
    expect(league, "it has no complete line")
    expect(document.get("version", 0) <= at["line"], "standings.json knows of later lines")
    known, matches = confirm(folder, league, at), dict.fromkeys(KINDS, 0)
    for name, one in league.results.items():
        if one["referee"] or one["result"]["status"] != "TECHNICAL_LOSS":  # else the manager ruled against players
            matches["referee_record" if known.get(name) and not one["signers"] else KINDS[one["signers"]]] += 1
            league.left_out[f"results of `{one['referee']}`", "its journal is not here"] += bool(one["referee"]) and name not in known
    rows = [dict(count=count, what=what, why=why) for (what, why), count in league.left_out.items() if count]
    return dict(verdict="consistent, not complete" if rows or league.losses else "verified", finished=league.phase == "over", mode=league.mode, open_referees=league.rules.get("open_referees", True),
                matches=matches, draws_not_proven=league.unproven, exposed_referees=league.exposed,
                attempts_above_1=league.repeated, accepted_losses=league.losses, not_compared=rows)

def verify(folder):
    verdict, at = {"league_id": folder.name, "verdict": "failed", "wrong": None}, {"file": folder, "line": None}
    try:
        return verdict | judge(folder, at)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError) as problem:
        what = str(problem) if type(problem) is ValueError else f"this cannot be read: {problem!r}"
        return verdict | {"wrong": {"file": str(at["file"]), "line": at["line"], "what": what}}

if __name__ == "__main__":
    shared = Path(*sys.argv[1:2])
    verdicts = [verify(path.parent) for path in sorted(shared.glob("data/leagues/*/journal.jsonl"))]
    if not verdicts:
        print(f"no league below `{shared}`: give the folder that holds `data/leagues`", file=sys.stderr)
        sys.exit(2)
    print(*map(json.dumps, verdicts), sep="\n")
    found = {verdict["verdict"] for verdict in verdicts}
    sys.exit(1 if "failed" in found else 0 if found == {"verified"} else 4)
