"""Trials as a study would hold them, made of the few figures that a test is about."""

import msgspec

from s3bench.results.measurement import Failure, Measurement, measure
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial

DEFAULT = Setting(client="cli-classic")
_PLAIN = measure(iteration=0, total_s=1.0)


def setting(requests: int) -> Setting:
    """The default for 0, else one with so many requests at once."""
    return Setting.of("cli-classic", {"max_concurrent_requests": requests})


def measurement(time_s: float, *, peak_bytes: float | None = None, **changes: object) -> Measurement:
    return msgspec.structs.replace(_PLAIN, total_time=time_s, max_memory=peak_bytes, **changes)


def whole(
    of: Setting, block: int, time_s: float, *, peak_bytes: float | None = None, stage: Stage = Stage.SEARCH
) -> Trial:
    run = measurement(time_s, peak_bytes=peak_bytes)
    return Trial(number=0, stage=stage, block=block, setting=of, took_s=time_s, measurement=run)


def capped(of: Setting, block: int, cap_s: float) -> Trial:
    return Trial(number=0, stage=Stage.SEARCH, block=block, setting=of, took_s=cap_s, cap_s=cap_s, was_capped=True)


def failed(of: Setting, block: int, *, stage: Stage = Stage.SEARCH) -> Trial:
    return Trial(
        number=0, stage=stage, block=block, setting=of, took_s=1.0, failure=Failure(iteration=0, what="it crashed")
    )
