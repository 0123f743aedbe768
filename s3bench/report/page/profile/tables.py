"""Tables of the functions in a flame graph: their own time and that with all they call."""

from collections.abc import Callable, Sequence

from s3bench.report.label import clipped
from s3bench.report.page.profile.call_tree import CalledFunction, FunctionTimes
from s3bench.report.table import Table, TableColumn, column
from s3bench.units import render_seconds


def function_table(
    functions: Sequence[FunctionTimes], *, caption: str, whole_s: float, labels: tuple[str, str] | None
) -> Table:
    """A row for each function. `labels` are those of baseline and candidate; without them there is one side.

    `whole_s` is the candidate's time of all functions, of which shares are taken.
    """

    def share(each: FunctionTimes) -> float:
        return each.total_s[0] / whole_s if whole_s else 0.0

    if labels is None:
        numbers = [
            _times("self", functions, lambda each: each.self_s[0]),
            _times("total", functions, lambda each: each.total_s[0]),
            column("total %", functions, lambda each: f"{share(each):.1%}", value=share),
        ]
    else:
        baseline, candidate = labels
        numbers = [
            _times(f"total, {baseline}", functions, lambda each: each.total_s[1]),
            _times(f"total, {candidate}", functions, lambda each: each.total_s[0]),
            _differences("difference", functions, lambda each: each.total_difference_s),
            _times(f"self, {baseline}", functions, lambda each: each.self_s[1]),
            _times(f"self, {candidate}", functions, lambda each: each.self_s[0]),
            _differences("difference of self", functions, lambda each: each.self_difference_s),
        ]
    return Table(
        caption=caption,
        columns=(
            column("function", functions, lambda each: clipped(each.function.label), is_code=True),
            *numbers,
            column("where", functions, lambda each: place_text(each.function), is_code=True),
        ),
    )


def place_text(function: CalledFunction) -> str:
    """Where a function is: `botocore/session.py:870`, empty if that is unknown."""
    return clipped(f"{function.file}:{function.line}" if function.file and function.line else function.file)


def difference_text(seconds: float) -> str:
    """A difference with its sign: `+33.0 ms`."""
    return f"{'+' if seconds > 0 else ''}{render_seconds(seconds)}" if seconds else "0"


def _times(heading: str, functions: Sequence[FunctionTimes], seconds: Callable[[FunctionTimes], float]) -> TableColumn:
    def text(each: FunctionTimes) -> str:
        return render_seconds(seconds(each)) if seconds(each) else "0"

    return column(heading, functions, text, value=seconds)


def _differences(
    heading: str, functions: Sequence[FunctionTimes], seconds: Callable[[FunctionTimes], float]
) -> TableColumn:
    return column(heading, functions, lambda each: difference_text(seconds(each)), value=seconds)
