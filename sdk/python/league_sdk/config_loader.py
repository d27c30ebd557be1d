"""Reads the files under `config/`, each once, at its first use (000 §10.4)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from .config_models import (
    AgentsConfig,
    ConfigError,
    GamesRegistry,
    LeagueConfig,
    Model,
    PlayerConfig,
    PlayerDefaults,
    RefereeConfig,
    RefereeDefaults,
    SystemConfig,
)
from .paths import CONFIG_ROOT, checked_id

_Model = TypeVar("_Model", bound=Model)

#: Keys of an agent that may come from the defaults.
_REFEREE_KEYS = ("version", "game_types", "max_concurrent_matches")
_PLAYER_KEYS = ("version", "preferred_leagues", "game_types", "strategy", "dialect")


class ConfigLoader:
    """Reads the configuration below a folder.

    A file that is not there raises FileNotFoundError (the program `league` writes all of them when
    it first runs), one that cannot be used ConfigError with the file and the key. Nothing is ever
    written.
    """

    def __init__(self, root: str | os.PathLike[str] = CONFIG_ROOT) -> None:
        """Takes the folder `config`; nothing is read yet."""
        self.root = Path(root)
        self._read: dict[Path, Model] = {}

    def load_system(self) -> SystemConfig:
        """The settings of the whole system."""
        return self._load(self.root / "system.json", SystemConfig)

    def load_agents(self) -> AgentsConfig:
        """All agents; missing keys come from `config/defaults/`."""
        path = self.root / "agents" / "agents_config.json"
        return self._load(path, AgentsConfig, self._with_defaults)

    def load_league(self, league_id: str) -> LeagueConfig:
        """The rules of one league."""
        path = self.root / "leagues" / f"{checked_id(league_id)}.json"

        def named(members: Any) -> Any:
            return {"league_id": league_id, **members} if isinstance(members, dict) else members

        league = self._load(path, LeagueConfig, named)
        if league.league_id != league_id:
            raise ConfigError(f"`{path}`: `league_id` should be `{league_id}`, as in the file's name")
        return league

    def load_games_registry(self) -> GamesRegistry:
        """The known games."""
        return self._load(self.root / "games" / "games_registry.json", GamesRegistry)

    def load_referee_defaults(self) -> RefereeDefaults:
        """Defaults of a referee; the built-in ones if there is no file."""
        return self._load_defaults("referee.json", RefereeDefaults)

    def load_player_defaults(self) -> PlayerDefaults:
        """Defaults of a player; the built-in ones if there is no file."""
        return self._load_defaults("player.json", PlayerDefaults)

    def get_referee_by_id(self, referee_id: str) -> RefereeConfig:
        """A referee by its id; ValueError if there is none."""
        for referee in self.load_agents().referees:
            if referee.referee_id == referee_id:
                return referee
        raise ValueError(f"there is no referee `{referee_id}`")

    def get_player_by_id(self, player_id: str) -> PlayerConfig:
        """A player by its id; ValueError if there is none."""
        for player in self.load_agents().players:
            if player.player_id == player_id:
                return player
        raise ValueError(f"there is no player `{player_id}`")

    def _load_defaults(self, name: str, kind: type[_Model]) -> _Model:
        path = self.root / "defaults" / name
        return self._load(path, kind, self._with_games) if path.exists() else kind.from_dict(self._with_games({}))

    def _with_games(self, members: Any) -> Any:
        """Defaults that name no games mean all of the registry."""
        registry = self.root / "games" / "games_registry.json"
        if isinstance(members, dict) and "game_types" not in members and registry.exists():
            return {**members, "game_types": sorted(self.load_games_registry().game_registry)}
        return members

    def _load(self, path: Path, kind: type[_Model], prepare: Any = None) -> _Model:
        known = self._read.get(path)
        if isinstance(known, kind):
            return known
        try:
            members = json.loads(path.read_text(encoding="utf-8"))
            model = kind.from_dict(prepare(members) if prepare else members)
        except json.JSONDecodeError as problem:
            raise ConfigError(f"`{path}` is not JSON: {problem}") from problem
        except ConfigError as problem:
            raise ConfigError(f"`{path}`: {problem}") from problem
        self._read[path] = model
        return model

    def _with_defaults(self, members: Any) -> Any:
        if isinstance(members, dict):
            _fill(members.get("referees"), self.load_referee_defaults(), _REFEREE_KEYS)
            _fill(members.get("players"), self.load_player_defaults(), _PLAYER_KEYS)
        return members


def _fill(entries: Any, defaults: Model, keys: tuple[str, ...]) -> None:
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            for key in keys:
                entry.setdefault(key, getattr(defaults, key))
