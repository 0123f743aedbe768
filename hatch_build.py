"""Build steps: the README in the package's metadata, with links that work outside the repository; the loops in C.

The loops of the speed probe and of the sampler (`s3bench/run/*.c`) are compiled where there is a C compiler, on Linux
alone. Without them s3bench works, says that it does not measure the machine's speed, and samples less often.
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


class LoopsHook(BuildHookInterface):
    """Compiles the loops in their places, and makes the wheel one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them; a wheel without them is one for every platform."""
        del version
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if self.target_name != "wheel" or sys.platform != "linux" or compiler is None:
            return
        sources = sorted((Path(self.root) / "s3bench" / "run").glob("*.c"))
        libraries = [library for source in sources if (library := _compiled(compiler, source)) is not None]
        build_data["artifacts"] += [str(library.relative_to(self.root)) for library in libraries]
        if libraries:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _compiled(compiler: str, source: Path) -> Path | None:
    """Compile a library beside its source; `None` where that fails."""
    library = source.with_name(f"lib{source.stem}.so")
    # It gets its name when it is whole: another process may load it at any time.
    with tempfile.TemporaryDirectory(dir=source.parent) as directory:
        made = Path(directory) / library.name
        done = subprocess.run((compiler, "-O2", "-shared", "-fPIC", "-o", made, source), check=False)
        if done.returncode == 0:
            made.replace(library)
    return library if done.returncode == 0 else None
