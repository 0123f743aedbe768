"""All settings that a tuning may try: every client with its knobs, the grid over them, and where to begin.

Owns which settings count as different, and the first ones worth a try. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from s3bench.spec.definition import ClientKind
from s3bench.tune.parameter import Parameter, knobs_of
from s3bench.tune.setting import Setting
from s3bench.tune.workload import Workload

# Where along the choices of (requests at once, part size) the first settings lie: enough of both in turn, little of
# either never, since one request at a time is slow behind every network.
_STARTS = ((0.6, 0.2), (0.6, 0.6), (1.0, 0.3), (0.35, 0.8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The knobs of each client, by its label, in the order in which clients were asked for."""

    knobs: Mapping[str, tuple[Parameter, ...]]

    @classmethod
    def of(cls, clients: Sequence[str], workload: Workload) -> "Space":
        """The space of these clients, by their labels, for a workload."""
        return cls(knobs={label: knobs_of(ClientKind(label.partition("@")[0]), workload) for label in clients})

    def without(self, ignored: frozenset[tuple[str, str]], clients: frozenset[str]) -> "Space":
        """The same without `clients`, and without the knobs that a client ignores: pairs of client and knob."""
        return Space(
            knobs={
                label: tuple(knob for knob in knobs if (label, knob.name) not in ignored)
                for label, knobs in self.knobs.items()
                if label not in clients
            }
        )

    def setting(self, client: str, values: Mapping[str, int | None]) -> Setting:
        """The setting of `values`, those at their defaults left out: equal settings are then equal."""
        defaults = {knob.name: knob.default for knob in self.knobs[client]}
        return Setting.of(client, {name: value for name, value in values.items() if value != defaults.get(name)})

    def holds(self, setting: Setting) -> bool:
        """Whether `setting` is one of the space: a study of another version may have values that are not tried now."""
        choices = {knob.name: knob.choices for knob in self.knobs.get(setting.client, ())}
        return all(value in choices.get(name, ()) for name, value in setting.values)

    def value(self, setting: Setting, knob: Parameter) -> int | None:
        """What `knob` stands at under `setting`."""
        given = setting.get(knob.name)
        return knob.default if given is None else given

    def main(self, client: str) -> tuple[Parameter, ...]:
        """The main knobs of a client."""
        return tuple(knob for knob in self.knobs[client] if knob.is_main)

    def grid(self) -> tuple[Setting, ...]:
        """Every combination of the main knobs, clients in order, defaults first."""
        settings = (
            self.setting(client, dict(zip((knob.name for knob in knobs), values, strict=True)))
            for client in self.knobs
            for knobs in (self.main(client),)
            for values in product(*(knob.choices for knob in knobs))
        )
        return tuple(sorted(dict.fromkeys(settings), key=lambda setting: not setting.is_default))

    def starts(self) -> tuple[Setting, ...]:
        """The first settings to try, client by client: the defaults, and a few far from each other."""
        return tuple(dict.fromkeys(setting for client in self.knobs for setting in self._starts(client)))

    def _starts(self, client: str) -> Iterator[Setting]:
        yield Setting(client=client)
        knobs = self.main(client)
        for shares in _STARTS:
            values = {
                knob.name: knob.choices[round(share * (len(knob.choices) - 1))]
                for knob, share in zip(knobs, shares, strict=False)
            }
            yield self.setting(client, values)

    def neighbours(self, setting: Setting) -> tuple[Setting, ...]:
        """The settings that differ from `setting` in one knob, by one step of a main one, to any value of another."""
        return tuple(
            self.setting(setting.client, {**dict(setting.values), knob.name: value})
            for knob in self.knobs[setting.client]
            for value in _near(knob, knob.choices.index(self.value(setting, knob)))
        )

    def smaller(self, setting: Setting) -> tuple[Setting, ...]:
        """The neighbours of `setting` with less of one main knob: fewer requests at once, or smaller parts."""
        return tuple(
            self.setting(setting.client, {**dict(setting.values), knob.name: knob.choices[at - 1]})
            for knob in self.main(setting.client)
            if (at := knob.choices.index(self.value(setting, knob))) > 0
        )


def _near(knob: Parameter, at: int) -> tuple[int | None, ...]:
    if knob.is_main:
        return tuple(knob.choices[position] for position in (at - 1, at + 1) if 0 <= position < len(knob.choices))
    return knob.choices[:at] + knob.choices[at + 1 :]
