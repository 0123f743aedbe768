"""Fixtures of the emulator's tests."""

from collections.abc import Iterator

import pytest

from s3bench.s3.endpoint import EmulatorEndpoint


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    """An emulator in a process of its own, for all modules; each test arms it anew."""
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as running:
        yield running
