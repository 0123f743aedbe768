"""One way to run a client: which client, and which of its knobs stand elsewhere than at their defaults.

Owns how a setting is named, rendered and written into a config file. Which knobs there are is `knob`'s.
"""

from collections.abc import Mapping

import msgspec

from s3bench.spec.definition import ClientKind
from s3bench.tune.parameter import QUANTITIES, ParameterQuantity

_PREFIXES = ("", "K", "M", "G")
_BITS = 8


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client by its label (`cli-crt@2.38.5`), and the values of knobs that are set; all others keep their defaults.

    Sizes are bytes, rates bytes per second, counts counts. `values` is sorted by name.
    """

    client: str
    values: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, client: str, values: Mapping[str, int | None]) -> "Setting":
        """A setting of those values that are not `None`."""
        return cls(client=client, values=tuple(sorted((name, value) for name, value in values.items() if value)))

    @property
    def kind(self) -> ClientKind:
        """The client without its version."""
        return ClientKind(self.client.partition("@")[0])

    @property
    def is_default(self) -> bool:
        """Whether nothing is set."""
        return not self.values

    def get(self, name: str) -> int | None:
        """The value of the knob `name`; `None` where it keeps its default."""
        return dict(self.values).get(name)

    def __str__(self) -> str:
        """As it is said in one line: `cli-classic@2.38.5 max_concurrent_requests=20 multipart_chunksize=16MB`."""
        return " ".join((self.client, *self.words())) if self.values else f"{self.client} defaults"

    def words(self) -> tuple[str, ...]:
        """What is set, each as `KNOB=VALUE`."""
        return tuple(f"{name}={render_value(name, value)}" for name, value in self.values)


def config_of(setting: Setting) -> str:
    """The AWS config file under which the client runs as `setting` says; s5cmd's knobs stand in a block of its own."""
    block = "s5cmd" if setting.kind is ClientKind.S5CMD else "s3"
    lines = [f"    {name} = {config_value(name, value)}" for name, value in setting.values]
    return "\n".join(("[default]", *((f"{block} =", *lines) if lines else ()))) + "\n"


def render_value(name: str, value: int) -> str:
    """`value` of the knob `name` for people: `16MB` (powers of 1,024, as in aws-cli), `5Gb/s` (10^9 bits), `20`."""
    quantity = QUANTITIES[name]
    if quantity is ParameterQuantity.COUNT:
        return str(value)
    if quantity is ParameterQuantity.RATE:
        return f"{_scaled(value * _BITS, 1000)}b/s"
    return f"{_scaled(value, 1024)}B"


def config_value(name: str, value: int) -> str:
    """`value` of the knob `name` as the AWS config takes it: rates as bytes, since `Gb` is 2^30 bits to aws-cli."""
    return f"{value}B/s" if QUANTITIES[name] is ParameterQuantity.RATE else render_value(name, value)


def _scaled(value: int, step: int) -> str:
    power = 0
    while power < len(_PREFIXES) - 1 and value and value % step == 0:
        value, power = value // step, power + 1
    return f"{value}{_PREFIXES[power]}"
