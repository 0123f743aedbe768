"""Plans a run: which definitions run on which clients, in what order.

Parses `--client`, pairs definitions with clients, and applies `-k` and chunks. `finding` checks later whether a client
is installed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from s3bench.clients.client import ClientSpec
from s3bench.clients.registry import known_client, known_clients
from s3bench.errors import BadInput
from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.awsconfig import transfer_kind
from s3bench.spec.client_traits import TRANSFER_CLIENT, TRANSFER_CLIENTS, named_engine
from s3bench.spec.command import parse_transfer
from s3bench.spec.definition import Definition
from s3bench.spec.label import benchmark_label
from s3bench.spec.reader import nearest, one_of
from s3bench.spec.selection import Labels, Selection, parse_selection
from s3bench.spec.suite import Suite

_NAMED_MAX = 3
_NAMES = "the definition names"
_OFFERED_MAX = 8
_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z]+)*(\+[0-9A-Za-z.]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One definition on one client."""

    definition: Definition
    client: ClientSpec

    @property
    def dimensions(self) -> tuple[tuple[str, str], ...]:
        """Those of the definition, and of a transfer the transfer client if the definition leaves it to the client."""
        dimensions, engine = self.definition.dimensions, known_client(self.client.kind).engine
        is_named = TRANSFER_CLIENT in dict(dimensions)
        if engine is None or engine not in TRANSFER_CLIENTS or is_named or not parse_transfer(self.definition.command):
            return dimensions
        return *dimensions, (TRANSFER_CLIENT, TRANSFER_CLIENTS[engine])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cells of a run in order, each measured `iterations` times after `warmup` warm-up iterations.

    `skipped` has a sentence for each definition that is not run, or not on a requested client, and why.
    """

    cells: tuple[Cell, ...]
    iterations: int
    warmup: int
    skipped: tuple[str, ...]


def parse_client_spec(text: str) -> ClientSpec:
    """`cli-crt`, `cli-crt@2.38.5` or `boto3-crt@/path/to/environment`; raises `BadInput` with the nearest name."""
    name, at, where = text.partition("@")
    kind = known_client(name, said=text).name
    if not at:
        return ClientSpec(kind=kind)
    if "/" in where or where.startswith(("~", ".")):
        return ClientSpec(kind=kind, path=where)
    if _VERSION.fullmatch(where):
        return ClientSpec(kind=kind, version=where)
    raise BadInput(
        f"`{text}`: `{where}` is neither a version nor a path",
        fix=f"write `{name}@2.38.5`, or `{name}@./directory` (a path has a `/`)",
    )


def plan_runs(
    definitions: tuple[Definition, ...],
    *,
    clients: tuple[ClientSpec, ...],
    suite: Suite = Suite.FULL,
    blocks: frozenset[str] = frozenset(),
    select: str | None = None,
    num_chunks: int = 1,
    chunk_id: int = 0,
    iterations: int = 1,
    warmup: int = 0,
) -> Plan:
    """Pair definitions of `suite` with clients, keep what `select` picks, take the chunk `chunk_id` of `num_chunks`.

    Chunks count from 0. Without `clients` each definition runs on those it names, or on `cli`. Definitions are
    distributed over chunks in turn, so that all chunks together are complete, and their sizes differ by at most one
    definition. Only clients that read all `blocks` of the config are taken. Raises `BadInput` when nothing is left to
    run, but not for an empty chunk.
    """
    _check_chunk(num_chunks, chunk_id)
    if not definitions:
        raise BadInput("there are no benchmarks in the definitions", fix="put at least one into the list")
    wanted = tuple(dict.fromkeys(clients))
    suited = suite.of(definitions)
    cells = [cell for definition in suited for cell in _cells(definition, wanted, blocks)]
    beyond = [cell for definition in suite.without(definitions) for cell in _cells(definition, wanted, blocks)]
    if not cells and not beyond and blocks:
        raise _no_reader(blocks)
    if not cells:
        raise _only_full(_running_on(wanted), beyond) if beyond else _no_client(definitions, wanted, blocks)
    asked = (Cell(definition=definition, client=spec) for definition in suited for spec in wanted)
    refused = [cell for cell in asked if _obstacle(cell.definition, cell.client.kind, blocks)]
    unselected: list[str] = []
    if select is not None:
        selection = parse_selection(select)
        picked = [cell for cell in cells if selection.picks(_labels(cell))]
        beyond = [cell for cell in beyond if selection.picks(_labels(cell))]
        if not picked:
            raise _only_full(f" for -k {select}", beyond) if beyond else _nothing_selected(select, selection, cells)
        unselected = _left_out(cells, picked, f"not selected by -k {select}")
        unselected += _left_out(beyond, [], f"selected by -k {select} only with --suite full")
        cells, refused = picked, [cell for cell in refused if selection.picks(_labels(cell))]
    dealt = _chunk(cells, num_chunks, chunk_id)
    skipped = [*_refusals(refused, blocks), *unselected]
    skipped += _left_out(cells, dealt, f"in other chunks than {chunk_id} of {num_chunks}")
    return Plan(cells=tuple(dealt), iterations=iterations, warmup=warmup, skipped=tuple(skipped))


def _check_chunk(num_chunks: int, chunk_id: int) -> None:
    if num_chunks < 1:
        raise BadInput(f"--num-chunks is {num_chunks}", fix="write 1 or more")
    if not 0 <= chunk_id < num_chunks:
        raise BadInput(f"--chunk-id is {chunk_id}, with --num-chunks {num_chunks}", fix=f"write 0 to {num_chunks - 1}")


def _cells(definition: Definition, wanted: tuple[ClientSpec, ...], blocks: frozenset[str]) -> Iterator[Cell]:
    specs = wanted or tuple(ClientSpec(kind=kind) for kind in definition.clients or _default_clients())
    for spec in specs:
        if _obstacle(definition, spec.kind, blocks) is None:
            yield Cell(definition=definition, client=spec)


def _default_clients() -> Iterator[str]:
    return (name for name, client in known_clients().items() if client.is_default)


def _obstacle(definition: Definition, kind: str, blocks: frozenset[str]) -> str | None:
    """Why `definition` does not run on `kind`, or `None`."""
    clients = known_clients()
    if unread := blocks - {"s3", clients[kind].config_block}:
        return f"{kind} has no settings `{min(unread)}`"
    named = named_engine(definition.dimensions)
    if named is not None and clients[kind].engine not in {None, named}:
        return f"the dimension {TRANSFER_CLIENT} is {TRANSFER_CLIENTS[named]}"
    if definition.clients:
        suits = kind in definition.clients or (clients[kind].runs_unnamed and _is_portable(definition))
        return None if suits else f"{_NAMES} {', '.join(definition.clients)}"
    if not clients[kind].runs_any_command:
        return "the definition names no `clients`, so only aws-cli runs it"
    configured = transfer_kind(definition.environment.config, clients)
    if clients[kind].transfer_words and configured is not None and configured != kind:
        return f"the config asks for {configured}"
    return None


def expected_engine(definition: Definition, kind: str) -> TransferEngine | None:
    """The engine that has to move the object data of `definition` on the client `kind`; `None` for any.

    It is the client's own, else the one that the config asks for, else the one that a dimension names.
    """
    clients = known_clients()
    configured = transfer_kind(definition.environment.config, clients)
    if clients[kind].engine is not None:
        return clients[kind].engine
    if configured is not None:
        return clients[configured].engine
    named = named_engine(definition.dimensions)
    return None if named is None else TransferEngine(named)


def _is_portable(definition: Definition) -> bool:
    """Whether the definition is meant for clients other than aws-cli too, and any could run it."""
    clients = known_clients()
    transfer = parse_transfer(definition.command)
    is_shared = not all(clients[name].runs_any_command for name in definition.clients)
    return is_shared and transfer is not None and transfer.portable


def _refusals(refused: list[Cell], blocks: frozenset[str]) -> Iterator[str]:
    """A sentence for each client and reason, with the benchmarks that it stands for."""
    reasons: dict[str, list[str]] = {}
    for cell in refused:
        reason = f"not run on {cell.client}: {_obstacle(cell.definition, cell.client.kind, blocks)}"
        reasons.setdefault(reason, []).append(title(cell.definition))
    for reason, (first, *more) in reasons.items():
        yield f"{first} and {len(more)} more are {reason}" if more else f"{first} is {reason}"


def title(definition: Definition) -> str:
    """The definition's name with its dimensions: `s3.cp.upload FileSize=32MB`."""
    return benchmark_label(definition.name, definition.dimensions)


def _labels(cell: Cell) -> Labels:
    definition = cell.definition
    return Labels(name=definition.name, dimensions=cell.dimensions, others=(str(cell.client), *definition.tags))


def _chunk(cells: list[Cell], num_chunks: int, chunk_id: int) -> list[Cell]:
    numbers = {definition: at for at, definition in enumerate(dict.fromkeys(cell.definition for cell in cells))}
    return [cell for cell in cells if numbers[cell.definition] % num_chunks == chunk_id]


def _left_out(before: list[Cell], after: list[Cell], why: str) -> list[str]:
    count = len({cell.definition for cell in before} - {cell.definition for cell in after})
    return [f"{count} benchmark{'' if count == 1 else 's'} {why}"] if count else []


def _no_client(definitions: tuple[Definition, ...], wanted: tuple[ClientSpec, ...], blocks: frozenset[str]) -> BadInput:
    kinds = [spec.kind for spec in wanted] or list(_default_clients())
    obstacles = {_obstacle(definition, kind, blocks) for definition in definitions for kind in kinds}
    able = sorted(
        kind for kind in known_clients() if any(_obstacle(each, kind, blocks) is None for each in definitions)
    )
    return BadInput(
        f"no benchmark runs on {', '.join(map(str, wanted or kinds))}",
        "; ".join(sorted(filter(None, obstacles))[:_NAMED_MAX]),
        "; or ".join(
            [
                *([f"select one of {', '.join(able)}"] if able else []),
                *(["add the client to `clients`"] if any(each and _NAMES in each for each in obstacles) else []),
            ]
        ),
    )


def _no_reader(blocks: frozenset[str]) -> BadInput:
    names = [name for name, each in known_clients().items() if each.config_block in blocks]
    return BadInput(
        f"no benchmark runs on a client with the settings {one_of(sorted(blocks - {'s3'}))}",
        fix=f"name the client: {' '.join(f'--client {name}' for name in names)}",
    )


def _only_full(what: str, cells: list[Cell]) -> BadInput:
    names = list(dict.fromkeys(title(cell.definition) for cell in cells))
    shown = ", ".join(names[:_NAMED_MAX]) + f" and {len(names) - _NAMED_MAX} more" * (len(names) > _NAMED_MAX)
    return BadInput(
        f"the default suite has no benchmark{what}", f"only the full suite has: {shown}", "add --suite full"
    )


def _running_on(wanted: tuple[ClientSpec, ...]) -> str:
    return f" that runs on {', '.join(map(str, wanted))}" if wanted else ""


def _nothing_selected(select: str, selection: Selection, cells: list[Cell]) -> BadInput:
    labels = [_labels(cell) for cell in cells]
    words, pairs = ({text for each in labels for text in texts(each)} for texts in (Labels.words, Labels.pairs))
    near = [found for word in selection.words if (found := nearest(word, sorted(pairs if "=" in word else words)))]
    names = list(dict.fromkeys(cell.definition.name for cell in cells))
    there = f"there are {one_of(names[:_OFFERED_MAX])}; s3bench run --list shows all, with their dimensions"
    return BadInput(
        f"-k {select}: no benchmark is selected", fix=f"near are {one_of(dict.fromkeys(near))}" if near else there
    )
