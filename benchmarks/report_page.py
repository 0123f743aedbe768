#!/usr/bin/env python3
"""How long `s3bench report -o page.html` takes and how large the page is, for large documents, start-up included.

Generates documents of runs with memory and CPU over time (those of compare_speed.py), runs the real command on one and
on two of them, and prints the median of three. The bars: 10 s for 200 benchmarks of 40 runs, and 1.5 MB for any.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare_speed import document

from s3bench.report.page.fitting import PAGE_BYTES_MAX
from s3bench.results.file import write_document

BAR_S = 10.0
ROUNDS = 3
SHAPES = ((200, 40), (1_000, 10), (4, 1_000))  # benchmarks, runs of each
COMMAND = (sys.executable, "-c", "from s3bench.cli.main import main; main()", "report")


def page(files: list[Path], to: Path) -> tuple[float, int]:
    """Make a page of the files: the median of its seconds, and its bytes."""
    took_s = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        subprocess.run([*COMMAND, *files, "-o", to, "--force"], check=True)
        took_s.append(time.perf_counter() - started_s)
    return statistics.median(took_s), to.stat().st_size


def main() -> int:
    """Print a line for each shape; 1 when a bar is missed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    is_missed = False
    print("benchmarks  runs  documents  seconds  charts      bytes")
    with tempfile.TemporaryDirectory() as directory:
        for cells, runs in SHAPES:
            files = [Path(directory) / f"{cells}-{seed}.json" for seed in range(2)]
            for seed, file in enumerate(files):
                write_document(document(cells, runs, seed), file, durable=False)
            for count in (1, 2):
                to = Path(directory) / "page.html"
                took_s, size_bytes = page(files[:count], to)
                charts = to.read_text(encoding="utf-8").count('<svg class="chart"')
                print(f"{cells:10}  {runs:4}  {count:9}  {took_s:7.1f}  {charts:6}  {size_bytes:9,}")
                is_missed |= size_bytes >= PAGE_BYTES_MAX or ((cells, count) == (200, 1) and took_s > BAR_S)
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
