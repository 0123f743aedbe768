"""One way to run a client: which client, and which of its parameters differ from their defaults."""

from collections.abc import Mapping

import msgspec

from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.registry import known_client
from s3bench.clients.tuning.parameter import ParameterRole
from s3bench.errors import BadInput
from s3bench.spec.reader import one_of


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client by its label (`cli-crt@2.38.5`), and the values of parameters that are set; others keep their defaults.

    Sizes are bytes, rates bytes per second, counts counts. `values` is sorted by name.
    """

    client: str
    values: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, client: str, values: Mapping[str, int | None]) -> "Setting":
        """A setting of those values that are not `None`."""
        return cls(client=client, values=tuple(sorted((name, value) for name, value in values.items() if value)))

    @property
    def kind(self) -> str:
        """The client without its version."""
        return self.client.partition("@")[0]

    @property
    def descriptor(self) -> ClientDescriptor:
        """The client. Raises `BadInput` where there is none of this name here."""
        return known_client(self.kind)

    def check(self) -> None:
        """Raise `BadInput` if there is no such client here, or if it has no such parameter."""
        known = known_client(self.kind, said=self.client).tuning.all_parameters
        unknown = next((name for name, _ in self.values if name not in known), None)
        if unknown is not None:
            raise BadInput(
                f"`{self.client}` has no parameter `{unknown}`",
                "another version of s3bench may know it",
                f"its parameters are {one_of(known)}",
            )

    @property
    def is_default(self) -> bool:
        """Whether nothing is set."""
        return not self.values

    def get(self, name: str) -> int | None:
        """The value of the parameter `name`; `None` where it keeps its default."""
        return dict(self.values).get(name)

    def value_of(self, role: ParameterRole) -> int | None:
        """The value of the parameter with a role; `None` where it keeps its default, or there is none."""
        return next((value for name in self.descriptor.tuning.named(role) if (value := self.get(name))), None)

    def render(self, name: str) -> str:
        """The value of the parameter `name`, which is set, for people: `16MB`, `5Gb/s`, `20`."""
        value = self.get(name)
        assert value is not None, f"{name} is not set"
        return self.descriptor.tuning.all_parameters[name].quantity.render(value)

    def __str__(self) -> str:
        """As it is said in one line: `cli-classic@2.38.5 max_concurrent_requests=20 multipart_chunksize=16MB`."""
        return " ".join((self.client, *self.words())) if self.values else f"{self.client} defaults"

    def words(self) -> tuple[str, ...]:
        """What is set, each as `NAME=VALUE`."""
        return tuple(f"{name}={self.render(name)}" for name, _ in self.values)


def config_of(setting: Setting) -> str:
    """The AWS config file under which the client runs as `setting` says; some clients have a block of their own."""
    parameters = setting.descriptor.tuning.all_parameters
    lines = [f"    {name} = {parameters[name].quantity.config_value(value)}" for name, value in setting.values]
    return "\n".join(("[default]", *((f"{setting.descriptor.config_block} =", *lines) if lines else ()))) + "\n"
