"""Figures with units as people write them in a network model: `20ms`, `93MB/s`, `0.01`.

Owns their parsing; what a figure is for is `model`'s. Network rates are decimal by convention: MB is 1,000,000 bytes.
"""

import math
import re

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_BYTES_PER_S = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
_BITS_PER_S = {"kbit": 125.0, "Mbit": 125e3, "Gbit": 125e6}
_RATES = {name.lower(): scale for name, scale in (_BYTES_PER_S | _BITS_PER_S).items()}
_FIGURE = re.compile(r"\s*((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e-?[0-9]{1,3})?)\s*([A-Za-z]*)\s*", re.ASCII)


class BadQuantity(ValueError):
    """The text is no such figure; the message says what would be one."""


def parse_seconds(text: str) -> float:
    """Parse a duration: `20ms`, `5s`, `250us`; a bare number is seconds."""
    number, unit = _split(text, "a duration like 20ms or 5s")
    scale = _SECONDS.get(unit or "s")
    if scale is None:
        raise BadQuantity(f"{text!r} is no duration; write it like 20ms or 5s (units: s, ms, us)")
    return number * scale


def parse_bytes_per_s(text: str) -> float:
    """Parse a bandwidth: `93MB/s`, `1Gbit/s`, `90MiB/s`; there is no bare number, since bits and bytes differ."""
    right = "write it like 93MB/s (units: B, KB, MB, GB, KiB, MiB, GiB, kbit, Mbit, Gbit, each /s)"
    figure = text.strip().removesuffix("/s")
    number, unit = _split(figure, "a bandwidth like 93MB/s")
    scale = _RATES.get(unit.lower())
    if scale is None or not number:
        raise BadQuantity(f"{text!r} is no bandwidth; {right}")
    return number * scale


def parse_per_s(text: str) -> float:
    """Parse a request rate: `3500` or `3500/s`, more than none."""
    number, unit = _split(text.strip().removesuffix("/s"), "a number of requests a second like 3500")
    if unit or not number:
        raise BadQuantity(f"{text!r} is no rate; write a number of requests a second like 3500")
    return number


def parse_share(text: str) -> float:
    """Parse a probability from 0 to 1."""
    number, unit = _split(text, "a share of the requests like 0.01")
    if unit or number > 1:
        raise BadQuantity(f"{text!r} is no share of the requests; write a number from 0 to 1 like 0.01")
    return number


def _split(text: str, right: str) -> tuple[float, str]:
    match = _FIGURE.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise BadQuantity(f"{text!r} is not {right}")
    return float(match[1]), match[2]
