"""Build steps: the README in the package's metadata, with links that work outside the repository; the speed probe.

The speed probe (`s3bench/run/speed_probe.c`) is compiled where there is a C compiler, on Linux alone. Without it,
s3bench works, and says that it does not measure the machine's speed.
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


class SpeedProbeHook(BuildHookInterface):
    """Compiles the speed probe in its place, and makes the wheel one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it; a wheel without it is one for every platform."""
        del version
        source = Path(self.root) / "s3bench" / "run" / "speed_probe.c"
        library = source.with_name("libspeed_probe.so")
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if self.target_name != "wheel" or sys.platform != "linux" or compiler is None:
            return
        # It gets its name when it is whole: another process may load it at any time.
        with tempfile.TemporaryDirectory(dir=source.parent) as directory:
            made = Path(directory) / library.name
            done = subprocess.run((compiler, "-O2", "-shared", "-fPIC", "-o", made, source), check=False)
            if done.returncode == 0:
                made.replace(library)
        if done.returncode == 0:
            build_data["artifacts"].append(str(library.relative_to(self.root)))
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
