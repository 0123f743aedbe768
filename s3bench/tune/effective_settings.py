"""Compares the parameters that a client was given with what the server saw of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from s3bench.clients.tuning.parameter import ParameterRole
from s3bench.clients.tuning.workload import Workload
from s3bench.results.measurement import Measurement, Wire
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.units import render_bytes

PART_REQUESTS = ("PUT partNumber", "GET ranged")
"""Requests for a part of an object, by the kinds of `Measurement.requests_by_kind`."""

DATA_REQUESTS = (*PART_REQUESTS, "PUT", "GET")
"""Requests that move object data."""

CONTROL_REQUESTS_MAX = 2
"""Requests beside those with object data that may be in flight at the same time: a HEAD, a LIST, the next create."""

_FAR_FEWER = 0.75
_RUNS_NAMED_MAX = 3


class EffectiveSettings(StrEnum):
    """What the wire says of a knob: followed, adjusted to another value, ignored, or not to be seen there."""

    FOLLOWED = "followed"
    ADJUSTED = "adjusted"
    IGNORED = "ignored"
    UNSEEN = "not visible on the wire"


class ParameterNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One knob of one client: what was asked in the runs that tell, what the wire showed, in words."""

    client: str
    knob: str
    obedience: EffectiveSettings
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run by what was asked in it and what the wire showed of it."""

    setting: Setting
    wire: Wire
    kinds: dict[str, int]
    workload: Workload

    @property
    def data_requests(self) -> int:
        return sum(self.kinds.get(kind, 0) for kind in DATA_REQUESTS)

    @property
    def is_in_parts(self) -> bool:
        """Whether files were split. One ranged GET of a whole file, as the CRT makes it, is no split.

        Where sizes differ, small files may be read whole and large ones in ranges.
        """
        reads = self.kinds.get("GET ranged", 0)
        if self.workload.sizes:
            reads += self.kinds.get("GET", 0)
        return self.kinds.get("PUT partNumber", 0) > 0 or reads > self.workload.files


def parameter_notes(trials: Sequence[Trial], workload: Workload) -> tuple[ParameterNote, ...]:
    """What all runs together tell: one note for each client and knob that was set in a whole run.

    A knob that one run shows to be ignored is ignored. So is a size of parts where runs with different values, and
    those that leave it alone, show one and the same, though each value would have shown.
    """
    pairs = sorted({(trial.setting.client, name) for trial in trials for name, _ in trial.setting.values})
    return tuple(note for client, name in pairs if (note := _merged(client, name, trials, workload)) is not None)


def ignored_parameters(trials: Sequence[Trial], workload: Workload) -> frozenset[tuple[str, str]]:
    """The clients and knobs of which the wire shows that the client ignores them: no value of them is worth a run."""
    notes = parameter_notes(trials, workload)
    return frozenset((note.client, note.knob) for note in notes if note.obedience is EffectiveSettings.IGNORED)


def _merged(client: str, name: str, trials: Sequence[Trial], workload: Workload) -> ParameterNote | None:
    own = [trial for trial in trials if trial.setting.client == client and trial.measurement is not None]
    notes: list[ParameterNote] = []
    for trial in own:
        value = trial.setting.get(name)
        if value is not None and trial.measurement is not None:
            notes.append(_note(trial.setting, name, value, trial.measurement, workload))
    if not notes:
        return None
    found = {note.obedience for note in notes}
    if EffectiveSettings.IGNORED not in found and _makes_no_difference(name, own, workload):
        telling = [note for note in notes if note.obedience is not EffectiveSettings.UNSEEN]
        return _note_of(client, name, EffectiveSettings.IGNORED, f"{_named(telling)}; so do runs that do not set it")
    order = (
        EffectiveSettings.IGNORED,
        EffectiveSettings.ADJUSTED,
        EffectiveSettings.FOLLOWED,
        EffectiveSettings.UNSEEN,
    )
    worst = next(obedience for obedience in order if obedience in found)
    return _note_of(client, name, worst, _named(note for note in notes if note.obedience is worst))


def _named(notes: Iterable[ParameterNote]) -> str:
    said = tuple(dict.fromkeys(note.said for note in notes))
    more = len(said) - _RUNS_NAMED_MAX
    return "; ".join((*said[:_RUNS_NAMED_MAX], *((f"and {more} more",) if more > 0 else ())))


def _makes_no_difference(name: str, trials: Sequence[Trial], workload: Workload) -> bool:
    """Whether two values at least that would have shown, and the default, all show the same.

    Each is compared with the default's runs with the client's other knobs alike, so that only `name` differs.
    """
    seen: dict[tuple[tuple[str, int], ...], dict[int | None, set[int]]] = {}
    for trial in trials:
        if trial.measurement is None or trial.measurement.wire is None:
            continue
        run = _run(trial.setting, trial.measurement, trial.measurement.wire, workload)
        value = trial.setting.get(name)
        if (shown := _shown(name, value, run)) is not None:
            others = tuple(pair for pair in trial.setting.values if pair[0] != name)
            seen.setdefault(others, {}).setdefault(value, set()).add(shown)
    return any(
        len(values) > 2 and None in values and len(set().union(*values.values())) == 1  # noqa: PLR2004 (with None)
        for values in seen.values()
    )


def _shown(name: str, value: int | None, run: _Run) -> int | None:
    """The size of parts where `value` of `name` would set it; `None` where the run had no room to show it.

    A concurrency does not count: it is a limit, and one beyond what a client does by itself changes nothing.
    """
    if name not in run.setting.descriptor.tuning.named(ParameterRole.PART) or not run.is_in_parts:
        return None
    return run.wire.part_size_max if value is None or value < run.workload.size_bytes else None


def _note_of(client: str, name: str, obedience: EffectiveSettings, said: str) -> ParameterNote:
    return ParameterNote(client=client, knob=name, obedience=obedience, said=said)


def _run(setting: Setting, measurement: Measurement, wire: Wire, workload: Workload) -> _Run:
    return _Run(setting=setting, wire=wire, kinds=measurement.requests_by_kind, workload=workload)


def _note(setting: Setting, name: str, value: int, measurement: Measurement, workload: Workload) -> ParameterNote:
    asked, role = setting.render(name), setting.descriptor.tuning.all_parameters[name].role
    if measurement.wire is None:
        return _note_of(
            setting.client,
            name,
            EffectiveSettings.UNSEEN,
            f"asked {asked}, not checked, because the server is not s3bench's",
        )
    run = _run(setting, measurement, measurement.wire, workload)
    if role is ParameterRole.PART:
        obedience, said = _part(value, run)
    elif role is ParameterRole.CONCURRENCY:
        obedience, said = _concurrency(value, run, name)
    elif role is ParameterRole.THRESHOLD:
        obedience, said = _threshold(value, run)
    elif role is ParameterRole.THROUGHPUT:
        obedience, said = EffectiveSettings.UNSEEN, f"at most {run.wire.requests_in_flight_max} requests were in flight"
    else:
        obedience, said = EffectiveSettings.UNSEEN, "it concerns the client's inside"
    return _note_of(setting.client, name, obedience, f"asked {asked}, {said}")


def _part(asked: int, run: _Run) -> tuple[EffectiveSettings, str]:
    if asked >= run.workload.size_bytes:
        return EffectiveSettings.UNSEEN, "a file is no larger than one such part"
    if not run.is_in_parts:
        threshold = run.setting.value_of(ParameterRole.THRESHOLD) or 0
        is_asked = threshold > run.workload.size_bytes
        return EffectiveSettings.UNSEEN if is_asked else EffectiveSettings.IGNORED, "the wire showed no parts"
    seen = run.wire.part_size_max
    said = f"the wire showed parts of {render_bytes(seen)}"
    if seen == asked:
        return EffectiveSettings.FOLLOWED, said
    is_default = seen == run.setting.descriptor.tuning.default_of(ParameterRole.PART, run.workload)
    return EffectiveSettings.IGNORED if is_default else EffectiveSettings.ADJUSTED, said


def _concurrency(asked: int, run: _Run, name: str) -> tuple[EffectiveSettings, str]:
    seen, allowed, requests = run.wire.requests_in_flight_max, _allowed(asked, run, name), run.data_requests
    if seen > allowed + CONTROL_REQUESTS_MAX:
        return EffectiveSettings.IGNORED, f"the wire showed {seen} requests in flight"
    if requests <= allowed:
        return (
            EffectiveSettings.UNSEEN,
            f"there were only {requests} requests with object data, at most {seen} in flight",
        )
    never = ": the client never got there" if seen < _FAR_FEWER * allowed else ""
    return EffectiveSettings.FOLLOWED, f"at most {seen} of {allowed} in flight{never}"


def _allowed(asked: int, run: _Run, name: str) -> int:
    """How many requests the parameter allows at once: its value, unless the client says otherwise."""
    allowed_at_once = run.setting.descriptor.tuning.allowed_at_once
    if allowed_at_once is None or not run.is_in_parts:
        return asked
    return allowed_at_once(name, dict(run.setting.values), run.workload)


def _threshold(asked: int, run: _Run) -> tuple[EffectiveSettings, str]:
    is_expected = run.workload.size_bytes >= asked
    size = render_bytes(run.workload.size_bytes)
    part = run.setting.value_of(ParameterRole.PART) or 0
    if is_expected and part >= run.workload.size_bytes:
        return EffectiveSettings.UNSEEN, f"a file of {size} is no larger than one part"
    seen = "in parts" if run.is_in_parts else "in one request"
    obedience = EffectiveSettings.FOLLOWED if run.is_in_parts is is_expected else EffectiveSettings.IGNORED
    return obedience, f"a file of {size} went {seen}"
