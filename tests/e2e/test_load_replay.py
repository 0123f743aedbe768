"""`s3bench load --replay` against the emulator: its wire log shows the operations of the log, in order on each key."""

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import parse_network
from s3bench.s3.wirelog import WireRequest
from tests.e2e.conftest import Emulators, Finished
from tests.load.access_log.examples import s3_line

BUCKET = "bucket"


@pytest.fixture
def emulator(emulators: Emulators) -> Iterator[EmulatorEndpoint]:
    with emulators.armed(tls=False, settings=EmulatorSettings(buckets=(BUCKET,))) as emulator:
        yield emulator


@pytest.fixture
def replay(
    s3bench: Callable[..., Finished], environment: dict[str, str], emulator: EmulatorEndpoint
) -> Callable[..., Finished]:
    environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}

    def run(log: Path, *arguments: str) -> Finished:
        return s3bench(
            "load", "--endpoint-url", emulator.url, "-b", BUCKET, "--replay", str(log), "--workers", "2", *arguments
        )

    return run


def described(request: WireRequest) -> str:
    """An operation, its bytes, and for a range how many."""
    if request.method == "PUT":
        return f"PUT {request.body_bytes}"
    if request.byte_range:
        first, last = request.byte_range.removeprefix("bytes=").split("-")
        return f"RANGE {int(last) - int(first) + 1}"
    return f"{request.method} {request.response_bytes}" if request.method == "GET" else request.method


def measured(requests: tuple[WireRequest, ...], puts_before: int) -> list[WireRequest]:
    """The requests of the replay: after the objects that were written before, and without the clean-up."""
    ours = [each for each in requests if each.path.startswith(f"/{BUCKET}/s3bench/")]
    return sorted(ours, key=lambda each: each.started_ns)[puts_before:]


def test_operations_bytes_and_order_on_each_key_are_those_of_the_log(
    replay: Callable[..., Finished], emulator: EmulatorEndpoint, tmp_path: Path
) -> None:
    network = parse_network("ttfb=lognormal:3ms:20ms,seed=7")  # so that responses overlap, and would overtake
    emulator.arm(EmulatorSettings(buckets=(BUCKET,)), network=network)
    chance = random.Random(7)
    expected: defaultdict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = {}
    lines = []
    for number in range(600):
        key = f"secret-name-{chance.randrange(30)}"
        time = f"06/Feb/2019:00:00:{number // 300:02d} +0000"
        size = sizes.setdefault(key, 1000 + chance.randrange(100_000))
        what = chance.choice(("PUT", "GET", "GET", "GET", "HEAD", "RANGE"))
        if what == "PUT":
            size = sizes[key] = 1000 + chance.randrange(100_000)
            lines.append(s3_line("REST.PUT.OBJECT", key, time=time, size=size))
        elif what == "GET":
            lines.append(s3_line("REST.GET.OBJECT", key, time=time, sent=size, size=size))
        elif what == "HEAD":
            lines.append(s3_line("REST.HEAD.OBJECT", key, time=time, size=size))
        else:
            lines.append(s3_line("REST.GET.OBJECT", key, time=time, status=206, sent=500, size=size))
        expected[key].append({"PUT": f"PUT {size}", "GET": f"GET {size}", "RANGE": "RANGE 500"}.get(what, what))
    log = tmp_path / "access.log"
    log.write_text("\n".join(lines))
    results = tmp_path / "results.json"
    finished = replay(log, "-o", str(results), "--speed", "2")
    assert finished.code == 0, finished.err
    assert "secret-name" not in results.read_text()
    assert "removed 30 objects" in finished.err
    document = json.loads(results.read_text())
    told = document["options"]["replay"]
    assert told["lines"] == 600
    assert sum(told["operations"].values()) == 600
    assert told["duration_s"] == pytest.approx(1.0, abs=0.01)
    requests = measured(emulator.collect().requests, told["objects_before"])
    sent: defaultdict[str, list[str]] = defaultdict(list)
    for request in requests:
        sent[request.path].append(described(request))
    assert len(requests) == 600
    assert Counter(digest(each) for each in sent.values()) == Counter(digest(each) for each in expected.values())


def digest(operations: list[str]) -> str:
    """The order of operations on a key, in which reads between two writes may have overlapped."""
    parts: list[list[str]] = [[]]
    for operation in operations:
        if operation.startswith("PUT"):
            parts += [[operation], []]
        else:
            parts[-1].append(operation)
    return hashlib.sha256(json.dumps([sorted(part) for part in parts]).encode()).hexdigest()


def test_uploads_lists_deletes_and_missing_objects_are_replayed(
    replay: Callable[..., Finished], emulator: EmulatorEndpoint, tmp_path: Path
) -> None:
    part_bytes = 5 * 1024**2
    log = tmp_path / "access.log"
    log.write_text(
        "\n".join(
            (
                s3_line("REST.POST.UPLOADS", "u"),
                s3_line("REST.PUT.PART", "u", size=part_bytes),
                s3_line("REST.PUT.PART", "u", size=1000),
                s3_line("REST.POST.UPLOAD", "u", size=part_bytes + 1000),
                s3_line("REST.GET.OBJECT", "u", sent=part_bytes + 1000, size=part_bytes + 1000),
                s3_line("REST.DELETE.OBJECT", "u", status=204),
                s3_line("REST.HEAD.OBJECT", "u", status=404),
                s3_line("REST.GET.OBJECT", "nowhere", status=404, sent=300),
                s3_line("REST.GET.BUCKET", "-", sent=300),
                s3_line("REST.COPY.OBJECT", "v"),
                s3_line("REST.PUT.OBJECT", "w", status=403),
                "no line at all",
            )
        )
    )
    results = tmp_path / "results.json"
    finished = replay(log, "-o", str(results))
    assert finished.code == 0, finished.err
    told = json.loads(results.read_text())["options"]["replay"]
    assert told["operations"] == {"get": 2, "head": 1, "delete": 1, "list": 1, "multipart": 1}
    assert told["not_replayed"] == {"REST.COPY.OBJECT": 1, "REST.PUT.OBJECT with status 403": 1}
    assert "replay: not replayed, 1 times: REST.COPY.OBJECT" in json.loads(results.read_text())["warnings"]
    assert told["skipped"] == ["line 12: not a line of an S3 server access log"]
    assert "not replayed, 1 times: REST.COPY.OBJECT" in finished.err
    requests = measured(emulator.collect().requests, 0)
    methods = Counter((each.method, each.status) for each in requests)
    assert methods["PUT", 200] == 2
    assert methods["POST", 200] == 2
    assert methods["GET", 404] == methods["HEAD", 404] == 1
    assert methods["DELETE", 204] == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--mix", "get=1"), "--replay cannot be combined with --mix"),
        (("--keep",), "--replay cannot be combined with --keep"),
        (("--from", "2030-01-01"), "nothing of the log can be replayed"),
        (("--log-format", "ibm"), "no line of it has a request"),
        (("--speed", "0"), "which is not above 0"),
    ],
)
def test_what_cannot_be_replayed_is_bad_input(
    replay: Callable[..., Finished], emulator: EmulatorEndpoint, tmp_path: Path, arguments: tuple[str, ...], what: str
) -> None:
    log = tmp_path / "access.log"
    log.write_text(s3_line("REST.GET.OBJECT", "k", sent=5, size=5))
    finished = replay(log, *arguments)
    assert finished.code == 2
    assert what in finished.err
    assert emulator.collect().requests == ()
