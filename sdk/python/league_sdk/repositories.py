"""Reads and replaces the files under `data/` (000 §10.5).

A document is a dictionary, as it stands in its file, so that keys which nobody here knows are kept.
Saving replaces a file in one step: a reader sees the old one or the new one, never half, and what
was saved survives a power cut. The agents of `league` make these files from their journals; change
only those that no such agent writes.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

from .paths import DATA_ROOT, checked_id, now

#: A document as in its file.
Document = dict[str, Any]

SCHEMA_VERSION = "1.0.0"
#: How many matches `PlayerHistoryRepository.add_match` keeps.
MOST_MATCHES = 10_000

_RESULTS = {"WIN": "wins", "DRAW": "draws", "LOSS": "losses", "TECHNICAL_LOSS": "losses"}
_written = itertools.count()


class _File:
    """One JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Document | None:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if not isinstance(found, dict):
            raise ValueError(f"`{self.path}` does not hold an object")
        return found

    def replace(self, document: Document) -> None:
        """Replaces a document; an unchanged one keeps its `last_updated`."""
        standing = self.read()
        if standing is None or _content(standing) != _content(document):
            document["last_updated"] = now()
        else:
            document["last_updated"] = standing.get("last_updated") or now()
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.{next(_written)}.tmp")
        try:
            with beside.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(self.path.parent)


def _content(document: Document) -> Document:
    return {name: value for name, value in document.items() if name != "last_updated"}


def _sync_folder(folder: Path) -> None:
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # some systems cannot open a folder
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class StandingsRepository:
    """The table of a league, `data/leagues/<league_id>/standings.json`."""

    def __init__(self, league_id: str, data_root: str | os.PathLike[str] = DATA_ROOT) -> None:
        """Finds the file below the folder `data`; nothing is read yet."""
        self.league_id = checked_id(league_id)
        self.path = Path(data_root) / "leagues" / league_id / "standings.json"

    def load(self) -> Document:
        """The table; an empty one if there is no file yet."""
        empty = {"league_id": self.league_id, "version": 0, "rounds_completed": 0, "standings": []}
        return _File(self.path).read() or {"schema_version": SCHEMA_VERSION, **empty}

    def save(self, standings: Document) -> None:
        """Replaces the table."""
        _File(self.path).replace(standings)

    def update_player(self, player_id: str, result: str, points: int) -> Document:
        """Adds a result to a player's row, sorts the rows and saves.

        `result` is WIN, DRAW, LOSS or TECHNICAL_LOSS. The order is by points, wins, and draws minus
        losses; the file does not know who beat whom.
        """
        standings = self.load()
        rows: list[Document] = standings.setdefault("standings", [])
        row = next((row for row in rows if row.get("player_id") == player_id), None)
        if row is None:
            row = {"rank": 0, "player_id": checked_id(player_id), "display_name": player_id}
            rows.append(row)
        for name in ("played", "wins", "draws", "losses", "technical_losses", "points"):
            row.setdefault(name, 0)
        _count(row, "played", result, points)
        rows.sort(key=_order)
        for rank, placed in enumerate(rows, 1):
            placed["rank"] = rank
        standings["version"] = standings.get("version", 0) + 1
        self.save(standings)
        return standings


def _order(row: Document) -> tuple[Any, ...]:
    player_id = row["player_id"]
    difference = row.get("draws", 0) - row.get("losses", 0)
    return -row.get("points", 0), -row.get("wins", 0), -difference, len(player_id), player_id


def _count(sums: Document, matches: str, result: str, points: int) -> None:
    if result not in _RESULTS:
        raise ValueError(f"`{result}` is not a result: WIN, DRAW, LOSS or TECHNICAL_LOSS")
    names = [matches, _RESULTS[result]]
    if result == "TECHNICAL_LOSS":
        names.append("technical_losses")
    for name in names:
        sums[name] = sums.get(name, 0) + 1
    sums["points"] = sums.get("points", 0) + points


class RoundsRepository:
    """The rounds of a league so far, `data/leagues/<league_id>/rounds.json`."""

    def __init__(self, league_id: str, data_root: str | os.PathLike[str] = DATA_ROOT) -> None:
        """Finds the file below the folder `data`; nothing is read yet."""
        self.league_id = checked_id(league_id)
        self.path = Path(data_root) / "leagues" / league_id / "rounds.json"

    def load(self) -> Document:
        """The rounds; none if there is no file yet."""
        empty = {"league_id": self.league_id, "version": 0, "rounds": []}
        return _File(self.path).read() or {"schema_version": SCHEMA_VERSION, **empty}

    def save(self, rounds: Document) -> None:
        """Replaces the rounds."""
        _File(self.path).replace(rounds)

    def get_round(self, round_id: int) -> Document | None:
        """One round; None if it has not begun."""
        rounds = self.load().get("rounds", [])
        return next((found for found in rounds if found.get("round_id") == round_id), None)


class MatchRepository:
    """The matches of a league, `data/matches/<league_id>/<match_id>.json`.

    In a league of very many matches a referee writes one line a match into a file of its round;
    matches are found there, too.
    """

    def __init__(self, league_id: str, data_root: str | os.PathLike[str] = DATA_ROOT) -> None:
        """Finds the folder below the folder `data`; nothing is read yet."""
        self.league_id = checked_id(league_id)
        self.folder = Path(data_root) / "matches" / league_id

    def path(self, match_id: str) -> Path:
        """The file of a match."""
        return self.folder / f"{checked_id(match_id)}.json"

    def load(self, match_id: str) -> Document | None:
        """A match; None if there is no file."""
        return _File(self.path(match_id)).read() or self._find_in_rounds(match_id)

    def save(self, match: Document) -> None:
        """Replaces a match, in the file that its `match_id` names."""
        _File(self.path(match["match_id"])).replace(match)

    def match_ids(self) -> list[str]:
        """The matches with a file each, in order."""
        return sorted(path.stem for path in self.folder.glob("[!.]*.json"))

    def _find_in_rounds(self, match_id: str) -> Document | None:
        found: Document | None = None
        for path in sorted(self.folder.glob("[!.]*.jsonl")):
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    match = _line(line)
                    if match.get("match_id") == match_id and (not found or _age(found) <= _age(match)):
                        found = match
        return found


def _line(line: str) -> Document:
    """The content of a line; None if a crash truncated it."""
    try:
        read = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _age(match: Document) -> tuple[int, int]:
    return match.get("lifecycle", {}).get("attempt", 0), match.get("version", 0)


class PlayerHistoryRepository:
    """The memory of a player, `data/players/<player_id>/history.json`."""

    def __init__(self, player_id: str, data_root: str | os.PathLike[str] = DATA_ROOT) -> None:
        """Finds the file below the folder `data`; nothing is read yet."""
        self.player_id = checked_id(player_id)
        self.path = Path(data_root) / "players" / player_id / "history.json"

    def load(self) -> Document:
        """The memory; an empty one if there is no file yet."""
        names = ("total_matches", "wins", "losses", "draws", "technical_losses", "points")
        stats = dict.fromkeys(names, 0)
        empty = {"player_id": self.player_id, "version": 0, "stats": stats, "matches": []}
        return _File(self.path).read() or {"schema_version": SCHEMA_VERSION, **empty}

    def save(self, history: Document) -> None:
        """Replaces the memory."""
        _File(self.path).replace(history)

    def add_match(self, match: Document) -> Document:
        """Adds a match and saves; adding a match again changes nothing.

        A match has at least `match_id`, `opponent_id` and `result`; the program's own have
        `my_choice`, `opponent_choice`, `league_id`, `round_id`, `game_type`, `points` and `at`, too.
        """
        history = self.load()
        matches: list[Document] = history.setdefault("matches", [])
        same = ("match_id", "league_id")
        if any(all(known.get(name) == match.get(name) for name in same) for known in matches):
            return history
        stats = history.setdefault("stats", {})
        _count(stats, "total_matches", match["result"], match.get("points", 0))
        matches.append(match)
        del matches[:-MOST_MATCHES]
        history["version"] = history.get("version", 0) + 1
        self.save(history)
        return history
