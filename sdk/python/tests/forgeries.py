"""What a forger may do to the journal of a league, and a comparison of two verifiers over all of it.

    python3 forgeries.py ROOT LEAGUE_PROGRAM

copies the league below ROOT, forges each copy in one way, and has both `league verify` and
`league_sdk.verify` judge it. A careful forger makes every checksum and the whole chain right again.
The last line counts how often they agree and disagree. What `league_sdk.verify` says that it did not
check, because it does not know the rules, counts as `not_checked`.
"""

import copy
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import league_maker
from league_sdk import verify

FIELDS = ("verdict", "finished", "mode", "open_referees", "matches", "attempts_above_1")
OF_ANY_LEAGUE = ("finished", "mode", "open_referees")  # told also of a league that is not checked


# A referee may write anything into the journal that it hands in, so this makes a league incomplete, not wrong.
HANDED_IN = "change_journals_that_were_handed_in"


def expected(name):
    return "consistent, not complete" if name == HANDED_IN else "failed"


def results(facts):
    found = [fact["event"]["result_recorded"] for fact in facts if "result_recorded" in fact.get("event", {})]
    return [event for event in found if event["result"]["status"] != "TECHNICAL_LOSS"]


def handed(facts, match):
    found = [fact["event"].get("moves_received", {}) for fact in facts if "event" in fact]
    return [event for event in found if event.get("match_id") == match]


def place(facts, kind):
    return next(place for place, fact in enumerate(facts) if kind in fact.get("event", {}))


def other(choice):
    return "odd" if choice == "even" else "even"


def change_choice(facts):
    """In the result, in the evidence and in the hand-over alike."""
    event = results(facts)[0]
    player = event["result"]["players"][0]
    event["result"]["choices"][player] = other(event["result"]["choices"][player])
    lists = [event["result"].get("evidence", {}).get("moves", [])]
    for moves in lists + [one["moves"] for one in handed(facts, event["match_id"])]:
        for move in moves:
            if move["player_id"] == player:
                move["choice"] = event["result"]["choices"][player]


def change_choice_in_the_result_alone(facts):
    choices = results(facts)[0]["result"]["choices"]
    choices.update({player: other(choice) for player, choice in choices.items()})


def change_nonce(facts):
    event = results(facts)[0]
    event["result"]["draw"]["nonces"][0] = "n"
    player = event["result"]["players"][0]
    lists = [event["result"].get("evidence", {}).get("moves", [])]
    for moves in lists + [one["moves"] for one in handed(facts, event["match_id"])]:
        for move in moves:
            if move["player_id"] == player:
                move["nonce"] = "n"


def change_seed(facts):
    results(facts)[0]["result"]["draw"]["seed"] = "01" * 32


def change_seed_and_promise(facts):
    draw, match = results(facts)[0]["result"]["draw"], results(facts)[0]["match_id"]
    draw["seed"] = "01" * 32
    league = facts[0]["opened"]["league_id"]
    old, draw["commitment"] = draw["commitment"], verify.sha256(["league.draw", league, match, draw["mode"], draw["seed"]])
    for fact in facts:
        promises = fact.get("event", {}).get("round_opened", {}).get("commitments", [])
        promises[:] = [draw["commitment"] if promise == old else promise for promise in promises]


def change_number(facts):
    result = results(facts)[0]["result"]
    result["details"]["drawn_number"] += 2


def change_winner(facts):
    won = next(event["result"] for event in results(facts) if event["result"].get("winner"))
    won["winner"] = next(player for player in won["players"] if player != won["winner"])
    won["points"].reverse()


def make_absent(facts):
    """As if the loser had not played."""
    won = next(event["result"] for event in results(facts) if event["result"].get("winner"))
    loser = next(player for player in won["players"] if player != won["winner"])
    won.update(status="TECHNICAL_LOSS", failed={loser: "E001"}, details={})


def change_points(facts):
    results(facts)[0]["result"]["points"][0] += 1


def change_attempt(facts):
    event = results(facts)[0]
    event["attempt"] = event["result"]["draw"]["attempt"] = 2


def change_referee(facts):
    event = results(facts)[0]
    event["referee"] = "REF02" if event["referee"] == "REF01" else "REF01"


def change_mode(facts):
    rules, opening = facts[0]["opened"]["rules"], facts[0]["opened"]
    opening["reproducible"] = not opening["reproducible"]
    rules["draws"] = "reproducible" if opening["reproducible"] else "chance"


def hide_mode(facts):
    """As if no mode were promised, and neither proofs nor a hand-over were needed."""
    del facts[0]["opened"]["rules"]["draws"]
    for event in results(facts):
        del event["result"]["draw"]["mode"]
        event["result"].pop("evidence", None)
    facts[:] = [fact for fact in facts if "moves_received" not in fact.get("event", {})]


def drop_result(facts):
    del facts[place(facts, "result_recorded")]


def drop_round_end(facts):
    del facts[place(facts, "round_closed")]


def repeat_result(facts):
    facts.insert(place(facts, "result_recorded"), copy.deepcopy(facts[place(facts, "result_recorded")]))


def swap_round_ends(facts):
    closed = place(facts, "round_closed")
    facts[closed - 1], facts[closed] = facts[closed], facts[closed - 1]


def drop_player(facts):
    del facts[place(facts, "player_registered")]


ANY_GAME = [change_seed, change_seed_and_promise, change_winner, make_absent, change_points, change_attempt, change_referee, change_mode,
            drop_result, drop_round_end, repeat_result, swap_round_ends, drop_player]
EVEN_ODD = [change_choice, change_choice_in_the_result_alone, change_nonce, change_number]


def evidence(facts):
    return results(facts)[0]["result"]["evidence"]


def change_proof(facts):
    lists = [evidence(facts)["moves"]] + [event["moves"] for event in handed(facts, results(facts)[0]["match_id"])]
    for moves in lists:
        next(move for move in moves if "proof" in move)["proof"] = "02" * 32


def change_key(facts):
    evidence(facts)["players"][0]["key"] = "03" * 32


def change_join(facts):
    evidence(facts)["players"][0]["join"] = "04" * 32


def remove_proofs(facts):
    """As if a player had not signed, in all places but its registration."""
    player = evidence(facts)["players"].pop(0)["player_id"]
    lists = [evidence(facts)["moves"]] + [event["moves"] for event in handed(facts, results(facts)[0]["match_id"])]
    for moves in lists:
        for move in moves:
            if move["player_id"] == player:
                move.pop("proof", None)


def drop_hand_over(facts):
    del facts[place(facts, "moves_received")]


def change_hand_over(facts):
    event = handed(facts, results(facts)[0]["match_id"])[0]
    event["moves"][0]["choice"] = other(event["moves"][0]["choice"])


PROVEN = [change_proof, change_key, change_join, remove_proofs, hide_mode]
HANDED_OVER = [drop_hand_over, change_hand_over]


def careless(journal):
    """Changes of lines that leave the chain as it was."""
    lines = journal.split(b"\n")
    middle = len(lines) // 2
    yield "drop_line", lines[:middle] + lines[middle + 1:]
    yield "swap_lines", lines[:middle] + [lines[middle + 1], lines[middle]] + lines[middle + 2:]
    yield "change_byte", lines[:middle] + [lines[middle].replace(b'"at":"2', b'"at":"3', 1)] + lines[middle + 1:]


def forged(root, into):
    """Copies of a league, each forged in one way, with the name of the way."""
    path = next(Path(root).glob("data/leagues/*/journal.jsonl"))
    facts = league_maker.facts_of(path)
    rules = facts[0]["opened"]["rules"]
    chooses = rules["game_type"] == "even_odd"
    ways = ANY_GAME + (EVEN_ODD if chooses else [])
    ways += PROVEN + (HANDED_OVER if chooses else [])
    journals = []
    for way in ways:
        changed = copy.deepcopy(facts)
        way(changed)
        journals.append((way.__name__, league_maker.chained(changed)))
    journals += [(name, b"\n".join(lines)) for name, lines in careless(path.read_bytes())]
    for name, journal in journals:
        folder = Path(into) / name
        shutil.copytree(root, folder)
        (folder / path.relative_to(root)).write_bytes(journal)
        yield name, folder
    for name in ("change_record_of_referee", HANDED_IN):
        folder = Path(into) / name
        shutil.copytree(root, folder)
        for record in folder.glob("data/leagues/*/referees/*/journal.jsonl"):
            own = league_maker.facts_of(record)
            for fact in own:
                event = fact.get("event", {})
                if event.get("event") == "decided" and event["result"].get("choices"):
                    choices = event["result"]["choices"].items()
                    event["result"]["choices"] = {player: other(made) for player, made in choices}
            record.write_bytes(league_maker.chained(own))
            if name == HANDED_IN:
                (record.parent / ".lock").unlink()
        yield folder.name, folder


def ours(root):
    return verify.verify(next(Path(root).glob("data/leagues/*/journal.jsonl")).parent)


def of_program(program, root):
    """The verdict and the exit code of `league verify`."""
    ended = subprocess.run([program, "verify", "--output", "json", root], capture_output=True, text=True, timeout=300)
    return json.loads(ended.stdout.splitlines()[0]), ended.returncode


def column(name, mine, theirs, code):
    """How the verdicts on a league go together."""
    word, wrong = theirs.get("verdict"), code != {"verified": 0, "failed": 1}.get(theirs.get("verdict"), 4)
    not_checked = any(row["why"] == verify.NOT_KNOWN for row in mine.get("not_compared", []))
    fields = FIELDS if not not_checked else OF_ANY_LEAGUE
    if name == "honest":
        wrong = wrong or word == "failed" or any(mine.get(field) != theirs.get(field) for field in fields)
    else:
        wrong = wrong or word != expected(name) or not not_checked and mine["verdict"] != word
    if not_checked:
        wrong = wrong or mine["verdict"] != "consistent, not complete"
    return "disagree" if wrong else "not_checked" if not_checked else "agree"


def compare(root, program):
    """Says how the two verifiers judge a league and its forgeries, and counts; whether they agree, and none is fooled."""
    counts = {"agree": 0, "disagree": 0, "not_checked": 0}
    with tempfile.TemporaryDirectory() as into:
        for name, folder in [("honest", Path(root)), *forged(root, into)]:
            mine, (theirs, code) = ours(folder), of_program(program, str(folder))
            found = column(name, mine, theirs, code)
            counts[found] += 1
            line = {"event": "compared", "way": name, "column": found, "code": code,
                    "ours": mine if name == "honest" else mine["wrong"], "theirs": theirs.get("verdict")}
            print(json.dumps(line), flush=True)
    print(json.dumps({"event": "counted", **counts}), flush=True)
    return not counts["disagree"]


if __name__ == "__main__":
    sys.exit(0 if compare(*sys.argv[1:3]) else 1)
