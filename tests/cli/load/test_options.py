"""The options of `s3bench load`: how they are written, what they ask for, and what they refuse."""

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import botocore
import click
import pytest
from click.testing import CliRunner

from s3bench.cli.load.options import GROUPS, OPTIONS, Form, LoadCommand, LoadOptions, load_options
from s3bench.cli.load.plan import BOUNDED, VISIBLE, LoadPlan, plan_load
from s3bench.clients.environment import Credentials
from s3bench.errors import BadInput
from s3bench.load.aggregation.slo import parse_slo
from s3bench.load.operation import OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB
from s3bench.load.profile.file import parse_profile, render_profile
from s3bench.load.profile.placement import Addressing
from s3bench.load.profile.profile import Arrivals, Job, KeyDistribution, Layout, PayloadKind, Phase, Rate, Share
from s3bench.load.profile.sizes import parse_sizes
from s3bench.load.profile.table import PROFILE_OPTIONS

DATA = Path(__file__).parents[2] / "load" / "data"
FLAGS = (DATA / "s3_benchmark_flags.txt").read_text(encoding="utf-8")
RUN = (DATA / "s3_benchmark_run.txt").read_text(encoding="utf-8").splitlines()
AUTHORITIES = Path(botocore.__file__).with_name("cacert.pem")
LIVE = "--endpoint-url http://127.0.0.1:9000 --bucket data"


def typed(line: str) -> LoadOptions:
    """The options that click makes of a command line."""
    taken: list[LoadOptions] = []

    @click.command("load", cls=LoadCommand)
    @load_options
    def command(**options: Any) -> None:
        taken.append(LoadOptions.of(options))

    result = CliRunner().invoke(command, shlex.split(line), standalone_mode=False)
    if result.exception:
        raise result.exception
    return taken[0]


def plan_of(line: str, **environment: str) -> LoadPlan:
    return plan_load(typed(line), environment=environment)


def only_job(line: str) -> Job:
    [phase] = plan_of(line).profile.phases
    [job] = phase.jobs
    return job


def summary(phase: Phase) -> tuple[str, tuple[OperationKind, ...], float | None, int]:
    [job] = phase.jobs
    return phase.name, job.kinds, phase.duration_s, job.threads


# The command line of the s3-benchmark tools.


def test_the_short_flags_are_those_of_the_reference() -> None:
    theirs = set(re.findall(r"^  (-\w) ", FLAGS, flags=re.MULTILINE))
    ours = {name for row in OPTIONS.values() for name in row.flags if len(name) == 2}
    assert theirs == {"-a", "-s", "-b", "-d", "-l", "-t", "-u", "-z"}
    assert theirs < ours


def test_the_example_run_of_the_reference_puts_gets_and_deletes_for_a_minute_each() -> None:
    command, _, parameters = RUN[1], RUN[2], RUN[3]
    arguments = command.removeprefix("./s3-benchmark")
    expected = dict(re.findall(r"(\w+)=([^,\s]+)", parameters))
    plan = plan_of(f"{arguments} -u {expected['url']}")
    assert [summary(phase) for phase in plan.profile.phases] == [
        ("put", (OperationKind.PUT,), 60.0, 10),
        ("get", (OperationKind.GET,), 60.0, 10),
        ("delete", (OperationKind.DELETE,), 60.0, 10),
    ]
    [job] = plan.profile.phases[0].jobs
    assert expected == {
        "url": plan.placement.endpoint_urls[0],
        "bucket": plan.placement.bucket,
        "duration": f"{plan.profile.phases[0].duration_s:g}",
        "threads": str(job.threads),
        "loops": str(plan.profile.loops),
        "size": str(job.sizes),
    }
    assert plan.form is Form.LINES
    assert plan.credentials is not None
    assert plan.credentials.access_key in command
    assert plan.credentials.secret_key in command
    assert plan.warnings == (VISIBLE,)


def test_the_phases_read_and_delete_what_was_put() -> None:
    assert {job.objects for phase in plan_of("-u http://a").profile.phases for job in phase.jobs} == {None}


def test_the_defaults_are_those_of_the_reference_but_for_its_public_endpoint_and_keys() -> None:
    theirs = dict(re.findall(r'^  -(\w) [^\n]*(?:\n[^\n]*)?\(default "?([^")]+)"?\)', FLAGS, flags=re.MULTILINE))
    plan = plan_of("-u http://127.0.0.1:9000")
    [job] = plan.profile.phases[0].jobs
    assert {name: theirs[name] for name in "bdltz"} == {
        "b": plan.placement.bucket,
        "d": f"{plan.profile.phases[0].duration_s:g}",
        "l": str(plan.profile.loops),
        "t": str(job.threads),
        "z": str(job.sizes),
    }
    assert plan.credentials is None


def test_each_short_flag_has_its_meaning() -> None:
    plan = plan_of("-a KEY -s SECRET -b data -d 5 -l 3 -t 7 -u http://127.0.0.1:9000 -z 2K")
    assert [summary(phase)[2:] for phase in plan.profile.phases] == [(5.0, 7)] * 3
    assert plan.profile.loops == 3
    assert plan.profile.phases[0].jobs[0].sizes.slots == (2048,)
    assert plan.placement.endpoint_urls == ("http://127.0.0.1:9000",)
    assert plan.placement.bucket == "data"
    assert plan.credentials == Credentials(access_key="KEY", secret_key="SECRET")


@pytest.mark.parametrize(("text", "size_bytes"), [("3K", 3072), ("1M", 1024**2), ("2G", 2 * 1024**3), ("512", 512)])
def test_sizes_have_the_postfixes_of_the_reference(text: str, size_bytes: int) -> None:
    assert plan_of(f"-u http://a -z {text}").profile.phases[0].jobs[0].sizes.slots == (size_bytes,)


def test_a_workload_with_u_is_that_workload_at_our_defaults() -> None:
    plan = plan_of("-u http://a -b data --operation get")
    assert [summary(phase) for phase in plan.profile.phases] == [("", (OperationKind.GET,), 60.0, 16)]
    assert plan.form is Form.TABLE


def test_the_secret_key_may_stand_in_the_environment_and_is_no_reason_to_warn_then() -> None:
    plan = plan_of("-a KEY -u http://a --region eu-west-1", S3BENCH_SECRET_KEY="quiet")
    assert plan.credentials == Credentials(access_key="KEY", secret_key="quiet", region="eu-west-1")
    assert plan.warnings == ()


def test_no_secret_is_in_what_the_document_keeps() -> None:
    plan = plan_of("-a KEY -s HUSHHUSH -u http://a --seed 7")
    assert "HUSHHUSH" not in str(plan.recorded) + repr(plan)
    assert plan.recorded["seed"] == 7


# Without an endpoint.


def test_alone_it_is_a_demonstration_of_about_twenty_seconds() -> None:
    plan = plan_of("")
    assert plan.placement.endpoint_urls == ()
    assert [phase.name for phase in plan.profile.phases] == ["put", "get", "mixed"]
    assert 15 <= sum(phase.duration_s or 0 for phase in plan.profile.phases) <= 20
    assert plan.form is Form.TABLE


def test_the_memory_of_the_emulator_is_not_filled_and_the_run_says_how() -> None:
    plan = plan_of("")
    jobs = [job for phase in plan.profile.phases for job in phase.jobs]
    assert [job.overwrite for job in jobs] == [True, False, True]
    assert {job.objects for job in jobs} == {256}
    assert plan.warnings == (BOUNDED,)
    assert only_job("--operation put --size 32MiB").objects == 16


@pytest.mark.parametrize("line", [f"{LIVE} --operation put", "--operation put --operations 9", "--mix put=2,delete=1"])
def test_puts_write_new_objects_where_that_has_an_end(line: str) -> None:
    assert not only_job(line).overwrite


def test_the_demonstration_keeps_its_phases_when_only_its_extent_is_said() -> None:
    plan = plan_of("--threads 4 --duration 1 --size 4KiB --rate 100 --network ttfb=20ms --loops 2 --stable")
    assert [summary(phase)[2:] for phase in plan.profile.phases] == [(1.0, 4)] * 3
    assert plan.network is not None
    assert plan.network.ttfb_p50_s == 0.02


# Our own way.


def test_an_endpoint_and_nothing_else_gets_the_mix_that_users_of_warp_know() -> None:
    job = only_job(LIVE)
    assert (
        job.mix
        == DEFAULT_JOB.mix
        == (
            Share(kind=OperationKind.GET, weight=45.0),
            Share(kind=OperationKind.HEAD, weight=30.0),
            Share(kind=OperationKind.PUT, weight=15.0),
            Share(kind=OperationKind.DELETE, weight=10.0),
        )
    )
    assert (job.threads, str(job.sizes), job.objects, job.overwrite) == (16, "1MiB", None, False)


def test_every_option_of_a_job_reaches_it() -> None:
    job = only_job(
        f"{LIVE} --mix get=70,put=30,range=1,multipart=2 -z 4KiB:70,1MiB:30 -t 8 --rate 500/s --arrivals constant "
        "--operations 99 --objects 12 --keys zipf:1.3 --range 4K --part-size 16MiB --overwrite"
    )
    assert job == Job(
        mix=(
            Share(kind=OperationKind.GET, weight=70.0),
            Share(kind=OperationKind.PUT, weight=30.0),
            Share(kind=OperationKind.RANGE, weight=1.0),
            Share(kind=OperationKind.MULTIPART, weight=2.0),
        ),
        sizes=parse_sizes("4KiB:70,1MiB:30"),
        threads=8,
        rate=Rate(per_s=500.0, arrivals=Arrivals.CONSTANT),
        operations=99,
        objects=12,
        keys=KeyDistribution.ZIPF,
        zipf_exponent=1.3,
        range_bytes=4096,
        part_bytes=16 * 1024**2,
        overwrite=True,
    )


def test_every_option_of_a_phase_reaches_it() -> None:
    [phase] = plan_of(f"{LIVE} -d 5m --warmup 10s --ramp 500ms --stable").profile.phases
    assert (phase.duration_s, phase.warmup_s, phase.ramp_s, phase.stable) == (300.0, 10.0, 0.5, True)


def test_autoterm_is_another_name_of_stable() -> None:
    assert plan_of(f"{LIVE} --autoterm") == plan_of(f"{LIVE} --stable")
    assert plan_of(f"{LIVE} --autoterm -d 1m30s").profile.phases[0].duration_s == 90.0


def test_a_number_of_operations_ends_a_phase_without_a_duration() -> None:
    assert plan_of(f"{LIVE} --operations 5").profile.phases[0].duration_s is None
    assert plan_of(f"{LIVE} --operations 5 -d 9").profile.phases[0].duration_s == 9.0
    assert plan_of(f"{LIVE} --operations 5 --stable").profile.phases[0].duration_s == 60.0


def test_every_option_of_the_manner_and_the_payload_reaches_the_profile() -> None:
    profile = plan_of(
        f"{LIVE} --disable-keepalive --sign-payload --checksum --no-verify --retries 2 --timeout 3s --idle-timeout 2s "
        "--connect-timeout 400ms --payload random --compressible 2 --layout worker -l 4 --max-error-rate 1%"
    ).profile
    manner = profile.manner
    assert (manner.keep_alive, manner.signs_payload, manner.checksum, manner.verify) == (False, True, True, False)
    assert (manner.retries, manner.timeout_s, manner.idle_timeout_s, manner.connect_timeout_s) == (2, 3.0, 2.0, 0.4)
    assert (profile.payload.kind, profile.payload.compressible) == (PayloadKind.RANDOM, 2.0)
    assert (profile.layout, profile.loops, profile.max_error_rate) == (Layout.WORKER, 4, 0.01)


def test_every_option_of_the_endpoint_reaches_the_placement() -> None:
    placement = plan_of(
        "--endpoint-url http://a --endpoint-url http://b -b data --region r --addressing virtual "
        f"--ca-bundle {AUTHORITIES} "
        "--workers 3"
    ).placement
    assert placement.endpoint_urls == ("http://a", "http://b")
    assert (placement.bucket, placement.region, placement.addressing) == ("data", "r", Addressing.VIRTUAL)
    assert (placement.ca_bundle, placement.workers, placement.tls_no_verify) == (str(AUTHORITIES), 3, False)
    assert plan_of(f"{LIVE} --tls-no-verify").placement.tls_no_verify


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("--range 64KiB", OperationKind.RANGE),
        ("--part-size 8MiB", OperationKind.MULTIPART),
        ("--overwrite", OperationKind.PUT),
        ("--key-file keys.txt", OperationKind.GET),
        ("--list-existing ''", OperationKind.GET),
    ],
)
def test_an_option_that_fits_one_operation_asks_for_it(line: str, kind: OperationKind) -> None:
    assert only_job(f"{LIVE} {line}").kinds == (kind,)


@pytest.mark.parametrize(
    ("line", "searches", "duration_s"),
    [
        ("--operation get", True, 10.0),
        ("--operation get --rate 5", False, 60.0),
        ("--operation delete --rate 5 --arrivals constant -d 7", False, 7.0),
        ("--operation get --rate 5 --ramp 2.5s -d 3", False, 3.0),
    ],
)
def test_a_rate_is_judged_and_without_one_the_highest_is_searched_for(
    line: str, searches: bool, duration_s: float
) -> None:
    plan = plan_of(f"{LIVE} --slo p99<5ms {line}")
    assert (plan.searches, plan.profile.phases[0].duration_s) == (searches, duration_s)


def test_the_rate_of_a_profile_is_judged(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("operation: get\nrate: 5\n", encoding="utf-8")
    assert not plan_of(f"{profile} --slo p99<5ms").searches


def test_the_limits_to_keep_are_parsed() -> None:
    assert plan_of(f"{LIVE} --slo 'p99<50ms,errors<0.1%'").slo == parse_slo("p99<50ms,errors<0.1%")


def test_the_matrix_has_sizes_threads_and_samples_as_asked() -> None:
    phases = plan_of("--matrix-threads 1,2,4-16 --matrix-sizes 1KiB-4KiB --matrix-samples 7 --warmup 0").profile.phases
    gets = [phase for phase in phases if phase.name == "get"]
    assert [phase.jobs[0].threads for phase in gets] == [1, 2, 4, 8, 16] * 3
    assert {phase.jobs[0].operations for phase in gets} == {7}
    assert [phase.jobs[0].sizes.slots for phase in phases if phase.name == "put"] == [(1024,), (2048,), (4096,)]
    assert {phase.jobs[0].overwrite for phase in phases} == {False}


def test_quick_and_full_are_the_extents_of_the_reference() -> None:
    quick, full = (plan_of(f"{LIVE} --matrix {extent}").profile.phases for extent in ("quick", "full"))
    assert len([phase for phase in quick if phase.name == "get"]) == 16 * 2
    assert len([phase for phase in full if phase.name == "get"]) == 16 * 7
    fewer = plan_of(f"{LIVE} --matrix-samples 5").profile.phases
    assert [(phase.jobs[0].threads, phase.jobs[0].operations) for phase in fewer[1:3]] == [(8, 5), (16, 5)]


def test_a_reused_data_set_is_not_written_again_by_a_matrix() -> None:
    assert {phase.name for phase in plan_of(f"{LIVE} --matrix quick --reuse r1").profile.phases} == {"get"}


# A file.


def test_a_file_says_what_and_where_and_options_override_where_how_and_how_long(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text(
        "endpoint_url: https://a\nbucket: one\nregion: r\ntls_no_verify: true\nworkers: 2\nretries: 1\nthreads: 5\n"
        "operation: get\nduration: 50\nwarmup: 1\n",
        encoding="utf-8",
    )
    more = f"-u https://b -b two --ca-bundle {AUTHORITIES} --retries 0 -d 9 --stable -l 2"
    plan = plan_of(f"{tmp_path / 'load.yaml'} {more}")
    [phase] = plan.profile.phases
    assert summary(phase) == ("", (OperationKind.GET,), 9.0, 5)
    assert (phase.warmup_s, phase.stable, plan.profile.loops, plan.profile.manner.retries) == (1.0, True, 2, 0)
    placement = plan.placement
    assert (placement.endpoint_urls, placement.bucket, placement.region, placement.workers) == (
        ("https://b",),
        "two",
        "r",
        2,
    )
    assert (placement.tls_no_verify, placement.ca_bundle) == (False, str(AUTHORITIES))


def test_zeros_in_place_of_a_files_random_data_are_not_compressible(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text("operation: get\ncompressible: 3\n", encoding="utf-8")
    payload = plan_of(f"{tmp_path / 'load.yaml'} --payload zero").profile.payload
    assert (payload.kind, payload.compressible) == (PayloadKind.ZERO, 1.0)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    for line in ("-u http://me:hush@a", "-b data --endpoint-url http://me:hush@a"):
        with pytest.raises(BadInput, match="password") as caught:
            plan_of(line)
        assert "hush" not in str(caught.value)
    with pytest.raises(click.UsageError, match="password") as refused:
        typed("--endpoint-url me:hush@a")
    assert "hush" not in refused.value.format_message()


def test_the_configuration_of_s4_runs_as_it_stands() -> None:
    plan = plan_of(str(DATA / "s4.yaml"))
    assert plan.placement.endpoint_urls == ("http://s3-region.example.com",)
    assert plan.placement.bucket == "s4_test"
    assert len(plan.profile.phases[0].jobs) == 4
    assert any("random_data" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    "line", ["", "-u http://a", LIVE, f"{LIVE} --matrix quick", f"{LIVE} --mix get=2,range=1 --range 1K"]
)
def test_the_profile_that_is_shown_runs_the_same(line: str) -> None:
    plan = plan_of(line)
    shown = parse_profile(render_profile(plan.placed), "shown")
    assert (shown.profile, shown.placement) == (plan.profile, plan.placement)


# What is refused.


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"{LIVE} -u http://b", "--url cannot be combined with --endpoint-url"),
        ("--operation get --mix put", "--operation cannot be combined with --mix"),
        (f"{DATA / 's4.yaml'} -t 3 --mix put", "PROFILE cannot be combined with --mix, --threads"),
        (f"{DATA / 's4.yaml'} --matrix quick", "PROFILE cannot be combined with --matrix"),
        ("--matrix quick -t 3", "--matrix cannot be combined with --threads"),
        ("--matrix-samples 5 --size 1K", "--matrix-samples cannot be combined with --size"),
        ("--matrix quick --slo p99<5ms", "--matrix cannot be combined with --slo"),
        ("--slo p99<5ms --rate 5 --operations 5", "--slo cannot be combined with --operations"),
        ("--slo p99<5ms --rate 5 --loops 2", "--slo cannot be combined with --loops"),
        (f"{DATA / 's4.yaml'} --slo p99<5ms", "--slo needs a profile with one job"),
        ("--arrivals constant", "--arrivals needs --rate"),
        ("-s SECRET -u http://a", "--secret-key needs --access-key"),
        ("-a KEY -u http://a", "--access-key needs --secret-key"),
        ("-a KEY -s SECRET -t 10", "--access-key needs an endpoint"),
        ("--endpoint-url http://a", "an endpoint needs --bucket"),
        (f"{LIVE} --network ec2:c5.large", "--network cannot be combined with an endpoint"),
        (f"{LIVE} --clean-up run -d 5", "--clean-up cannot be combined with --duration"),
        (f"{LIVE} --key-file f --list-existing x", "--key-file cannot be combined with --list-existing"),
        (f"{LIVE} --key-file f --operation delete", "--operation delete cannot be combined with --key-file"),
        (f"{LIVE} --list-existing x --operation delete", "--operation delete cannot be combined with --list-existing"),
        (f"{LIVE} --reuse run --operation delete", "--operation delete cannot be combined with --reuse"),
        (f"{LIVE} --list-existing x --overwrite", "--list-existing cannot be combined with --overwrite"),
        (f"{LIVE} --reuse run --overwrite", "--reuse cannot be combined with --overwrite"),
        (f"{LIVE} --ca-bundle f --tls-no-verify", "--ca-bundle cannot be combined with --tls-no-verify"),
        ("--json --format lines", "--json cannot be combined with --format"),
        ("--force", "--force needs --output or --csv or --trace or --object-log"),
        ("--range 1MiB --size 1KiB", "--range is 1.00 MiB, more than any object has"),
        ("--operation range", "--range is missing"),
        ("--operation put --range 1K", "--range needs the operation range"),
        ("--duration 1.8s --warmup 1.5s", "--warmup of 1.5 s leaves nothing to measure: measuring begins at the next "),
        ("--warmup 60", "--warmup takes 60 s of the phase's 5 s"),
        ("--payload zero --compressible 2", "--compressible needs random data"),
        ("--mix get=1,delete=1", "--mix has delete and no operation that writes"),
        ("--mix get=5,put=1,delete=2", "--mix deletes more often (weight 2) than it writes"),
        ("--operation get --overwrite", "--overwrite needs put"),
        ("--operation multipart --size 1TiB", "--part-size makes more than 10000 parts"),
        ("--operation put --size 6GiB", "--size has objects of 6.00 GiB"),
        ("--slo nonsense", ""),
        ("--network nonsense", ""),
    ],
)
def test_options_that_contradict_each_other_are_refused_before_anything_runs(line: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        plan_of(line)
    assert what in caught.value.what


@pytest.mark.parametrize(
    "option",
    [
        *("--bucket b", "--region r", "--addressing path", "--tls-no-verify", "--ca-bundle f", "-a KEY"),
        *("--key-file f", "--list-existing x", "--keep", "--reuse run", "--clean-up run"),
    ],
)
def test_an_option_about_a_place_needs_an_endpoint(option: str) -> None:
    with pytest.raises(BadInput, match="needs an endpoint"):
        plan_of(option)


def test_a_cluster_sets_the_number_of_workers_itself(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text("workers: 2\n", encoding="utf-8")
    with pytest.raises(BadInput, match="--cluster cannot be combined with the profile's `workers`"):
        plan_of(f"{tmp_path / 'load.yaml'} {LIVE} --cluster auto")


def test_cleaning_up_needs_only_to_know_where() -> None:
    assert plan_of(f"{LIVE} --clean-up run1 -q").options.clean_up == "run1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--duration soon", "which is not a duration; write it like 20ms, 90s"),
        ("--duration 0", "above 0"),
        ("--threads 0", "is 0, below the minimum of 1"),
        ("--threads x", "whole number"),
        ("--operation gett", "did you mean `get`?"),
        ("--keys zipff", "uniform, sequential, zipf or zipf:1.2"),
        ("--size big", "is not a size; write one size such as 4096"),
        ("--part-size 1MiB", "5 MiB to 5 GiB"),
        ("--matrix huge", "`quick` or `full`"),
        ("--max-error-rate 2", "a share from 0 to 1"),
        ("--durations 5", "No such option"),
    ],
)
def test_a_value_that_cannot_be_read_names_its_option_and_what_would_be_right(line: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        typed(line)
    assert re.search(message, caught.value.format_message())
    assert caught.value.exit_code == 2
    assert line.split(maxsplit=1)[0] in caught.value.format_message()


# The help.


def test_every_field_is_filled_by_an_option_and_every_option_has_help() -> None:
    own = {each.name for each in fields(LoadOptions)} - {"given"}
    assert own | {row.field for row in PROFILE_OPTIONS if row.written} == set(OPTIONS)
    assert [row.field for rows in GROUPS.values() for row in rows if not row.meaning.endswith((".", "'."))] == []
    assert {"file"} | {row.field for rows in GROUPS.values() for row in rows} == set(OPTIONS)


def test_the_help_has_every_option_once_and_the_docs_tell_of_it() -> None:
    @click.command("load", cls=LoadCommand, context_settings={"max_content_width": 120, "terminal_width": 120})
    @load_options
    def command(**_options: Any) -> None:
        """Do nothing."""

    text = CliRunner().invoke(command, ["--help"], terminal_width=120).output
    docs = (Path(__file__).parents[3] / "docs" / "load-profiles.md").read_text(encoding="utf-8")
    names = [row.name for rows in GROUPS.values() for row in rows]
    assert [
        name for name in names if len(re.findall(rf"^  (?:--?\w+, )?{name}[ \n]", text, flags=re.MULTILINE)) != 1
    ] == []
    assert [name for name in names if f"`{name}" not in docs] == []
    assert "<=x<=" not in text
