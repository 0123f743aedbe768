"""Encodes JSON for people and for comparison by lines."""

import msgspec


def pretty_json(value: object, *, indent: int = 2) -> bytes:
    """Encode as JSON with indented lines, the last of which is ended too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n"
