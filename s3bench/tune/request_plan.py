"""The requests that a client makes for a workload under a setting: how many, how large, how many at once, which wait.

They follow from the setting, where it is silent from the client's defaults, and else from its habits, which are read
from its runs.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.parameter import MIB, PARTS_MAX, ParameterRole
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement
from s3bench.tune.effective_settings import DATA_REQUESTS, PART_REQUESTS
from s3bench.tune.setting import Setting

_LISTED_PER_PAGE = 1000
_UNKNOWN_PART_BYTES = 8 * MIB
"""Taken for the parts of a client that chooses them by itself and was not seen to."""


_PLANS_KEPT = 1 << 14

_AT_ONCE = (ParameterRole.CONCURRENCY, ParameterRole.THROUGHPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """How a client goes about a workload: `requests` with object data, `lanes` at once.

    The busiest connection makes `rounds` of them, of `lane_bytes` together. `in_turn` requests wait for each other
    before and after. `first_bytes` are fetched alone, before all others; of an upload each connection first reads and
    hashes `fill_bytes`.
    """

    total_bytes: int
    requests: int
    lanes: int
    rounds: int
    lane_bytes: float
    in_turn: float
    first_bytes: int = 0
    fill_bytes: int = 0


@lru_cache(maxsize=_PLANS_KEPT)
def plan_requests(setting: Setting, workload: Workload, habits: Habits) -> RequestPlan:
    """The requests that a client makes for `workload` under `setting`."""
    if workload.sizes:
        return _plan_mixed(setting, workload, habits)
    tuning = setting.descriptor.tuning
    part = _part_bytes(setting, workload, habits)
    is_in_parts = _is_in_parts(setting, workload, part)
    parts = math.ceil(workload.size_bytes / part) if is_in_parts else 1
    lanes = tuning.requests_at_once(dict(setting.values), workload, parts, habits)
    per_file = habits.lookups_per_file + (2.0 if is_in_parts and workload.is_upload else 0.0)
    listings = math.ceil(workload.files / _LISTED_PER_PAGE) if _lists(workload) else 0
    is_alone = parts > 1 and workload.files == 1 and not workload.is_upload and tuning.is_first_part_alone
    rounds, lane_bytes = _busiest_lane(workload, part if parts > 1 else workload.size_bytes, lanes, is_alone=is_alone)
    return RequestPlan(
        total_bytes=workload.total_bytes,
        requests=parts * workload.files,
        lanes=lanes,
        rounds=rounds,
        lane_bytes=lane_bytes,
        in_turn=per_file * math.ceil(workload.files / lanes) + listings,
        first_bytes=part if is_alone else 0,
        fill_bytes=min(part, round(lane_bytes)) if workload.is_upload else 0,
    )


def _plan_mixed(setting: Setting, workload: Workload, habits: Habits) -> RequestPlan:
    """The requests for files of several sizes, each size planned as if it were alone.

    Connections take what is left, so the busiest one makes an equal share of all requests, which are as large as they
    are on average; but never less than what the largest file needs with the connections that one file gets.
    """
    each_size = workload.of_each_size()
    plans = [plan_requests(setting, each, habits) for each in each_size]
    in_parts = sum(each.files for each, plan in zip(each_size, plans, strict=True) if plan.requests > each.files)
    one = plan_requests(setting, Workload(action=workload.action, size_bytes=workload.size_bytes), habits)
    requests = sum(plan.requests for plan in plans)
    parts_max = plans[-1].requests // each_size[-1].files
    allowed = setting.descriptor.tuning.requests_at_once(dict(setting.values), workload, parts_max, habits)
    lanes = min(allowed, requests)
    rounds = math.ceil(requests / lanes)
    lane_bytes = max(rounds * workload.total_bytes / requests, one.lane_bytes)
    waiting = habits.lookups_per_file * workload.files + (2.0 * in_parts if workload.is_upload else 0.0)
    listings = math.ceil(workload.files / _LISTED_PER_PAGE) if _lists(workload) else 0
    return RequestPlan(
        total_bytes=workload.total_bytes,
        requests=requests,
        lanes=lanes,
        rounds=max(rounds, one.rounds),
        lane_bytes=lane_bytes,
        in_turn=max(waiting / lanes, one.in_turn) + listings,
        fill_bytes=min(one.fill_bytes, round(lane_bytes)),
    )


def _busiest_lane(workload: Workload, part: int, lanes: int, *, is_alone: bool) -> tuple[int, float]:
    """How many requests the connection makes that ends last, and their bytes, when each takes the next that is left.

    One file's last part is smaller, and weighs only where it alone begins a round. Of several files parts are as large
    as they are on average.
    """
    if workload.files > 1:
        parts = max(1, math.ceil(workload.size_bytes / max(part, 1)))
        rounds = math.ceil(parts * workload.files / lanes)
        return rounds, rounds * workload.size_bytes / parts
    parts = max(1, math.ceil(workload.size_bytes / max(part, 1)))
    full, last = parts - 1 - is_alone, workload.size_bytes - (parts - 1) * part
    return full // lanes + 1, full // lanes * part + (part if full % lanes else last)


def _lists(workload: Workload) -> bool:
    return workload.action is Action.SYNC or (workload.is_recursive and not workload.is_upload)


def _part_bytes(setting: Setting, workload: Workload, habits: Habits) -> int:
    """What was asked, else the client's default, else what it was seen to choose; as large as 10,000 parts need."""
    seen = dict(habits.part_bytes)
    chosen = (
        setting.value_of(ParameterRole.PART)
        or setting.descriptor.tuning.default_of(ParameterRole.PART, workload)
        or seen.get(setting.value_of(ParameterRole.THROUGHPUT))
        or seen.get(None)
        or _UNKNOWN_PART_BYTES
    )
    return max(chosen, math.ceil(workload.size_bytes / PARTS_MAX)) if workload.is_upload else chosen


def _is_in_parts(setting: Setting, workload: Workload, part: int) -> bool:
    """Whether a file is split: from the threshold on, which is the part's size where a client has none of its own."""
    tuning = setting.descriptor.tuning
    if tuning.in_parts_from is not None:
        return workload.size_bytes > max(part, tuning.in_parts_from(dict(setting.values), workload))
    threshold = setting.value_of(ParameterRole.THRESHOLD) or tuning.default_of(ParameterRole.THRESHOLD, workload)
    if threshold is None or (tuning.threshold_is_for_uploads and not workload.is_upload):
        return workload.size_bytes > part
    return workload.size_bytes >= threshold


def habits_of(runs: dict[Setting, list[Measurement]], workload: Workload) -> Habits:
    """The habits of a client in its runs of `workload`, as far as a server saw them."""
    pairs = [(setting, run) for setting, measurements in runs.items() for run in measurements if run.wire is not None]
    if not pairs:
        return Habits()
    return Habits(
        lookups_per_file=median(run.requests_by_kind.get("HEAD", 0) / workload.files for _, run in pairs),
        part_bytes=_own_parts(pairs, workload),
        lanes=_own_lanes(pairs),
    )


def _own_parts(pairs: Iterable[tuple[Setting, Measurement]], workload: Workload) -> tuple[tuple[int | None, int], ...]:
    seen: dict[int | None, list[int]] = {}
    for setting, run in pairs:
        parts = sum(run.requests_by_kind.get(kind, 0) for kind in PART_REQUESTS)
        if setting.value_of(ParameterRole.PART) is None and parts > workload.files and run.wire is not None:
            seen.setdefault(setting.value_of(ParameterRole.THROUGHPUT), []).append(run.wire.part_size_max)
    return tuple((target, round(median(sizes))) for target, sizes in seen.items())


def _own_lanes(pairs: Iterable[tuple[Setting, Measurement]]) -> int | None:
    """The most requests in flight in runs that had more of them to make, with nothing asked."""
    seen = []
    for setting, run in pairs:
        requests = sum(run.requests_by_kind.get(kind, 0) for kind in DATA_REQUESTS)
        if (
            not any(map(setting.value_of, _AT_ONCE))
            and run.wire is not None
            and requests > 2 * run.wire.requests_in_flight_max
        ):
            seen.append(run.wire.requests_in_flight_max)
    return max(seen, default=None)
