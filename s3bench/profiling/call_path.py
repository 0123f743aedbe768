"""The stacks of a profile as paths of calls, in which an import is one call.

Between an import statement and the code of the module stand the frames of the import system. They are left out, so that
the module is called by the function that imports it. Samples that end among them, as while a file is read, count for
the module that this line imports in other samples, also in those of a profile that this one is compared with: a module
that takes a tenth of a millisecond is seen on one side and not on the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from s3bench.profiling.stack_profile import IMPORT_SYSTEM, OWN_MODULE, Frame, Stack, StackProfile

MODULE_CODE = "<module>"
"""The function that is a module's own code."""

_SURE = 0.8  # a line imports a module if so much of what it imports is that module

CallPath = tuple[Frame, ...]


def call_paths(*profiles: StackProfile) -> tuple[tuple[CallPath, ...], ...]:
    """The path of each stack of each profile, the outermost call first."""
    stacks = [list(map(partial(_frames, profile), profile.stacks)) for profile in profiles]
    imported = _imported(chain.from_iterable(map(_weighted, profiles, stacks)))
    return tuple(tuple(_path(stack, imported) for stack in each) for each in stacks)


def _frames(profile: StackProfile, stack: Stack) -> list[Frame]:
    return [frame for index in stack.frames if (frame := profile.frames[index]).module != OWN_MODULE]


def _weighted(profile: StackProfile, stacks: Sequence[list[Frame]]) -> Iterator[tuple[list[Frame], int]]:
    weights: Counter[int] = Counter()
    for run in profile.runs:
        weights.update(run.samples)
    for number, stack in enumerate(stacks):
        yield stack, weights[number]


def _imported(stacks: Iterable[tuple[Sequence[Frame], int]]) -> dict[Frame, Frame]:
    """The code of the module that each line imports, where that is known."""
    seen: defaultdict[Frame, Counter[str]] = defaultdict(Counter)
    codes: dict[str, Frame] = {}
    for stack, weight in stacks:
        importer: Frame | None = None
        within = False
        for frame in stack:
            if frame.is_import_system:
                within = True
                continue
            if within and importer is not None and frame.function == MODULE_CODE:
                seen[importer][frame.module] += weight
                codes.setdefault(frame.module, frame)
            importer, within = frame, False
    found = {}
    for importer, modules in seen.items():
        module, weight = modules.most_common(1)[0]
        if weight >= _SURE * modules.total():
            found[importer] = codes[module]
    return found


def _path(stack: Sequence[Frame], imported: Mapping[Frame, Frame]) -> CallPath:
    path: list[Frame] = []
    within = False
    for frame in stack:
        if frame.is_import_system:
            within = True
            continue
        if within and path and frame.function != MODULE_CODE:
            path.append(imported.get(path[-1], IMPORT_SYSTEM))
        within = False
        path.append(frame)
    if within and path:
        path.append(imported.get(path[-1], IMPORT_SYSTEM))
    return tuple(path)
