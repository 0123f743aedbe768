"""Predicts the time of other transfers from the fitted model, with the prediction error and caveats."""

from collections.abc import Iterator

import msgspec

from s3bench.clients.tuning.parameter import ParameterRole
from s3bench.clients.tuning.workload import Workload
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.network.presets import PREFIX
from s3bench.tune.setting import Setting
from s3bench.tune.transfer_model import TransferModel

INSTANCES = ("t3.micro", "m5.large", "c5.large", "c5n.xlarge", "c5n.18xlarge")
"""Instance types that cover the range of the network presets, from 349 to 8,003 MB/s."""

EXTRAPOLATION_P90 = 0.43
"""Nine in ten measured times are within this of a prediction for another size or link, as a factor of 1.43 either way.

Of 960 predictions of one size and link from another (`benchmarks/tune_prediction.py --runs 3`: five clients, 64 to 640
MiB, t3.micro to c5n.18xlarge), nine in ten were off by at most 29.8 % of the measured time (half by 6.9 %), and 1 / (1
- 0.298) is 1.43. Cross-validation at the measured size and link gives much smaller errors, which do not apply here.
"""

_TIMES = 10


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The predicted time of `setting` for `workload` behind `network`, which was not measured.

    `low_s` and `high_s` are its range by the prediction error. `reservations` are caveats about this prediction.
    """

    workload: Workload
    network: str
    setting: Setting
    time_s: float
    low_s: float
    high_s: float
    reservations: tuple[str, ...] = ()


def predict(model: TransferModel, setting: Setting, workload: Workload, network: NetworkModel) -> Prediction:
    """The time of one run, with its range: the 90th percentile of the model's error as a factor either way.

    For another workload or link the error is at least `EXTRAPOLATION_P90`.
    """
    time_s = model.predict(setting, workload, network)
    is_elsewhere = (workload, network) != (model.workload, model.network)
    factor = 1 + (max(model.error_p90, EXTRAPOLATION_P90) if is_elsewhere else model.error_p90)
    return Prediction(
        workload=workload,
        network=_name(network),
        setting=setting,
        time_s=time_s,
        low_s=time_s / factor,
        high_s=time_s * factor,
        reservations=tuple(_caveats(model, setting, workload, network)),
    )


def predict_others(
    model: TransferModel, setting: Setting, workload: Workload, network: NetworkModel
) -> tuple[Prediction, ...]:
    """The same setting for half and ten times the size, for ten times the files, and on other instance types.

    Files of different sizes are only multiplied.
    """
    sizes = () if workload.sizes else (max(1, workload.size_bytes // 2), workload.size_bytes * _TIMES)
    others = [msgspec.structs.replace(workload, size_bytes=size) for size in sizes]
    others.append(workload.times(_TIMES))
    links = [parse_network(PREFIX + name) for name in INSTANCES]
    return (
        *(predict(model, setting, other, network) for other in others),
        *(predict(model, setting, workload, link) for link in links if link.text != _name(network)),
    )


def _chooses_parts(setting: Setting, workload: Workload) -> bool:
    """Whether the client is left to choose the size of parts."""
    default = setting.descriptor.tuning.default_of(ParameterRole.PART, workload)
    return default is None and setting.value_of(ParameterRole.PART) is None


def _name(network: NetworkModel) -> str:
    return network.text or "no limits"


def _caveats(model: TransferModel, setting: Setting, workload: Workload, network: NetworkModel) -> Iterator[str]:
    if network != model.network:
        yield "assuming the CPU of this machine"
    if workload.files > 1 and model.workload.files == 1:
        yield "the cost per file was not measured"
    if _chooses_parts(setting, workload) and workload != model.workload:
        yield "the client chooses its part size by itself; it is assumed to be as measured here"
    if any((network.error_rate, network.reset_rate, network.stall_rate)):
        yield "errors, resets and stalls of the link are not modelled"
    if network.writes_per_s or network.reads_per_s:
        yield "request-rate limits are not modelled"
