"""Section of the page about the machines: the facts that figures depend on, and those that differ between documents."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from s3bench.report.label import clipped
from s3bench.report.page.section import Line, Section
from s3bench.report.table import NOTHING, Table, Tone, column
from s3bench.units import render_bytes

_OF_THE_MOMENT = frozenset({"frequency_mhz", "load_1min", "load_5min", "load_15min", "memory_available", "swap_used"})
"""Facts that change all the time, and do not distinguish machines."""
_BYTES = frozenset({"memory_total", "memory_available", "memory_limit", "swap_total", "swap_used"})
_VALUE_MAX = 200


def machine_section(machines: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """The facts of machines by the names of their documents; of several, those that differ first."""
    names = tuple(dict.fromkeys(name for _, facts in machines for name in facts))
    different = tuple(name for name in names if len({_text(name, facts.get(name)) for _, facts in machines}) > 1)
    same = tuple(name for name in names if name not in different)
    tables = (
        _table("Facts that differ", machines, different),
        _table("Facts that are the same" if different else "Facts about the machine", machines, same),
    )
    return Section(
        name="machine",
        title="Machine" if len(machines) == 1 else "Machines",
        lines=tuple(_lines(machines, different)),
        tables=tuple(table for table in tables if table.rows),
    )


def _lines(machines: Sequence[tuple[str, Mapping[str, Any]]], different: Sequence[str]) -> Iterator[Line]:
    if not any(facts for _, facts in machines):
        yield Line(text="Nothing was recorded about the machine.")
    elif len(machines) > 1:
        lasting = [_title(name) for name in different if name not in _OF_THE_MOMENT]
        if lasting:
            words = clipped(", ".join(lasting), most=_VALUE_MAX)
            yield Line(text=f"The machines differ in what figures depend on: {words}.", tone=Tone.WARNING)
        else:
            yield Line(text="The machines differ only in their state at the time.")


def _table(caption: str, machines: Sequence[tuple[str, Mapping[str, Any]]], names: Sequence[str]) -> Table:
    titles = ("value",) if len(machines) == 1 else tuple(clipped(name) for name, _ in machines)
    values = (column(title, names, partial(_value, facts)) for title, (_, facts) in zip(titles, machines, strict=True))
    return Table(caption=caption, columns=(column("fact", names, _title), *values))


def _value(facts: Mapping[str, Any], name: str) -> str:
    return _text(name, facts.get(name))


def _title(name: str) -> str:
    """`frequency_max_mhz` as `frequency max [MHz]`."""
    words = clipped(name).replace("_", " ")
    return f"{words.removesuffix(' mhz')} [MHz]" if words.endswith(" mhz") else words


def _text(name: str, value: object) -> str:
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case int() | float() if name in _BYTES:
            return render_bytes(value)
        case float():
            return f"{value:g}"
    return clipped(str(value), most=_VALUE_MAX)
