"""The tables of a client's memory at its peak: by function and by module."""

from s3bench.profiling.allocations import AllocationProfile, held_by_function, held_by_module
from s3bench.profiling.stack_profile import Frame
from s3bench.report.label import clipped
from s3bench.report.table import Table, column
from s3bench.units import render_bytes

_BEGINS = {
    "imports": "Allocations are seen from before the client's packages are imported.",
    "plug-in": "Allocations are seen from when aws-cli loads its plug-ins: what it imports before is missing.",
}


def memory_fact(profile: AllocationProfile) -> str:
    """What Python holds of the peak, and what the rest is."""
    taken, peak = render_bytes(profile.taken_bytes), render_bytes(profile.peak_bytes)
    return (
        f"peak {peak}, of which Python held {taken} (below); the rest is the interpreter, libraries in C, and freed "
        "memory that was not given back"
    )


def allocation_tables(profile: AllocationProfile) -> tuple[Table, ...]:
    """One table of functions and one of modules, without those that would be empty."""
    functions, modules = held_by_function(profile), held_by_module(profile)
    notes = (
        *((_BEGINS[profile.start],) if profile.start in _BEGINS else ()),
        "Libraries in C that call malloc by themselves, such as the CRT, are not seen.",
    )
    tables = (
        Table(
            caption="Memory at the peak by function",
            columns=(
                column("function", functions, lambda row: clipped(row[0].name), is_code=True),
                column("self", functions, lambda row: render_bytes(row[1]), value=lambda row: row[1], is_number=True),
                column("total", functions, lambda row: render_bytes(row[2]), value=lambda row: row[2], is_number=True),
                column("line", functions, lambda row: clipped(_place(row[0])), rank=1),
            ),
            notes=notes,
        ),
        Table(
            caption="Memory at the peak by module",
            columns=(
                column("module", modules, lambda row: clipped(row[0]), is_code=True),
                column("self", modules, lambda row: render_bytes(row[1]), value=lambda row: row[1], is_number=True),
            ),
        ),
    )
    return tuple(table for table in tables if table.rows)


def _place(frame: Frame) -> str:
    return f"{frame.file}:{frame.line}" if frame.file else ""
