"""Proposes the next setting of a client with Optuna's tree-structured Parzen estimator.

Each proposal depends on the evidence and the seed alone, so that an interrupted study continues as it would have.
Estimator: Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011; multivariate after Falkner et
al., "BOHB", ICML 2018.
"""

from collections.abc import Collection, Sequence

import optuna
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial, create_trial

from s3bench.clients.tuning.parameter import Parameter
from s3bench.tune.evidence import SettingEstimate
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space

_STARTUP_TRIALS = 4
_CANDIDATES = 64
_ATTEMPTS_MAX = 16
"""How many proposals are drawn until one was not tried before."""


def propose(
    space: Space, client: str, known: Sequence[SettingEstimate], tried: Collection[Setting], *, seed: int
) -> Setting | None:
    """Propose a setting of `client` that is not among `tried`; `None` if none was found.

    `known` are estimates of any client. Those with values outside the space are ignored.
    """
    parameters = space.main(client)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=_STARTUP_TRIALS, n_ei_candidates=_CANDIDATES, multivariate=True
    )
    study = optuna.create_study(sampler=sampler)
    study.add_trials([observed for estimate in known if (observed := _as_trial(space, client, estimate)) is not None])
    for _ in range(_ATTEMPTS_MAX):
        trial = study.ask({parameter.name: _distribution(parameter) for parameter in parameters})
        setting = space.setting(
            client, {parameter.name: parameter.choices[trial.params[parameter.name]] for parameter in parameters}
        )
        if setting not in tried:
            return setting
    return None


def _distribution(parameter: Parameter) -> IntDistribution:
    return IntDistribution(0, len(parameter.choices) - 1)


def _as_trial(space: Space, client: str, estimate: SettingEstimate) -> FrozenTrial | None:
    """The estimate as a trial of Optuna, with the position of each main parameter's value among its choices."""
    if estimate.setting.client != client:
        return None
    values = {parameter: space.value(estimate.setting, parameter) for parameter in space.main(client)}
    if any(value not in parameter.choices for parameter, value in values.items()):
        return None
    return create_trial(
        params={parameter.name: parameter.choices.index(value) for parameter, value in values.items()},
        distributions={parameter.name: _distribution(parameter) for parameter in values},
        value=estimate.value,
    )
