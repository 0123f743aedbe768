"""Which settings that were not tried yet are worth a run.

Owns what a new setting has to promise: an improvement on the best one, or the chance to keep within the memory limit.
What is believed of a setting is `surrogate`'s. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from s3bench.s3.network.model import parse_network
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.preference import TIE_RISK, TOLERANCE
from s3bench.tune.race import IMPROVEMENT, MEMORY_MARGIN, leader
from s3bench.tune.search_model import SearchModel, sketch
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Trial
from s3bench.tune.surrogate import Belief, beliefs

_NORMAL = NormalDist()
_LEADERS = 3
"""Neighbours of so many of the best settings are tried."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The settings of `space` that were not tried, in the light of the `evidence` of a search."""

    header: Header
    space: Space
    evidence: TrialEvidence

    @cached_property
    def known(self) -> tuple[SettingEstimate, ...]:
        """What the search showed of settings of clients that work, best first."""
        return tuple(
            each
            for each in self.evidence.estimates()
            if each.setting.client in self.space.knobs and self.space.holds(each.setting)
        )

    @cached_property
    def improving(self) -> tuple[Setting, ...]:
        """Those that are expected to improve on the best setting by `IMPROVEMENT`, those that may do most first.

        Under a memory limit an improvement counts by the chance to keep it. Without a best setting there are none.
        """
        best = leader(self.evidence, max_memory_bytes=self.header.max_memory_bytes)
        if best is None:
            return ()
        found = {belief.setting: belief.improvement(best.value) for belief in self._beliefs}
        worth = [setting for setting, improvement in found.items() if improvement >= IMPROVEMENT]
        return tuple(sorted(worth, key=lambda setting: -found[setting]))

    @cached_property
    def fitting(self) -> tuple[Setting, ...]:
        """Those that may keep within the memory limit, however slow: by the chance to do so, over the value."""
        fitting = (belief for belief in self._beliefs if belief.fits >= IMPROVEMENT)
        ranked = sorted(fitting, key=lambda belief: belief.log_value - math.log(belief.fits))
        return tuple(belief.setting for belief in ranked)

    def may_tie(self, settings: Sequence[Setting]) -> tuple[Setting, ...]:
        """Those of `settings` that are believed to be as fast as the best one, at a risk of `TIE_RISK`."""
        best = leader(self.evidence, max_memory_bytes=self.header.max_memory_bytes)
        if best is None:
            return ()
        limit = math.log(best.value * (1 + TOLERANCE))
        return tuple(
            belief.setting
            for client in dict.fromkeys(setting.client for setting in settings)
            for belief in self._beliefs_of(client, [setting for setting in settings if setting.client == client])
            if belief.log_value - _NORMAL.inv_cdf(1 - TIE_RISK) * belief.sigma <= limit
        )

    @cached_property
    def _beliefs(self) -> tuple[Belief, ...]:
        """What is believed of every combination of main knobs, and of the neighbours of the best settings in all knobs.

        Clients without a whole run are left out.
        """
        tried = set(self.evidence.settings)
        near = (setting for each in self.known[:_LEADERS] for setting in self.space.neighbours(each.setting))
        every = [setting for setting in dict.fromkeys((*self.space.grid(), *near)) if setting not in tried]
        return tuple(
            belief
            for client in self.space.knobs
            for belief in self._beliefs_of(client, [setting for setting in every if setting.client == client])
        )

    def _beliefs_of(self, client: str, settings: Sequence[Setting]) -> tuple[Belief, ...]:
        drawn = sketch_of(self.header, self.evidence.trials, client)
        if drawn is None or not settings:
            return ()
        limit = self.header.max_memory_bytes
        return beliefs(
            self.space,
            [each for each in self.known if each.setting.client == client],
            drawn,
            settings,
            noise=self.evidence.noise,
            max_memory_bytes=None if limit is None else limit / (1 + MEMORY_MARGIN),
        )


def sketch_of(header: Header, trials: Sequence[Trial], client: str) -> SearchModel | None:
    """What the `trials` of a client let expect of its settings; `None` without a whole run."""
    own = [trial for trial in trials if trial.setting.client == client]
    network = None if header.network is None else parse_network(header.network)
    return sketch(own, header.workload, network)
