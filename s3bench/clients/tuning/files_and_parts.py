"""Clients that transfer several files at once, and several parts of each: their parameters and their requests at once.

Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from s3bench.clients.tuning.client_tuning import Values
from s3bench.clients.tuning.parameter import (
    PART_BYTES_MIN,
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    part_choices,
    parts_of,
)
from s3bench.clients.tuning.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAndParts:
    """The three parameters of such a client, each by its name, with its default.

    `files` is the number of files at once, `parts` that of parts of one file at once, `part` the size of a part in
    bytes. `part_default` is `None` if the client makes a single request of a file by itself.
    """

    files: str
    files_default: int
    files_choices: tuple[int, ...]
    parts: str
    parts_default: int
    part: str
    part_default: int | None

    def parameters(self, workload: Workload) -> Iterator[Parameter]:
        """Those that can matter to `workload`: the first for several files, the others for files in parts."""
        if workload.files > 1:
            yield Parameter(
                name=self.files,
                role=ParameterRole.CONCURRENCY,
                quantity=ParameterQuantity.COUNT,
                default=self.files_default,
                choices=concurrency_choices(workload.files, self.files_default, of=self.files_choices),
            )
        if workload.size_bytes <= PART_BYTES_MIN:
            return
        yield Parameter(
            name=self.parts,
            role=ParameterRole.CONCURRENCY,
            quantity=ParameterQuantity.COUNT,
            default=self.parts_default,
            choices=concurrency_choices(parts_of(workload, PART_BYTES_MIN), self.parts_default),
        )
        sizes = part_choices(workload, self.part_default)
        yield Parameter(
            name=self.part,
            role=ParameterRole.PART,
            quantity=ParameterQuantity.SIZE,
            default=self.part_default,
            choices=sizes if self.part_default else (None, *sizes),
        )

    def requests_at_once(self, values: Values, workload: Workload, parts: int) -> int:
        """As many files as there are and may be, each with as many parts."""
        return self._files_at_once(values, workload) * min(parts, self._parts_at_once(values))

    def allowed_at_once(self, name: str, values: Values, workload: Workload) -> int:
        """How many requests the parameter `name`, one of the two numbers, allows together with the other."""
        if name == self.files:
            return values[name] * self._parts_at_once(values)
        return values[name] * self._files_at_once(values, workload)

    def _files_at_once(self, values: Values, workload: Workload) -> int:
        return min(workload.files, values.get(self.files) or self.files_default)

    def _parts_at_once(self, values: Values) -> int:
        return values.get(self.parts) or self.parts_default
