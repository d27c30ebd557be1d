"""The paths of the files of a league, and the names that may become part of a path."""

import re
from datetime import datetime, timezone
from pathlib import Path

#: The folders below the default root.
CONFIG_ROOT = Path("SHARED") / "config"
DATA_ROOT = Path("SHARED") / "data"
LOG_ROOT = Path("SHARED") / "logs"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def checked_id(text: str) -> str:
    """Returns an id if it may name a file, so that no path leaves its folder.

    Raises ValueError otherwise.
    """
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ValueError(f"`{text}` is not an id: letters, digits, `_` and `-`, at most 64")
    return text


def now() -> str:
    """The time in UTC with milliseconds, as in every file of a league."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
