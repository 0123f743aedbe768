"""Tests the gate itself: plants faults of known size into a real client, and runs the same gate on each.

The candidate carries a fault injection, and the baseline one that plants nothing, so that the fault is all they differ
by. The stub answers the requests of the injection.
"""

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import msgspec

from s3bench.bench.endpoints import EndpointOpener
from s3bench.bench.runner import Bench, ClientRunner, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.plan import title
from s3bench.errors import BadInput, S3BenchError
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Role, RunPair, Side
from s3bench.gate.inspection import Inspector
from s3bench.gate.live import GateRules, GateStatus, run_gate
from s3bench.gate.paired_series import series_of
from s3bench.gate.planted_fault import FaultKind, FaultVerdict, PlantedFault, SelfTest, count_verdicts, fault_verdict
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.endpoint import Endpoint, Stubbed
from s3bench.run.inspection import FaultInjection, inspection_variables, read_modules
from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import TransferEngine, WireLog
from s3bench.spec.definition import Definition, RequestMatch, Response

CALIBRATING_RUNS = 15
"""Runs of the client without a fault; planted shares are taken of their medians."""

_TRIED_TURNS = tuple(1000 << doubled for doubled in range(10))

_INJECTED_PATH = "/s3bench-fault/"
_RESPONSE = Response(match=RequestMatch(method="GET", path=f"{_INJECTED_PATH}*"), instances=None)
_IDLE = Conditions(env=inspection_variables(injection=FaultInjection()))
_SEEDS = 2**32

GateRunner = Callable[[PlantedFault, int], Iterator[GateStatus]]
"""Runs one gate with a fault planted, under a seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What one run of the client takes: medians of its total time and its peak memory.

    `turns` of the planted work take as long as such a run.
    """

    total_s: float
    peak_bytes: float | None
    turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestStep:
    """A gate of the self-test: about to run while `answer` is `None`, then concluded. `round` counts from 1."""

    fault: PlantedFault
    round: int
    answer: FaultVerdict | None = None


def stub_with_injection(engine: TransferEngine | None, *, tls: bool = False) -> EndpointOpener:
    """A stub for a client of this engine that carries a fault injection."""

    @contextmanager
    def opened(directory: Path) -> Iterator[Endpoint]:
        with StubEndpoint(tls=tls, directory=directory) as stub:
            yield InjectionStub(stub=stub, engine=engine)

    return opened


def calibrate(
    bench: Bench, definition: Definition, client: FoundClient, settings: Settings, *, runs: int = CALIBRATING_RUNS
) -> Usual:
    """Measure what a run takes, once warm. Raises `BadInput` where no fault can be planted.

    The planted work is calibrated in pairs of neighbouring runs, one of which carries about as much of it as a run
    takes. Their difference is measured as a gate measures it, adjusted for the speed of the machine.
    """
    with bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, client)
        # A client that ends before the probe is loaded carries no fault, and the gate would be blamed for missing it.
        modules_file = runner.workspace.output / "modules"
        seen = Conditions(env={**_IDLE.env, **inspection_variables(modules_file=modules_file)})
        first_s = _measured(runner, settings, seen).total_time
        if read_modules(modules_file) is None:
            raise BadInput(
                f"no fault can be planted into {client.label} running {title(definition)}",
                "it ends before the probe of s3bench is loaded, or is not a Python program",
                "choose a benchmark that makes a request, for example -k 's3.cp.upload and 4KB'",
            )
        for turns in _TRIED_TURNS:
            if _measured(runner, settings, _working(turns)).total_time >= 2 * first_s:
                break
        pairs = []
        for number in range(runs):
            order = (0, turns) if number % 2 else (turns, 0)  # in turn, so that a drift of the machine cancels out
            run = {each: _measured(runner, settings, _working(each)) for each in order}
            name = "AB" if order[0] == 0 else "BA"
            pairs.append(RunPair(order=name, hash_seed=0, started_s=0.0, baseline=run[0], candidate=run[turns]))
    share = series_of(ClientCellEvidence(name=definition.name, pairs=tuple(pairs)), "total_time").change()
    if share <= 0:
        raise S3BenchError(
            f"planted work did not slow down {client.label} running {title(definition)}",
            f"{runs} runs that compile a source text {turns:,} times were not slower than those without",
            "run the self-test when the machine is less busy",
        )
    peaks = [pair.baseline.peak_memory for pair in pairs if pair.baseline.peak_memory is not None]
    return Usual(
        total_s=median(pair.baseline.total_time for pair in pairs),
        peak_bytes=median(peaks) if peaks else None,
        turns=turns / share,
    )


def _working(turns: int) -> Conditions:
    return Conditions(env=inspection_variables(injection=FaultInjection(turns=turns)))


def _measured(runner: ClientRunner, settings: Settings, conditions: Conditions) -> Measurement:
    run = runner.run_once(0, settings, "calibration", conditions)
    if isinstance(run, Failure):
        raise S3BenchError(
            f"{runner.client.label} failed on {title(runner.definition)} with nothing planted: {run.what}",
            run.why,
            "run `s3bench run` with the same client and benchmark to see why",
        )
    return run


def injection_of(fault: PlantedFault, usual: Usual) -> FaultInjection:
    """The fault injection that plants `fault` into a client of this usual time."""
    match fault.kind:
        case FaultKind.WORK:
            return FaultInjection(turns=round(fault.share * usual.turns))
        case FaultKind.MEMORY:
            return FaultInjection(hold_bytes=round(fault.amount))
        case FaultKind.REQUEST:
            return FaultInjection(requests=round(fault.amount))
        case FaultKind.IMPORT:
            return FaultInjection(imports=round(fault.amount))


def gate_runner(
    bench: Bench,
    definitions: Sequence[Definition],
    clients: Mapping[Side, FoundClient],
    rules: GateRules,
    inspector: Inspector | None,
    usual: Usual,
    *,
    now: Callable[[], float],
) -> GateRunner:
    """Run the real gate, the fault in the first of `definitions`."""

    def run(fault: PlantedFault, seed: int) -> Iterator[GateStatus]:
        target, conditions = definitions[0], Conditions(env=inspection_variables(injection=injection_of(fault, usual)))
        faulty = replace(rules, seed=seed, planted={target: conditions}, sham={target: _IDLE})
        return run_gate(bench, definitions, clients, faulty, inspector, now=now)

    return run


def run_self_test(
    run: GateRunner,
    faults: Sequence[PlantedFault],
    policy: Policy,
    *,
    rounds: int,
    seed: int,
    deadline_s: float | None,
    today: dt.date,
    now: Callable[[], float],
) -> Iterator[SelfTestStep]:
    """Run a gate on each fault, `rounds` times; yield every gate before it runs, and with its answer.

    Each round has all faults, in an order of its own, so that whenever it is stopped there are answers to all of them,
    and no two always run next to each other. It ends at `deadline_s` on the clock `now`; a gate that was not done by
    then has no answer.
    """
    randomness = random.Random(seed)  # noqa: S311 (an order, not a secret)
    for number in range(1, rounds + 1):
        for fault in randomness.sample(list(faults), len(faults)):
            gate_seed = randomness.randrange(_SEEDS)
            started_s = now()
            if deadline_s is not None and started_s >= deadline_s:
                return
            yield SelfTestStep(fault=fault, round=number)
            status = None
            for status in run(fault, gate_seed):  # noqa: B007 (the last one counts)
                pass
            assert status is not None, "a gate ends with a status"
            if status.is_out_of_time:
                return
            target = next(cell for cell in status.cells if cell.role is Role.BENCHMARK)
            answer = fault_verdict(
                fault,
                target,
                conclude(status.cells, policy, today=today),
                policy,
                round=number,
                seed=gate_seed,
                elapsed_s=round(now() - started_s, 3),
            )
            yield SelfTestStep(fault=fault, round=number, answer=answer)


def recorded(
    test: SelfTest, faults: Sequence[PlantedFault], steps: Iterator[SelfTestStep], *, out_of_time: str = ""
) -> Iterator[tuple[SelfTest, SelfTestStep | None]]:
    """Yield the test as it grows, before and after every gate and at the end, there without a step.

    `out_of_time` is why it was stopped if not all of its gates are there then.
    """
    answers: dict[PlantedFault, list[FaultVerdict]] = {fault: [] for fault in faults}
    for step in steps:
        if step.answer is not None:
            answers[step.fault].append(step.answer)
        test = _with_answers(test, answers)
        yield test, step
    yield _with_answers(test, answers).stopped_by(out_of_time), None


def _with_answers(test: SelfTest, answers: Mapping[PlantedFault, Sequence[FaultVerdict]]) -> SelfTest:
    return msgspec.structs.replace(test, tallies=tuple(count_verdicts(fault, answers[fault]) for fault in answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionStub(Stubbed):
    """Scripted responses, and one for the requests of a fault injection.

    These stand for the client's own, and count as `engine`'s: they are made by another HTTP library, and the wire
    checks would report that, instead of the gate finding the fault.
    """

    engine: TransferEngine | None = None

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Hand the script to the server, our response first: one that fits any request comes after it."""
        self.stub.arm((_RESPONSE, *responses), workspace=workspace, verify=verify)

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """The server's own record, the injected requests as the client's."""
        log, engine = self.stub.collect(meanwhile), self.engine
        if engine is None:
            return log
        requests = (
            msgspec.structs.replace(request, engine=engine) if request.path.startswith(_INJECTED_PATH) else request
            for request in log.requests
        )
        return msgspec.structs.replace(log, requests=tuple(requests))
