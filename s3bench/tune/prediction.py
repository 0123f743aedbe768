"""How long another transfer would take: predictions from the fitted model, with their error.

Owns what is predicted and how it is marked. Pure.
"""

from collections.abc import Iterator, Sequence

import msgspec

from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.s3.network.presets import PREFIX
from s3bench.spec.definition import CRT_KINDS
from s3bench.tune.setting import Setting
from s3bench.tune.transfer_model import TransferModel
from s3bench.tune.workload import Workload

INSTANCES = ("t3.micro", "m5.large", "c5.large", "c5n.xlarge", "c5n.18xlarge")
"""Instance types that show the range of the table of presets, from 349 to 8,003 MB/s."""

EXTRAPOLATION_P90 = 0.43
"""Nine in ten measured times lie within this of a prediction for another size or link, as a factor of 1.43 either way.

Of 960 predictions of one size and link from another (`benchmarks/tune_prediction.py --runs 3`: five clients, 64 to 640
MiB, t3.micro to c5n.18xlarge), nine in ten were off by at most 29.8 % of the measured time (half by 6.9 %), and 1 / (1
- 0.298) is 1.43. Settings that were left out of a fit at the size and link that were measured are off by much less, and
say nothing of this.
"""

_TIMES = 10


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`time_s` that `setting` would need for `workload` behind `network`; not measured.

    `low_s` and `high_s` are that by the model's error, which was found by leaving settings out of the fit: what another
    workload or another link adds to it is not in them.
    """

    workload: Workload
    network: str
    setting: Setting
    time_s: float
    low_s: float
    high_s: float
    reservations: tuple[str, ...] = ()


def predict(model: TransferModel, setting: Setting, workload: Workload, network: NetworkModel | None) -> Prediction:
    """The time of one run, with its range: the 90th percentile of the model's error as a factor either way.

    For another workload or link that is `EXTRAPOLATION_P90`, if it is not more by itself. Without `network` it is that
    of the link which the model was fitted to.
    """
    time_s = model.predict(setting, workload, network)
    is_elsewhere = (workload, network or model.network) != (model.workload, model.network)
    factor = 1 + (max(model.error.p90, EXTRAPOLATION_P90) if is_elsewhere else model.error.p90)
    return Prediction(
        workload=workload,
        network=_name(network or model.network),
        setting=setting,
        time_s=time_s,
        low_s=time_s / factor,
        high_s=time_s * factor,
        reservations=tuple(_reservations(model, setting, workload, network or model.network)),
    )


def predict_others(
    model: TransferModel,
    setting: Setting,
    workload: Workload,
    network: NetworkModel | None,
    *,
    instances: Sequence[str] = INSTANCES,
) -> tuple[Prediction, ...]:
    """The same setting for half and ten times the size, for ten times the files, and on other instance types.

    Instance types are left out where no network model was imposed: then it is not known what of the time was the link.
    """
    sizes = (max(1, workload.size_bytes // 2), workload.size_bytes * _TIMES)
    others = [msgspec.structs.replace(workload, size_bytes=size) for size in sizes]
    others.append(msgspec.structs.replace(workload, files=workload.files * _TIMES))
    links = [] if network is None else [parse_network(PREFIX + name) for name in instances]
    return (
        *(predict(model, setting, other, network) for other in others),
        *(predict(model, setting, workload, link) for link in links if link.text != _name(network)),
    )


def _name(network: NetworkModel | None) -> str:
    return "the same link" if network is None else network.text or "no limits"


def _reservations(
    model: TransferModel, setting: Setting, workload: Workload, network: NetworkModel | None
) -> Iterator[str]:
    if network != model.network:
        yield "with the CPU of this machine"
    if network is not None and model.network is None:
        yield "the latency of the link behind the runs is not known apart, and counts beside this one's"
    if workload.files > 1 and model.workload.files == 1:
        yield "what each file costs beside its bytes was not measured"
    if setting.kind in CRT_KINDS and setting.get("multipart_chunksize") is None and workload != model.workload:
        yield "the client chooses its parts by itself: they are taken to be as here"
    if network is not None and any((network.error_rate, network.reset_rate, network.stall_rate)):
        yield "errors, resets and stalls of the link are left out"
    if network is not None and (network.writes_per_s or network.reads_per_s):
        yield "limits of requests per second are left out"
