"""Makes the files of a played league, with the draws and proofs of an honest one."""

import hashlib
import hmac
import json
import zlib
from pathlib import Path

LEAGUE = "league_2025_even_odd"
FOLDER = f"data/leagues/{LEAGUE}"
SECRET = bytes([7]) * 32
PLAYERS = ["P01", "P02", "P03", "P04"]
ROUNDS = [[("P01", "P02"), ("P03", "P04")], [("P03", "P01"), ("P04", "P02")], [("P04", "P01"), ("P03", "P02")]]


def text(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def mac(key, value):
    return hmac.digest(key, text(value), "sha256")


def sha256(value):
    return hashlib.sha256(text(value)).hexdigest()


def match_seed(match):
    return mac(SECRET, ["seed", LEAGUE, match])


def commitment(match, mode):
    return sha256(["league.draw", LEAGUE, match, mode, match_seed(match).hex()])


def key_of(player, match, attempt):
    return mac(f"tok-return-{player}".encode(), ["proof_key", LEAGUE, match, attempt])


def proof(player, match, attempt, *signed):
    return mac(key_of(player, match, attempt), list(signed)).hex()


def number_of(match, attempt, nonces):
    """The number from 1 to 10 that a match draws."""
    seed = mac(match_seed(match), ["attempt_seed", attempt])
    block = mac(seed, [LEAGUE, match, attempt, *nonces, 0])
    words = [int.from_bytes(block[place:place + 8], "big") for place in range(0, 32, 8)]
    return next(1 + word % 10 for word in words if word < 2**64 // 10 * 10)


def played(match, seats, mode, signs, attempt):
    """The moves of a match of Even/Odd as they are handed over, and its result."""
    choices = dict(zip(seats, ("even", "odd") if match != "R2M2" else ("odd", "odd")))
    nonces = [hashlib.sha256(f"{match}{player}".encode()).hexdigest()[:16] for player in seats]
    number = number_of(match, attempt, nonces)
    parity = ("even", "odd")[number % 2]
    right = [choices[player] == parity for player in seats]
    winner = None if right[0] == right[1] else seats[right.index(True)]
    points = [1, 1] if winner is None else [3 if winner == player else 0 for player in seats]
    moves = []
    for player, nonce in zip(seats, nonces):
        signed = proof(player, match, attempt, 1, sha256([]), choices[player], nonce)
        made = {"player_id": player, "choice": choices[player], "nonce": nonce}
        moves.append({**made, "proof": signed} if player in signs else made)
    draw = {"commitment": commitment(match, mode), "seed": match_seed(match).hex(), "mode": mode,
            "attempt": attempt, "nonces": nonces}
    result = {
        "players": list(seats), "status": "WIN" if winner else "DRAW", "winner": winner, "points": points,
        "choices": choices, "details": {"drawn_number": number, "number_parity": parity}, "reason": "",
        "draw": draw,
    }
    if winner is None:
        del result["winner"]
    joined = [{"player_id": player, "join": proof(player, match, attempt, 0, sha256([]), True, ""),
               "key": key_of(player, match, attempt).hex()} for player in seats if player in signs]
    result["evidence"] = {"players": joined, "moves": moves}
    return moves, result


def events(mode, signs, again=()):
    """The facts of the manager's journal; the matches of `again` have a second attempt."""
    score = {"win": 3, "draw": 1, "loss": 0, "technical_loss": 0}
    rules = {"league_id": LEAGUE, "game_type": "even_odd", "game_settings": {"lowest": 1, "highest": 10},
             "sides_matter": False, "score": score, "max_fail": 5, "draws": mode, "open_referees": False}
    yield {"opened": {"role": "league_manager", "league_id": LEAGUE, "rules": rules,
                      "reproducible": mode == "reproducible", "version": "0.1.0"}}
    told = []
    for referee in ("REF01", "REF02"):
        told.append(("referee_registered", {"referee_id": referee, "meta": {}, "dialect": "v2", "admitted": "key"}))
    for player in PLAYERS:
        meta = {"proofs": True} if player in signs else {}
        told.append(("player_registered", {"player_id": player, "meta": meta, "dialect": "v2"}))
    told.append(("league_started", {}))
    for number, pairs in enumerate(ROUNDS, 1):
        names = [f"R{number}M{place}" for place in (1, 2)]
        promises = [commitment(name, mode) for name in names]
        told.append(("round_opened", {"round": number, "referees": ["REF01", "REF02"], "commitments": promises}))
        for name, seats, referee in zip(names, pairs, ("REF01", "REF02")):
            attempt = 2 if name in again else 1
            if attempt == 2:
                referee = "REF02" if referee == "REF01" else "REF01"
                move = {"match_id": name, "to": referee, "attempt": 2}
                told.append(("matches_moved", {"moves": [move]}))
            moves, result = played(name, seats, mode, signs, attempt)
            place = {"match_id": name, "referee": referee, "attempt": attempt}
            told.append(("moves_received", {**place, "moves": moves, "last": True}))
            told.append(("result_recorded", {**place, "result": result}))
        told.append(("round_closed", {"round": number}))
    told.append(("league_completed", {}))
    for kind, event in told:
        yield {"event": {kind: event}}


def chained(facts):
    """The lines of a journal with these facts."""
    lines, previous = [], "0" * 64
    for number, fact in enumerate(facts, 1):
        entry = {"sequence": number, "previous": previous, "at": "2026-03-02T09:00:00Z", "fact": fact}
        rest = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)[1:].encode()
        lines.append(b'{"crc32":"%08x",' % zlib.crc32(rest) + rest)
        previous = hashlib.sha256(lines[-1]).hexdigest()
    return b"".join(line + b"\n" for line in lines)


def make(root, mode="chance", signs=tuple(PLAYERS), again=(), referees=True):
    """Writes a league below a root: the journal of its manager, and those of its referees."""
    return write_all(Path(root) / FOLDER, list(events(mode, signs, again)), referees)


def write_all(folder, facts, referees=True):
    """Writes the journal of the manager with these facts, and those of its referees."""
    write(folder / "journal.jsonl", facts)
    for referee in ("REF01", "REF02") if referees else ():
        own = [{"opened": {"role": "referee", "league_id": LEAGUE}}]
        for fact in facts:
            recorded = fact.get("event", {}).get("result_recorded", {})
            if recorded.get("referee") == referee:
                match = {"match_id": recorded["match_id"]}
                own += [{"event": event} for event in (
                    {"event": "match_opened", "fixture": {**match, "attempt": recorded["attempt"]}},
                    {"event": "decided", **match, "result": recorded["result"]},
                    {"event": "closed", **match, "report": "acknowledged"})]
        write(folder / "referees" / referee / "journal.jsonl", own)
        # Only a journal that was written here has a lock; a referee elsewhere hands in a copy.
        (folder / "referees" / referee / ".lock").write_text("")
    return folder


def write(path, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(chained(facts))


def facts_of(path):
    return [json.loads(line)["fact"] for line in path.read_bytes().splitlines()]
