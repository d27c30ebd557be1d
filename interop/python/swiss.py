"""Compares our Swiss pairings with those of py4swiss, which follows the Dutch rules of FIDE.

Reads lines of JSON, a tournament each, with the rounds as we paired them. Each round is paired again by
py4swiss after the same results. First rounds must be the same, and so must the seats of pairs that both
chose. Later rounds differ where docs/formats.md says so; most of their pairs and byes are the same.
"""

import json
import sys
from collections import Counter

from py4swiss.engines import DutchEngine
from py4swiss.trf import ParsedTrf
from py4swiss.trf.codes import PlayerCode
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection

# The least shares of pairs and of byes that are the same.
PAIRS, BYES = 0.78, 0.85
POINTS = {"1": 10, "=": 5, "0": 0, "U": 10}
OTHER = {"1": "0", "=": "=", "0": "1"}


def play(sections, number, opponent, color, result):
    """Gives a player the result of a round."""
    sections[number].points_times_ten += POINTS[result]
    told = RoundResult(id=opponent, color=ColorToken(color), result=ResultToken(result))
    sections[number].results.append(told)


def compare(tournament, found):
    """Counts pairs and byes, and those that are the same."""
    numbers = range(1, tournament["players"] + 1)
    sections = {
        number: PlayerSection(code=PlayerCode.PLAYER, starting_number=number, points_times_ten=0, rank=number)
        for number in numbers
    }
    rounds = tournament["rounds"]
    settings = XSection(number_of_rounds=len(rounds))
    for played, paired in enumerate(rounds):
        trf = ParsedTrf(player_sections=list(sections.values()), x_section=settings)
        theirs = {(pair.white, pair.black) for pair in DutchEngine.generate_pairings(trf)}
        ours = {(a + 1, b + 1) for a, b in paired["pairings"]}
        byes = {(rests + 1, 0) for rests in paired["byes"]}
        if played == 0 and ours | byes != theirs:
            sys.exit(f"first round of {len(sections)}: we have {ours | byes}, they have {theirs}")
        turned = {(a, b) for a, b in ours if (b, a) in theirs}
        if turned:
            sys.exit(f"round {played + 1} of {len(sections)}: other seats in {turned}")
        found["pairs"] += len(ours)
        found["same pairs"] += len(ours & theirs)
        found["byes"] += len(byes)
        found["same byes"] += len(byes & theirs)
        for (a, b), result in zip(paired["pairings"], paired["results"]):
            play(sections, a + 1, b + 1, "w", result)
            play(sections, b + 1, a + 1, "b", OTHER[result])
        for rests in paired["byes"]:
            play(sections, rests + 1, 0, "-", "U")


def main():
    found = Counter()
    with open(sys.argv[1], encoding="utf-8") as file:
        tournaments = [json.loads(line) for line in file]
    for tournament in tournaments:
        compare(tournament, found)
    print(f"{len(tournaments)} tournaments: {dict(found)}")
    for what, least in (("pairs", PAIRS), ("byes", BYES)):
        if found[f"same {what}"] < least * max(found[what], 1) or not found[what]:
            sys.exit(f"too few {what} are the same")


main()
