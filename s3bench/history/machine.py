"""The identity of a machine: the facts on which figures depend, and their fingerprint.

Only figures with the same fingerprint are comparable.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

_RECIPE = 1  # part of the fingerprint: it changes whenever the choice of facts does
_LENGTH = 16  # hexadecimal digits, 64 bits: among a million machines a collision has a probability of 3 in 10 ** 8
_KERNEL = re.compile(r"(\S+ \d+(?:\.\d+)?)")
_GIB = 1 << 30


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The facts of a machine on which figures depend; null if the document does not have them.

    `cores` is the number of usable cores: the allowed ones, or the control group's quota if that is less. `memory_gib`
    is the memory in whole GiB (a kernel update may change it by some MiB), or the control group's limit if that is
    less. `kernel` is its name with major and minor version.
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
        """The facts in one line."""
        parts = (
            self.product,
            self.cpu_model or self.architecture,
            None if self.cores is None else f"{self.cores:g} core{'' if self.cores == 1 else 's'}",
            None if self.memory_gib is None else f"{self.memory_gib} GiB",
            self.kernel,
            self.virtualization if self.virtualization != "none" else None,
        )
        return ", ".join(part for part in parts if part) or "nothing is known about it"


def machine_of(facts: Mapping[str, Any]) -> Machine:
    """The facts from a document's `machine`."""
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
    """The smallest of the values that are numbers; always as a float, so that 4 and 4.0 are the same."""
    return min((float(value) for value in values if _is_number(value)), default=None)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1 << 62
