#!/usr/bin/env python3
"""What measuring changes: the same client command with and without sampling, probes inside it, and the speed probe.

Pairs of neighbouring runs in the order ABBA, each a fresh process of a real client against the stub. Reported are the
median of the paired ratios of wall and CPU time, with the interval of the sign test, and the sampler's own CPU time.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from s3bench.clients.environment import EndpointFacts, Sandbox
from s3bench.clients.finding import find_client
from s3bench.clients.invocation import invocation
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_clients
from s3bench.clients.store import ClientStore
from s3bench.results.audit import Ratio, paired_ratio
from s3bench.run.process import Launch, ProcessRecord, Spawner
from s3bench.run.workspace import Workspaces
from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.command import parse_transfer
from s3bench.spec.definition import Definition
from s3bench.spec.parse import read_definitions

DEFINITIONS = Path(__file__).parents[1] / "benchmarks.json"
INTERVAL_S = 0.001
RATIO_BAR = 0.01
SAMPLER_BAR = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """One side of a comparison."""

    samples: bool = False
    probes: bool = False
    speed: bool = False


Run = Callable[[How], ProcessRecord]


@contextmanager
def real_client(client: str, definition: Definition) -> Iterator[Run]:
    """Give a function that runs `definition` on `client` once."""
    found = find_client(parse_client_spec(client), ClientStore.from_environment(os.environ))
    transfer = parse_transfer(definition.command)
    with (
        tempfile.TemporaryDirectory() as directory,
        StubEndpoint(directory=Path(directory)) as stub,
        Workspaces(parent=Path(tempfile.gettempdir())) as workspaces,
        workspaces.open(definition.environment) as workspace,
        Spawner() as spawner,
    ):

        def run(how: How) -> ProcessRecord:
            workspace.restore()
            stub.arm(definition.responses or (), workspace=workspace.pristine, verify=True)
            sandbox = Sandbox(
                home=workspace.home,
                temporary=workspace.tmp,
                work=workspace.work,
                probe_file=workspace.output / "milestones" if how.probes else None,
            )
            call = invocation(found, definition, transfer, EndpointFacts(url=stub.url), sandbox)
            workspace.write_config(call.config_text)
            record = spawner.run(
                Launch(
                    argv=call.argv,
                    env=call.env,
                    cwd=workspace.work,
                    stdout=workspace.output / "stdout",
                    stderr=workspace.output / "stderr",
                    timeout_s=120,
                    interval_s=INTERVAL_S if how.samples else None,
                    measures_speed=how.speed,
                )
            )
            stub.collect()
            assert record.exit_code == 0, (workspace.output / "stderr").read_text()
            return record

        yield run


@dataclass(slots=True)
class Pairs:
    """Paired records, the one with before the one without."""

    records: list[tuple[ProcessRecord, ProcessRecord]]

    @property
    def wall(self) -> Ratio:
        """Wall time with over without."""
        return paired_ratio([(wall_s(one), wall_s(other)) for one, other in self.records])

    @property
    def cpu(self) -> Ratio:
        """CPU time with over without."""
        return paired_ratio([(cpu_s(one), cpu_s(other)) for one, other in self.records])


def wall_s(record: ProcessRecord) -> float:
    """Wall time of one run."""
    return (record.ended_ns - record.started_ns) / 1e9


def cpu_s(record: ProcessRecord) -> float:
    """CPU time of one run."""
    return record.usage.cpu_s


def compare(run: Run, one: How, other: How, *, pairs: int, precision: float, max_s: float) -> Pairs:
    """Collect at least `pairs` pairs, and go on until the wall interval is narrow enough or the time is up."""
    found = Pairs([])
    deadline_s = time.monotonic() + max_s
    run(one), run(other)  # warm caches on both sides
    while time.monotonic() < deadline_s:
        order = (one, other) if len(found.records) % 2 == 0 else (other, one)
        first, second = run(order[0]), run(order[1])
        found.records.append((first, second) if order[0] is one else (second, first))
        if len(found.records) >= pairs and half_width(found.wall) <= precision and half_width(found.cpu) <= precision:
            break
    return found


def half_width(ratio: Ratio) -> float:
    """Half the width of the interval, as a part of the median."""
    return float("inf") if ratio.low is None or ratio.high is None else (ratio.high - ratio.low) / 2


def words(ratio: Ratio) -> str:
    """`+0.3 % (-0.1 to +0.8 %)`."""
    if ratio.low is None or ratio.high is None:
        return f"{(ratio.median - 1) * 100:+.2f} % (too few pairs for an interval)"
    return f"{(ratio.median - 1) * 100:+.2f} % ({(ratio.low - 1) * 100:+.2f} to {(ratio.high - 1) * 100:+.2f} %)"


def main() -> int:
    """Measure; exit 1 when a median is above its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", default="boto3-classic", help="what is run (default boto3-classic)")
    parser.add_argument("--benchmark", default="s3.cp.upload", help="its first definition in benchmarks.json is run")
    parser.add_argument("--pairs", type=int, default=40, help="of each comparison at least (default 40)")
    parser.add_argument("--precision", type=float, default=0.005, help="half-width of the interval to reach")
    parser.add_argument("--max-time", type=float, default=240, help="seconds for each comparison")
    parser.add_argument("--what", choices=("sampling", "probes", "speed"), action="append", help="these alone")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args()
    definition = next(item for item in read_definitions(DEFINITIONS, known_clients()) if item.name == options.benchmark)
    off = How()
    every = {"sampling": How(samples=True), "probes": How(probes=True), "speed": How(speed=True)}
    comparisons = {name: every[name] for name in options.what or every}
    rows = []
    with real_client(options.client, definition) as run:
        for name, how in comparisons.items():
            pairs = compare(run, how, off, pairs=options.pairs, precision=options.precision, max_s=options.max_time)
            sampled = [one for one, _ in pairs.records]
            counts = [len(one.series.at_s) if one.series else 0 for one in sampled]
            spacing_ms = median(1e3 * wall_s(one) / max(1, count) for one, count in zip(sampled, counts, strict=True))
            share = median(one.sampler_cpu_s / wall_s(one) for one in sampled)
            row = {"what": name, "pairs": len(pairs.records), "wall": pairs.wall, "cpu": pairs.cpu}
            rows.append({**row, "sampler_share": share, "spacing_ms": spacing_ms})
            if not options.json:
                print(f"{name} on {options.client}, {len(pairs.records)} pairs:")
                print(f"  wall time {words(pairs.wall)}, CPU time {words(pairs.cpu)}; bar {RATIO_BAR:.0%}")
                if how.speed:
                    print(f"  speed probe {share:.2%} of a core; bar {RATIO_BAR:.0%}")
                if how.samples:
                    print(f"  sampler {share:.2%} of a core, a sample every {spacing_ms:.2f} ms; bar {SAMPLER_BAR:.0%}")
                sys.stdout.flush()
    if options.json:
        plain = [{**row, "wall": row["wall"].median, "cpu": row["cpu"].median} for row in rows]  # type: ignore[union-attr]
        print(json.dumps(plain, indent=2))
    worst = max(max(row["wall"].median, row["cpu"].median) for row in rows)  # type: ignore[union-attr]
    return int(worst > 1 + RATIO_BAR or max(row["sampler_share"] for row in rows) > SAMPLER_BAR)  # type: ignore[type-var]


if __name__ == "__main__":
    sys.exit(main())
