#!/usr/bin/env python3
"""Whether the adjustment for the machine hides a regression that the candidate's own work makes of it.

A program that works for some milliseconds more before it becomes the client is planted into the candidate: plain work,
a walk through 16 MB that misses the caches, branches that are mispredicted, vector instructions, system calls, page
faults. Each kind is compared in pairs as a gate compares it. The planted CPU time is known, so that the table shows how
much of it the raw and the adjusted change find, how far the covariate moved, and whether the gate would have noticed.

    benchmarks/machine_speed_hidden.py --pairs 40
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Conditions, Settings
from s3bench.cli.definitions import runnable
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.gate.evidence import ClientCellEvidence, RunPair
from s3bench.gate.paired_series import series_of
from s3bench.results.measurement import Measurement

SOURCE = Path(__file__).with_suffix(".c")
KINDS = ("plain", "cache-misses", "branch-misses", "vectors", "system-calls", "page-faults")
SELECT = "upload and cp and 4KB and not 100 and not 5,000"
SETTINGS = Settings(interval_s=None)
PLANTED = 0.06


def main() -> int:
    """Measure every kind; exit 1 where the adjustment hides more than a fifth of what was planted, unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", default="boto3-classic", help="whose command is run (default boto3-classic)")
    parser.add_argument("--pairs", type=int, default=20, help="of each kind (default 20)")
    options = parser.parse_args()
    compiler = shutil.which("cc")
    if compiler is None:
        print("machine_speed_hidden.py: a C compiler is needed", file=sys.stderr)
        return 4
    spec = parse_client_spec(options.client)
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definition = runnable(spec, (), select=SELECT, suite="full")[0]
    hidden = 0
    with tempfile.TemporaryDirectory() as directory, open_bench(stub_server()) as bench:
        program = f"{directory}/plant"
        subprocess.run((compiler, "-O3", "-o", program, SOURCE), check=True)
        with bench.workspace(definition.environment) as runner_of:
            runner = runner_of(definition, found)

            def run(number: int, kind: str, planted_us: int) -> Measurement:
                conditions = Conditions(
                    env={"PYTHONHASHSEED": str(1_000_000_000 + number)}, prefix=(program, kind, str(planted_us))
                )
                each = runner.run_once(number, SETTINGS, "hidden", conditions)
                assert isinstance(each, Measurement), each
                return each

            usual_s = median(run(number, "plain", 0).cpu_time or 0.0 for number in range(7))
            planted_us = round(PLANTED * usual_s * 1e6)
            pairs: dict[str, list[RunPair]] = {kind: [] for kind in KINDS}
            for number in range(options.pairs):
                for kind in KINDS:
                    sides = [("plain", 0), (kind, planted_us)]
                    order = sides if number % 2 == 0 else sides[::-1]
                    runs = {each[1]: run(number, *each) for each in order}
                    pair = RunPair(
                        order="AB" if number % 2 == 0 else "BA",
                        hash_seed=number,
                        started_s=0.0,
                        baseline=runs[0],
                        candidate=runs[planted_us],
                    )
                    pairs[kind].append(pair)
    print(f"{found.label}: +{PLANTED:.0%} CPU time planted, {options.pairs} pairs of each kind")
    for kind, measured in pairs.items():
        series = series_of(ClientCellEvidence(name=kind, pairs=tuple(measured)), "cpu_time")
        facts = series.adjustment
        assert facts is not None
        raw, adjusted = series.raw().change(), series.change()
        low, high = series.interval()
        share = (raw - adjusted) / PLANTED
        hidden += share > 0.2 and not facts.moved and low is not None and low < PLANTED * 0.8
        print(
            f"{kind:14} raw {raw:+.1%}, adjusted {adjusted:+.1%} ({low or math.nan:+.1%} to {high or math.nan:+.1%}); "
            f"the machine {facts.machine_shift or 0.0:+.2%} in the candidate's runs, slope {facts.speed_slope:.2f}"
            + (f"; not adjusted: {facts.moved} differs" if facts.moved else "")
        )
    return int(hidden > 0)


if __name__ == "__main__":
    sys.exit(main())
