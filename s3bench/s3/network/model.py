"""Network models: parses and describes `--network ec2:c5.large,ttfb=lognormal:15ms:40ms,seed=7`.

A model is plain values, since it is sent to the server's process, where `networked` (per request) and `link` (per byte)
impose it. docs/network.md explains every key.
"""

import difflib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from s3bench.errors import BadInput
from s3bench.s3.network.presets import CONNECTION_BYTES_PER_S, EC2_BYTES_PER_S, EXPRESS, EXPRESS_TTFB_S, PREFIX, TTFB_S
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.units import BadQuantity, parse_bandwidth, parse_rate, parse_seconds, parse_share

SAMPLES_MAX = 100_000
SECONDS_MAX = 3600.0
BYTES_PER_S_MIN = 1000.0

KEYS = {
    "ttfb": "20ms, lognormal:P50:P90 (lognormal:15ms:40ms) or samples:FILE with one duration a line",
    "bandwidth": "bytes a second of each connection, each way: 93MB/s",
    "nic": "bytes a second of all connections together, each way: 949MB/s",
    "nic_up": "as nic, from the client to the server only",
    "nic_down": "as nic, from the server to the client only",
    "writes": "PUT, POST and DELETE a second per prefix; more get 503 SlowDown: 3500",
    "reads": "GET and HEAD a second per prefix; more get 503 SlowDown: 5500",
    "errors": "share of the requests that get 500 InternalError: 0.01",
    "resets": "share of the responses cut off by a TCP reset: 0.001",
    "stalls": "share of the responses that pause half-way, and for how long: 0.01:5s",
    "seed": "a whole number; equal seeds give equal random values to equal requests: 7",
}
"""Every key, with the values that it takes."""


class NetworkModel(msgspec.Struct, frozen=True, kw_only=True):
    """The link between client and server; `None` is no limit, and the default model imposes nothing.

    `text` is what the user wrote. The time to first byte runs from the last byte of a request to the first of its
    response: drawn from `ttfb_samples_s` (sorted) where there are some, else lognormal with the two quantiles, which
    are equal when it is fixed. `up` is from the client to the server. Rates of failures are shares of all requests.
    """

    text: str = ""
    ttfb_p50_s: float = 0.0
    ttfb_p90_s: float = 0.0
    ttfb_samples_s: tuple[float, ...] = ()
    connection_bytes_per_s: float | None = None
    nic_up_bytes_per_s: float | None = None
    nic_down_bytes_per_s: float | None = None
    writes_per_s: float | None = None
    reads_per_s: float | None = None
    error_rate: float = 0.0
    reset_rate: float = 0.0
    stall_rate: float = 0.0
    stall_s: float = 0.0
    seed: int = 0


def parse_network(text: str) -> NetworkModel:
    """Parse a preset, the path of a JSON file, or `key=value` pairs, separated by commas; later ones win.

    Reads the files that it names. Raises `BadInput`.
    """
    settings: dict[str, Any] = {}
    for index, item in enumerate(text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if equals:
            settings |= _setting(key, value, Path())
        elif index:
            raise _bad(f"{item!r} is not a key=value pair", "only the first item may be a preset or a file")
        elif key.startswith(PREFIX) or key == EXPRESS:
            settings |= _preset(key)
        else:
            settings |= _from_file(key)
    if settings.get("error_rate", 0) + settings.get("reset_rate", 0) + settings.get("stall_rate", 0) > 1:
        raise _bad("errors, resets and stalls add up to more than all requests", "their shares may add up to 1 at most")
    return NetworkModel(text=text, **settings)


def _preset(name: str) -> dict[str, Any]:
    if name == EXPRESS:
        return {"ttfb_p50_s": EXPRESS_TTFB_S, "ttfb_p90_s": EXPRESS_TTFB_S, "ttfb_samples_s": ()}
    rate = EC2_BYTES_PER_S.get(name.removeprefix(PREFIX))
    if rate is None:
        names = [PREFIX + known for known in EC2_BYTES_PER_S]
        near = difflib.get_close_matches(name, names, n=5, cutoff=0.4) or ["ec2:c5.large", "ec2:t2.large"]
        raise _bad(f"there is no preset {name!r}", f"the nearest are {', '.join(near)}")
    return {
        "ttfb_p50_s": TTFB_S,
        "ttfb_p90_s": TTFB_S,
        "ttfb_samples_s": (),
        "connection_bytes_per_s": CONNECTION_BYTES_PER_S,
        "nic_up_bytes_per_s": rate,
        "nic_down_bytes_per_s": rate,
    }


def _from_file(name: str) -> dict[str, Any]:
    """Read a JSON object of the same keys, `preset` first; paths in it are relative to the file."""
    if not name:
        raise _bad("the network model is empty")
    path = Path(name)
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = f"it is not a preset ({PREFIX}... or {EXPRESS}), has no `=`, and cannot be read as a JSON file: {error}"
        raise _bad(f"{name!r} is not a network model", why) from None
    if not isinstance(content, dict):
        raise _bad(f"{name!r} is not a network model", "the file must hold one JSON object")
    preset = content.pop("preset", None)
    settings = {} if preset is None else _preset(str(preset))
    for key, value in content.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _bad(f"{name}: {key} is {json.dumps(value)}", "every value is a string or a number")
        settings |= _setting(key, str(value), path.parent)
    return settings


def _setting(key: str, value: str, directory: Path) -> dict[str, Any]:
    parse = _PARSERS.get(key)
    if parse is None:
        near = difflib.get_close_matches(key, _PARSERS, n=1)
        raise _bad(f"there is no key {key!r}", f"did you mean {near[0]!r}?" if near else "")
    try:
        return parse(value, directory)
    except BadQuantity as bad:
        raise _bad(f"{key} {bad.what}", f"{key} takes {KEYS[key]}") from None


def _bad(what: str, why: str = "") -> BadInput:
    keys = "\n".join(f"  {key}={meaning}" for key, meaning in KEYS.items())
    first = f"{PREFIX}INSTANCE (ec2:c5.large), {EXPRESS}, a JSON file's path"
    fix = f"write {first}, or key=value pairs, separated by commas:\n{keys}"
    return BadInput(f"--network: {what}", why, fix)


def _ttfb(value: str, directory: Path) -> dict[str, Any]:
    kind, colon, rest = value.partition(":")
    if kind == "samples" and colon:
        samples_s = _samples(directory / rest)
        p50_s, p90_s = quantile(samples_s, 0.5), quantile(samples_s, 0.9)
        return {"ttfb_p50_s": p50_s, "ttfb_p90_s": p90_s, "ttfb_samples_s": samples_s}
    if kind == "lognormal" and colon:
        low, separator, high = rest.partition(":")
        p50_s, p90_s = _duration(low), _duration(high) if separator else 0.0
        if not 0 < p50_s <= p90_s:
            raise BadQuantity("needs two durations above 0 for lognormal, the second not below the first")
    else:
        p50_s = p90_s = _duration(value)
    return {"ttfb_p50_s": p50_s, "ttfb_p90_s": p90_s, "ttfb_samples_s": ()}


def _samples(path: Path) -> tuple[float, ...]:
    try:
        with path.open(encoding="utf-8") as lines:
            samples_s = tuple(sorted(_duration(line) for line in lines if line.strip()))
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuantity(f"needs samples, which cannot be read: {error}") from None
    if not 0 < len(samples_s) <= SAMPLES_MAX:
        raise BadQuantity(f"needs 1 to {SAMPLES_MAX} samples, and {path} has {len(samples_s)}")
    return samples_s


def quantile(ordered: tuple[float, ...], share: float) -> float:
    """Return the value of `ordered` below which `share` of the values lie."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _duration(text: str) -> float:
    seconds = parse_seconds(text.strip())
    if seconds > SECONDS_MAX:
        raise BadQuantity.of(text.strip(), f"longer than {SECONDS_MAX:.0f} s")
    return seconds


def _stalls(value: str, directory: Path) -> dict[str, Any]:
    del directory
    share, colon, length = value.partition(":")
    if not colon:
        raise BadQuantity("needs the length of a stall")
    return {"stall_rate": parse_share(share), "stall_s": _duration(length)}


def _bandwidths(*names: str) -> Callable[[str, Path], dict[str, Any]]:
    def parse(value: str, directory: Path) -> dict[str, Any]:
        del directory
        rate = parse_bandwidth(value)
        if rate < BYTES_PER_S_MIN:
            raise BadQuantity.of(value, f"below {BYTES_PER_S_MIN:.0f} B/s")
        return dict.fromkeys(names, rate)

    return parse


def _one(name: str, parse_text: Callable[[str], float]) -> Callable[[str, Path], dict[str, Any]]:
    def parse(value: str, directory: Path) -> dict[str, Any]:
        del directory
        return {name: parse_text(value)}

    return parse


def _seed(value: str) -> int:
    seed = parse_decimal(value)
    if seed is None or seed >= 10**18:  # so that it fits any integer type
        raise BadQuantity.of(value, "which is not a whole number of up to 18 digits")
    return seed


_PARSERS: dict[str, Callable[[str, Path], dict[str, Any]]] = {
    "ttfb": _ttfb,
    "bandwidth": _bandwidths("connection_bytes_per_s"),
    "nic": _bandwidths("nic_up_bytes_per_s", "nic_down_bytes_per_s"),
    "nic_up": _bandwidths("nic_up_bytes_per_s"),
    "nic_down": _bandwidths("nic_down_bytes_per_s"),
    "writes": _one("writes_per_s", parse_rate),
    "reads": _one("reads_per_s", parse_rate),
    "errors": _one("error_rate", parse_share),
    "resets": _one("reset_rate", parse_share),
    "stalls": _stalls,
    "seed": _one("seed", _seed),
}


def describe(model: NetworkModel) -> str:
    """Describe in one line what `model` imposes."""
    return "; ".join(_described(model)) or "no limits"


def _described(model: NetworkModel) -> Iterable[str]:
    if model.ttfb_samples_s:
        yield f"first byte drawn from {len(model.ttfb_samples_s)} samples (p50 {model.ttfb_p50_s * 1e3:g} ms)"
    elif model.ttfb_p90_s > model.ttfb_p50_s:
        yield f"first byte after {model.ttfb_p50_s * 1e3:g} ms (p50), {model.ttfb_p90_s * 1e3:g} ms (p90)"
    elif model.ttfb_p50_s:
        yield f"first byte after {model.ttfb_p50_s * 1e3:g} ms"
    for rate, scale, unit in (
        (model.connection_bytes_per_s, 1e6, "MB/s per connection"),
        (model.nic_up_bytes_per_s, 1e6, "MB/s up in all"),
        (model.nic_down_bytes_per_s, 1e6, "MB/s down in all"),
        (model.writes_per_s, 1.0, "writes/s per prefix"),
        (model.reads_per_s, 1.0, "reads/s per prefix"),
    ):
        if rate is not None:
            yield f"{rate / scale:g} {unit}"
    stalls = f"stalls of {model.stall_s:g} s"
    for share, name in ((model.error_rate, "errors"), (model.reset_rate, "resets"), (model.stall_rate, stalls)):
        if share:
            yield f"{share:.3g} {name}"
    yield f"seed {model.seed}"
