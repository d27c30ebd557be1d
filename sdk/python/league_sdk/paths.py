"""Where the files of a league lie, and which names may become part of a path."""

import re
from datetime import datetime, timezone
from pathlib import Path

#: The folders below the root that is used when none is named.
CONFIG_ROOT = Path("SHARED") / "config"
DATA_ROOT = Path("SHARED") / "data"
LOG_ROOT = Path("SHARED") / "logs"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def checked_id(text: str) -> str:
    """Gives an id back if it may name a file; no other text leaves the folder it belongs to.

    Raises ValueError otherwise.
    """
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ValueError(f"`{text}` is no id: letters, digits, `_` and `-`, at most 64")
    return text


def now() -> str:
    """The time in UTC with milliseconds, as every file of a league has it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
