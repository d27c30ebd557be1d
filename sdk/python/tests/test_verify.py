"""The verifier, over leagues that were made honestly and forged in every way that is listed."""

import copy
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import forgeries
import league_maker
from league_sdk import verify

DOCUMENT = Path(__file__).parents[3] / "docs/verify.md"


class Verifier(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "league"
        self.forged = Path(folder.name) / "forged"

    def judged(self, **made):
        league_maker.make(self.root, **made)
        verdict = verify.verify(self.root / league_maker.FOLDER)
        self.assertIsNone(verdict["wrong"], verdict)
        return verdict

    def test_league_that_both_players_signed_needs_its_referees_to_be_complete(self):
        for referees, word in ((False, "consistent, not complete"), (True, "verified")):
            verdict = self.judged(referees=referees)
            self.assertEqual(verdict["verdict"], word)
            self.assertEqual(verdict["matches"], {"proven": 6, "one_proof": 0, "referee_record": 0, "told": 0})
            self.assertEqual((verdict["mode"], verdict["open_referees"]), ("chance", False))

    def test_mode_is_told(self):
        self.assertEqual(self.judged(mode="reproducible")["mode"], "reproducible")

    def test_matches_are_counted_by_the_best_record_of_them(self):
        verdict = self.judged(signs=("P01", "P02"))
        self.assertEqual(verdict["matches"], {"proven": 1, "one_proof": 4, "referee_record": 1, "told": 0})
        self.assertEqual(verdict["verdict"], "verified")

    def test_word_of_a_referee_without_its_record_is_not_complete(self):
        verdict = self.judged(signs=("P01", "P02"), referees=False)
        self.assertEqual(verdict["matches"], {"proven": 1, "one_proof": 4, "referee_record": 0, "told": 1})
        self.assertEqual(verdict["verdict"], "consistent, not complete")
        self.assertEqual(sum(row["count"] for row in verdict["not_compared"]), 6)

    def test_second_attempts_are_listed(self):
        verdict = self.judged(again=("R1M1", "R3M2"))
        named = [(row["match_id"], row["attempts"]) for row in verdict["attempts_above_1"]]
        self.assertEqual(named, [("R1M1", 2), ("R3M2", 2)])

    def test_result_of_an_earlier_attempt_is_not_that_of_a_later_one(self):
        folder = league_maker.make(self.root)
        record = folder / "referees/REF01/journal.jsonl"
        own = league_maker.facts_of(record)
        decided, closed = own[2:4]
        for report, word in (("unanswered", "verified"), ("acknowledged", "failed")):
            later = {"event": {"event": "match_opened", "fixture": {"match_id": "R1M1", "attempt": 2}}}
            ended = {"event": {**closed["event"], "report": report}}
            league_maker.write(record, own[:4] + [later, decided, ended] + own[4:])
            self.assertEqual(verify.verify(folder)["verdict"], word)

    def test_from_an_event_of_unknown_rules_on_nothing_is_verified_and_nothing_fails_but_the_chain(self):
        facts = list(league_maker.events("chance", league_maker.PLAYERS))
        place = forgeries.place(facts, "round_opened") + 1
        for kind in ("referee_by_documents", "result_told", "organiser_acted", "referee_invited",
                     "report_refused", "report_conflicted", "loss_doubted", "declined_after_call",
                     "player_shut_down", "player_reinstated", "event_of_a_later_version"):
            forged = copy.deepcopy(facts)
            forgeries.change_winner(forged)
            forged.insert(place, {"event": {kind: {}}})
            folder = league_maker.write_all(self.root / league_maker.FOLDER, forged)
            verdict = verify.verify(folder)
            self.assertEqual((verdict["verdict"], verdict["finished"]), ("consistent, not complete", True), verdict)
            row = {"count": len(forged) - place, "what": f"lines from `{kind}` on", "why": verify.NOT_KNOWN}
            self.assertEqual(verdict["not_compared"], [row])
            journal = folder / "journal.jsonl"
            journal.write_bytes(journal.read_bytes().replace(b"league_completed", b"league_complete"))
            self.assertEqual(verify.verify(folder)["verdict"], "failed")

    def test_lever_that_changes_no_result_is_passed_over(self):
        facts = list(league_maker.events("chance", league_maker.PLAYERS))
        place = forgeries.place(facts, "round_opened") + 1
        for lever, verdict in (("pause", "verified"), ("annul", "consistent, not complete")):
            act = {"act": {"lever": lever}, "reason": None, "effect": {}}
            acted = [*facts[:place], {"event": {"organiser_acted": act}}, *facts[place:]]
            folder = league_maker.write_all(self.root / league_maker.FOLDER, acted)
            self.assertEqual(verify.verify(folder)["verdict"], verdict)

    def test_league_of_other_rules_is_neither_verified_nor_failed(self):
        other = (("game_type", "nim"), ("tiebreakers", ["wins"]), ("format", "swiss"))
        for rule, value in other:
            facts = list(league_maker.events("chance", league_maker.PLAYERS))
            facts[0]["opened"]["rules"][rule] = value
            verdict = verify.verify(league_maker.write_all(self.root / league_maker.FOLDER, facts))
            self.assertEqual(verdict["verdict"], "consistent, not complete", verdict)
            self.assertEqual([row["why"] for row in verdict["not_compared"]], [verify.NOT_KNOWN])

    def test_verifier_is_short(self):
        lines = Path(verify.__file__).read_text().splitlines()
        self.assertLessEqual(len(lines), 250)
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_unfinished_batch_at_the_end_counts_as_not_written(self):
        folder = league_maker.make(self.root)
        journal = folder / "journal.jsonl"
        journal.write_bytes(journal.read_bytes() + b'{"crc32":"00000000","seq')
        self.assertEqual(verify.verify(self.root / league_maker.FOLDER)["verdict"], "verified")

    def test_every_forgery_of_a_signed_league_is_found(self):
        self.judged()
        self.assert_all_are_found(28)

    def assert_all_are_found(self, number):
        found = list(forgeries.forged(self.root, self.forged))
        self.assertGreaterEqual(len(found), number)
        for name, folder in found:
            with self.subTest(name):
                verdict = verify.verify(folder / league_maker.FOLDER)
                self.assertEqual(verdict["verdict"], forgeries.expected(name), verdict)

    def test_agent_that_comes_back_must_be_known(self):
        journal = league_maker.make(self.root) / "journal.jsonl"
        facts = league_maker.facts_of(journal)
        for name, word in (("P01", "verified"), ("P09", "failed")):
            back = {"event": {"agent_returned": {"agent": {"player": name}, "meta": {"proofs": True}, "dialect": "v2"}}}
            journal.write_bytes(league_maker.chained(facts[:-1] + [back] + facts[-1:]))
            self.assertEqual(verify.verify(self.root / league_maker.FOLDER)["verdict"], word)

    def test_journal_that_claims_the_match_of_another_referee_is_disputed(self):
        folder = league_maker.make(self.root)
        own = league_maker.facts_of(folder / "referees/REF01/journal.jsonl")
        own += league_maker.facts_of(folder / "referees/REF02/journal.jsonl")[1:4]
        league_maker.write(folder / "referees/REF01/journal.jsonl", own)
        self.assertEqual(verify.verify(folder)["verdict"], "failed")
        (folder / "referees/REF01/.lock").unlink()
        verdict = verify.verify(folder)
        self.assertEqual(verdict["verdict"], "consistent, not complete")
        self.assertEqual([row["what"] for row in verdict["not_compared"]], ["statements of `REF01`"])

    def test_missing_proof_of_a_player_that_signs_is_a_failure_by_itself(self):
        journal = league_maker.make(self.root, referees=False) / "journal.jsonl"
        facts = league_maker.facts_of(journal)
        forgeries.remove_proofs(facts)
        journal.write_bytes(league_maker.chained(facts))
        verdict = verify.verify(self.root / league_maker.FOLDER)
        self.assertEqual(verdict["verdict"], "failed", verdict)

    def test_strange_journal_is_a_failure_and_no_error(self):
        journal = league_maker.make(self.root) / "journal.jsonl"
        facts = league_maker.facts_of(journal)
        for fact in ({}, {"event": []}, {"event": {"result_recorded": 7}}, {"event": {"round_opened": {"round": 2}}},
                     {"event": {"player_registered": None}}, {"opened": {}}, 5, None, []):
            journal.write_bytes(league_maker.chained(facts[:9] + [fact]))
            verdict = verify.verify(self.root / league_maker.FOLDER)
            json.dumps(verdict)
            if fact != {}:
                self.assertEqual(verdict["verdict"], "failed", fact)


    def test_failure_names_the_file_and_says_nothing_of_what_was_not_read(self):
        folder = league_maker.make(self.root)
        record = folder / "referees/REF02/journal.jsonl"
        (folder / "standings.json").write_text(json.dumps({"version": 23, "standings": []}))
        for damaged, line in ((folder / "standings.json", 23), (record, 2), (folder / "journal.jsonl", 2)):
            if damaged != folder / "standings.json":
                damaged.write_bytes(damaged.read_bytes().replace(b"R1M", b"R9M").replace(b"REF01", b"REF09"))
            verdict = verify.verify(folder)
            self.assertEqual((verdict["wrong"]["file"], verdict["wrong"]["line"]), (str(damaged), line), verdict)
            self.assertEqual(set(verdict), {"league_id", "verdict", "wrong"})
            (folder / "standings.json").unlink(missing_ok=True)

    def test_folder_without_a_league_is_called_that(self):
        self.root.mkdir()
        ended = subprocess.run([sys.executable, verify.__file__, self.root], capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertIn(f"no league below `{self.root}`", ended.stderr)


class Document(unittest.TestCase):
    def test_figures_of_the_worked_example_are_right(self):
        block = re.search(r"```figures\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
        told = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in block[1].splitlines() if line.strip())
        league, match, empty = league_maker.LEAGUE, "R1M1", league_maker.sha256([])
        seed = league_maker.match_seed(match)
        attempt_seed = league_maker.mac(seed, ["attempt_seed", 1])
        keys = {name: league_maker.mac(name.encode(), ["proof_key", league, match, 1])
                for name in ("tok-return-one", "tok-return-two")}
        one, two = keys.values()
        nonces = ["4f0d2a6be1937c58", "0b9e5d7713c2a864"]
        block = league_maker.mac(attempt_seed, [league, match, 1, *nonces, 0])
        word = int.from_bytes(block[:8], "big")
        self.assertLess(word, 2**64 // 10 * 10)
        made = {
            "match seed": seed.hex(),
            "commitment": league_maker.sha256(["league.draw", league, match, "chance", seed.hex()]),
            "key of P01": one.hex(), "key of P02": two.hex(), "hash of []": empty,
            "join of P01": league_maker.mac(one, [0, empty, True, ""]).hex(),
            "join of P02": league_maker.mac(two, [0, empty, True, ""]).hex(),
            "proof of P01": league_maker.mac(one, [1, empty, "even", nonces[0]]).hex(),
            "proof of P02": league_maker.mac(two, [1, empty, "odd", nonces[1]]).hex(),
            "attempt seed": attempt_seed.hex(), "block 0": block.hex(), "word 1": str(word),
            "number": str(1 + word % 10),
        }
        self.assertEqual(told, made)


if __name__ == "__main__":
    unittest.main()
