"""What objects take of the memory limit, compared with what Python allocates for them."""

import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from s3bench.s3.emulator.handler import Emulator
from s3bench.s3.emulator.settings import EmulatorSettings
from tests.s3.emulator.asking import Pending

Lines = Callable[[int], str]

EXCEEDED_MAX = 1.3
"""How many times more memory may be allocated than counts against the limit."""

OBJECTS = 300


@pytest.fixture
def allocated() -> Iterator[Callable[[], int]]:
    """Give what Python has allocated since the beginning, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()


def ask(emulator: Emulator, request: str, body: bytes = b"") -> None:
    assert Pending(emulator, request.encode("latin-1"), body).finish().status == 200


@pytest.mark.parametrize(
    ("key", "lines", "size_bytes"),
    [
        ("k", lambda _: "", 1),
        ("k", lambda _: "", 8192),
        ("k", lambda _: "", 20_000),
        ("a" * 1000, lambda _: "", 1),
        ("%C3%A9" * 500, lambda _: "", 1),
        ("%F0%9F%98%80" * 250, lambda _: "", 1),
        ("k", lambda number: f"Cache-Control: {number}{'a' * 60_000}\r\n", 1),
        ("k", lambda number: f"Content-Type: {number}{'a' * 60_000}\r\n", 1),
        ("k", lambda number: f"Cache-Control: max-age={number}\r\n", 1),
        ("k", lambda number: "".join(f"x-amz-meta-{pair}a: {number}\r\n" for pair in range(200)), 1),
        ("k", lambda number: f"x-amz-meta-a: {number}{'é' * 1900}\r\n", 1),
        ("k", lambda number: f"x-amz-meta-a: {number} =?UTF-8?Q?{'a=F0=9F=98=80' * 900}?=\r\n", 1),
        ("k", lambda number: f"x-amz-tagging: {'&'.join(f'k{tag}-{number}=v{tag}' for tag in range(10))}\r\n", 1),
        ("k", lambda number: f"x-amz-server-side-encryption: aws:kms\r\nx-amz-meta-a: {number}\r\n", 1),
    ],
    ids=[
        "plain", "8 KiB", "20 KB", "long key", "accented key", "emoji key", "long header", "long type", "short header",
        "200 metadata", "accented metadata", "emoji metadata", "tags", "kms",
    ],
)  # fmt: skip
def test_objects_count_for_what_they_take(
    key: str, lines: Lines, size_bytes: int, allocated: Callable[[], int]
) -> None:
    emulator = Emulator(EmulatorSettings(memory_limit_bytes=1 << 30, buckets=("b",)))
    body = bytes(size_bytes)
    ask(emulator, f"PUT /b/first HTTP/1.1\r\nHost: h\r\nContent-Length: {size_bytes}\r\n{lines(-1)}\r\n".strip(), body)
    ask(emulator, "GET /b/first HTTP/1.1\r\nHost: h")
    before, held_bytes = allocated(), emulator.held_bytes
    for number in range(OBJECTS):
        head = f"PUT /b/{number}{key} HTTP/1.1\r\nHost: h\r\nContent-Length: {size_bytes}\r\n{lines(number)}"
        ask(emulator, head.strip(), body)
        ask(emulator, f"GET /b/{number}{key} HTTP/1.1\r\nHost: h")
    assert allocated() - before <= EXCEEDED_MAX * (emulator.held_bytes - held_bytes)


def test_a_long_text_reaches_the_limit() -> None:
    emulator = Emulator(EmulatorSettings(memory_limit_bytes=1_000_000, buckets=("b",)))
    statuses = []
    for number in range(20):
        head = f"PUT /b/{number} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nCache-Control: {'a' * 60_000}"
        statuses.append(Pending(emulator, head.encode(), b"").finish().status)
    assert statuses == [200] * 8 + [507] * 12
