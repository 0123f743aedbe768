"""One line of a trend's report. Imports no chart library: the command line makes these for text and JSON as well."""

from dataclasses import dataclass

from s3bench.trend.metric_trend import Trend


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSeries:
    """One metric of one benchmark on one client, on one machine, release by release."""

    title: str
    trend: Trend

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the whole or against one of its changes, each once."""
        of_changes = (doubt for change in self.trend.changes for doubt in change.doubts)
        return tuple(dict.fromkeys((*self.trend.doubts, *of_changes)))
