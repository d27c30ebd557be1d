"""The configuration: what is read, what is kept, and what is refused."""

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

from league_sdk import (
    ConfigError,
    ConfigLoader,
    LeagueConfig,
    NetworkConfig,
    PlayerConfig,
    RefereeConfig,
    ScoringConfig,
    SecurityConfig,
    SystemConfig,
    TimeoutsConfig,
)


class Configuration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.loader = ConfigLoader(self.root)

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def test_what_is_left_out_has_its_default_and_what_is_unknown_is_kept(self):
        self.write("system.json", {"timeouts": {"move_timeout_sec": 2.5}, "colour": "blue"})
        system = self.loader.load_system()
        self.assertEqual(system.timeouts.move_timeout_sec, 2.5)
        self.assertEqual(system.timeouts.game_join_ack_timeout_sec, 5)
        self.assertEqual(system.network.default_league_manager_port, 8000)
        self.assertEqual(system.to_dict()["colour"], "blue")

    def test_the_fields_of_the_document_come_first_and_in_its_order(self):
        document = {
            NetworkConfig: "base_host default_league_manager_port default_referee_port_range default_player_port_range",
            SecurityConfig: "enable_auth_tokens token_length token_ttl_hours",
            TimeoutsConfig: "register_referee_timeout_sec register_player_timeout_sec game_join_ack_timeout_sec"
            " move_timeout_sec generic_response_timeout_sec",
            SystemConfig: "schema_version system_id protocol_version default_league_id network security timeouts",
            RefereeConfig: "referee_id display_name endpoint version game_types max_concurrent_matches active",
            PlayerConfig: "player_id display_name version preferred_leagues game_types default_endpoint active",
            ScoringConfig: "win_points draw_points loss_points technical_loss_points tiebreakers",
            LeagueConfig: "schema_version league_id display_name game_type status scoring",
        }
        for kind, names in document.items():
            own = [known.name for known in dataclasses.fields(kind) if known.name != "extra"]
            self.assertEqual(own[: len(names.split())], names.split(), kind.__name__)
        player = PlayerConfig("P01", "Heron", "1.0.0", [], ["even_odd"], "http://localhost:8101/mcp")
        self.assertTrue(player.active)

    def test_a_file_is_read_once(self):
        self.write("system.json", {"system_id": "first"})
        first = self.loader.load_system()
        self.write("system.json", {"system_id": "second"})
        self.assertIs(self.loader.load_system(), first)
        self.assertEqual(ConfigLoader(self.root).load_system().system_id, "second")

    def test_agents_take_from_the_defaults_what_they_leave_out(self):
        self.write("defaults/referee.json", {"max_concurrent_matches": 7})
        referee = {"referee_id": "REF01", "display_name": "Alpha", "endpoint": "http://x/mcp"}
        player = {"player_id": "P01", "display_name": "Heron", "default_endpoint": "http://y/mcp"}
        self.write("agents/agents_config.json", {"referees": [referee], "players": [player]})
        self.assertEqual(self.loader.get_referee_by_id("REF01").max_concurrent_matches, 7)
        self.assertEqual(self.loader.get_player_by_id("P01").strategy, "random")
        self.assertTrue(self.loader.get_player_by_id("P01").active)
        for missing in (self.loader.get_referee_by_id, self.loader.get_player_by_id):
            with self.assertRaisesRegex(ValueError, "X99"):
                missing("X99")

    def test_defaults_that_name_no_games_mean_all_of_the_registry(self):
        game = {"display_name": "A Game", "move_types": ["move"]}
        self.write("games/games_registry.json", {"game_registry": {"nim": game, "even_odd": game}})
        self.write("defaults/referee.json", {})
        self.assertEqual(self.loader.load_referee_defaults().game_types, ["even_odd", "nim"])
        self.assertEqual(self.loader.load_player_defaults().game_types, ["even_odd", "nim"])

    def test_what_cannot_be_used_is_named_with_its_place(self):
        wrong = {
            '{"timeouts": {"move_timeout_sec": "soon"}}': "timeouts.move_timeout_sec",
            '{"network": 5}': "network",
            '{"limits": {"max_connections": true}}': "limits.max_connections",
            '{"security": {"allowed_hosts": ["a", 1]}}': r"security.allowed_hosts\[1\]",
            "{": "not JSON",
            "[]": "object",
        }
        for text, place in wrong.items():
            self.write("system.json", text)
            with self.assertRaisesRegex(ConfigError, place):
                ConfigLoader(self.root).load_system()
        self.write("agents/agents_config.json", {"players": [{"player_id": "P01"}]})
        with self.assertRaisesRegex(ConfigError, r"players\[0\].display_name"):
            self.loader.load_agents()

    def test_a_league_is_called_as_its_file(self):
        self.write("leagues/autumn.json", {"scoring": {"win_points": 2}})
        self.assertEqual(self.loader.load_league("autumn").scoring.win_points, 2)
        self.write("leagues/spring.json", {"league_id": "summer"})
        with self.assertRaisesRegex(ConfigError, "spring"):
            self.loader.load_league("spring")

    def test_no_name_leads_out_of_the_folder(self):
        for name in ("../secrets", "a/b", "", "-x", "a" * 65):
            with self.assertRaises(ValueError):
                self.loader.load_league(name)

    def test_a_file_that_is_missing_is_missing(self):
        with self.assertRaises(FileNotFoundError):
            self.loader.load_system()


if __name__ == "__main__":
    unittest.main()
