"""rclone: the command line for a transfer, its block of the config, and what the tuner knows of it."""

from pathlib import Path

import pytest

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import FAKE_CREDENTIALS, EndpointFacts, Sandbox
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.registry import known_client
from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.errors import BadInput
from s3bench.spec.command import parse_transfer
from s3bench.tune.request_plan import habits_of, plan_requests
from s3bench.tune.setting import Setting, config_of

RCLONE = FoundClient(kind="rclone", version="1.75.2", executable=Path("/rclone"))


def invoke(
    command: str, config: str = "[default]", *, ca_bundle: Path | None = None, directories: tuple[str, ...] = ()
) -> Invocation:
    words = ("s3", *command.split())
    launch = ClientLaunch(
        found=RCLONE,
        command=words,
        config=config,
        transfer=parse_transfer(words),
        endpoint=EndpointFacts(url="http://127.0.0.1:9", ca_bundle=ca_bundle),
        sandbox=Sandbox(home=Path("/home"), temporary=Path("/tmp"), work=Path("/work")),
        credentials=FAKE_CREDENTIALS,
        env={"AWS_CA_BUNDLE": "/ca.pem", "HOME": "/home"},
        directories=directories,
    )
    return known_client("rclone").invoke(launch)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("cp a s3://b/k", "copyto --no-check-dest ./a :s3:b/k"),
        ("cp a s3://b/k/", "copy --no-check-dest ./a :s3:b/k/"),
        ("cp s3://b/k /x/y", "copyto --no-check-dest :s3:b/k /x/y"),
        ("cp d s3://b/k --recursive", "copy --no-check-dest ./d/ :s3:b/k/"),
        ("mv s3://b/k a", "moveto --no-check-dest :s3:b/k ./a"),
        ("sync d s3://b", "copy --update ./d/ :s3:b/"),
        ("sync d s3://b --delete", "sync --update ./d/ :s3:b/"),
        ("rm s3://b/k", "deletefile :s3:b/k"),
        ("rm s3://b/k --recursive", "delete :s3:b/k/"),
    ],
)
def test_every_transfer_command_is_one_of_rclones(command: str, words: str) -> None:
    argv = invoke(command).argv
    assert " ".join(argv[1 : argv.index("--config=")]) == words


@pytest.mark.parametrize(
    ("destination", "words"),
    [
        (".", "copy --no-check-dest :s3:b/k ./."),
        ("a/.", "copy --no-check-dest :s3:b/k ./a/."),
        ("a/", "copy --no-check-dest :s3:b/k ./a/"),
        ("landed", "copy --no-check-dest :s3:b/k ./landed"),
        ("./landed", "copy --no-check-dest :s3:b/k ./landed"),
        ("landed/file", "copyto --no-check-dest :s3:b/k ./landed/file"),
        ("a:", "copyto --no-check-dest :s3:b/k ./a:"),
    ],
)
def test_an_object_goes_into_a_directory_under_its_own_name(destination: str, words: str) -> None:
    argv = invoke(f"cp s3://b/k {destination}", directories=("landed/",)).argv
    assert " ".join(argv[1 : argv.index("--config=")]) == words


def test_filters_are_refused_since_their_patterns_differ() -> None:
    with pytest.raises(BadInput, match="patterns"):
        invoke("cp d s3://b/k --recursive --exclude *.tmp")


def test_it_is_told_of_an_authority_by_its_flag_alone() -> None:
    call = invoke("cp a s3://b/k", ca_bundle=Path("/ca.pem"))
    assert call.argv[-2:] == ("--ca-cert", "/ca.pem")
    assert "AWS_CA_BUNDLE" not in call.env


@pytest.mark.parametrize(
    ("command", "block", "flags"),
    [
        ("cp a s3://b/k", {}, ()),
        (
            "cp a s3://b/k",
            {"s3_chunk_size": 16 * MIB, "s3_upload_concurrency": 8},
            ("--s3-chunk-size 16Mi", "--s3-upload-concurrency 8", "--multi-thread-cutoff 16Mi --s3-upload-cutoff 16Mi"),
        ),
        ("cp s3://b/k a", {"multi_thread_streams": 8}, ("--multi-thread-streams 8", "--multi-thread-cutoff 64Mi")),
        ("cp d s3://b/k --recursive", {"transfers": 32}, ("--transfers 32",)),
    ],
)
def test_what_the_tuner_sets_becomes_flags(command: str, block: dict[str, int], flags: tuple[str, ...]) -> None:
    argv = invoke(command, config_of(Setting.of("rclone@1.75.2", block))).argv
    assert " ".join(argv[argv.index("http://127.0.0.1:9") + 1 :]) == " ".join(flags)


def test_a_key_that_is_no_setting_is_refused() -> None:
    with pytest.raises(BadInput, match="`checkers` is not a setting of the block `rclone`"):
        invoke("cp a s3://b/k", "[default]\nrclone =\n    checkers = 4\n")


@pytest.mark.parametrize(
    ("action", "size_mib", "values", "requests", "lanes"),
    [
        (Action.UPLOAD, 100, {}, 1, 1),
        (Action.UPLOAD, 300, {}, 60, 4),
        (Action.UPLOAD, 300, {"s3_upload_concurrency": 16, "s3_chunk_size": 8 * MIB}, 38, 16),
        (Action.UPLOAD, 100, {"s3_upload_concurrency": 16, "s3_chunk_size": 8 * MIB}, 13, 13),
        (Action.DOWNLOAD, 300, {}, 5, 4),
        (Action.DOWNLOAD, 300, {"multi_thread_streams": 16, "multi_thread_chunk_size": 8 * MIB}, 38, 16),
    ],
)
def test_its_requests_are_those_that_the_wire_showed(
    action: Action, size_mib: int, values: dict[str, int], requests: int, lanes: int
) -> None:
    workload = Workload(action=action, size_bytes=size_mib * MIB)
    plan = plan_requests(Setting.of("rclone", values), workload, habits_of({}, workload))
    assert (plan.requests, plan.lanes) == (requests, lanes)
