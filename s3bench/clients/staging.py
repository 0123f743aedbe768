"""Makes a client's installation available at another path, so that two versions run from paths of equal length.

The path of a program affects its timings: the length of its path moves the stack, and with it what shares a cache line
or a page (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). Stages
an installation by hard links, file by file, which take no space and share the page cache, and by copies if the file
system does not allow links. The originals are not written to, and nothing may write into the staged files either: they
are the same files.

Byte-code of Python packages is staged too and stays valid, since times and sizes are the same (PEP 3147 and PEP 552).
Missing or stale byte-code is compiled into new files beside the old (`confinement`): the staged directories are ours,
and writable even if the originals are not.
"""

import errno
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.interpreter import script_words
from s3bench.clients.registry import known_client
from s3bench.errors import MachineError

# What PyInstaller puts beside the program that it froze: since version 6 in a directory, by default.
_FROZEN_MARKS = ("base_library.zip", "_internal/base_library.zip")
# link(2): another file system, one without links, protected hard links, too many links, not permitted.
_UNLINKABLE = frozenset(
    {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A client that runs from its staged path: `client` is the one to start.

    With `is_staged` false it is the client as it was found, and `reason` explains why; otherwise `reason` is empty.
    """

    client: FoundClient
    is_staged: bool
    reason: str = ""


def stage(found: FoundClient, place: Path) -> Staged:
    """Make the installation of `found` available in `place`, an absolute path that does not exist, and run from there.

    Nothing is created if the client cannot be moved. Raises `MachineError` when the files cannot be read or written;
    nothing is left in `place` then.
    """
    assert place.is_absolute(), "a relative place would depend on the current directory"
    if found.site is not None:
        _bring(found.site.resolve(), place)
        return Staged(client=_with_site(found, found.site, place), is_staged=True)
    executable = found.executable.resolve()
    obstacle = _obstacle(found, executable)
    if obstacle:
        return Staged(client=found, is_staged=False, reason=obstacle)
    _bring(executable.parent if is_frozen_build(executable) else executable, place)
    return Staged(client=replace(found, executable=place / executable.name), is_staged=True)


def is_frozen_build(executable: Path) -> bool:
    """Whether `executable`, with its links resolved, was frozen by PyInstaller into a directory: AWS's own aws-cli."""
    return any((executable.parent / mark).is_file() for mark in _FROZEN_MARKS)


def _obstacle(found: FoundClient, executable: Path) -> str:
    """Why a client without a directory of packages cannot be moved; empty when it can."""
    client = known_client(found.kind)
    if client.driver is not None:
        return f"{found.executable} is the interpreter of a Python environment, which finds its packages by its path"
    if is_frozen_build(executable):
        return ""
    if words := script_words(executable):
        return f"{found.executable} is a script of the environment that its first line names: {' '.join(words)}"
    if not client.is_single_file:
        return f"{found.executable} is a program of a build not known here: it may need what lies beside it"
    return ""


def _with_site(found: FoundClient, site: Path, place: Path) -> FoundClient:
    """Libraries run by our own interpreter, which is not staged; aws-cli's script is in the directory itself."""
    inside = found.executable.is_relative_to(site)
    executable = place / found.executable.relative_to(site) if inside else found.executable
    return replace(found, site=place, executable=executable)


def _bring(source: Path, place: Path) -> None:
    """Make the directory `place` with the contents of `source`, or with `source` itself if it is a file."""
    made = False
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir()
        made = True
        if source.is_dir():
            _bring_tree(source, place)
        else:
            _bring_file(source, place / source.name)
    except OSError as error:
        if made:
            shutil.rmtree(place, ignore_errors=True)
        raise MachineError(
            f"cannot make {source} available in {place}",
            str(error),
            "see that it can be read, or set S3BENCH_TMPDIR to a directory with room on the same file system",
        ) from error


def _bring_tree(root: Path, place: Path) -> None:
    pending = [Path()]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                target = place / folder / entry.name
                if entry.is_symlink():
                    target.symlink_to(_retarget(Path(entry.path), root, place))
                elif entry.is_dir():
                    target.mkdir()
                    pending.append(folder / entry.name)
                elif entry.is_file():  # sockets and pipes are not part of a program
                    _bring_file(Path(entry.path), target)


def _retarget(link: Path, root: Path, place: Path) -> Path:
    """Where the copy of a link must point: into the copy if it pointed into the original, else to the same file."""
    said = link.readlink()
    target = Path(os.path.normpath(link.parent / said))
    if not target.is_relative_to(root):
        return link.parent / said
    return place / target.relative_to(root) if said.is_absolute() else said


def _bring_file(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        shutil.copy2(source, target)
