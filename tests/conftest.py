"""What holds for the whole suite: its order, how much it tries, what is built beside it, and that Ctrl-C works."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy loads in half the time, here and in all that starts here

gc.disable()  # until all tests are collected: see `pytest_collection_finish`
# No deadlines: an example of a few milliseconds takes a quarter of a second where other tests have the cores.
settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)  # of `scripts/test --all`
settings.load_profile("quick")

_E2E = Path(__file__).parent / "e2e"
_NEED_VERSITYGW = (_E2E / "test_live.py", _E2E / "test_load_servers.py")
_LONG = _E2E / "test_tune.py"


def use_own_store() -> None:
    """Keep away from the user's store. The suite's own one outlasts it: clients and servers are fetched once."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ["S3BENCH_HOME"] = str(Path(cache) / "s3bench-tests")


def pytest_configure() -> None:
    """Take Ctrl-C as any foreground program does: a shell's background jobs, and what they start, would ignore it."""
    use_own_store()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what takes longest, and last what needs a server that may have to be built meanwhile.

    Several workers take from the end of the order too: scripts/test gives those tests a run of their own.
    """
    items.sort(key=lambda item: (item.path in _NEED_VERSITYGW, item.path != _LONG))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin that build where such tests are to run, and keep what was collected out of every garbage collection.

    Thousands of tests live until the end; looking through them again and again took two fifths of the CPU time of
    collection.
    """
    gc.freeze()
    gc.enable()
    if not session.config.option.collectonly and any(item.path in _NEED_VERSITYGW for item in session.items):
        from tests.e2e.servers import begin_building  # noqa: PLC0415 (for these tests alone)

        begin_building()
