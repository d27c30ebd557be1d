"""The files under `config/` as typed classes (000 §10.3).

Each field is a key of the file, in the order of the document, with the default that a key has which
is left out; agents take theirs from `config/defaults/`. Keys that no field reads are kept in `extra`,
so that writing a model back loses nothing.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Model = TypeVar("_Model", bound="Model")


class ConfigError(ValueError):
    """An invalid value, with its path."""


@dataclass(kw_only=True)
class Model:
    """Base of all models: converts from and to JSON."""

    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls: type[_Model], members: Any, path: str = "") -> _Model:
        """Reads an object of a file. Raises ConfigError, which names the wrong key."""
        if not isinstance(members, dict):
            raise ConfigError(f"`{path or 'the file'}` should be an object")
        kinds = typing.get_type_hints(cls)
        own = {known.name: known for known in dataclasses.fields(cls) if known.name != "extra"}
        values: dict[str, Any] = {}
        for name, known in own.items():
            place = f"{path}.{name}" if path else name
            if name in members:
                values[name] = _read(kinds[name], members[name], place)
            elif known.default is known.default_factory is dataclasses.MISSING:
                raise ConfigError(f"`{place}` is missing")
        values["extra"] = {name: value for name, value in members.items() if name not in own}
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The object as in its file, with unknown keys."""
        own = {known.name for known in dataclasses.fields(self)} - {"extra"}
        kept = {name: value for name, value in self.extra.items() if name not in own}
        return {name: _write(getattr(self, name)) for name in _in_order(self, own)} | kept


def _in_order(model: Model, names: set[str]) -> list[str]:
    return [known.name for known in dataclasses.fields(model) if known.name in names]


def _read(kind: Any, value: Any, path: str) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _read(inner[0], value, path)
    if origin is list:
        if not isinstance(value, list):
            raise ConfigError(f"`{path}` should be a list, but is `{value}`")
        return [_read(inner[0], entry, f"{path}[{place}]") for place, entry in enumerate(value)]
    if origin is dict:
        if not isinstance(value, dict):
            raise ConfigError(f"`{path}` should be an object, but is `{value}`")
        return {name: _read(inner[1], entry, f"{path}.{name}") for name, entry in value.items()}
    if kind is Any:
        return value
    if issubclass(kind, Model):
        return kind.from_dict(value, path)
    wanted = (int, float) if kind is float else kind
    # In Python a truth value is a number; in JSON it is not.
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"`{path}` should be of type {kind.__name__}, but is `{value}`")
    return value


def _write(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, list):
        return [_write(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _write(entry) for name, entry in value.items()}
    return value


@dataclass
class NetworkConfig(Model):
    """Hosts and ports."""

    base_host: str = "localhost"
    default_league_manager_port: int = 8000
    default_referee_port_range: list[int] = field(default_factory=lambda: [8001, 8100])
    default_player_port_range: list[int] = field(default_factory=lambda: [8101, 9100])
    public_url: str | None = None
    hosts: dict[str, str] = field(default_factory=dict)


@dataclass
class SecurityConfig(Model):
    """Tokens and addresses."""

    enable_auth_tokens: bool = True
    token_length: int = 32
    token_ttl_hours: int = 24
    allowed_endpoints: list[str] = field(default_factory=lambda: ["loopback"])
    join_code: str | None = None
    referee_key: str | None = None
    open_referees: bool = False
    any_path: bool = False
    bind: str = "127.0.0.1"
    tls_cert: str | None = None
    tls_key: str | None = None
    ca: str | None = None
    insecure: bool = False
    allowed_hosts: list[str] = field(default_factory=list)
    allowed_origins: list[str] = field(default_factory=list)


@dataclass
class TimeoutsConfig(Model):
    """Timeouts of answers, in seconds."""

    register_referee_timeout_sec: float = 10
    register_player_timeout_sec: float = 10
    game_join_ack_timeout_sec: float = 5
    move_timeout_sec: float = 30
    generic_response_timeout_sec: float = 10
    game_over_timeout_sec: float = 5
    match_result_report_timeout_sec: float = 10
    league_query_timeout_sec: float = 10
    absent_player_timeout_sec: float = 20


@dataclass
class RetryPolicy(Model):
    """Number and delay of attempts."""

    max_retries: int = 3
    retry_delay_sec: float = 2
    backoff_strategy: str = "fixed"


@dataclass
class CircuitBreakerConfig(Model):
    """When calls to a failing agent stop."""

    failure_threshold: int = 5
    reset_timeout_sec: float = 60


@dataclass
class LimitsConfig(Model):
    """Bounds on input from the network."""

    max_body_bytes: int = 262144
    max_connections: int = 4096


@dataclass
class BotsConfig(Model):
    """Bounds of a bot that `league player --exec` starts."""

    max_memory_bytes: int = 1073741824
    max_cpu_sec: float = 3600
    max_open_files: int = 256
    max_file_bytes: int = 104857600
    max_line_bytes: int = 262144
    start_timeout_sec: float = 120
    max_restarts: int = 3


@dataclass
class LoggingConfig(Model):
    """The lowest logged level (DEBUG, INFO, WARNING or ERROR), and how much is kept."""

    level: str = "INFO"
    max_file_bytes: int = 10485760
    max_kept_files: int = 3


@dataclass
class ModelsConfig(Model):
    """How language models are asked."""

    providers: dict[str, Any] = field(default_factory=dict)
    budget_tokens: int | None = None
    fallback: str = "random"
    max_output_tokens: int = 2000


@dataclass
class SystemConfig(Model):
    """`config/system.json`: the settings of the whole system."""

    schema_version: str = "1.0.0"
    system_id: str = "league_system"
    protocol_version: str = "league.v2"
    default_league_id: str = "league_2025_even_odd"
    network: NetworkConfig = field(default_factory=NetworkConfig)
    security: SecurityConfig = field(default_factory=SecurityConfig)
    timeouts: TimeoutsConfig = field(default_factory=TimeoutsConfig)
    last_updated: str | None = None
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    circuit_breaker: CircuitBreakerConfig = field(default_factory=CircuitBreakerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    bots: BotsConfig = field(default_factory=BotsConfig)
    models: ModelsConfig = field(default_factory=ModelsConfig)
    logging: LoggingConfig = field(default_factory=LoggingConfig)
    store: str | None = None


@dataclass
class LeagueManagerConfig(Model):
    """The manager."""

    display_name: str = "League Manager"
    endpoint: str = "http://localhost:8000/mcp"
    version: str = "1.0.0"


@dataclass
class RefereeConfig(Model):
    """One referee."""

    referee_id: str
    display_name: str
    endpoint: str
    version: str
    game_types: list[str]
    max_concurrent_matches: int
    active: bool = True


@dataclass
class PlayerConfig(Model):
    """One player."""

    player_id: str
    display_name: str
    version: str
    preferred_leagues: list[str]
    game_types: list[str]
    default_endpoint: str
    active: bool = True
    strategy: str = "random"
    dialect: str = "v2"
    invite: bool = False


@dataclass
class AgentsConfig(Model):
    """`config/agents/agents_config.json`: the known agents."""

    schema_version: str = "1.0.0"
    agents_id: str = "agents_config"
    last_updated: str | None = None
    league_manager: LeagueManagerConfig = field(default_factory=LeagueManagerConfig)
    referees: list[RefereeConfig] = field(default_factory=list)
    players: list[PlayerConfig] = field(default_factory=list)


@dataclass
class ScoringConfig(Model):
    """Points of a result, and tiebreakers."""

    win_points: int = 3
    draw_points: int = 1
    loss_points: int = 0
    technical_loss_points: int = 0
    tiebreakers: list[str] = field(
        default_factory=lambda: ["points", "wins", "draw_difference", "head_to_head", "player_id"]
    )


@dataclass
class ParticipantsConfig(Model):
    """Number of participants."""

    min_players: int = 2
    max_players: int = 10000
    expected_players: int = 4
    expected_referees: int = 2


@dataclass
class LeagueConfig(Model):
    """`config/leagues/<league_id>.json`: the rules of one league."""

    schema_version: str = "1.0.0"
    league_id: str = "league_2025_even_odd"
    display_name: str = "Even/Odd League"
    game_type: str = "even_odd"
    status: str = "ACTIVE"
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    last_updated: str | None = None
    game_settings: dict[str, Any] = field(default_factory=dict)
    participants: ParticipantsConfig = field(default_factory=ParticipantsConfig)
    format: str = "round_robin"
    rounds: int | None = None
    legs: int = 1
    groups: int | None = None
    duration_sec: float | None = None
    late_entry: bool = False
    strictness: str = "lenient"
    draws: str = "any"
    match_mode: str = "auto"
    assignment_policy: str = "round_robin"
    max_fail: int = 5
    broadcast_limit: int = 200
    broadcast_top_rows: int = 20
    match_limit_sec: float | None = None
    probe_interval_sec: float = 5
    manager_endpoint: str | None = None


@dataclass
class GameConfig(Model):
    """One game of the registry."""

    display_name: str
    move_types: list[str]
    valid_choices: dict[str, list[str]] = field(default_factory=dict)
    min_players: int = 2
    max_players: int = 2
    rules_module: str = "unknown"
    max_round_time_sec: float = 60


@dataclass
class GamesRegistry(Model):
    """`config/games/games_registry.json`: the known games, by type."""

    schema_version: str = "1.0.0"
    registry_id: str = "games_registry"
    last_updated: str | None = None
    game_registry: dict[str, GameConfig] = field(default_factory=dict)


@dataclass
class RefereeDefaults(Model):
    """`config/defaults/referee.json`: defaults of a referee."""

    schema_version: str = "1.0.0"
    defaults_id: str = "referee"
    last_updated: str | None = None
    version: str = "1.0.0"
    game_types: list[str] = field(default_factory=list)
    max_concurrent_matches: int = 2


@dataclass
class MemoryConfig(Model):
    """How much a player remembers."""

    matches: int = 100
    opponents: int = 1000


@dataclass
class PlayerDefaults(Model):
    """`config/defaults/player.json`: defaults of a player."""

    schema_version: str = "1.0.0"
    defaults_id: str = "player"
    last_updated: str | None = None
    version: str = "1.0.0"
    preferred_leagues: list[str] = field(default_factory=list)
    game_types: list[str] = field(default_factory=list)
    strategy: str = "random"
    dialect: str = "v2"
    memory: MemoryConfig = field(default_factory=MemoryConfig)
