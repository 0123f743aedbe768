"""Heat-maps of a tuning: the objective of each client over its two main parameters, as percent more than its best.

With color and without it the figures are the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from s3bench.clients.tuning.parameter import Parameter, ParameterRole
from s3bench.report.terminal import BOLD, DIM, RED, YELLOW, painter, printable
from s3bench.report.tune.cells import amount_text, slower_than
from s3bench.tune.setting import Setting
from s3bench.tune.study_result import SettingFigures, StudyResult

_GAP = 1
_INDENT = "  "
_GREEN, _GREEN_GROUND = "32", "30;42"  # ECMA-48, select graphic rendition
_STYLES = ((0.03, _GREEN_GROUND), (0.1, _GREEN), (0.3, YELLOW))
"""Up to which share above the best a cell is painted how; more is red."""

_ONE_DECIMAL_BELOW = 0.0995


class CellState(Enum):
    """What is known of a cell, the best first; `EMPTY`: nothing was tried there."""

    WHOLE = auto()
    CAPPED = auto()
    OVER_MEMORY = auto()
    FAILED = auto()
    EMPTY = auto()


_LEGENDS = {
    CellState.CAPPED: ">: ended as too slow, so a lower bound",
    CellState.OVER_MEMORY: "memory: needs more than allowed",
    CellState.FAILED: "failed: no whole run",
    CellState.EMPTY: ".: not tried",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapCell:
    """The best setting with these two values. `share` is how much more than the map's best it takes: 0.1 is 10 %."""

    state: CellState
    share: float | None = None

    @property
    def text(self) -> str:
        """As it is shown: `best`, `+4.2`, `+31`, `>85`."""
        match self.state:
            case CellState.OVER_MEMORY:
                return "memory"
            case CellState.FAILED:
                return "failed"
            case CellState.EMPTY:
                return "."
        share = self.share or 0.0
        if self.state is CellState.CAPPED:
            return f">{_percents(share)}"
        return "best" if share == 0 else f"+{_percents(share)}"

    @property
    def style(self) -> str:
        """How it is painted."""
        if self.state is not CellState.WHOLE:
            return DIM if self.state is CellState.EMPTY else RED
        return next((style for limit, style in _STYLES if (self.share or 0.0) <= limit), RED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap:
    """One client's map: `cells` has a line for each of `rows` and a cell for each of `columns`, defaults with a `*`.

    `best` is the value that shares are of, in the objective's unit, as text.
    """

    client: str
    objective: str
    best: str
    row_parameter: str
    column_parameter: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[HeatmapCell, ...], ...]

    @property
    def title(self) -> str:
        """What the figures are."""
        return printable(f"{self.client}: % {slower_than(self.objective)} than its best, {self.best}")

    @property
    def axes(self) -> str:
        """What rows and columns are."""
        return (
            f"rows {self.row_parameter}, columns {self.column_parameter}; each cell the best over all other parameters"
        )

    @property
    def legend(self) -> str:
        """What stands in these cells besides figures."""
        found = {cell.state for line in self.cells for cell in line}
        return "; ".join(("*: the default", *(words for state, words in _LEGENDS.items() if state in found)))


def heatmaps(result: StudyResult) -> tuple[Heatmap, ...]:
    """A map for each client that has two main parameters and whole runs, in the order of `result.clients`."""
    labels = dict.fromkeys((*(each.client for each in result.clients), *(row.setting.client for row in result.table)))
    return tuple(found for label in labels if (found := _heatmap(label, result)) is not None)


def render_heatmap(heatmap: Heatmap, *, width: int, color: bool) -> tuple[str, ...]:
    """Render as lines. What is wider than `width` is continued below, so that no cell is left out."""
    paint = painter(color=color)
    labels = tuple(f"{_INDENT}{label}" for label in heatmap.rows)
    label_width = max(map(len, labels))
    texts = (*heatmap.columns, *(cell.text for line in heatmap.cells for cell in line))
    cell_width = max(map(len, texts))
    at_once = max(1, (width - label_width) // (cell_width + _GAP))
    lines = [paint(heatmap.title, BOLD), paint(f"{_INDENT}{heatmap.axes}", DIM)]
    for start in range(0, len(heatmap.columns), at_once):
        part = slice(start, start + at_once)
        heading = "".join(f"{' ' * _GAP}{each.rjust(cell_width)}" for each in heatmap.columns[part])
        lines.append(paint(" " * label_width + heading, DIM))
        lines += (
            label.ljust(label_width) + "".join(_painted(cell, cell_width, paint) for cell in line[part])
            for label, line in zip(labels, heatmap.cells, strict=True)
        )
    lines.append(paint(f"{_INDENT}{heatmap.legend}", DIM))
    return tuple(lines)


def _painted(cell: HeatmapCell, width: int, paint: Callable[[str, str], str]) -> str:
    return " " * (width - len(cell.text) + _GAP) + paint(cell.text, cell.style)


def _heatmap(label: str, result: StudyResult) -> Heatmap | None:
    tried = [row for row in result.table if row.setting.client == label]
    best = min((row.value for row in tried if _state(row) is CellState.WHOLE and row.value is not None), default=None)
    parameters = _two_parameters(label, tried, result)
    if best is None or parameters is None:
        return None
    row_values, column_values = (_values(parameter, tried) for parameter in parameters)
    cells = {place: _cell(found, best) for place, found in _by_place(tried, parameters).items()}
    return Heatmap(
        client=label,
        objective=result.objective,
        best=amount_text(best, unit=result.unit),
        row_parameter=parameters[0].name,
        column_parameter=parameters[1].name,
        rows=tuple(_label(parameters[0], value) for value in row_values),
        columns=tuple(_label(parameters[1], value) for value in column_values),
        cells=tuple(
            tuple(cells.get((row, column), HeatmapCell(state=CellState.EMPTY)) for column in column_values)
            for row in row_values
        ),
    )


def _two_parameters(
    label: str, tried: Sequence[SettingFigures], result: StudyResult
) -> tuple[Parameter, Parameter] | None:
    """How many at once and how large a part: of several parameters for the first, the one tried at most values."""
    main = [
        parameter
        for parameter in Setting(client=label).descriptor.tuning.parameters_for(result.workload)
        if parameter.is_main
    ]
    parts = [parameter for parameter in main if parameter.role is ParameterRole.PART]
    others = [parameter for parameter in main if parameter.role is not ParameterRole.PART]
    if not others or not parts:
        return None
    return max(others, key=lambda parameter: len(_values(parameter, tried))), parts[0]


def _values(parameter: Parameter, tried: Sequence[SettingFigures]) -> tuple[int | None, ...]:
    """The values that were tried and the default, in rising order, what the client chooses itself first."""
    return tuple(sorted({parameter.default, *(_value(parameter, row) for row in tried)}, key=lambda value: value or 0))


def _value(parameter: Parameter, figures: SettingFigures) -> int | None:
    return figures.setting.get(parameter.name) or parameter.default


def _by_place(
    tried: Sequence[SettingFigures], parameters: tuple[Parameter, Parameter]
) -> dict[tuple[int | None, int | None], list[SettingFigures]]:
    places: dict[tuple[int | None, int | None], list[SettingFigures]] = {}
    for row in tried:
        places.setdefault((_value(parameters[0], row), _value(parameters[1], row)), []).append(row)
    return places


def _cell(found: Sequence[SettingFigures], best: float) -> HeatmapCell:
    first = min(found, key=lambda row: (_state(row).value, row.value or 0.0))
    state = _state(first)
    if first.value is None or state not in {CellState.WHOLE, CellState.CAPPED}:
        return HeatmapCell(state=state)
    return HeatmapCell(state=state, share=max(0.0, first.value / best - 1))


def _state(figures: SettingFigures) -> CellState:
    if figures.value is None:
        return CellState.FAILED
    if figures.exceeds_memory:
        return CellState.OVER_MEMORY
    return CellState.CAPPED if figures.was_capped else CellState.WHOLE


def _label(parameter: Parameter, value: int | None) -> str:
    text = "auto" if value is None else parameter.quantity.render(value)
    return f"{text}*" if value == parameter.default else text


def _percents(share: float) -> str:
    return f"{share * 100:.1f}" if share < _ONE_DECIMAL_BELOW else f"{share * 100:,.0f}"


def heatmap_rows(heatmap: Heatmap) -> Iterator[tuple[str, ...]]:
    """The map as rows of texts, each with its label first."""
    for label, line in zip(heatmap.rows, heatmap.cells, strict=True):
        yield (label, *(cell.text for cell in line))
