"""The names and MD5 sums of all objects that a run wrote, as s4's `-l` logs them.

A line in the format of md5sum(1) for each object. It is made from the trace after the run, since contents derive from
the run ID and the object number: nothing is hashed during the measurement.
"""

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from s3bench.load.engine.objects import Objects
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet
from s3bench.load.profile.sizes import Sizes

_WRITING = frozenset({OperationKind.PUT.value, OperationKind.MULTIPART_COMPLETE.value})
_WELL = "200"


def write_object_log(
    log: Path, trace: Path, data: DataSet, sizes: Iterable[Sizes], *, bucket: str, workers: int, new_root: str
) -> int:
    """Write the log from the `trace` of the run; gives how many lines it has: two of what was written twice.

    The keys of new objects beside the data set begin with `new_root`.
    """
    ours = msgspec.structs.replace(data, key_file=None)
    new = msgspec.structs.replace(ours, root=new_root)
    contents: dict[str, Objects] = {}
    for each in dict.fromkeys(sizes):
        root = new.of(each).root
        contents[root] = contents[ours.of(each).root] = Objects(
            ours.of(each),
            each,
            bucket=bucket,
            workers=workers,
            signs_payload=False,
            checksum=False,
            new_root=root,
        )
    count = 0
    with trace.open(encoding="utf-8", newline="") as file, log.open("w", encoding="utf-8") as out:
        for row in csv.DictReader(file):
            if row["kind"] in _WRITING and row["outcome"] == _WELL:
                root = next(root for root in contents if row["key"].startswith(root))
                out.write(f"{_md5(contents[root], int(row['number']))}  {row['key']}\n")
                count += 1
    return count


def _md5(objects: Objects, number: int) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    for piece in objects.body(number).pieces:
        digest.update(piece)
    return digest.hexdigest()
