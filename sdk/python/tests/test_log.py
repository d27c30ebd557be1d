"""The log: one line a fact, no secrets, bounded."""

import json
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from league_sdk import JsonLogger, logger

FIELDS = ["timestamp", "component", "event_type", "level", "agent_id", "message", "match_id", "timeout_sec"]


class Log(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def lines(self, log):
        return [json.loads(line) for line in log.log_file.read_text().splitlines()]

    def test_a_line_has_the_fields_of_the_league(self):
        log = JsonLogger("referee:REF01", "autumn", self.root)
        log.error("GAME_ERROR", match_id="R1M1", timeout_sec=30, message="late")
        log.log_message_sent("GAME_INVITATION", "player:P01", conversation_id="c1")
        log.log_message_received("GAME_JOIN_ACK", "player:P01")
        log.warning("W"), log.info("I"), log.debug("D")
        self.assertEqual(log.log_file, self.root / "league/autumn/referee_REF01.log.jsonl")
        first, second, third, *rest = self.lines(log)
        self.assertEqual(list(first), FIELDS)
        self.assertRegex(first["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((first["level"], first["agent_id"], first["message"]), ("ERROR", "REF01", "late"))
        self.assertEqual((first["match_id"], first["timeout_sec"]), ("R1M1", 30))
        self.assertEqual((second["event_type"], second["conversation_id"]), ("MESSAGE_SENT", "c1"))
        self.assertEqual((second["message_type"], second["recipient"]), ("GAME_INVITATION", "player:P01"))
        self.assertEqual(second["message"], "sent GAME_INVITATION to player:P01")
        self.assertEqual((third["event_type"], third["sender"]), ("MESSAGE_RECEIVED", "player:P01"))
        self.assertEqual([line["level"] for line in rest], ["WARNING", "INFO", "DEBUG"])

    def test_every_line_names_an_agent_and_has_a_sentence(self):
        log = JsonLogger("league_manager", log_root=self.root)
        log.info("ROUND_CLOSED", agent_id=None, message="")
        log.log("MESSAGE_SENT", message_type="GAME_OVER", timestamp="never", component="another")
        first, second = self.lines(log)
        self.assertEqual((first["agent_id"], first["message"]), ("league_manager", "round closed"))
        self.assertEqual((second["component"], second["message"]), ("league_manager", "message sent: GAME_OVER"))
        self.assertNotEqual(second["timestamp"], "never")

    def test_no_token_reaches_a_line(self):
        log = JsonLogger("league_manager", log_root=self.root)
        token = "tok-p01-" + "ab" * 32
        log.info("X", auth_token=token, note=f"it was {token}!", nested=[{"league_secret": [1, 2]}], message=token)
        text = log.log_file.read_text()
        self.assertNotIn("abab", text)
        self.assertNotIn("[1,2]", text)
        self.assertEqual(self.lines(log)[0]["auth_token"], "tok-p01-…")

    def test_no_text_breaks_a_line(self):
        log = JsonLogger("league_manager", log_root=self.root)
        log.info("X", message="a\nb\u2028c\u202ed\x85e")
        self.assertEqual(len(log.log_file.read_text().splitlines()), 1)
        self.assertEqual(self.lines(log)[0]["message"], "a\nb\u2028c\u202ed\x85e")

    def test_a_line_and_a_log_are_bounded(self):
        log = JsonLogger("league_manager", log_root=self.root)
        log.info("X", many=["y" * 1000] * 1000)
        self.assertLessEqual(len(log.log_file.read_bytes()), logger.LONGEST_LINE)
        self.assertIn("left_out_bytes", self.lines(log)[0])
        with mock.patch.object(logger, "LARGEST_LOG", 1000):
            for number in range(60):
                log.info("X", number=number)
        self.assertEqual(len(list(log.log_file.parent.iterdir())), 1 + logger.KEPT_FILES)
        self.assertEqual(self.lines(log)[-1]["number"], 59)

    def test_lines_of_many_threads_do_not_mix(self):
        log = JsonLogger("league_manager", log_root=self.root)
        threads = [threading.Thread(target=lambda: [log.info("X") for _ in range(50)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.lines(log)), 400)

    def test_a_component_that_cannot_name_a_file_is_refused(self):
        with self.assertRaises(ValueError):
            JsonLogger("../league_manager", log_root=self.root)


if __name__ == "__main__":
    unittest.main()
