#!/usr/bin/env python3
"""How well instruction counts repeat, and how far they are apart between published releases of a client.

Counts instructions of `--version` and of the upload of one file of 4 KB, several runs of each client, as the gate does,
and appends every count to benchmarks/data/instruction_counts/counts.jsonl. The limits that the gate applies to
instructions, and which clients it counts them of, come from these figures. Releases have to be installed
(`s3bench clients install aws-cli@VERSION`).

    benchmarks/instruction_counts.py cli-classic@2.34.8 cli-classic@2.34.13 --runs 4
    benchmarks/instruction_counts.py --summary
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median

import kept

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import PLAIN, Settings
from s3bench.cli.definitions import runnable
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.gate.evidence import Inspection
from s3bench.gate.inspection import find_inspector
from s3bench.gate.policy import Policy

FILE = Path(__file__).parent / "data" / "instruction_counts" / "counts.jsonl"
SELECT = "version or (upload and cp and 4KB and not 100 and not 5,000)"
POLICY = Policy(metrics=(), exact=("instructions",))
SETTINGS = Settings(interval_s=None)


def count(client_text: str, select: str, runs: int) -> None:
    """Append the counts of one client, until there are `runs` of each benchmark."""
    spec = parse_client_spec(client_text)
    found = find_client(spec, ClientStore.from_environment(os.environ))
    with open_bench(stub_server()) as bench:
        inspector = find_inspector(bench.root / "inspection", POLICY)
        assert inspector is not None
        assert inspector.counter is not None
        for definition in runnable(spec, (), select=select, suite=None):
            there = counted().get((found.label, definition.name), [])
            with bench.workspace(definition.environment) as runner_of:
                runner = runner_of(definition, found)
                for number in range(len(there), runs + (not there)):
                    seen = inspector.inspect(runner, SETTINGS, PLAIN)
                    assert isinstance(seen, Inspection), seen
                    if not there and not number:
                        continue  # the first run compiles what is not compiled yet
                    told = {
                        "client": found.label,
                        "benchmark": definition.name,
                        "counter": inspector.counter.name,
                        "instructions": seen.instructions,
                    }
                    kept.append(FILE, told)
                    print(json.dumps(told), flush=True)


def counted() -> dict[tuple[str, str], list[int]]:
    """All counts by client and benchmark, in the order in which they were made."""
    found: dict[tuple[str, str], list[int]] = {}
    for line in kept.read(FILE):
        found.setdefault((line["client"], line["benchmark"]), []).append(line["instructions"])
    return found


def summarize() -> None:
    """Print the spread of each client's runs, and the change from the release before it."""
    before: dict[tuple[str, str], float] = {}
    for (label, benchmark), counts in sorted(counted().items(), key=lambda each: (each[0][1], _order(each[0][0]))):
        usual = median(counts)
        name = label.partition("@")[0]
        last = before.get((name, benchmark))
        change = "" if last is None else f"  {usual / last - 1:+.2%} from the release before"
        spread = max(counts) / min(counts) - 1
        print(f"{benchmark:14} {label:24} {usual / 1e6:10.1f} M  {len(counts)} runs differ by {spread:.4%}{change}")
        before[name, benchmark] = usual


def _order(label: str) -> tuple[str, tuple[int, ...]]:
    name, _, version = label.partition("@")
    return name, tuple(int(part) for part in version.split(".") if part.isdigit())


def main() -> int:
    """Count, or print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT[@VERSION]", help="default: print what was counted")
    parser.add_argument("--runs", type=int, default=4, help="of each benchmark, those that are there included")
    parser.add_argument("-k", dest="select", default=SELECT, metavar="SELECT", help="the benchmarks")
    parser.add_argument("--summary", action="store_true", help="print what was counted after it too")
    options = parser.parse_args()
    for client in options.clients:
        count(client, options.select, options.runs)
    if options.summary or not options.clients:
        summarize()
    return 0


if __name__ == "__main__":
    sys.exit(main())
