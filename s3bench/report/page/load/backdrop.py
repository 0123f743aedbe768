"""The most that S3 delivered to types of EC2 instances, as a backdrop to a measured throughput."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.chart import chart_of
from s3bench.report.page.unit import AxisUnit
from s3bench.results.document import Document
from s3bench.s3.network.presets import EC2_BYTES_PER_S, PREFIX

SOURCE = "most that S3 delivered to EC2 instance types, measured by github.com/dvassallo/s3-benchmark in 2019"

_NEAR_FACTOR = 3.0
"""What is further above or below than this says nothing of a figure, and would only press it flat."""

_APART_FACTOR = 1.08
"""What is nearer to each other than this is one rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A type of EC2 instance, and the most that S3 delivered to it."""

    name: str
    bytes_per_s: float

    @property
    def text(self) -> str:
        """`c5.large: 949 MB/s`, in the source's decimal unit."""
        return f"{self.name}: {self.bytes_per_s / 1e6:,.0f} MB/s"


def backdrop(document: Document, reached_bytes_per_s: float) -> tuple[Instance, ...]:
    """The types to be shown beside the most that was reached, by rising throughput.

    That of the network model that was imposed; else the next below and the next above, where they are near.
    """
    imposed = _imposed(document)
    chosen = (imposed,) if imposed else tuple(_neighbours(reached_bytes_per_s))
    return tuple(
        each
        for each in chosen
        if reached_bytes_per_s / _NEAR_FACTOR <= each.bytes_per_s <= reached_bytes_per_s * _NEAR_FACTOR
    )


def instance_rules(instances: tuple[Instance, ...], unit: AxisUnit) -> tuple[alt.Chart, ...]:
    """Thin rules, named to their right: layers of a chart whose y axis is a throughput in `unit`."""
    if not instances:
        return ()
    values = [{"limit": unit.of(each.bytes_per_s), "name": each.text} for each in instances]
    base = chart_of(values).encode(y=alt.Y("limit:Q"))
    rule = base.mark_rule(strokeDash=[3, 3], strokeWidth=1, color=theme.MUTED, aria=False)
    name = base.mark_text(align="left", baseline="middle", dx=4, fontSize=10, color=theme.MUTED, aria=False)
    return rule, name.encode(text="name:N", x=alt.value("width"))


def _imposed(document: Document) -> Instance | None:
    network = document.options.get("network")
    text = network.get("text") if isinstance(network, Mapping) else network
    name = text.removeprefix(PREFIX) if isinstance(text, str) and text.startswith(PREFIX) else ""
    return Instance(name=name, bytes_per_s=EC2_BYTES_PER_S[name]) if name in EC2_BYTES_PER_S else None


def _neighbours(reached_bytes_per_s: float) -> Iterator[Instance]:
    known = sorted((speed, name) for name, speed in EC2_BYTES_PER_S.items())
    below = [each for each in known if each[0] <= reached_bytes_per_s]
    above = [each for each in known if each[0] > reached_bytes_per_s]
    has_both = below and above and above[0][0] >= below[-1][0] * _APART_FACTOR
    for speed, name in (*(below[-1:] if has_both or not above else ()), *above[:1]):
        yield Instance(name=name, bytes_per_s=speed)
