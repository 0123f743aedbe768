"""`s3bench load` as a command: what it refuses before anything runs, and what it shows without running."""

import shutil
from pathlib import Path
from typing import Any

import botocore
import pytest
from click.testing import CliRunner, Result

from s3bench.cli.load.options import LoadOptions
from s3bench.cli.load.output import LoadOutput
from s3bench.cli.load.plan import plan_load
from s3bench.cli.main import s3bench_command
from s3bench.errors import BadInput
from s3bench.load.engine.message import RequestTarget
from s3bench.load.profile.file import parse_profile
from s3bench.load.session.bucket import LiveBucket
from s3bench.load.session.capacity import Capacity
from s3bench.load.session.session import Terms
from s3bench.load.session.site import Site

DATA = Path(__file__).parents[2] / "load" / "data"
LIVE = ("--endpoint-url", "http://127.0.0.1:9", "--bucket", "data")
LIMIT = ("--operation", "get", "--operations", "1")


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it began to run")

    monkeypatch.setattr("s3bench.cli.load.action._site", refuse)


def load(*arguments: str | Path) -> Result:
    return CliRunner().invoke(s3bench_command, ["load", *map(str, arguments)], catch_exceptions=True)


def refusal(*arguments: str | Path) -> BadInput:
    error = load(*arguments).exception
    assert isinstance(error, BadInput), error
    return error


def test_the_profile_that_would_run_is_shown_as_a_file_that_means_the_same() -> None:
    shown = load("--show-profile", *LIVE, "--mix", "get=70,put=30", "--size", "4KiB", "--rate", "50", "-d", "5")
    assert shown.exit_code == 0
    [phase] = parse_profile(shown.stdout, "shown").profile.phases
    [job] = phase.jobs
    assert phase.duration_s == 5.0
    assert job.rate is not None
    assert job.rate.per_s == 50.0
    assert [(str(share.kind), share.weight) for share in job.mix] == [("get", 70.0), ("put", 30.0)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--list-existing", "logs/"), "--list-existing logs/"),
        (("--key-file", "my keys", "--seed", "7"), "--key-file 'my keys' --seed 7"),
        (("--slo", "p99<50ms", "--rate", "5", "--keep"), "--slo 'p99<50ms' --keep"),
        (("-a", "ID", "-s", "SECRET-KEY"), "--access-key KEY --secret-key SECRET"),
    ],
)
def test_options_that_a_profile_cannot_hold_are_named(options: tuple[str, ...], named: str) -> None:
    shown = load("--show-profile", *LIVE, *options)
    assert (shown.exit_code, shown.stderr) == (0, f"s3bench: not in a profile: {named}\n")
    assert parse_profile(shown.stdout, "shown")


def test_nothing_is_named_where_the_profile_holds_all() -> None:
    assert load("--show-profile", "-u", "http://127.0.0.1:9", "-b", "data", "-q").stderr == ""
    assert load("--show-profile", *LIVE, "--matrix", "quick", "--retries", "2").stderr == ""


def test_a_key_file_is_checked_before_anything_is_asked_of_the_endpoint(tmp_path: Path) -> None:
    missing = refusal(*LIVE, "--key-file", tmp_path / "nosuch")
    assert missing.what == f"the key file {tmp_path / 'nosuch'} cannot be read"
    assert missing.fix == "pass a file with a key on each line"
    (tmp_path / "keys").write_text("key\tmany\n", encoding="utf-8")
    assert refusal(*LIVE, "--key-file", tmp_path / "keys").what == f"{tmp_path / 'keys'}, line 1: no object"


def test_an_s4_configuration_is_shown_in_our_own_form() -> None:
    shown = load("--show-profile", DATA / "s4.yaml")
    assert shown.exit_code == 0
    written = parse_profile(shown.stdout, "shown")
    [phase] = written.profile.phases
    assert [job.operations for job in phase.jobs] == [1000] * 4
    assert written.placement.bucket == "s4_test"


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (("--operation", "get", "--mix", "get=1"), "--operation cannot be combined with --mix", "remove --mix or"),
        (("--keep",), "--keep needs an endpoint", "pass --endpoint-url URL"),
        (("--endpoint-url", "http://127.0.0.1:9"), "an endpoint needs --bucket", "pass -b NAME"),
        (("--slo", "p99"), "--slo: 'p99' is not a limit such as p99<50ms", "write p99<50ms,errors<0.1%"),
        (("--secret-key", "x", *LIVE), "--secret-key needs --access-key", "pass -a KEY"),
        (("--force",), "--force needs --output or --csv", "pass -o FILE"),
        (("--replay", "a.log", "-d", "1s"), "--replay cannot be combined with --duration", "remove --duration or"),
        (("--slo", "p50<1s", "-d", "3s", "--ramp", "2.5s"), "--ramp leaves nothing of --duration", "pass a longer -d"),
        (("--slo", "p50<1s", "--loops", "2"), "--slo cannot be combined with --loops", "remove --loops or --slo"),
        (("--slo", "p50<1s", "--operation", "delete"), "--slo cannot be combined with the operation delete", "a mix"),
        ((*LIVE, "--key-file", "k", "--mix", "get=1,list=1"), "--key-file cannot be combined with the operation list",
         "pass --list-existing PREFIX"),
        (("nowhere.yaml",), "nowhere.yaml: cannot be read", "pass the path of a load profile"),
        ((*LIVE, "--clean-up", "0a", "--operation", "get"), "--clean-up cannot be combined with --operation", "remove"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_with_a_cure(arguments: tuple[str, ...], what: str, fix: str) -> None:
    error = refusal(*arguments)
    assert what in error.what
    assert fix in str(error.fix)


@pytest.mark.parametrize(
    ("key", "line"), [("loops", "loops: 2"), ("stable", "stable: true"), ("operations", "operations: 100")]
)
def test_a_profile_for_a_search_does_not_set_what_the_search_sets(tmp_path: Path, key: str, line: str) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text(f"operation: get\nduration: 20s\n{line}\n", encoding="utf-8")
    error = refusal(profile, "--slo", "p50<1s")
    assert error.what == f"--slo cannot be combined with the profile's `{key}`"
    assert error.fix == f"remove `{key}` from the profile"


def test_a_replay_of_a_part_of_a_log_is_pointed_to() -> None:
    assert "--for DURATION" in refusal("--replay", "a.log", "-d", "1s").why


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-t", "0"), "'-t' / '--threads': is 0, below the minimum of 1; write 1 or more"),
        (("--rate", "fast"), "which is not a rate; write a number per second, above 0"),
        (("--mix", "foo=1"), "which is not an operation; write `put`, `get`"),
        (("-z", "0x"), "write one size such as 4096, 1K, 32MiB"),
        (("--payload", "ones"), "write `random` or `zero`"),
        (("--duration", "0"), "--duration"),
        (("--retries", "-1"), "'--retries': is -1, below the minimum of 0; write 0 or more"),
        (("--seed", "-1"), "'--seed': is -1, below the minimum of 0; write 0 or more"),
        (("--objects", "-5"), "'--objects': is -5, below the minimum of 1; write 1 or more"),
        (("--objects", "-many"), "'--objects': is the string \"-many\", not a whole number"),
        (("--keys", "zipf:-1"), "'--keys': is \"-1\", which is below 0; write a number like 1.5"),
    ],
)
def test_values_that_cannot_be_read_are_refused_with_an_example(arguments: tuple[str, ...], message: str) -> None:
    result = load(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
def test_authorities_that_cannot_be_read_are_named_at_once(url: str, tmp_path: Path) -> None:
    live = ("--endpoint-url", url, "--bucket", "data", "--ca-bundle")
    (tmp_path / "empty.pem").touch()
    (tmp_path / "junk.pem").write_text("junk", encoding="utf-8")
    for name, why in (("missing.pem", "No such file"), ("empty.pem", ""), ("junk.pem", ""), (".", "")):
        error = refusal(*live, tmp_path / name)
        assert error.what == f"the CA bundle {tmp_path / name} cannot be used"
        assert why in error.why
    assert load("--show-profile", *live, tmp_path / "missing.pem").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--rate", "1e9", "-d", "1s"), "a rate of 1,000,000,000 operations a second can never be reached"),
        ((*LIVE, "--rate", "1e9", "-d", "1s"), "a rate of 1,000,000,000 operations a second can never be reached"),
        (("-t", "100000"), "100,000 threads need more connections than the S3 in memory can have"),
        (("--matrix-threads", "100000"), "100,000 threads need more connections than the S3 in memory can have"),
        (("--slo", "p99<1s", "-t", "100000"), "100,000 threads need more connections than the S3 in memory can have"),
        (("--objects", "1000000000000"), "953674 TiB of objects do not fit into the S3 in memory"),
        ((*LIVE, "--operation", "get", "--objects", "1000000000000"), "of memory, and this machine has"),
        ((*LIVE, "--objects", "3000000000", "--keys", "zipf"), "--objects is more than the 2,147,483,647"),
        ((*LIVE, "--workers", "1024", "-t", "2000"), "1,024 workers need about 72.0 GiB of memory"),
    ],
)  # fmt: skip
def test_what_no_machine_can_do_is_refused_with_a_reason(
    arguments: tuple[str, ...], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Capacity(descriptors=20_000, ports=28_000, memory_bytes=16 * 1024**3)
    monkeypatch.setattr("s3bench.cli.load.output.capacity_of", lambda _: small)
    error = refusal(*arguments)
    assert what in error.what
    assert error.fix


def test_a_profile_that_no_machine_can_do_is_refused_like_its_options(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text("operation: head\nrate: 1e9\nthreads: 4\n", encoding="utf-8")
    assert "can never be reached" in refusal(tmp_path / "profile.yaml").what


# Files that are there already.


def written(*names: str) -> None:
    for name in names:
        Path(name).write_text("precious", encoding="utf-8")


@pytest.mark.parametrize(
    ("option", "name"), [("-o", "results.json"), ("--csv", "seconds.csv"), ("--trace", "trace.csv")]
)
def test_no_file_that_is_there_is_overwritten_unasked(
    option: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(name)
    error = refusal(*LIMIT, option, name)
    assert error.what == f"{name} exists; it will not be overwritten"
    assert Path(name).read_text(encoding="utf-8") == "precious"
    assert refusal(*LIMIT, option, "missing/file").what.endswith("missing is not a directory")


def output(**options: Any) -> LoadOutput:
    return LoadOutput(plan_load(LoadOptions.of(options), environment={}))


def site(url: str) -> Site:
    target = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")
    return Site(urls=(url,), target=target, bucket=LiveBucket(None, "data"))


def test_files_are_begun_anew_only_when_the_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("seconds.csv", "trace.csv.0", "trace.csv.3", "trace.csv")
    written(*names, "trace.csv.txt")
    with output(csv=Path("seconds.csv"), trace=Path("trace.csv"), force=True) as out:
        assert {Path(name).read_text(encoding="utf-8") for name in names} == {"precious"}
        out.begin(site("http://127.0.0.1:9"), Terms(run="0123456789ab", workers=2, seed=5))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seconds.csv", "trace.csv.txt"]
    assert Path("seconds.csv").read_text(encoding="utf-8").startswith("phase,loop,second,")
    assert Path("trace.csv.txt").read_text(encoding="utf-8") == "precious"


def test_a_profile_that_overwrites_is_refused_with_a_run_to_reuse(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("mix: {get: 1, put: 1}\noverwrite: true\n", encoding="utf-8")
    error = refusal(*LIVE, profile, "--reuse", "0123456789ab")
    assert error.what == "--reuse cannot be combined with the profile's `overwrite`"


def test_secrets_do_not_get_into_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "very-secret-0123456789"
    monkeypatch.setattr("sys.argv", ["s3bench", "load", "-a", "key", "-s", secret, f"--secret-key={secret}"])
    url = f"http://user:{secret}@127.0.0.1:9"
    out = output(endpoint_urls=("http://127.0.0.1:9",), bucket="data", access_key="key", secret_key=secret)
    out.begin(site(url), Terms(run="0123456789ab", workers=1, seed=5))
    assert secret not in repr(out.document)
    assert (out.document.options["run"], out.document.options["seed"]) == ("0123456789ab", 5)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--csv", "new", "--trace", "new"), "--csv and --trace both write to new"),
        (("-o", "new", "--object-log", "./new"), "-o and --object-log both write to new"),
        (("--csv", "new.3", "--trace", "new"), "--csv and --trace both write to new.3"),
        (
            ("--replay", "a.log", "--trace", "a.log", "--force"),
            "--trace a.log would overwrite an input file of --replay",
        ),
        (
            ("--replay", "logs", "-o", "logs/a.log", "--force"),
            "-o logs/a.log would overwrite an input file of --replay",
        ),
        (
            (*LIVE, *LIMIT, "--key-file", "a.log", "-o", "a.log", "--force"),
            "-o a.log would overwrite an input file of --key-file",
        ),
        (
            (*LIVE, *LIMIT, "--key-file", "a.0", "--trace", "a"),
            "--trace a.0 would overwrite an input file of --key-file",
        ),
        (
            (*LIVE, *LIMIT, "--ca-bundle", "ca.0", "-o", "ca.0", "--force"),
            "-o ca.0 would overwrite an input file of --ca-bundle",
        ),
        (("p.yaml", "-o", "p.yaml", "--force"), "-o p.yaml would overwrite an input file"),
        (("--fit", "a.log", "-o", "new", "--html", "new"), "-o and --html both write to new"),
        (("--fit", "a.log", "-o", "a.log", "--force"), "-o a.log would overwrite an input file of --fit"),
        (("merge", "a.log", "p.yaml", "-o", "p.yaml", "--force"), "-o p.yaml would overwrite an input file"),
    ],
)
def test_a_file_has_one_purpose(
    arguments: tuple[str, ...], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for name in ("a.log", "a.0", "logs/a.log"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    shutil.copy(Path(botocore.__file__).with_name("cacert.pem"), tmp_path / "ca.0")
    (tmp_path / "p.yaml").write_text("operations: 5\n", encoding="utf-8")
    assert refusal(*arguments).what == what
    assert (tmp_path / "a.log").read_text(encoding="utf-8") == "mine"


def test_merge_is_a_subcommand_and_a_profile_of_that_name_needs_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "merge").write_text("operations: 5\n", encoding="utf-8")
    assert load("./merge", "--show-profile").exit_code == 0
    assert refusal("merge", "missing.json", "other.json").what == "cannot read missing.json"
    assert refusal("merge", "a.json", "b.json", "--force").what == "--force needs -o"
    assert "Missing argument 'RESULTS.json...'" in load("merge").output
