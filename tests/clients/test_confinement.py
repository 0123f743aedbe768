"""What a client may no longer write, it finds made: byte-code and the directory of locks."""

import fcntl
import os
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.confinement import CRT_LOCKS, lock_causes, prepare_confinement


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory of packages without byte-code."""
    (tmp_path / "site" / "boto3").mkdir(parents=True)
    (tmp_path / "site" / "boto3" / "__init__.py").write_text("VERSION = 1")
    (tmp_path / "site" / "broken.py").write_text("def")
    return tmp_path / "site"


def prepare(site: Path) -> Path:
    """Prepare the client and return where the byte-code of its module belongs."""
    prepare_confinement(FoundClient(kind="boto3-classic", version="1", executable=Path(sys.executable), site=site))
    return Path(cache_from_source(str(site / "boto3" / "__init__.py")))


def test_byte_code_that_is_missing_is_compiled_and_broken_modules_are_left(site: Path) -> None:
    assert prepare(site).is_file()


def test_byte_code_that_is_stale_is_compiled_and_what_is_right_stays(site: Path) -> None:
    code = prepare(site)
    first = code.read_bytes()
    os.utime(code, (1000, 1000))
    assert prepare(site).stat().st_mtime == 1000
    (site / "boto3" / "__init__.py").write_text("VERSION = 22")
    os.utime(site / "boto3" / "__init__.py", (2000, 2000))
    assert prepare(site).read_bytes() != first


def test_the_probes_are_compiled_for_the_clients_python(site: Path) -> None:
    prepare(site)
    probes = Path(sys.modules["s3bench.clients.confinement"].__file__ or "").parent / "probes"
    assert Path(cache_from_source(str(probes / "s3bench_probe" / "transfers.py"))).is_file()


def test_the_crt_finds_the_directory_of_its_locks(site: Path) -> None:
    prepare(site)
    assert CRT_LOCKS.is_dir()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs the kernel's list of locks")
def test_the_process_that_holds_a_lock_of_the_crt_is_known(tmp_path: Path) -> None:
    assert lock_causes("boto3", locks=tmp_path) == ()
    with (tmp_path / "boto3.lock").open("w") as lock:
        assert lock_causes("boto3", locks=tmp_path) == ()
        fcntl.flock(lock, fcntl.LOCK_EX)
        (error,) = lock_causes("boto3", locks=tmp_path)
    assert error.startswith(f"process {os.getpid()} holds the CRT's lock {tmp_path}/boto3.lock")


def test_a_process_that_waits_for_a_lock_does_not_hold_it(tmp_path: Path) -> None:
    (tmp_path / "boto3.lock").touch()
    inode = (tmp_path / "boto3.lock").stat().st_ino
    table = tmp_path / "locks"
    table.write_text(f"1: -> FLOCK  ADVISORY  WRITE 7 fe:00:{inode} 0 EOF\n")
    assert lock_causes("boto3", locks=tmp_path, table=table) == ()
