"""Configuration, data files and logs of a league (000 chapter 10).

The files are those that the program `league` keeps below a root such as `SHARED/`: `config/`,
`data/` and `logs/`. What is read here and written back is the same to the program, unknown keys
included.
"""

from .config_loader import ConfigLoader
from .config_models import (
    AgentsConfig,
    BotsConfig,
    CircuitBreakerConfig,
    ConfigError,
    GameConfig,
    GamesRegistry,
    LeagueConfig,
    LeagueManagerConfig,
    LimitsConfig,
    LoggingConfig,
    MemoryConfig,
    NetworkConfig,
    ParticipantsConfig,
    PlayerConfig,
    PlayerDefaults,
    RefereeConfig,
    RefereeDefaults,
    RetryPolicy,
    ScoringConfig,
    SecurityConfig,
    SystemConfig,
    TimeoutsConfig,
)
from .logger import JsonLogger
from .paths import CONFIG_ROOT, DATA_ROOT, LOG_ROOT
from .repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)

__all__ = [
    "AgentsConfig",
    "BotsConfig",
    "CONFIG_ROOT",
    "CircuitBreakerConfig",
    "ConfigError",
    "ConfigLoader",
    "DATA_ROOT",
    "GameConfig",
    "GamesRegistry",
    "JsonLogger",
    "LOG_ROOT",
    "LeagueConfig",
    "LeagueManagerConfig",
    "LimitsConfig",
    "LoggingConfig",
    "MatchRepository",
    "MemoryConfig",
    "NetworkConfig",
    "ParticipantsConfig",
    "PlayerConfig",
    "PlayerDefaults",
    "PlayerHistoryRepository",
    "RefereeConfig",
    "RefereeDefaults",
    "RetryPolicy",
    "RoundsRepository",
    "ScoringConfig",
    "SecurityConfig",
    "StandingsRepository",
    "SystemConfig",
    "TimeoutsConfig",
]
