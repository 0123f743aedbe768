"""Proposes the next setting of a client, given what is known of those tried: Optuna's tree-structured Parzen estimator.

Owns the translation between settings and Optuna's parameters. Each proposal is made from the evidence anew, so that a
study that was interrupted goes on as it would have. Pure, given the seed. The estimator: Bergstra et al., "Algorithms
for Hyper-Parameter Optimization", NeurIPS 2011; multivariate after Falkner et al., "BOHB", ICML 2018.
"""

from collections.abc import Collection, Sequence

import optuna
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial, create_trial

from s3bench.tune.evidence import SettingEstimate
from s3bench.tune.parameter import Parameter
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space

_STARTUP_TRIALS = 4
_CANDIDATES = 64
_ATTEMPTS_MAX = 16
"""How often a setting that was tried already is passed over."""


def propose(
    space: Space, client: str, known: Sequence[SettingEstimate], tried: Collection[Setting], *, seed: int
) -> Setting | None:
    """Propose a setting of `client` that is not among `tried`; `None` when none comes up.

    `known` are estimates of any client. Those whose values are not in the space are passed over.
    """
    knobs = space.main(client)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=_STARTUP_TRIALS, n_ei_candidates=_CANDIDATES, multivariate=True
    )
    study = optuna.create_study(sampler=sampler)
    study.add_trials([told for estimate in known if (told := _told(space, client, estimate)) is not None])
    for _ in range(_ATTEMPTS_MAX):
        trial = study.ask({knob.name: _distribution(knob) for knob in knobs})
        setting = space.setting(client, {knob.name: knob.choices[trial.params[knob.name]] for knob in knobs})
        if setting not in tried:
            return setting
    return None


def _distribution(knob: Parameter) -> IntDistribution:
    return IntDistribution(0, len(knob.choices) - 1)


def _told(space: Space, client: str, estimate: SettingEstimate) -> FrozenTrial | None:
    """What Optuna is told: the position of each main knob's value, so that near means near, and the value."""
    if estimate.setting.client != client:
        return None
    values = {knob: space.value(estimate.setting, knob) for knob in space.main(client)}
    if any(value not in knob.choices for knob, value in values.items()):
        return None
    return create_trial(
        params={knob.name: knob.choices.index(value) for knob, value in values.items()},
        distributions={knob.name: _distribution(knob) for knob in values},
        value=estimate.value,
    )
