"""Notes of what was requested."""

from typing import Any

NOTES: list[tuple[str, str]] = []


def open_notes(rules: list[Any]) -> None:
    """Begin the notes."""
    NOTES.append(("rules", str(len(rules))))


def note_request(method: str, url: str) -> None:
    """Note a request."""
    NOTES.append((method, url))
