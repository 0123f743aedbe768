"""What a live gate says while it runs."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from s3bench.cli.gate.progress import GateProgress
from s3bench.clients.package import InstallProgress
from s3bench.gate.evidence import ClientCellEvidence, Role
from s3bench.gate.live import GateStatus

CELLS = tuple(
    ClientCellEvidence(name=name, role=role)
    for name, role in (("a", Role.BENCHMARK), ("b", Role.BENCHMARK), ("a", Role.NEGATIVE_CONTROL))
)


class Heard(nullcontext["Heard"]):
    """A ticker that remembers."""

    def __init__(self) -> None:
        super().__init__(self)
        self.lines: list[str] = []
        self.doing = ""

    def update(self, doing: str, *, done: int, total: int | None) -> None:
        self.doing = f"{doing} {done}/{total}"

    def say(self, line: str) -> None:
        self.lines.append(line)

    def installing(self) -> AbstractContextManager[InstallProgress]:
        raise NotImplementedError


def status(**facts: Any) -> GateStatus:
    usual: dict[str, Any] = {"look": 0, "goal": 0, "undecided": 0, "pairs_planned": 0, "pairs_done": 0}
    return GateStatus(cells=CELLS, **(usual | facts))


def heard(*statuses: GateStatus, deadline_s: float | None = None) -> Heard:
    ticker = Heard()
    progress = GateProgress(ticker, deadline_s=deadline_s, now=lambda: 0.0)
    for each in statuses:
        progress.show(each)
    return ticker


def test_it_says_at_the_start_how_long_all_pairs_take_at_most_and_once() -> None:
    plan = "all pairs of 2 benchmarks and 1 control take at most 12.5 min"
    assert heard(status(), status(at_most_s=750.0), status(at_most_s=700.0)).lines == [plan]
    assert heard(status(at_most_s=750.0), deadline_s=60.0).lines == [f"{plan}; --max-time leaves 60 s for them"]
    assert heard(status(at_most_s=750.0), deadline_s=-1.0).lines == [f"{plan}; --max-time leaves 0 s for them"]


def test_it_says_at_the_start_which_first_looks_do_not_fit() -> None:
    said = heard(status(at_most_s=750.0, late=1), deadline_s=60.0).lines[1]
    assert said == "the first look of 1 of 2 benchmarks does not fit into that time: the longest come last"


def test_a_look_is_said_once_and_the_time_left_stays_current() -> None:
    look = {"look": 1, "goal": 10, "undecided": 3, "pairs_planned": 30}
    ticker = heard(status(at_most_s=90.0, **look), status(at_most_s=50.0, pairs_done=2, **look))
    assert ticker.lines[1:] == ["look 1: 10 pairs of 3 benchmarks and controls"]
    assert ticker.doing == "look 1 at 10 pairs, at most 50 s left 2/30"


def test_with_a_time_limit_no_more_is_left_than_it_allows() -> None:
    ticker = heard(status(look=1, goal=10, undecided=3, at_most_s=90.0), deadline_s=20.0)
    assert ticker.doing.startswith("look 1 at 10 pairs, at most 20 s left")


def test_where_the_rest_of_the_time_goes_is_said_once() -> None:
    alone = [status(look=2, goal=20, undecided=2, at_most_s=90.0, alone=name) for name in ("a", "b")]
    ticker = heard(*alone, deadline_s=99.0)
    assert ticker.lines[1:] == ["2 benchmarks and controls undecided: those that more pairs decide soonest come first"]
    assert ticker.doing.startswith("b: 20 pairs")
