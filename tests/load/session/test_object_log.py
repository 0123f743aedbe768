"""The log of all objects that were written, held against the objects."""

import hashlib
from pathlib import Path

from s3bench.load.engine.objects import FAR, Objects
from s3bench.load.engine.trace import Trace, join_traces, part_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.object_log import write_object_log

DATA = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
NEW = DataSet(run="ba9876543210", root="s3bench/ba9876543210/")
SMALL, LARGE = fixed(100), fixed(100_000)


def test_what_was_written_well_is_logged_with_the_sum_of_its_contents(tmp_path: Path) -> None:
    keys, whole = {}, tmp_path / "trace"
    for worker, (sizes, number) in enumerate(((SMALL, 7), (LARGE, FAR))):
        objects = Objects(
            DATA.of(sizes), sizes, bucket="b", workers=2, signs_payload=False, checksum=False,
            new_root=NEW.of(sizes).root,
        )  # fmt: skip
        body = b"".join(bytes(piece) for piece in objects.body(number).pieces)
        keys[objects.key(number)] = hashlib.md5(body, usedforsecurity=False).hexdigest()
        with Trace(str(part_of(whole, worker)), worker=worker) as trace:
            trace.begin("put, get", 0)
            for kind, outcome in (
                (OperationKind.PUT, "200"),
                (OperationKind.PUT, "503 SlowDown"),
                (OperationKind.GET, "200"),
            ):
                trace.note((1, 2, 3, 4, kind.value, number, objects.key(number), 100, outcome, 1, 0))
    log = tmp_path / "objects"
    join_traces(whole, workers=2)
    sizes_of_jobs = (SMALL, LARGE, SMALL)
    assert write_object_log(log, whole, DATA, sizes_of_jobs, bucket="b", workers=2, new_root=NEW.root) == 2
    assert log.read_text(encoding="utf-8") == "".join(f"{md5}  {key}\n" for key, md5 in keys.items())
