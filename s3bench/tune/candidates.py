"""Selects the untried settings that are worth a run.

A new setting needs an expected improvement on the best one, or a probability to keep the memory limit, as computed by
`s3bench.tune.surrogate`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

from s3bench.s3.network.model import parse_network
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.preference import TIE_RISK, TOLERANCE
from s3bench.tune.race import IMPROVEMENT, MEMORY_MARGIN, leader
from s3bench.tune.search_model import SearchModel, fit_search_model
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Trial
from s3bench.tune.surrogate import Posterior, posteriors

_NORMAL = NormalDist()
_LEADERS = 3
"""The number of best settings whose neighbours are considered."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The untried settings of `space`, ranked by the `evidence` of a search."""

    header: Header
    space: Space
    evidence: TrialEvidence
    _models: dict[str, SearchModel | None] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def known(self) -> tuple[SettingEstimate, ...]:
        """The estimates of tried settings of clients that work, best first."""
        return tuple(
            each
            for each in self.evidence.estimates()
            if each.setting.client in self.space.parameters and self.space.contains(each.setting)
        )

    @cached_property
    def improving(self) -> tuple[Setting, ...]:
        """Settings with an expected improvement of at least `IMPROVEMENT`, the largest first.

        Under a memory limit the improvement is multiplied by the probability to keep it. Empty without a best setting.
        """
        best = leader(self.evidence, max_memory_bytes=self.header.max_memory_bytes)
        if best is None:
            return ()
        found = {posterior.setting: posterior.improvement(best.value) for posterior in self._posteriors}
        promising = [setting for setting, improvement in found.items() if improvement >= IMPROVEMENT]
        return tuple(sorted(promising, key=lambda setting: -found[setting]))

    @cached_property
    def fitting(self) -> tuple[Setting, ...]:
        """Settings that may keep the memory limit, however slow, ranked by the probability to do so over the value."""
        fitting = (posterior for posterior in self._posteriors if posterior.feasibility >= IMPROVEMENT)
        ranked = sorted(fitting, key=lambda posterior: posterior.log_value - math.log(posterior.feasibility))
        return tuple(posterior.setting for posterior in ranked)

    def may_tie(self, settings: Sequence[Setting]) -> tuple[Setting, ...]:
        """Those of `settings` that may be as fast as the best one, at a risk of `TIE_RISK`."""
        best = leader(self.evidence, max_memory_bytes=self.header.max_memory_bytes)
        if best is None:
            return ()
        limit = math.log(best.value * (1 + TOLERANCE))
        return tuple(
            posterior.setting
            for client in dict.fromkeys(setting.client for setting in settings)
            for posterior in self._posteriors_of(client, [setting for setting in settings if setting.client == client])
            if posterior.log_value - _NORMAL.inv_cdf(1 - TIE_RISK) * posterior.sigma <= limit
        )

    @cached_property
    def _posteriors(self) -> tuple[Posterior, ...]:
        """The posteriors of all combinations of main parameters, and of the neighbours of the best settings.

        Clients without a complete run are left out.
        """
        tried = set(self.evidence.settings)
        near = (setting for each in self.known[:_LEADERS] for setting in self.space.neighbours(each.setting))
        every = [setting for setting in dict.fromkeys((*self.space.grid(), *near)) if setting not in tried]
        return tuple(
            posterior
            for client in self.space.parameters
            for posterior in self._posteriors_of(client, [setting for setting in every if setting.client == client])
        )

    def _posteriors_of(self, client: str, settings: Sequence[Setting]) -> tuple[Posterior, ...]:
        model = self._model(client)
        if model is None or not settings:
            return ()
        limit = self.header.max_memory_bytes
        return posteriors(
            self.space,
            [each for each in self.known if each.setting.client == client],
            model,
            settings,
            noise=self.evidence.noise,
            max_memory_bytes=None if limit is None else limit / (1 + MEMORY_MARGIN),
        )

    def _model(self, client: str) -> SearchModel | None:
        """The search model of a client, fitted once."""
        if client not in self._models:
            self._models[client] = search_model_of(self.header, self.evidence.trials, client)
        return self._models[client]


def search_model_of(header: Header, trials: Sequence[Trial], client: str) -> SearchModel | None:
    """The search model of a client from its trials; `None` without a complete run."""
    own = [trial for trial in trials if trial.setting.client == client]
    network = None if header.network is None else parse_network(header.network)
    return fit_search_model(own, header.workload, network)
