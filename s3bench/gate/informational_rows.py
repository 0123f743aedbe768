"""Informational rows: other metrics that changed. They help to explain a verdict and do not affect it."""

from collections.abc import Sequence
from statistics import median

from s3bench.gate.evidence import CellEvidence
from s3bench.gate.indifference_zone import relative_worsening
from s3bench.gate.paired_series import series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind
from s3bench.stats.multiplicity import benjamini_hochberg

FALSE_DISCOVERY_RATE = 0.05


def informational_rows(cells: Sequence[CellEvidence], policy: Policy) -> list[GateRow]:
    """The other metrics that changed by more than their d0, with a false discovery rate of 5 %."""
    metrics = policy.informational
    found = [
        (cell, metric, series)
        for cell in cells
        for metric in metrics
        if (series := series_of(cell, metric, is_adjusted=policy.adjusts)).count
    ]
    adjusted = benjamini_hochberg([series.p_two_sided() for _, _, series in found])
    rows = []
    for (cell, metric, series), p in zip(found, adjusted, strict=True):
        zone = policy.indifference_zone(metric)
        assert zone is not None
        limits = zone.limits(median(series.baseline))
        if p > FALSE_DISCOVERY_RATE or abs(series.estimate()) <= limits.d0:
            continue
        low, high = series.interval()
        rows.append(
            GateRow(
                benchmark=cell.title,
                metric=metric,
                kind=RowKind.INFORMING,
                reason="worse" if series.estimate() > 0 else "better",
                pairs=series.count,
                baseline=median(series.baseline),
                candidate=median(series.candidate),
                change=series.change(),
                low=low,
                high=high,
                d0=relative_worsening(limits.d0, is_drop=zone.is_drop),
                d1=relative_worsening(limits.d1, is_drop=zone.is_drop),
                p=p,
                is_drop=zone.is_drop,
            )
        )
    return rows
