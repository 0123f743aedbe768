"""Runs clients under py-spy or perf, one of a pair after the other, and collects their stacks.

Nothing that is measured in these runs enters a result: the profiler slows them down.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median

import msgspec

from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.interpreter import import_path, is_python, script_words
from s3bench.clients.launch import PROBES
from s3bench.clients.registry import known_client
from s3bench.errors import ClientNotFound, MachineError
from s3bench.profiling.observed_change import ProfiledSide
from s3bench.profiling.perf_output import parse_perf
from s3bench.profiling.profile_builder import ProfileBuilder
from s3bench.profiling.py_spy_output import ImportRoots, Samples, parse_py_spy, unrooted_files
from s3bench.profiling.stack_profile import Sampled, StackProfile
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.run.perf import Perf, find_perf, perf_event_paranoid, why_perf_failed
from s3bench.run.py_spy import PySpy, find_py_spy, why_py_spy_failed
from s3bench.units import counted

Profiler = PySpy | Perf

_FILE = "stacks"
_TEXT = "stacks.txt"
_SAID_CHARACTERS = 1000
# A profiler writes what it has to say between the client's own lines, so that both get a file of their own.
_APART = ("/bin/sh", "-c", 'log="$0" && exec "$@" 2>"$log"')
_HASH_SEEDS_FROM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSide:
    """What one side showed so far: its profile, and total and CPU times of runs without the profiler, in seconds.

    `unread_lines` of what the profiler wrote could not be read: their samples are missing.
    """

    profile: StackProfile
    unread_lines: int = 0
    plain_times: tuple[float, ...] = ()
    plain_cpu_times: tuple[float, ...] = ()

    @property
    def slowdown(self) -> float | None:
        """By which factor the profiler lengthens a run; `None` while there is no run without it."""
        if not self.plain_times or not self.profile.runs:
            return None
        return median(run.total_time for run in self.profile.runs) / median(self.plain_times)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the samples."""
        if not self.unread_lines:
            return ()
        lines = counted(self.unread_lines, "line")
        return (f"{lines} of what the profiler wrote cannot be read, so samples are missing; update s3bench",)


def find_profiler(client: FoundClient) -> Profiler | Unavailable:
    """Find what can sample the stacks of a client here: py-spy those of Python, perf those of other programs."""
    if known_client(client.kind).is_python:
        return find_py_spy()
    found = find_perf()
    if isinstance(found, Perf):
        return found
    return replace(found, reason=f"{client.kind} is not written in Python, and {found.reason}")


def find_python_profiler(client: FoundClient) -> PySpy | Unavailable:
    """Find what can sample the stacks of a client here also while it waits, for changes of its total time."""
    if known_client(client.kind).is_python:
        return find_py_spy()
    return Unavailable(
        reason=f"{client.kind} is not written in Python, and py-spy sees Python alone",
        fix="compare where its CPU time goes: s3bench profile --baseline ... --candidate ...",
    )


def sample_stacks(
    sides: Sequence[ProfiledSide],
    settings: Settings,
    profiler: Profiler,
    sampled: Sampled,
    directory: Path,
    *,
    plain_runs: int = 0,
) -> Iterator[tuple[SampledSide, ...] | Failure]:
    """Run every side again and again under the profiler, and yield what they showed after each round, without an end.

    The order of two sides changes from round to round. The first `plain_runs` rounds run each side without the profiler
    as well. A run that fails is the last that is yielded; of several sides it names the client. `directory` exists.
    Raises `MachineError` where the profiler itself fails.
    """
    quiet = replace(settings, interval_s=None, measures_speed=False, keeps_timeline=False)
    builders = [ProfileBuilder(sampled=sampled, interval_s=profiler.interval_s) for _ in sides]
    readers = [_reader(profiler, side.runner.client, sampled) for side in sides]
    log = directory / f"{profiler.name}.log"
    unread_lines = [0 for _ in sides]
    plain: list[list[Measurement]] = [[] for _ in sides]
    order = list(range(len(sides)))
    round_number = 0
    while True:
        hash_seed = str(_HASH_SEEDS_FROM + round_number)
        for number in order:
            side = sides[number]
            of = f"{side.runner.client.label}: " if len(sides) > 1 else ""
            if round_number < plain_runs:
                run = _run(side, quiet, hash_seed, (), directory)
                if isinstance(run, Failure):
                    yield msgspec.structs.replace(run, what=of + run.what)
                    return
                plain[number].append(run)
            output = directory / _FILE
            output.unlink(missing_ok=True)
            prefix = (*_APART, str(log), *profiler.prefix(output, waits=sampled is Sampled.WALL_TIME))
            run = _run(side, quiet, hash_seed, prefix, directory)
            if isinstance(run, Failure):
                why = run.why or _said(log)[-_SAID_CHARACTERS:]
                yield msgspec.structs.replace(run, what=of + run.what, why=why)
                return
            samples, unread = readers[number](output, log)
            unread_lines[number] += unread
            builders[number].add(samples, total_time=run.total_time, cpu_time=run.cpu_time or 0.0)
        order.reverse()
        round_number += 1
        yield tuple(
            SampledSide(
                profile=builder.profile,
                unread_lines=unread,
                plain_times=tuple(run.total_time for run in runs),
                plain_cpu_times=tuple(run.cpu_time or 0.0 for run in runs),
            )
            for builder, unread, runs in zip(builders, unread_lines, plain, strict=True)
        )


def run_failed(number: int, failure: Failure) -> str:
    """That a run of the round `number` failed, which ended the sampling."""
    return f"run {number} failed: {failure_words(failure)}"


def failure_words(failure: Failure) -> str:
    """What failed and why, in one line."""
    return " ".join("; ".join(filter(None, (failure.what, failure.why))).split())


def import_roots(client: FoundClient) -> ImportRoots:
    """The directories that a client imports from, as far as they are known, and those of what is ours in it."""
    words = script_words(client.executable)
    interpreter = client.executable if is_python(client.executable) else Path(words[0]) if words else None
    found: tuple[Path, ...] = ()
    if interpreter is not None and is_python(interpreter):
        try:
            found = import_path(interpreter)
        except ClientNotFound:  # it runs all the same: files then have the names that can be told from their paths
            found = ()
    ours = (PROBES, known_client(client.kind).driver)
    return ImportRoots(
        directories=tuple(str(place) for place in (client.site, *found) if place),
        own=tuple(str(place) for place in ours if place),
    )


def _run(
    side: ProfiledSide, settings: Settings, hash_seed: str, prefix: tuple[str, ...], directory: Path
) -> Measurement | Failure:
    conditions = replace(
        side.conditions,
        env={**side.conditions.env, "PYTHONHASHSEED": hash_seed},
        prefix=(*prefix, *side.conditions.prefix),
        writable=(*side.conditions.writable, directory),
    )
    return side.runner.run_once(0, settings, "profile", conditions)


def _reader(profiler: Profiler, client: FoundClient, sampled: Sampled) -> Callable[[Path, Path], tuple[Samples, int]]:
    """What reads the samples of one run, and how many lines are unreadable, out of the profiler's file and its log."""
    if isinstance(profiler, Perf):
        return partial(_read_perf, profiler)
    return partial(_read_py_spy, sampled=sampled, roots=import_roots(client))


def _read_py_spy(output: Path, log: Path, *, sampled: Sampled, roots: ImportRoots) -> tuple[Samples, int]:
    try:
        text = output.read_text(encoding="utf-8", errors="backslashreplace")
    except FileNotFoundError:
        raise _not_sampled(why_py_spy_failed(_said(log))) from None
    packages = {root for file in unrooted_files(text) if (root := package_root(Path(file)))}
    roots = replace(roots, directories=(*roots.directories, *sorted(packages)))
    found = parse_py_spy(text, sampled=sampled, roots=roots)
    return found.samples, found.malformed


@lru_cache(maxsize=10_000)
def package_root(file: Path) -> str:
    """The directory that the package with this file is imported from, such as that of a plug-in; empty without one."""
    directory = file.parent
    while (directory / "__init__.py").is_file() and directory.name:
        directory = directory.parent
    return "" if directory == file.parent else str(directory)


def _read_perf(perf: Perf, output: Path, log: Path) -> tuple[Samples, int]:
    if not output.is_file():
        raise _not_sampled(why_perf_failed(_said(log), paranoid=perf_event_paranoid()))
    text = output.with_name(_TEXT)
    perf.write_text(output, text)
    with text.open(encoding="utf-8", errors="backslashreplace") as lines:
        samples = parse_perf(lines)
    if not samples:
        raise _not_sampled(why_perf_failed(""))
    return samples, 0


def _not_sampled(found: Unavailable) -> MachineError:
    return MachineError("stacks could not be sampled", found.reason, found.fix)


def _said(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="backslashreplace") if log.is_file() else ""
