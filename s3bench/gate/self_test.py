"""Tests the gate itself: plants faults of known size into a real client, and runs the same gate on each.

Owns what both sides share then: the baseline carries a dial that plants nothing, so that the fault is all they differ
by, and the stub answers the dial's requests. What is planted is `gate.planted_fault`'s, how a gate runs `gating`'s.
"""

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import msgspec

from s3bench.bench import Bench, ClientRunner, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.errors import BadInput, S3BenchError
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import Role, Side
from s3bench.gate.inspection import Inspector
from s3bench.gate.live import GateRules, GateStatus, run_gate
from s3bench.gate.planted_fault import (
    FaultKind,
    FaultVerdict,
    PlantedFault,
    answer_of,
)
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.endpoint import Stubbed
from s3bench.run.inspection import FaultInjection, inspection_variables, read_modules
from s3bench.run.process import Spawner
from s3bench.run.workspace import Workspaces
from s3bench.s3.endpoint import StubEndpoint
from s3bench.s3.wirelog import TransferEngine, WireLog
from s3bench.spec.definition import Definition, RequestMatch, Response
from s3bench.spec.plan import title

CALIBRATING_RUNS = 15
"""Runs of the client as it is; the medians are what planted shares are taken of."""

_DIAL_PATH = "/s3bench-dial/"
_ANSWER = Response(match=RequestMatch(method="GET", path=f"{_DIAL_PATH}*"), instances=None)
_IDLE = Conditions(env=inspection_variables(dial=FaultInjection()))
_SEEDS = 2**32

GateRunner = Callable[[PlantedFault, int], Iterator[GateStatus]]
"""Runs one gate with a fault planted, under a seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What one run of the client takes: medians of its total time and its peak memory."""

    total_s: float
    peak_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestStep:
    """A gate of the self-test: about to run while `answer` is `None`, then concluded. `round` counts from 1."""

    fault: PlantedFault
    round: int
    answer: FaultVerdict | None = None


@contextmanager
def open_bench(parent: Path, engine: TransferEngine | None, *, tls: bool) -> Iterator[Bench]:
    """Everything that runs take, for a client of this engine that carries a dial."""
    with Workspaces(parent=parent) as workspaces:
        directory = workspaces.root / "server"
        directory.mkdir(mode=0o700)
        with StubEndpoint(tls=tls, directory=directory) as stub, Spawner() as spawner:
            yield Bench(spawner=spawner, endpoint=_DialStub(stub=stub, engine=engine), workspaces=workspaces)


def calibrate(
    bench: Bench, definition: Definition, found: FoundClient, settings: Settings, *, runs: int = CALIBRATING_RUNS
) -> Usual:
    """Find out what a run takes, once warm. Raises `BadInput` where the dial cannot be planted."""
    with bench.workspaces.open(definition.environment) as workspace:
        bout = ClientRunner(bench=bench, definition=definition, found=found, workspace=workspace)
        # A client that ends before the probe is loaded would carry no fault, and the gate be blamed for not seeing it.
        modules_file = workspace.output / "modules"
        _measured(bout, settings, Conditions(env={**_IDLE.env, **inspection_variables(modules_file=modules_file)}))
        if read_modules(modules_file) is None:
            raise BadInput(
                f"no fault can be planted into {found.label} running {title(definition)}",
                "it ends before our probe is loaded, or is no Python",
                "choose a benchmark that makes a request, as -k 's3.cp.upload and 4KB'",
            )
        measured = [_measured(bout, settings, _IDLE) for _ in range(runs)]
    peaks = [run.peak_memory for run in measured if run.peak_memory is not None]
    return Usual(total_s=median(run.total_time for run in measured), peak_bytes=median(peaks) if peaks else None)


def _measured(bout: ClientRunner, settings: Settings, conditions: Conditions) -> Measurement:
    run = bout.once(0, settings, "calibration", conditions)
    if isinstance(run, Failure):
        raise S3BenchError(
            f"{bout.found.label} failed on {title(bout.definition)} with nothing planted: {run.what}",
            run.why,
            "mend that first: `s3bench run` with the same client and benchmark shows it",
        )
    return run


def dial_of(fault: PlantedFault) -> FaultInjection:
    """The dial that plants `fault`."""
    match fault.kind:
        case FaultKind.WORK:
            return FaultInjection(spin_s=fault.amount)
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
    *,
    now: Callable[[], float],
) -> GateRunner:
    """Run the real gate, the fault in the first of `definitions`."""

    def run(fault: PlantedFault, seed: int) -> Iterator[GateStatus]:
        victim, dial = definitions[0], inspection_variables(dial=dial_of(fault))
        faulty = replace(rules, seed=seed, planted={victim: Conditions(env=dial)}, sham={victim: _IDLE})
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

    All faults have their turn in each round, in an order of its own, so that whenever it is stopped it tells of all of
    them, and none always runs in the company of another. It ends at `deadline_s` on the clock `now`; a gate that was
    not through by then is no answer.
    """
    randomness = random.Random(seed)  # noqa: S311 (an order, not a secret)
    for number in range(1, rounds + 1):
        for fault in randomness.sample(list(faults), len(faults)):
            gate_seed = randomness.randrange(_SEEDS)
            started_s = now()
            if deadline_s is not None and started_s >= deadline_s:
                return
            yield SelfTestStep(fault=fault, round=number)
            standing = None
            for standing in run(fault, gate_seed):  # noqa: B007 (the last one counts)
                pass
            assert standing is not None, "a gate ends with where it stands"
            if standing.is_out_of_time:
                return
            victim = next(cell for cell in standing.cells if cell.role is Role.BENCHMARK)
            answer = answer_of(
                fault,
                victim,
                conclude(standing.cells, policy, today=today),
                policy,
                round=number,
                seed=gate_seed,
                elapsed_s=round(now() - started_s, 3),
            )
            yield SelfTestStep(fault=fault, round=number, answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DialStub(Stubbed):
    """Scripted responses, and one for whatever the dial asks.

    The dial's requests stand for the client's own, and count as `engine`'s: the wire shows another program, and would
    prove the fault rather than leave it to the gate.
    """

    engine: TransferEngine | None = None

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Hand the script to the server, the dial's response first: one that fits any request comes after it."""
        self.stub.arm((_ANSWER, *responses), workspace=workspace, verify=verify)

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        """The server's own record, but for the dial's engine."""
        log, engine = self.stub.collect(meanwhile), self.engine
        if engine is None:
            return log
        requests = (
            msgspec.structs.replace(request, engine=engine) if request.path.startswith(_DIAL_PATH) else request
            for request in log.requests
        )
        return msgspec.structs.replace(log, requests=tuple(requests))
