"""The most that S3 delivered to types of EC2 instances, as a backdrop to a measured throughput."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from s3bench.report.load.cells import bytes_rate_text
from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of, constant
from s3bench.report.page.unit import AxisUnit
from s3bench.results.document import Document
from s3bench.s3.network.presets import EC2_BYTES_PER_S, PREFIX

SOURCE = "most that S3 delivered to EC2 instance types, measured by github.com/dvassallo/s3-benchmark in 2019"

_NEAR_FACTOR = 3.0
"""What is further above or below than this says nothing of a figure, and would only press it flat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A type of EC2 instance, and the most that S3 delivered to it."""

    name: str
    bytes_per_s: float

    @property
    def text(self) -> str:
        """`c5.large: 905 MiB/s`, in the unit of the axes."""
        return f"{self.name}: {bytes_rate_text(self.bytes_per_s)}"


def backdrop(document: Document, reached_bytes_per_s: float) -> tuple[Instance, ...]:
    """The type whose network was modelled, where it is near to the most that was reached; nothing on other networks."""
    imposed = _imposed(document)
    if imposed is None:
        return ()
    is_near = reached_bytes_per_s / _NEAR_FACTOR <= imposed.bytes_per_s <= reached_bytes_per_s * _NEAR_FACTOR
    return (imposed,) if is_near else ()


def instance_rules(instances: tuple[Instance, ...], unit: AxisUnit) -> tuple[alt.Chart, ...]:
    """Thin rules with their names on them: layers of a chart whose y axis is a throughput in `unit`."""
    if not instances:
        return ()
    values = [{"limit": unit.of(each.bytes_per_s), "name": each.text} for each in instances]
    base = chart_of(values).encode(y=alt.Y("limit:Q"))
    rule = base.mark_rule(strokeDash=[3, 3], strokeWidth=1, color=theme.MUTED, aria=False)
    name = base.mark_text(align="right", baseline="bottom", dx=-4, dy=-2, color=theme.MUTED, aria=False)
    return rule, name.encode(text=alt.Text("name:N"), x=constant(alt.XValue, "width"))


def _imposed(document: Document) -> Instance | None:
    network = document.options.get("network")
    text = network.get("text") if isinstance(network, Mapping) else network
    name = text.removeprefix(PREFIX) if isinstance(text, str) and text.startswith(PREFIX) else ""
    return Instance(name=name, bytes_per_s=EC2_BYTES_PER_S[name]) if name in EC2_BYTES_PER_S else None
