"""Build steps: the README in the package's metadata, with links that work outside the repository; the C sources.

The loops of the speed probe and of the sampler (`s3bench/run/*.c`), the server's fast path and the signature of a
request (`s3bench/s3/**/*.c`) are compiled where there is a C compiler, on Linux alone; the latter two need the headers
of CPython too. Without a compiler s3bench works, but says that it does not measure the machine's speed, and samples
less often; without compiler or headers its server answers, and `load` sends, fewer requests per second.
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
    """Compiles the C sources into libraries beside them, and makes the wheel one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them; a wheel without them is one for every platform."""
        del version
        if self.target_name != "wheel":
            return
        package = Path(self.root) / "s3bench"
        sources = {source.with_name(f"lib{source.stem}.so"): source for source in sorted((package / "run").glob("*.c"))}
        libraries = [library for library, source in sources.items() if _compile(source, library)]
        modules = {
            source.with_name(f"_{source.stem}.abi3.so"): source for source in sorted((package / "s3").rglob("*.c"))
        }
        extensions = [module for module, source in modules.items() if _compile(source, module, extends_python=True)]
        libraries += extensions
        python = "cp311-abi3" if extensions else "py3-none"
        build_data["artifacts"] += [str(library.relative_to(self.root)) for library in libraries]
        if libraries:
            build_data["pure_python"] = False
            build_data["tag"] = f"{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _compile(source: Path, library: Path, *, extends_python: bool = False) -> bool:
    """Compile a library; whether that worked. If not, an earlier one is removed: it may not fit the code beside it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    include = Path(sysconfig.get_path("include"))
    is_possible = sys.platform == "linux" and compiler is not None
    if extends_python:  # that takes CPython's limited API, which free-threaded Python has not, and its headers
        is_free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
        is_cpython = sys.implementation.name == "cpython" and not is_free_threaded
        is_possible = is_possible and is_cpython and (include / "Python.h").exists()
    # It gets its name when it is whole: another process may load it at any time.
    with tempfile.TemporaryDirectory(dir=source.parent) as directory:
        temporary = Path(directory) / library.name
        command = (compiler, "-O2", "-shared", "-fPIC", f"-I{include}", "-o", temporary, source)
        if is_possible and subprocess.run(command, check=False).returncode == 0:  # type: ignore[arg-type]
            temporary.replace(library)
            return True
    library.unlink(missing_ok=True)
    return False
