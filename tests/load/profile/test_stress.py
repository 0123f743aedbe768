"""s4's configuration, from the examples of its README."""

import re
from pathlib import Path

import pytest

from s3bench.errors import BadDefinitions
from s3bench.load.operation import OperationKind
from s3bench.load.profile.file import parse_profile, read_profile
from s3bench.load.profile.profile import Job, PayloadKind
from s3bench.load.profile.stress import SPARSE, STRESS, ZEROS

DATA = Path(__file__).parents[1] / "data"
EXAMPLE = (DATA / "s4.yaml").read_text(encoding="utf-8")
MIB = 1024**2


def facts(job: Job) -> tuple[str, tuple[OperationKind, ...], tuple[int, ...], int, int | None, int | None]:
    return job.name, job.kinds, job.sizes.slots, job.threads, job.operations, job.objects


def test_the_example_of_the_readme_runs_its_four_jobs_side_by_side() -> None:
    written = read_profile(DATA / "s4.yaml")
    [phase] = written.profile.phases
    assert phase.duration_s is None
    assert [facts(job) for job in phase.jobs] == [
        ("read job1", (OperationKind.GET,), (MIB,), 10, 1000, 100),
        ("read job2", (OperationKind.GET,), (4 * MIB,), 10, 1000, 100),
        ("write job1", (OperationKind.PUT,), (MIB,), 10, 1000, None),
        ("write job2", (OperationKind.PUT,), (4 * MIB,), 10, 1000, None),
    ]
    assert written.placement.endpoint_urls == ("http://s3-region.example.com",)
    assert written.placement.bucket == "s4_test"
    assert not written.placement.tls_no_verify
    assert written.profile.manner.keep_alive
    assert all(job.reads_bodies for job in phase.jobs)


def test_sizes_are_kept_as_they_are_written_there() -> None:
    assert [str(job.sizes) for job in read_profile(DATA / "s4.yaml").profile.phases[0].jobs[:2]] == ["1mib", "4mib"]


def test_the_lines_that_the_example_has_as_comments_say_what_holds_without_them() -> None:
    uncommented = re.sub(r"^# (\w+: false)$", r"\1", EXAMPLE, flags=re.MULTILINE)
    assert uncommented.count("false") == EXAMPLE.count("false") == 4
    assert parse_profile(uncommented, "s4.yaml") == parse_profile(EXAMPLE, "s4.yaml")


def test_each_option_of_the_readme_is_a_key() -> None:
    options = re.findall(r"^#+ (\w+)$", (DATA / "s4_options.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(options) - {"Options"} == {key.name for key in STRESS.keys} - {"read", "write"}


def switched_on(name: str) -> str:
    return EXAMPLE.replace(f"# {name}: false", f"{name}: true")


def test_read_sparse_leaves_bodies_unread_and_says_so() -> None:
    written = parse_profile(switched_on("read_sparse"), "s4.yaml")
    assert not any(job.reads_bodies for job in written.profile.phases[0].jobs)
    assert SPARSE in written.warnings


def test_data_is_zeros_with_a_warning_unless_random_data_is_on() -> None:
    without, random = parse_profile(EXAMPLE, "s4.yaml"), parse_profile(switched_on("random_data"), "s4.yaml")
    assert (without.profile.payload.kind, without.warnings) == (PayloadKind.ZERO, (ZEROS,))
    assert (random.profile.payload.kind, random.warnings) == (PayloadKind.RANDOM, ())


def test_tls_no_verify_and_disable_keepalive_reach_the_run() -> None:
    assert parse_profile(switched_on("tls_no_verify"), "s4.yaml").placement.tls_no_verify
    assert not parse_profile(switched_on("disable_keepalive"), "s4.yaml").profile.manner.keep_alive


def test_the_run_of_writes_in_the_readme_has_as_many_operations_as_it_queued() -> None:
    text = (DATA / "s4_writes.txt").read_text(encoding="utf-8")
    jobs = re.findall(r"\{(\w+) (\w+) (\d+) (\d+)\}", text)
    queued = re.search(r"queued/write: +(\d+)", text)
    assert queued
    config = "s3_endpoint: http://s3-region.example.com\nbucket: s4_test\nwrite:\n" + "".join(
        f"- {{name: {name}, recordsize: {size}, threadcount: {threads}, iterations: {times}}}\n"
        for name, size, threads, times in jobs
    )
    [phase] = parse_profile(config, "writes.yaml").profile.phases
    assert sum(job.operations or 0 for job in phase.jobs) == int(queued[1]) == 15000
    assert [job.sizes.slots for job in phase.jobs] == [(MIB,), (4 * MIB,)]


def test_objects_that_s3_cannot_have_are_refused() -> None:
    with pytest.raises(BadDefinitions, match="S3 stores at most 5 TiB; write 5TiB or less"):
        parse_profile(EXAMPLE.replace("recordsize: 4mib", "recordsize: 1pib", 1).replace("1pib", "1024tib"), "s4.yaml")


def test_read_jobs_without_a_range_of_objects_are_refused() -> None:
    with pytest.raises(BadDefinitions) as caught:
        parse_profile(EXAMPLE.replace("read_range_max: 100", ""), "s4.yaml")
    [problem] = caught.value.problems
    assert problem.path.startswith("$.read_range_max")


def test_an_empty_list_of_jobs_is_none_and_none_at_all_is_refused() -> None:
    head = "s3_endpoint: http://a\nbucket: b\nread:\nwrite:\n"
    job = "- {name: j, recordsize: 1mib, threadcount: 1, iterations: 1}\n"
    assert len(parse_profile(head + job, "s4.yaml").profile.phases[0].jobs) == 1
    with pytest.raises(BadDefinitions, match="is missing, and so is `read`"):
        parse_profile(head, "s4.yaml")


def test_all_that_is_wrong_is_told_with_path_and_line() -> None:
    wrong = EXAMPLE.replace("threadcount: 10", "threadcont: 10", 1).replace("recordsize: 4mib", "recordsize: 4mip", 1)
    wrong = wrong.replace("bucket: s4_test", "bucket: a/b").replace("name: job2", "name: job1")
    with pytest.raises(BadDefinitions) as caught:
        parse_profile(wrong, "s4.yaml")
    assert [problem.path for problem in caught.value.problems] == [
        "$.bucket (line 4)",
        "$.read[0].threadcont (line 14)",
        "$.read[1].name (line 16)",
        "$.read[1].recordsize (line 17)",
        "$.write[1].name (line 26)",
    ]
    assert "did you mean `threadcount`?" in str(caught.value)
