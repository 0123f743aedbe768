#!/usr/bin/env python3
"""How much of the noise of a pair the speed of the machine explains, in campaigns of forty pairs without a change.

Each campaign runs one benchmark of one client against the stub, the same program on both sides in ABBA order, as a gate
does. Its raw figures are appended to a file under benchmarks/data/, so that the adjustment can be judged again.
`--summary` prints the standard deviation of a pair's log-ratio, raw and adjusted as the gate adjusts it, for CPU time
and total time.

    benchmarks/machine_speed.py                 one campaign of each benchmark (about six minutes)
    benchmarks/machine_speed.py --rounds 3
    benchmarks/machine_speed.py --summary
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import kept
from msgspec.structs import replace

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Conditions, Settings
from s3bench.cli.definitions import runnable
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.store import ClientStore
from s3bench.gate.evidence import ClientCellEvidence, RunPair
from s3bench.gate.paired_series import series_of
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import Measurement, UsageFacts, measure

DATA = Path(__file__).parent / "data" / "machine_speed.jsonl"
PAIRS = 40
NOISY = 0.08
UPLOAD = "upload and cp and 4KB and not 100 and not 5,000"
CAMPAIGNS = (
    ("cli-classic", "s3.cp.upload and 4KB and Classic and not 100 and not 5,000"),
    ("boto3-classic", UPLOAD),
    ("s5cmd", UPLOAD),
    ("cli-crt", "upload and cp and 32MB"),
)
SETTINGS = Settings(interval_s=None)


def run_campaign(client_text: str, select: str) -> dict[str, Any]:
    """Run forty pairs of the first benchmark selected; return their figures."""
    spec = parse_client_spec(client_text)
    found = find_client(spec, ClientStore.from_environment(os.environ))
    definition = runnable(spec, (), select=select, suite="full")[0]
    load_before = os.getloadavg()[0]
    with open_bench(stub_server()) as bench, bench.workspace(definition.environment) as runner_of:
        runner = runner_of(definition, found)

        def run(number: int) -> dict[str, Any]:
            conditions = Conditions(env={"PYTHONHASHSEED": str(1_000_000_000 + number)})
            each = runner.run_once(number, SETTINGS, "campaign", conditions)
            assert isinstance(each, Measurement), each
            speed = each.machine_speed
            return {
                "total_time": each.total_time,
                "cpu_time": each.cpu_time,
                "user_cpu_time": each.user_cpu_time,
                "runqueue_wait_time": each.runqueue_wait_time,
                "preemptions": each.involuntary_context_switches,
                "speed": speed and [speed.rate, speed.error, speed.probes],
            }

        run(0)
        pairs = []
        for number in range(PAIRS):
            first, second = run(number), run(number)
            pairs.append([first, second] if number % 2 == 0 else [second, first])
    return {
        "client": found.label,
        "benchmark": definition.name,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load": [round(load_before, 2), round(os.getloadavg()[0], 2)],
        "pairs": pairs,
    }


def main() -> int:
    """Run campaigns, or summarize them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="campaigns of each benchmark (default 1)")
    parser.add_argument("--client", help="of this client alone")
    parser.add_argument("--summary", action="store_true", help="print what the file says; run nothing")
    parser.add_argument("--draw", type=int, metavar="CAMPAIGN", help="its pairs, into --output")
    parser.add_argument("--output", type=Path, default=Path("docs/gate-adjusted.svg"), help="of --draw")
    options = parser.parse_args()
    if options.draw is not None:
        return draw(options.draw, options.output)
    if options.summary:
        return summarize()
    for _ in range(options.rounds):
        for client, select in CAMPAIGNS:
            if options.client in {None, client}:
                campaign = run_campaign(client, select)
                kept.append(DATA, campaign)
                print(campaign["client"], campaign["benchmark"], campaign["load"], flush=True)
    return 0


def measurement(campaign: dict[str, Any]) -> Measurement:
    """One run of a campaign, as far as the adjustment looks at it."""
    system_s = campaign["cpu_time"] - campaign["user_cpu_time"]
    usage = UsageFacts(
        user_cpu_s=campaign["user_cpu_time"], system_cpu_s=system_s, runqueue_wait_s=campaign["runqueue_wait_time"]
    )
    speed = campaign["speed"] and MachineSpeed(**dict(zip(("rate", "error", "probes"), campaign["speed"], strict=True)))
    return replace(measure(iteration=0, total_s=campaign["total_time"], usage=usage), machine_speed=speed)


def evidence(campaign: dict[str, Any]) -> ClientCellEvidence:
    """The pairs of a campaign."""
    pairs = (
        RunPair(order="AB", hash_seed=0, started_s=0.0, baseline=measurement(one), candidate=measurement(other))
        for one, other in campaign["pairs"]
    )
    return ClientCellEvidence(name=campaign["benchmark"], pairs=tuple(pairs))


def draw(number: int, file: Path) -> int:
    """Draw the pairs of one campaign, as measured and adjusted."""
    import altair as alt  # noqa: PLC0415 (an extra, for this alone)

    series = series_of(evidence(kept.read(DATA)[number]), "total_time")
    points = [
        {"pair": place, "change": math.expm1(value), "kind": kind}
        for kind, values in (("as measured", series.raw().worsenings), ("adjusted", series.worsenings))
        for place, value in enumerate(values, start=1)
    ]
    chart = alt.Chart(alt.InlineData(points)).mark_point(filled=True, size=50, opacity=0.9)
    y_axis = alt.Axis(format="+.0%", title="change of total time, 0 is true")
    shape = alt.Shape("kind:N", legend=None)
    color = alt.Color("kind:N", legend=None, scale=alt.Scale(range=["#0b6e4f", "#b35900"]))
    column = alt.Column("kind:N", sort=["as measured", "adjusted"], title=None, header=alt.Header(labelFontSize=13))
    x = alt.X("pair:Q", axis=alt.Axis(title="pair, in run order", grid=False))
    chart.encode(x=x, y=alt.Y("change:Q", axis=y_axis), color=color, shape=shape, column=column).properties(
        width=330, height=220
    ).save(file)
    return 0


def summarize() -> int:
    """Print each campaign, and medians by client."""
    ratios: dict[tuple[str, str, bool], list[float]] = {}
    for campaign in kept.read(DATA):
        cell = evidence(campaign)
        words = f"{campaign['at']} {campaign['client']:20} load {campaign['load'][1]:4.1f}"
        for metric in ("cpu_time", "total_time"):
            series = series_of(cell, metric)
            raw, adjusted, facts = series.raw().sigma, series.sigma, series.adjustment
            assert raw is not None
            assert adjusted is not None
            ratios.setdefault((campaign["client"], metric, raw >= NOISY), []).append(adjusted / raw)
            slopes = f"{facts.speed_slope:.2f} {facts.wait_slope:.2f} {facts.moved}".rstrip() if facts else "none"
            words += f" | {metric} {raw:.4f} -> {adjusted:.4f} ({adjusted / raw:.2f}; slopes {slopes})"
        print(words)
    for (client, metric, is_noisy), each in sorted(ratios.items()):
        kind = f"raw sigma {'of at least' if is_noisy else 'below'} {NOISY:.0%}"
        print(
            f"{client}, {metric}, {kind}: median {median(each):.2f}, largest {max(each):.2f} of {len(each)} campaigns"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
