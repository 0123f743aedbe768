#!/usr/bin/env python3
"""How long the harness takes between the end of one iteration and the start of the next.

Runs the real `s3bench run` and reads `harness.turnaround_time` from its document: repairing the workspace, arming the
stub, starting the client, and afterwards collecting the wire log, checking the bytes and writing the document.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

S3BENCH = Path(sys.executable).with_name("s3bench")
CASES = (
    # What runs, and the bar in seconds.
    ("startup.version", "version and cli", 0.025),
    ("s3.cp.upload 32MB", "cp and upload and 32MB and (cli-classic or s5cmd)", 0.025),
    ("s3.cp.download 32MB", "cp and download and 32MB and (cli-crt or s5cmd)", 0.025),
    ("s3.mv.upload 32MB", "mv and upload and 32MB and cli-classic", 0.025),
    ("s3.sync.upload 5,000 files", "sync and upload and 5,000 and s5cmd", 0.100),
    ("s3.sync.download 5,000 files", "sync and download and 5,000 and s5cmd", 0.100),
)


def turnarounds(select: str, iterations: int) -> list[float]:
    """Every turnaround time of a run, in seconds."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "results.json"
        command = [S3BENCH, "run", "--quiet", "-n", str(iterations), "--suite", "full", "-k", select, "-o", output]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        document = json.loads(output.read_text())
    times = [m["harness"]["turnaround_time"] for result in document["results"] for m in result["measurements"]]
    return [time for time in times if time is not None]


def main() -> int:
    """Measure every case; exit 1 when a median is above its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    rows = []
    for name, select, bar_s in CASES:
        times = turnarounds(select, options.iterations)
        median_s = statistics.median(times)
        row = {"case": name, "n": len(times), "median_s": median_s, "max_s": max(times), "bar_s": bar_s}
        rows.append(row)
        if not options.json:
            verdict = "ok" if median_s <= bar_s else "ABOVE THE BAR"
            print(
                f"{name:32} n={len(times):3} median {median_s * 1e3:6.1f} ms  max {max(times) * 1e3:6.1f} ms  "
                f"bar {bar_s * 1e3:.0f} ms  {verdict}",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(any(row["median_s"] > row["bar_s"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
