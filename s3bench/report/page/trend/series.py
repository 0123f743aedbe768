"""One series of a trend report. Imports no chart library: the command line uses it for text and JSON as well."""

from dataclasses import dataclass

from s3bench.trend.metric_trend import Trend


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSeries:
    """One metric of one benchmark on one client, on one machine, release by release."""

    title: str
    trend: Trend

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about the trend and its changes, without duplicates."""
        of_changes = (warning for change in self.trend.changes for warning in change.warnings)
        return tuple(dict.fromkeys((*self.trend.warnings, *of_changes)))
