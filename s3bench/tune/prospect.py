"""What a client may still come to: its best setting so far, and what its fitted model expects of those not tried.

Owns which clients get further settings. What was seen of a client says little while that is a handful of settings far
from each other: behind a far link the best of s5cmd's first four took 1.3 to 1.6 times another client's best, and the
best of all its settings, with small parts, three quarters. So a client is given up when its model expects no rival of
it, not when none was seen. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from s3bench.tune.evidence import Estimate
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.transfer_model import SETTINGS_MIN, TransferModel
from s3bench.tune.workload import Workload

RIVAL_SHARE = 1.3
"""A client of which no setting is expected below this many times the leader's value gets no further ones."""

UNKNOWN_MAX = 2 * SETTINGS_MIN
"""With so many settings tried and too few of them whole for a model, a client is as good as what was seen of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """One client: the estimate of its best setting, and the values expected of untried ones, least first.

    `tried` counts its settings. Without a model, nothing is expected of any.
    """

    client: str
    best: Estimate
    tried: int
    has_model: bool
    expected: Mapping[Setting, float]

    @property
    def is_unknown(self) -> bool:
        """Whether too little was seen to say what the client may come to."""
        return not self.has_model and self.tried < UNKNOWN_MAX

    def may_rival(self, value: float) -> bool:
        """Whether a setting of this client may come close to one of `value`."""
        least = min((self.best.value, *self.expected.values()))
        return self.is_unknown or least <= RIVAL_SHARE * value


def prospects(
    space: Space, known: Sequence[Estimate], models: Mapping[str, TransferModel], workload: Workload
) -> Iterator[Prospect]:
    """The prospects of every client in `known`, which is best first; in the same order."""
    tried = {estimate.setting for estimate in known}
    best = {estimate.setting.client: estimate for estimate in reversed(known)}
    for client in dict.fromkeys(estimate.setting.client for estimate in known):
        model = models.get(client)
        untried = [setting for setting in space.grid() if setting.client == client and setting not in tried]
        yield Prospect(
            client=client,
            best=best[client],
            tried=sum(setting.client == client for setting in tried),
            has_model=model is not None,
            expected={} if model is None else _expected(model, best[client], untried, workload),
        )


def _expected(
    model: TransferModel, best: Estimate, untried: Sequence[Setting], workload: Workload
) -> dict[Setting, float]:
    """The value expected of each setting: the best one's, as the model has their times to each other."""
    scale = best.value / model.predict(best.setting, workload, None)
    values = {setting: scale * model.predict(setting, workload, None) for setting in untried}
    return dict(sorted(values.items(), key=lambda item: item[1]))
