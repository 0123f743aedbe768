"""Runs the benchmarks of a plan one after the other, and makes the results document from what they show."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from s3bench.bench.runner import Bench, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.plan import Cell, Plan
from s3bench.errors import S3BenchError
from s3bench.results.audit import compare_observed
from s3bench.results.document import Client, Document, Result
from s3bench.results.measurement import Failure, Measurement

FAILURES_MAX = 3
"""A client that failed this often, and never once succeeded, is not run again: the reason is known by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyCell:
    """One definition, and its client as found; or why it cannot be run here."""

    cell: Cell
    client: FoundClient | S3BenchError

    @property
    def found(self) -> FoundClient | None:
        """The client, if it was found."""
        return self.client if isinstance(self.client, FoundClient) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What is called outside of the measurement: `prepare` before every run, `cleanup` after the last one of a cell.

    What they raise is an error in the result; a cell whose `prepare` fails is not run any further.
    """

    prepare: Callable[[], None] | None = None
    cleanup: Callable[[], None] | None = None


NO_HOOKS = Hooks()

_DEBUG_NAME_BYTES_MAX = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteStatus:
    """The document so far, the `result` that changed last, and how many of `total` runs are `done`."""

    document: Document
    result: Result
    done: int
    total: int


def run_suite(
    bench: Bench,
    cells: tuple[ReadyCell, ...],
    settings: Settings,
    plan: Plan,
    document: Document,
    *,
    audit: bool,
    hooks: Hooks = NO_HOOKS,
) -> Iterator[SuiteStatus]:
    """Run every cell in turn; yield `document` with its result after every run, and once more when it is closed.

    Results have the clients of `document`. What fails is an error in its result, and the others run all the same.
    Requests are kept of the iteration of median time so far. With `audit` every iteration has a twin without sampling
    and probes, in the order ABBA, and the result says what measuring changed.
    """
    steps = _schedule(settings, plan, audit=audit)
    clients = {client.label: client for client in document.clients}
    done = 0
    for number, ready in enumerate(cells):
        for result in _run_cell(bench, ready, steps, hooks, number, clients):
            document = document.with_result(result)
            done += result.is_running
            yield SuiteStatus(document=document, result=result, done=done, total=len(steps) * len(cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One run to come. `iteration` counts what is measured from 0, and is `None` for a warm-up.

    `name` is that of its directory in --debug-dir, below that of its cell.
    """

    settings: Settings
    iteration: int | None
    name: str
    is_observed: bool = True


def _schedule(settings: Settings, plan: Plan, *, audit: bool) -> tuple[_Step, ...]:
    steps = [_Step(settings=settings, iteration=None, name=f"warmup-{number}") for number in range(plan.warmup)]
    for iteration in range(plan.iterations):
        step = _Step(settings=settings, iteration=iteration, name=str(iteration))
        name = f"{iteration}-unobserved"
        twin = _Step(settings=settings.unobserved(), iteration=iteration, name=name, is_observed=False)
        steps += ([step, twin] if iteration % 2 == 0 else [twin, step]) if audit else [step]
    return tuple(steps)


def _run_cell(
    bench: Bench,
    ready: ReadyCell,
    steps: tuple[_Step, ...],
    hooks: Hooks,
    number: int,
    clients: Mapping[str, Client],
) -> Iterator[Result]:
    cell, client = ready.cell, ready.client
    if isinstance(client, S3BenchError):
        yield _unrunnable(cell, client)
        return
    named = clients.get(client.label) or Client(name=client.kind, version=client.version, label=client.label)
    result = new_result(cell, named)
    unobserved: dict[int, Measurement] = {}
    conditions = Conditions(prepare=hooks.prepare)
    debug_name = _debug_name(number, cell.definition.name, client.label)
    iteration: int | None = None  # that is being run
    try:
        with bench.workspace(cell.definition.environment) as runner_of:
            runner = runner_of(cell.definition, client)
            for step in steps:
                iteration = step.iteration
                outcome = runner.run_once(iteration or 0, step.settings, f"{debug_name}/{step.name}", conditions)
                if isinstance(outcome, Failure):
                    result = result.with_failure(msgspec.structs.replace(outcome, iteration=iteration))
                elif not step.is_observed:
                    unobserved[outcome.iteration] = outcome
                elif step.iteration is not None:
                    result = result.with_measurement(outcome)
                yield result.with_requests_of_one()
                iteration = None
                if len(result.errors) >= FAILURES_MAX and not result.measurements:
                    break
    except S3BenchError as error:
        result = result.with_failure(_failure_of(error, iteration))
    if unobserved:
        result = result.with_audit(compare_observed(result.runs, unobserved))
    yield _cleaned_up(result, hooks).completed()


def _debug_name(number: int, name: str, label: str) -> str:
    """The name of a cell's directory in --debug-dir; the number makes it unique.

    A benchmark's name may hold anything that can be printed and be longer than names of files.
    """
    whole = re.sub(r"[^\w.-]+", "_", f"{number:03d}-{name}-{label}")
    return whole.encode()[:_DEBUG_NAME_BYTES_MAX].decode(errors="ignore")


def _cleaned_up(result: Result, hooks: Hooks) -> Result:
    try:
        if hooks.cleanup is not None:
            hooks.cleanup()
    except S3BenchError as error:
        return result.with_failure(_failure_of(error))
    return result


def new_result(cell: Cell, client: Client) -> Result:
    """The result of a cell before anything was measured."""
    dimensions = tuple({name: value} for name, value in cell.dimensions)
    return Result(name=cell.definition.name, dimensions=dimensions, client=client, tags=cell.definition.tags)


def _unrunnable(cell: Cell, error: S3BenchError) -> Result:
    client = Client(name=cell.client.kind, version=cell.client.version or "", label=str(cell.client))
    return new_result(cell, client).with_failure(_failure_of(error)).completed()


def _failure_of(error: S3BenchError, iteration: int | None = None) -> Failure:
    return Failure(iteration=iteration, what=error.what, why=f"{error.why} {error.fix}".strip())
