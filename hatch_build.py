"""Build steps: the README in the package's metadata, with links that work outside the repository; what is in C.

The loops of the speed probe and of the sampler (`s3bench/run/*.c`) and the server's fast path
(`s3bench/s3/server/fast_path.c`) are compiled where there is a C compiler, on Linux alone; the fast path needs the
headers of CPython too. Without them s3bench works, says that it does not measure the machine's speed, samples less
often, and its server answers fewer requests per second.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


class ReadmeHook(MetadataHookInterface):
    """Points relative links of README.md at the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` in `metadata`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        pages = f"{metadata['urls']['Repository']}/blob/main/"
        metadata["readme"] = {"content-type": "text/markdown", "text": _RELATIVE.sub(f"]({pages}", text)}


class CHook(BuildHookInterface):
    """Compiles what is in C in its place, and makes the wheel one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it; a wheel without it is one for every platform."""
        del version
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if self.target_name != "wheel" or sys.platform != "linux" or compiler is None:
            return
        package = Path(self.root) / "s3bench"
        made = {source.with_name(f"lib{source.stem}.so"): source for source in sorted((package / "run").glob("*.c"))}
        libraries = [library for library, source in made.items() if _compile(compiler, source, library)]
        python = "py3-none"
        fast_path = package / "s3" / "server" / "_fast_path.abi3.so"
        if _can_extend() and _compile(compiler, fast_path.with_name("fast_path.c"), fast_path):
            libraries.append(fast_path)
            python = "cp311-abi3"
        build_data["artifacts"] += [str(library.relative_to(self.root)) for library in libraries]
        if libraries:
            build_data["pure_python"] = False
            build_data["tag"] = f"{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _can_extend() -> bool:
    """Whether this is CPython with its limited API and its headers."""
    is_free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    return sys.implementation.name == "cpython" and not is_free_threaded and headers.exists()


def _compile(compiler: str, source: Path, library: Path) -> bool:
    """Compile a library; whether that worked."""
    include = f"-I{sysconfig.get_path('include')}"
    # It gets its name when it is whole: another process may load it at any time.
    with tempfile.TemporaryDirectory(dir=source.parent) as directory:
        made = Path(directory) / library.name
        done = subprocess.run((compiler, "-O2", "-shared", "-fPIC", include, "-o", made, source), check=False)
        if done.returncode == 0:
            made.replace(library)
        else:
            library.unlink(missing_ok=True)  # an earlier one may not fit what is beside it now
    return done.returncode == 0
