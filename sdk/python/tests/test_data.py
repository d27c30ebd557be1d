"""The repositories: whole files, in one step."""

import json
import tempfile
import threading
import unittest
from pathlib import Path

from league_sdk import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def test_results_make_a_table(self):
        table = StandingsRepository("autumn", self.root)
        table.update_player("P02", "WIN", 3)
        table.update_player("P01", "TECHNICAL_LOSS", 0)
        table.update_player("P10", "DRAW", 1)
        table.update_player("P9", "DRAW", 1)
        rows = table.load()["standings"]
        self.assertEqual([row["player_id"] for row in rows], ["P02", "P9", "P10", "P01"])
        self.assertEqual([row["rank"] for row in rows], [1, 2, 3, 4])
        self.assertEqual(rows[3]["technical_losses"], 1)
        self.assertEqual(table.load()["version"], 4)
        with self.assertRaises(ValueError):
            table.update_player("P02", "VICTORY", 3)

    def test_what_nobody_knows_is_kept(self):
        table = StandingsRepository("autumn", self.root)
        table.save({"league_id": "autumn", "standings": [], "trophy": {"of": "wood"}})
        table.update_player("P01", "WIN", 3)
        self.assertEqual(table.load()["trophy"], {"of": "wood"})

    def test_a_document_that_says_nothing_new_keeps_its_time(self):
        rounds = RoundsRepository("autumn", self.root)
        rounds.save({"league_id": "autumn", "rounds": [{"round_id": 1}]})
        before = rounds.path.read_bytes()
        rounds.save(rounds.load())
        self.assertEqual(rounds.path.read_bytes(), before)
        self.assertEqual(rounds.get_round(1), {"round_id": 1})
        self.assertIsNone(rounds.get_round(2))

    def test_a_reader_never_sees_half_a_file(self):
        table = StandingsRepository("autumn", self.root)
        table.save({"standings": ["x" * 100_000]})
        over = threading.Event()

        def rewrite():
            for number in range(50):
                table.save({"standings": [str(number) * 100_000]})
            over.set()

        writer = threading.Thread(target=rewrite)
        writer.start()
        while not over.is_set():
            self.assertGreaterEqual(len(table.load()["standings"][0]), 100_000)
        writer.join()
        self.assertEqual([path.name for path in table.path.parent.iterdir()], ["standings.json"])

    def test_a_match_is_found_in_its_file_or_among_the_lines_of_its_round(self):
        matches = MatchRepository("autumn", self.root)
        self.assertIsNone(matches.load("R1M1"))
        matches.save({"match_id": "R1M1", "lifecycle": {"attempt": 1}})
        self.assertEqual(matches.load("R1M1")["match_id"], "R1M1")
        self.assertEqual(matches.match_ids(), ["R1M1"])
        lines = [
            {"match_id": "R2M1", "lifecycle": {"attempt": 2}, "version": 4},
            {"match_id": "R2M1", "lifecycle": {"attempt": 1}, "version": 9},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines) + '{"match_id": "R2'
        (matches.folder / "round_2.REF01.jsonl").write_text(text)
        self.assertEqual(matches.load("R2M1")["lifecycle"]["attempt"], 2)

    def test_a_history_counts_each_match_once(self):
        history = PlayerHistoryRepository("P01", self.root)
        match = {"match_id": "R1M1", "opponent_id": "P02", "result": "WIN", "points": 3}
        history.add_match(match)
        history.add_match(match)
        history.add_match({**match, "match_id": "R2M1", "result": "TECHNICAL_LOSS", "points": 0})
        stats = history.load()["stats"]
        self.assertEqual((stats["total_matches"], stats["wins"], stats["losses"]), (2, 1, 1))
        self.assertEqual((stats["technical_losses"], stats["points"]), (1, 3))

    def test_no_name_leads_out_of_the_folder(self):
        for make in (StandingsRepository, RoundsRepository, MatchRepository, PlayerHistoryRepository):
            with self.assertRaises(ValueError):
                make("../other", self.root)
        with self.assertRaises(ValueError):
            MatchRepository("autumn", self.root).load("../../secret")


if __name__ == "__main__":
    unittest.main()
