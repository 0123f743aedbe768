"""Profiles in the formats of other tools: folded stacks, and speedscope's files."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from s3bench.profiling.stack_profile import MAIN_THREAD, NO_FUNCTION, StackProfile

_SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_Place = tuple[str, str, int]
"""The name of a frame, its file and its line."""

_NOWHERE: _Place = (NO_FUNCTION, "", 0)
_SEPARATOR = str.maketrans({";": ":", "\n": " ", "\r": " "})


def collapsed(profile: StackProfile) -> str:
    """Folded stacks, `a;b;c SAMPLES` a line, of all runs together (Brendan Gregg, github.com/brendangregg/FlameGraph).

    Frames are `module:function`; a thread that is not the main one is the first frame of its stacks. A stack
    without a frame is one frame, so that the shares are those of all samples.
    """
    counts: Counter[str] = Counter()
    names = [frame.name.translate(_SEPARATOR) for frame in profile.frames]
    totals = _totals(profile)
    for number, stack in enumerate(profile.stacks):
        thread = () if stack.thread == MAIN_THREAD else (stack.thread.translate(_SEPARATOR),)
        line = ";".join((*thread, *([names[index] for index in stack.frames] or [NO_FUNCTION])))
        if totals[number]:
            counts[line] += totals[number]
    return "".join(f"{line} {count}\n" for line, count in sorted(counts.items()))


def speedscope(profiles: Sequence[tuple[str, StackProfile]]) -> bytes:
    """A file for https://www.speedscope.app, a profile for each name: seconds of a run, on average."""
    frames: dict[_Place, int] = {}
    made = []
    for name, profile in profiles:
        places = [(frame.name, frame.file, frame.line) for frame in profile.frames]
        totals = _totals(profile)
        shown = [number for number in range(len(profile.stacks)) if totals[number]]
        stacks = [[places[index] for index in profile.stacks[number].frames] or [_NOWHERE] for number in shown]
        weights = [totals[number] * profile.interval_s / max(1, len(profile.runs)) for number in shown]
        made.append({
            "type": "sampled",
            "name": name,
            "unit": "seconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": [[frames.setdefault(place, len(frames)) for place in stack] for stack in stacks],
            "weights": weights,
        })  # fmt: skip
    document: dict[str, Any] = {
        "$schema": _SPEEDSCOPE_SCHEMA,
        "exporter": "s3bench",
        "shared": {"frames": [_frame(*frame) for frame in frames]},
        "profiles": made,
    }
    return msgspec.json.encode(document) + b"\n"


def _frame(name: str, file: str, line: int) -> dict[str, Any]:
    return {"name": name, **({"file": file} if file else {}), **({"line": line} if line else {})}


def _totals(profile: StackProfile) -> Counter[int]:
    totals: Counter[int] = Counter()
    for run in profile.runs:
        totals.update(run.samples)
    return totals
