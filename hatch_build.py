"""Build step: the README in the package's metadata, with links that work outside of the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


class ReadmeHook(MetadataHookInterface):
    """Points relative links of README.md at the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` in `metadata`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        pages = f"{metadata['urls']['Repository']}/blob/main/"
        metadata["readme"] = {"content-type": "text/markdown", "text": _RELATIVE.sub(f"]({pages}", text)}
