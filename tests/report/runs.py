"""Documents of runs for the tests of the machine formats."""

import json
from typing import Any

from msgspec.structs import replace

from s3bench.results.document import Document, Result, Status
from s3bench.results.measurement import Failure
from tests.compare.documents import BASE, client, document, result, slower

HOSTILE = '=1+1|a`b </script>\x1b[31m\n\u202e/ @me, "q"\t\'; -8'
MEGABYTE = "x" * 1_000_000


def two_clients(version: str = "2.38.5", *, factor: float = 1.0) -> Document:
    """Two benchmarks of six iterations each, on clients of different names."""
    crt = result(slower(BASE, factor), dimensions={"FileSize": "32MB"}, of=client(version=version))
    return document(crt, result(slower(BASE, 0.5), of=client("s5cmd", "2.3.0")))


def with_failures() -> Document:
    """One result with a failure, one that never ran, and a doubt about the run."""
    failure = Failure(iteration=6, what="the client failed", exit_code=1, why="no such\nbucket", request="PUT /b/k")
    failed = replace(result(), errors=(failure,), status=Status.FAILED)
    never = Result(name="s3.rm", client=client(), errors=(replace(failure, exit_code=None, why=""),))
    return document(failed, never, Result(name="s3.ls", client=client())).with_warnings(["the machine is busy"])


def hostile() -> Document:
    """All that comes from outside does harm where it can; two of the results look alike as one line."""
    of, failure = client(HOSTILE, HOSTILE), Failure(iteration=9, what=HOSTILE, why=MEGABYTE, request=HOSTILE)
    doubts: dict[str, Any] = {"warnings": (HOSTILE,), "engine": HOSTILE}
    first = result(name=HOSTILE, dimensions={HOSTILE: HOSTILE, "long": MEGABYTE}, of=of, **doubts)
    bare = result(name=HOSTILE, of=of)
    alike = result(name=HOSTILE.replace("\n", "\x00"), of=of)
    whole = document(replace(first, errors=(failure,)), bare, alike, machine={"cpu_model": HOSTILE}, endpoint=HOSTILE)
    return replace(whole, s3bench=HOSTILE, started_at=HOSTILE).with_warnings([HOSTILE, MEGABYTE])


def parsed(text: str) -> Any:
    """Read JSON as strictly as any reader: no key twice in an object, no NaN."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once, parse_constant=lambda name: 1 / len(name[:0]))
