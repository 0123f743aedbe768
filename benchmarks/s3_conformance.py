#!/usr/bin/env python3
"""What the emulator answers, beside recorded answers of Amazon S3, versitygw and moto, call by call.

First, with `--recorded`, plays the recorded scenarios on the emulator and compares step by step. Then sends the same S3
calls, right and wrong, to each server, reduces the answers to status, error code, headers and body, and prints where
they differ from the emulator's. Every difference is explained by a verdict in conformance/verdicts.toml; one that is
not fails the run.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from conformance import bodies, buckets, listings, multipart, objects
from conformance.comparison import Difference, differences
from conformance.lock_scenarios import LOCK_SCENARIOS
from conformance.recorded import Witness, read_recordings, witness
from conformance.scenarios import SCENARIOS
from conformance.servers import Missing, Server, emulator, moto, versitygw
from conformance.session import Answer, Session
from conformance.verdicts import Verdicts, read_verdicts
from conformance.written import read_scenarios

AREAS: tuple[Callable[[Session], None], ...] = (
    buckets.service,
    buckets.bucket,
    buckets.unsupported,
    objects.basics,
    objects.headers,
    objects.keys,
    objects.ranges,
    objects.conditional_reads,
    objects.conditional_writes,
    objects.copies,
    objects.tagging,
    objects.attributes,
    objects.deletes,
    multipart.whole,
    multipart.wrong,
    multipart.checksums,
    multipart.part_copies,
    multipart.lists,
    listings.lists,
    listings.versions,
    listings.suspended,
    bodies.checksums,
    bodies.framing,
    bodies.signatures,
)


def answers_of(start: AbstractContextManager[Server]) -> dict[str, Answer]:
    """Make every call on one server."""
    with start as server:
        session = Session(server)
        for area in AREAS:
            area(session)
        return session.answers


def recorded_witness(directory: Path | None) -> Witness:
    """Play the recorded scenarios. Raises `Missing`."""
    if directory is None:
        raise Missing("name their directory with --recorded")
    try:
        written = read_scenarios(read_recordings(directory))
    except OSError as error:
        raise Missing(str(error)) from error
    with emulator("--etag", "md5") as server:
        return witness(server, directory, written | SCENARIOS | LOCK_SCENARIOS)


def _summary(first: Witness) -> str:
    """How many scenarios were compared, and why others were not."""
    skipped = sum(len(names) for names in first.skipped.values())
    found = differences("aws", first.ours, first.recorded)
    different = {difference.call.partition(": ")[0] for difference in found}
    explained = read_verdicts().explain(found)
    unexplained = {difference.call.partition(": ")[0] for difference in found if difference not in explained}
    lines = [
        f"recorded: {len(first.played)} scenarios compared in {len(first.ours)} steps, of these",
        f"  {len(first.played) - len(different):3} equal in every step",
        f"  {len(different - unexplained):3} equal but for differences that have a verdict",
        f"  {len(unexplained):3} different",
        f"  {len(first.left)} of their steps are not compared: their requests are not written",
        f"{len(first.unwritten):5} scenarios not compared: their requests are not written",
        f"{skipped:5} scenarios not comparable, of these",
    ]
    lines += [f"  {len(names):3}   {reason}" for reason, names in sorted(first.skipped.items())]
    return "\n".join(lines)


def main() -> int:
    """Compare; exit 1 where a difference has no verdict, 2 where a server is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--recorded", metavar="DIRECTORY", type=Path, help="recorded answers of S3: LocalStack's *.snapshot.json"
    )
    parser.add_argument("--versitygw", metavar="PROGRAM", help="versitygw's binary, where it is not on PATH")
    parser.add_argument("--moto", metavar="PROGRAM", help="moto_server, where it is not on PATH")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/s3-behaviour.md")
    parser.add_argument("--unexplained", action="store_true", help="print only what has no verdict")
    options = parser.parse_args()
    missing = []
    try:
        first = recorded_witness(options.recorded)
    except Missing as error:
        first = Witness()
        missing.append(f"the recorded answers of S3 were not compared: {error}")
    ours = answers_of(emulator())
    found: list[Difference] = differences("aws", first.ours, first.recorded)
    servers = {"versitygw": versitygw(options.versitygw), "moto": moto(options.moto)}
    servers_compared = 0
    for name, start in servers.items():
        try:
            found += differences(name, ours, answers_of(start))
            servers_compared += 1
        except Missing as error:
            missing.append(f"{name} was not compared: {error}")
    verdicts = read_verdicts()
    explained = verdicts.explain(found)
    unexplained = [difference for difference in found if difference not in explained]
    if options.json:
        print(json.dumps(_document(first, ours, found, verdicts), indent=2, ensure_ascii=False))
    elif options.markdown:
        print(verdicts.markdown(found))
    else:
        for difference in unexplained if options.unexplained else found:
            print(difference.line(explained.get(difference)))
        print(_summary(first))
        print(
            f"{len(ours)} calls, {servers_compared} servers, {len(found)} differences, {len(unexplained)} unexplained"
        )
    for line in missing:
        print(line, file=sys.stderr)
    return 2 if missing else int(bool(unexplained))


def _document(
    first: Witness, ours: dict[str, Answer], found: list[Difference], verdicts: Verdicts
) -> dict[str, object]:
    explained = verdicts.explain(found)
    return {
        "calls": len(ours),
        "recorded": {
            "played": first.played,
            "steps": len(first.ours),
            "not_comparable": first.skipped,
            "not_written": first.unwritten,
            "steps_not_written": first.left,
        },
        "differences": [
            {
                "call": difference.call,
                "server": difference.server,
                "aspect": difference.aspect,
                "emulator": difference.ours,
                "other": difference.theirs,
                "verdict": explained[difference].says if difference in explained else None,
                "page": explained[difference].page if difference in explained else None,
            }
            for difference in found
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
