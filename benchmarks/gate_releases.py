#!/usr/bin/env python3
"""What the gate finds between published releases of the aws-cli, and whether it finds the same twice.

Runs the real `s3bench gate` on pairs of releases, each pair as often as asked, the repetitions apart from each other.
Releases have to be installed (`s3bench clients install aws-cli@VERSION`). The conclusions are kept under
benchmarks/data/gate_releases/, and `--summary` prints them again: verdicts, and every change of time or memory found.

    benchmarks/gate_releases.py                          the pairs below, twice each
    benchmarks/gate_releases.py --pair cli-classic@1.45.64 cli-classic@1.46.2
    benchmarks/gate_releases.py --summary
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

S3BENCH = Path(sys.executable).with_name("s3bench")
DATA = Path(__file__).parent / "data" / "gate_releases"
PAIRS = (
    ("cli-classic@2.27.16", "cli-classic@2.34.52"),
    ("cli-classic@2.34.8", "cli-classic@2.34.13"),
    ("cli-classic@2.34.52", "cli-classic@2.38.5"),
    ("cli-crt@2.34.52", "cli-crt@2.38.5"),
    ("cli-classic@2.36.1", "cli-classic@2.38.5"),
    ("cli-classic@1.43.0", "cli-classic@1.46.2"),
    ("cli-classic@1.45.64", "cli-classic@1.46.2"),
)
SELECT = "version or (upload and cp and 4KB and not 100 and not 5,000) or (download and cp and 32MB)"
# The wire's exact metrics alone: modules, files and system calls differ between all releases, and are another question.
EXACT = ("requests", "bytes")


def run_gate(baseline: str, candidate: str, repetition: int) -> None:
    """Run one gate and keep its conclusion."""
    DATA.mkdir(parents=True, exist_ok=True)
    kept = DATA / f"{baseline}-{candidate}-{repetition}.json"
    if kept.exists():
        return
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "gate.json"
        command = [str(S3BENCH), "gate", "--baseline", baseline, "--candidate", candidate, "-k", SELECT]
        command += ["-o", str(output), "--max-time", "20m", "--quiet", "--no-instructions"]
        command += [word for name in EXACT for word in ("--exact", name)]
        finished = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if finished.returncode == 2 or not output.exists():
            sys.exit(f"gate_releases: {' '.join(command)} exited {finished.returncode}")
        record = json.loads(output.read_text())
    facts: dict[str, Any] = {"exit_code": finished.returncode, "seconds": round(time.monotonic() - started_s)}
    facts |= {name: record[name] for name in ("baseline", "candidate", "policy", "warnings", "conclusion")}
    facts["machine"] = {name: record["machine"].get(name) for name in ("cpu_model", "load_1min", "kernel")}
    kept.write_text(json.dumps(facts, indent=1) + "\n")


def summarize() -> int:
    """Print every pair's verdicts and findings; 1 when two runs of a pair disagree."""
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for file in sorted(DATA.glob("*.json")):
        facts = json.loads(file.read_text())
        pairs.setdefault((facts["baseline"]["label"], facts["candidate"]["label"]), []).append(facts)
    disagreeing = 0
    for (baseline, candidate), runs in pairs.items():
        verdicts = [run["conclusion"]["verdict"] for run in runs]
        seconds = ", ".join(str(run["seconds"]) for run in runs)
        print(f"{candidate} against {baseline}: {' '.join(verdicts)} ({seconds} s)")
        disagreeing += len(set(verdicts)) > 1
        for found in dict.fromkeys(name for run in runs for name in _findings(run)):
            told = "; ".join(_findings(run).get(found, "not found") for run in runs)
            print(f"    {found}: {told}")
    return int(disagreeing > 0)


def _findings(run: dict[str, Any]) -> dict[str, str]:
    """The rows that decide and do not PASS, and those whose interval leaves d0 on the better side."""
    found = {}
    for row in run["conclusion"]["rows"]:
        if row["role"] != "benchmark" or row["kind"] == "informing":
            continue
        name = f"{row['metric']} of {row['benchmark'] or 'all benchmarks'}"
        if row["kind"] == "exact":
            if row["changes"]:
                found[name] = row["reason"]
        elif row["verdict"] != "PASS" or (row["high"] is not None and row["high"] < -row["d0"]):
            low, high = (f"{row[end]:+.1%}" if row[end] is not None else "?" for end in ("low", "high"))
            found[name] = f"{row['verdict']} {row['change']:+.1%} ({low} to {high}), {row['pairs']} pairs"
    return found


def main() -> int:
    """Run what is missing, then sum up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pair",
        nargs=2,
        action="append",
        metavar=("BASELINE", "CANDIDATE"),
        help="instead of the pairs of this script",
    )
    parser.add_argument("--repetitions", type=int, default=2, help="of each pair (default 2)")
    parser.add_argument("--summary", action="store_true", help="print what was found; run nothing")
    options = parser.parse_args()
    if not options.summary:
        for repetition in range(1, options.repetitions + 1):
            for baseline, candidate in options.pair or PAIRS:
                run_gate(baseline, candidate, repetition)
    return summarize()


if __name__ == "__main__":
    sys.exit(main())
