"""Which machine a figure belongs to: the facts that it depends on, and their fingerprint.

Owns the choice of facts. Figures of one fingerprint may be held side by side, those of two may not.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

_RECIPE = 1  # part of the fingerprint: it changes whenever the choice of facts does
_LENGTH = 16  # hexadecimal digits, 64 bits: two of a million machines share one with a chance of 3 in 10 ** 8
_KERNEL = re.compile(r"(\S+ \d+(?:\.\d+)?)")
_GIB = 1 << 30


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of a machine a figure depends on; null where its document does not tell.

    `cores` are those that may be used: the allowed ones, or the control group's quota where that is less. `memory_gib`
    is the memory in whole GiB, or the control group's limit where that is less: a kernel's update takes or gives some
    MiB. `kernel` is its name with major and minor version.
    """

    cpu_model: str | None
    architecture: str | None
    cores: float | None
    memory_gib: int | None
    kernel: str | None
    virtualization: str | None
    product: str | None

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of SHA-256 over the facts."""
        text = msgspec.json.encode([_RECIPE, self], order="sorted")
        return hashlib.sha256(text).hexdigest()[:_LENGTH]

    @property
    def words(self) -> str:
        """The facts in a line."""
        parts = (
            self.product,
            self.cpu_model or self.architecture,
            None if self.cores is None else f"{self.cores:g} core{'' if self.cores == 1 else 's'}",
            None if self.memory_gib is None else f"{self.memory_gib} GiB",
            self.kernel,
            self.virtualization if self.virtualization != "none" else None,
        )
        return ", ".join(part for part in parts if part) or "nothing is known of it"


def machine_of(facts: Mapping[str, Any]) -> Machine:
    """Pick the facts from a document's `machine`."""
    kernel = _KERNEL.match(_text(facts.get("kernel")) or "")
    memory_bytes = _least(facts.get("memory_total"), facts.get("memory_limit"))
    allowed = facts.get("cores_allowed")
    return Machine(
        cpu_model=_text(facts.get("cpu_model")),
        architecture=_text(facts.get("architecture")),
        cores=_least(facts.get("cores_logical") if allowed is None else allowed, facts.get("cpu_quota_cores")),
        memory_gib=None if memory_bytes is None else max(1, round(memory_bytes / _GIB)),
        kernel=kernel[1] if kernel else None,
        virtualization=_text(facts.get("virtualization")),
        product=_text(facts.get("product")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _least(*values: object) -> float | None:
    """The least of those that are numbers, as they may stand in a document: whole or not, the same one is the same."""
    return min((float(value) for value in values if _is_number(value)), default=None)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1 << 62
