"""The search space of a tuning: every client with its parameters, the grid over them, and the first settings to try."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from s3bench.clients.registry import known_client
from s3bench.clients.tuning.parameter import Parameter
from s3bench.clients.tuning.workload import Workload
from s3bench.tune.setting import Setting

# The first settings, as shares along the choices of (requests at once, part size). None is near the low end, since few
# requests at once are slow behind every network.
_STARTS = ((0.6, 0.2), (0.6, 0.6), (1.0, 0.3), (0.35, 0.8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The parameters of each client, by its label, in the given order of the clients."""

    parameters: Mapping[str, tuple[Parameter, ...]]

    @classmethod
    def of(cls, clients: Sequence[str], workload: Workload) -> "Space":
        """The space of these clients, by their labels, for a workload."""
        return cls(
            parameters={
                label: known_client(label.partition("@")[0]).tuning.parameters_for(workload) for label in clients
            }
        )

    def without(self, ignored: frozenset[tuple[str, str]], clients: frozenset[str]) -> "Space":
        """The same without `clients` and without parameters that a client ignores (pairs of client and parameter)."""
        return Space(
            parameters={
                label: tuple(parameter for parameter in parameters if (label, parameter.name) not in ignored)
                for label, parameters in self.parameters.items()
                if label not in clients
            }
        )

    def setting(self, client: str, values: Mapping[str, int | None]) -> Setting:
        """The setting with `values`, without those at their defaults, so that equal settings compare equal."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters[client]}
        return Setting.of(client, {name: value for name, value in values.items() if value != defaults.get(name)})

    def contains(self, setting: Setting) -> bool:
        """Whether `setting` is in the space; a study of another version may have values outside of it."""
        choices = {parameter.name: parameter.choices for parameter in self.parameters.get(setting.client, ())}
        return all(value in choices.get(name, ()) for name, value in setting.values)

    def value(self, setting: Setting, parameter: Parameter) -> int | None:
        """The value of a parameter under `setting`, its default included."""
        given = setting.get(parameter.name)
        return parameter.default if given is None else given

    def main(self, client: str) -> tuple[Parameter, ...]:
        """The main parameters of a client."""
        return tuple(parameter for parameter in self.parameters[client] if parameter.is_main)

    def grid(self) -> tuple[Setting, ...]:
        """Every combination of the main parameters, clients in order, defaults first."""
        settings = (
            self.setting(client, dict(zip((parameter.name for parameter in parameters), values, strict=True)))
            for client in self.parameters
            for parameters in (self.main(client),)
            for values in product(*(parameter.choices for parameter in parameters))
        )
        return tuple(sorted(dict.fromkeys(settings), key=lambda setting: not setting.is_default))

    def starts(self) -> tuple[Setting, ...]:
        """The first settings to try, client by client: the defaults, and a few far from each other."""
        return tuple(dict.fromkeys(setting for client in self.parameters for setting in self._starts(client)))

    def _starts(self, client: str) -> Iterator[Setting]:
        yield Setting(client=client)
        parameters = self.main(client)
        for shares in _STARTS:
            values = {
                parameter.name: parameter.choices[round(share * (len(parameter.choices) - 1))]
                for parameter, share in zip(parameters, shares, strict=False)
            }
            yield self.setting(client, values)

    def neighbours(self, setting: Setting) -> tuple[Setting, ...]:
        """The settings that differ in one parameter: by one step for a main one, by any value for another."""
        return tuple(
            self.setting(setting.client, {**dict(setting.values), parameter.name: value})
            for parameter in self.parameters[setting.client]
            for value in _near(parameter, parameter.choices.index(self.value(setting, parameter)))
        )

    def smaller(self, setting: Setting) -> tuple[Setting, ...]:
        """The neighbours with a smaller value of one main parameter: fewer requests at once, or smaller parts."""
        return tuple(
            self.setting(setting.client, {**dict(setting.values), parameter.name: parameter.choices[at - 1]})
            for parameter in self.main(setting.client)
            if (at := parameter.choices.index(self.value(setting, parameter))) > 0
        )


def _near(parameter: Parameter, at: int) -> tuple[int | None, ...]:
    if parameter.is_main:
        return tuple(
            parameter.choices[position] for position in (at - 1, at + 1) if 0 <= position < len(parameter.choices)
        )
    return parameter.choices[:at] + parameter.choices[at + 1 :]
