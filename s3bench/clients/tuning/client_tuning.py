"""What one client declares for the tuner: its parameters, how many requests it makes at once, and its recipe.

The tuner (`s3bench.tune`) has no other knowledge of clients.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from s3bench.clients.tuning.parameter import GIB, Parameter, ParameterRole
from s3bench.clients.tuning.workload import Action, Workload

Values = Mapping[str, int]
"""The parameters that are set, by name: sizes in bytes, rates in bytes per second. All others keep their defaults."""

_DIRECTIONS = ((Action.DOWNLOAD, False), (Action.UPLOAD, True))

SHELL = "shell"
PYTHON = "Python"

_LARGE = {is_upload: Workload(action=action, size_bytes=GIB, files=1000) for action, is_upload in _DIRECTIONS}
"""A workload of either direction to which every parameter for it matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What a client does by itself, as the wire showed it in its runs.

    `lookups_per_file` are HEADs. `part_bytes` are the parts that the client chose by
    itself under each target throughput (`None`: unset). `lanes` are the most requests that it had in flight with its
    concurrency and target unset, `None` where there were never more requests than that.
    """

    lookups_per_file: float = 0.0
    part_bytes: tuple[tuple[int | None, int], ...] = ()
    lanes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRecipe:
    """`lines` to be pasted as they stand into what `where` names (`shell`, `Python`)."""

    where: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClientTuning:
    """How one client is tuned.

    `parameters`: those that can matter to a workload, with their choices. `recipe`: the lines that make values hold,
    for a version of the client (empty: unknown).
    `requests_at_once(values, workload, parts, habits)`: how many requests with object data are in flight at the most,
    when each file has so many parts. `allowed_at_once(name, values, workload)`: how many the parameter `name` allows
    while files are moved in parts, where that is not its value.
    `is_first_part_alone`: a download fetches its first part before all others, to learn the object's size.
    `threshold_is_for_uploads`: downloads are in parts whatever the threshold. `in_parts_from(values, workload)`: from
    which size files are in parts, where no parameter says it. `is_bound_to_one_core`: its transfer is
    Python code, which the interpreter lock keeps on one core but for hashing and sockets.
    `more_at_once` names what to raise for more requests at once. `is_tried_by_default`: tried where the user names no
    clients.
    """

    parameters: Callable[[Workload], Iterable[Parameter]]
    requests_at_once: Callable[[Values, Workload, int, Habits], int]
    recipe: Callable[[str, Values], ClientRecipe]
    more_at_once: str
    allowed_at_once: Callable[[str, Values, Workload], int] | None = None
    in_parts_from: Callable[[Values, Workload], int] | None = None
    is_first_part_alone: bool = False
    threshold_is_for_uploads: bool = False
    is_bound_to_one_core: bool = False
    is_tried_by_default: bool = False

    def parameters_for(self, workload: Workload) -> tuple[Parameter, ...]:
        """The parameters that can make a difference to `workload`, main ones first.

        What the workload leaves without meaning is left out: parts of a file below the threshold, workers for one file,
        values beyond S3's limits, more requests at once than there are parts.
        """
        found = tuple(each for each in self.parameters(workload) if len(each.choices) > 1)
        return tuple(sorted(found, key=lambda each: not each.is_main))

    @cached_property
    def all_parameters(self) -> Mapping[str, Parameter]:
        """Every parameter, by name, as it is for a large workload."""
        return {each.name: each for workload in _LARGE.values() for each in self.parameters_for(workload)}

    def named(self, role: ParameterRole) -> tuple[str, ...]:
        """The names of the parameters with a role."""
        return tuple(name for name, each in self.all_parameters.items() if each.role is role)

    def default_of(self, role: ParameterRole, workload: Workload) -> int | None:
        """The default of the first parameter with a role, in the workload's direction.

        `None` without one, or where the client chooses by itself.
        """
        return self._defaults[workload.is_upload].get(role)

    @cached_property
    def _defaults(self) -> Mapping[bool, Mapping[ParameterRole, int | None]]:
        return {
            is_upload: {each.role: each.default for each in reversed(self.parameters_for(workload))}
            for is_upload, workload in _LARGE.items()
        }
