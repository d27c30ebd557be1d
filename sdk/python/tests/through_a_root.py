"""Reads every file below a root that the program wrote, and writes each back.

    python through_a_root.py ROOT LEAGUE_ID

`cargo xtask interop` runs it on a league that was played, and lets the program verify the league
afterwards.
"""

import json
import sys
from pathlib import Path

from league_sdk import (
    ConfigLoader,
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)


def main(root, league_id):
    config, data = root / "config", root / "data"
    loader = ConfigLoader(config)
    models = {
        "system.json": loader.load_system(),
        "agents/agents_config.json": loader.load_agents(),
        f"leagues/{league_id}.json": loader.load_league(league_id),
        "defaults/referee.json": loader.load_referee_defaults(),
        "defaults/player.json": loader.load_player_defaults(),
    }
    if (config / "games/games_registry.json").exists():
        models["games/games_registry.json"] = loader.load_games_registry()
        assert "even_odd" in loader.load_games_registry().game_registry
    for name, model in models.items():
        written = json.loads((config / name).read_text())
        assert unread(model) == [], f"{name} has keys that no field reads: {unread(model)}"
        assert model.to_dict() == written, f"{name}: {model.to_dict()} is not {written}"
        (config / name).write_text(json.dumps(model.to_dict(), indent=2))

    standings = StandingsRepository(league_id, data)
    table = standings.load()
    assert table["standings"], "somebody played"
    standings.save(table)
    rounds = RoundsRepository(league_id, data)
    rounds.save(rounds.load())
    matches = MatchRepository(league_id, data)
    listed = [match["match_id"] for found in rounds.load()["rounds"] for match in found["matches"]]
    assert sorted(listed) == sorted(matches.match_ids()), (listed, matches.match_ids())
    for match_id in listed:
        match = matches.load(match_id)
        assert match["lifecycle"]["state"] == "FINISHED", match
        matches.save(match)
    for row in table["standings"]:
        history = PlayerHistoryRepository(row["player_id"], data)
        if history.path.exists():
            assert history.load()["stats"]["total_matches"] == row["played"]
        history.save(history.load())
    print(json.dumps({"event": "read", "matches": len(listed), "players": len(table["standings"])}))


def unread(model):
    """The keys that no field reads, in a model and all below it."""
    below = [value for value in vars(model).values() if hasattr(value, "extra")]
    below += [entry for value in vars(model).values() if isinstance(value, list) for entry in value if hasattr(entry, "extra")]
    return [*model.extra, *(name for inner in below for name in unread(inner))]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
