"""Compares our ratings with those of choix and scipy, to the last digit shown.

Reads lines of JSON: the results of pairs, and our ratings of them in whole Elo points. Results without
draws and without an advantage of seat A are rated by choix, all others by scipy on the likelihood as
docs/formats.md has it. The ends of our intervals are checked by their definition: the best of all other
parameters leave the logarithm of the posterior 1.92 below its highest value.
"""

import json
import sys

import choix
import numpy as np
from scipy.optimize import minimize

ELO = 400 / np.log(10)
STRENGTH, DRAW, SEAT = 2.5, 5.0, 3.0
FALL = 1.959963984540054**2 / 2


def log_posterior(parameters, players, scores, seat_matters):
    """The logarithm of the posterior, and its gradient."""
    draw = parameters[players]
    seat = parameters[players + 1]
    has_draws = any(score[3] for score in scores)
    deviations = np.array([STRENGTH] * players + [DRAW, SEAT])
    value = -np.sum((parameters / deviations) ** 2) / 2
    gradient = -parameters / deviations**2
    for a, b, *counts in scores:
        d = parameters[a] - parameters[b] + (seat if seat_matters else 0.0)
        weights = np.array([d / 2, draw if has_draws else -np.inf, -d / 2])
        norm = np.logaddexp.reduce(weights)
        share = np.exp(weights - norm)
        counts = np.array(counts)
        value += sum(n * (w - norm) for n, w in zip(counts, weights) if n)
        rest = counts - counts.sum() * share
        slope = (rest[0] - rest[2]) / 2
        gradient[a] += slope
        gradient[b] -= slope
        gradient[players] += rest[1] if has_draws else 0.0
        gradient[players + 1] += slope if seat_matters else 0.0
    return value, gradient


def best(case, fixed=None):
    """The best parameters; with `fixed` = (contrast, value) under this constraint."""
    players = case["players"]
    arguments = (players, case["scores"], case["sides_matter"])

    def minus(parameters):
        value, gradient = log_posterior(parameters, *arguments)
        return -value, -gradient

    constraints = []
    if fixed is not None:
        contrast, value = fixed
        constraints = [{"type": "eq", "fun": lambda p: contrast @ p - value, "jac": lambda _: contrast}]
    found = minimize(
        minus,
        np.zeros(players + 2),
        jac=True,
        method="SLSQP" if constraints else "BFGS",
        constraints=constraints,
        options={"maxiter": 1000} | ({"ftol": 1e-12} if constraints else {"gtol": 1e-9}),
    )
    return found.x, -found.fun


def near(what, ours, theirs, tolerance):
    if abs(ours - theirs) > tolerance:
        sys.exit(f"{what}: we have {ours}, they have {theirs}")


def compare(case):
    """Compares one case; returns how many figures agree."""
    players = case["players"]
    parameters, highest = best(case)
    strengths = parameters[:players] - parameters[:players].mean()
    if not case["sides_matter"] and not any(score[3] for score in case["scores"]):
        games = [(a, b) for a, b, wins, _, _ in case["scores"] for _ in range(wins)]
        games += [(b, a) for a, b, _, _, losses in case["scores"] for _ in range(losses)]
        # choix adds alpha times the sum of the squares.
        by_choix = choix.opt_pairwise(players, games, alpha=1 / (2 * STRENGTH**2), tol=1e-10)
        strengths = by_choix - by_choix.mean()
    for player, (elo, low, high) in enumerate(case["ratings"]):
        # What is shown is rounded.
        near(f"player {player}", round(elo), round(ELO * strengths[player]), 0)
        contrast = np.zeros(players + 2)
        contrast[:players] = -1 / players
        contrast[player] += 1
        for end in (low, high):
            _, value = best(case, (contrast, end / ELO))
            near(f"end {end} of player {player}", FALL, highest - value, 0.005)
    if case["seat"] is not None:
        share, low, high = case["seat"]
        near("seat A", share, 1 / (1 + np.exp(-parameters[players + 1])), 0.0005)
        contrast = np.zeros(players + 2)
        contrast[players + 1] = 1
        for end in (low, high):
            _, value = best(case, (contrast, np.log(end / (1 - end))))
            near(f"end {end} of seat A", FALL, highest - value, 0.005)
    return 3 * players + (3 if case["seat"] is not None else 0)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    figures = sum(compare(case) for case in cases)
    print(f"{figures} figures of {len(cases)} sets of results agree")
    if not cases:
        sys.exit("there is nothing to compare")


main()
