"""Adds JSON lines to a log (000 §10.6), in the format of all agents of a league."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

from .paths import LOG_ROOT, checked_id, now

#: Size at which a log is rotated, in bytes.
LARGEST_LOG = 10 * 1024 * 1024
#: Number of rotated logs that are kept; `.1` is the latest.
KEPT_FILES = 3
#: The longest line, in bytes; a longer line loses its details.
LONGEST_LINE = 64 * 1024
#: The longest text in a line, in characters.
LONGEST_TEXT = 4 * 1024

_SECRET_NAME = re.compile("token|secret|seed", re.IGNORECASE)
_TOKEN = re.compile(r"\btok[-_]([A-Za-z0-9]+)[-_][A-Za-z0-9_-]{16,}")


class JsonLogger:
    """Adds lines to the log of one component.

    The details stand beside the other fields of a line. The line names the agent of the component,
    and has a sentence, unless `agent_id` and `message` are among the details. What is called a
    token, a secret or a seed, or looks like a token, is masked. Several threads, and several
    processes, may write to one log.
    """

    def __init__(
        self,
        component: str,
        league_id: str | None = None,
        log_root: str | os.PathLike[str] = LOG_ROOT,
    ) -> None:
        """Opens the log of a component, below the folder of its league if it serves one.

        `referee:REF01` in `league_2025_even_odd` writes to
        `logs/league/league_2025_even_odd/referee_REF01.log.jsonl`.
        """
        self.component = component
        root = Path(log_root)
        folder = root / "league" / checked_id(league_id) if league_id else root / "system"
        folder.mkdir(parents=True, exist_ok=True)
        self.log_file = folder / f"{checked_id(component.replace(':', '_'))}.log.jsonl"
        self._lock = threading.Lock()

    def log(self, event_type: str, level: str = "INFO", **details: Any) -> None:
        """Adds a line."""
        about = details.get("message_type")
        words = event_type.lower().replace("_", " ") + (f": {about}" if about else "")
        own = {
            "timestamp": now(),
            "component": self.component,
            "event_type": event_type,
            "level": level,
            "agent_id": details.pop("agent_id", None) or self.component.rpartition(":")[2],
            "message": details.pop("message", None) or words,
        }
        text = _text(_masked({**own, **details, **own}))
        if len(text) > LONGEST_LINE:
            text = _text(_masked({**own, "left_out_bytes": len(text)}))
        self._add(text)

    def debug(self, event_type: str, **details: Any) -> None:
        """Adds a line for developers."""
        self.log(event_type, level="DEBUG", **details)

    def info(self, event_type: str, **details: Any) -> None:
        """Adds a line about an event."""
        self.log(event_type, level="INFO", **details)

    def warning(self, event_type: str, **details: Any) -> None:
        """Adds a line that needs attention."""
        self.log(event_type, level="WARNING", **details)

    def error(self, event_type: str, **details: Any) -> None:
        """Adds a line about an error."""
        self.log(event_type, level="ERROR", **details)

    def log_message_sent(self, message_type: str, recipient: str, **details: Any) -> None:
        """Adds a line about a sent message."""
        details.setdefault("message", f"sent {message_type} to {recipient}")
        self.debug("MESSAGE_SENT", message_type=message_type, recipient=recipient, **details)

    def log_message_received(self, message_type: str, sender: str, **details: Any) -> None:
        """Adds a line about a received message."""
        details.setdefault("message", f"received {message_type} from {sender}")
        self.debug("MESSAGE_RECEIVED", message_type=message_type, sender=sender, **details)

    def _add(self, text: bytes) -> None:
        with self._lock:
            size = self.log_file.stat().st_size if self.log_file.exists() else 0
            if size and size + len(text) > LARGEST_LOG:
                self._put_aside()
            # One write at the end of the file: lines of several processes do not mix.
            binary = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines
            opened = os.open(self.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | binary, 0o644)
            try:
                os.write(opened, text)
            finally:
                os.close(opened)

    def _put_aside(self) -> None:
        names = [self.log_file.with_name(f"{self.log_file.name}.{n}") for n in range(1, KEPT_FILES + 1)]
        for younger, older in reversed(list(zip(names, names[1:]))):
            if younger.exists():
                os.replace(younger, older)
        os.replace(self.log_file, names[0])


def _text(line: dict[str, Any]) -> bytes:
    # Other characters than ASCII are escaped: no text can break or reverse a line.
    return (json.dumps(line, separators=(",", ":"), default=str) + "\n").encode("ascii")


def _masked(value: Any, name: str = "", depth: int = 0) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if _SECRET_NAME.search(name):
        hidden = _TOKEN.fullmatch(value) if isinstance(value, str) else None
        return f"tok-{hidden[1]}-…" if hidden else "…"
    if depth > 16:
        return "…"
    if isinstance(value, dict):
        return {str(key): _masked(entry, str(key), depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(entry, "", depth + 1) for entry in value]
    if isinstance(value, str):
        return _TOKEN.sub(r"tok-\1-…", value[:LONGEST_TEXT])
    return value
