"""A PostgreSQL of our own: Debian's programs, a cluster in a temporary directory, a Unix socket and no network."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PROGRAMS = "/usr/lib/postgresql"
_UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root
_SETTINGS = "fsync=off\nlisten_addresses=''\nunix_socket_directories='{folder}'\nmax_connections=40\n"
_TIMEOUT_S = 50


def programs() -> Path:
    """The newest version's programs. Skips the test where there are none, or where we have no driver."""
    found = sorted(Path(_PROGRAMS).glob("*/bin/pg_ctl"), key=lambda path: float(path.parent.parent.name))
    if not found:
        pytest.skip(f"no PostgreSQL below {_PROGRAMS}: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: pip install 's3bench[postgresql]'")
    return found[-1].parent


@contextmanager
def cluster() -> Iterator[Path]:
    """Run a server; its socket is in the directory that is given. Its superuser is `s3bench`, without a password."""
    bin_folder = programs()
    # Not pytest's directory, into which another user may not look, and whose name is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="s3b-pg-"))
    user = _UNPRIVILEGED if os.getuid() == 0 else None
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = (str(bin_folder / program), "-D", str(data), *arguments)
        # The server inherits pg_ctl's stdout: the end of a pipe would never come.
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                command, stdout=said, stderr=said, check=False, timeout=_TIMEOUT_S, user=user, cwd=folder
            )
            said.seek(0)
            assert done.returncode == 0, said.read()

    try:
        run("initdb", "-U", "s3bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        (data / "postgresql.auto.conf").write_text(_SETTINGS.format(folder=folder))
        run("pg_ctl", "-w", "-l", str(folder / "server.log"), "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
