"""One real runner without processes: the order of events around a run, and what is an error of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

import msgspec
import pytest

from s3bench.bench import local
from s3bench.bench.local import ERRORS_MAX, STDERR_TAIL_CHARACTERS, LocalBench, open_bench
from s3bench.bench.runner import ClientRunner, Conditions, Settings, StackSize
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts
from s3bench.clients.padding import stack_bytes, stack_entries
from s3bench.errors import BadInput
from s3bench.results.measurement import Failure, Measurement, UsageFacts
from s3bench.run.process import Launch, PeakSource, ProcessRecord, Spawner
from s3bench.run.workspace import Workspaces
from s3bench.s3.wirelog import TransferEngine, WireLog, WireRequest
from s3bench.spec.definition import (
    DEFAULT_RESPONSES,
    Definition,
    Environment,
    FileBody,
    FixtureDir,
    FixtureFile,
    ListingBody,
    RequestMatch,
    Response,
)

SETTINGS = Settings(interval_s=None)
FIXTURE = Environment(files=(FixtureFile(name="file", size_bytes=10),))
LIST = Definition(name="list", command=("s3api", "list-buckets"))
UPLOAD = Definition(name="up", command=("s3", "cp", "file", "s3://bucket/key"), environment=FIXTURE)
GET = Response(match=RequestMatch(method="GET", path="/bucket/key"), body=FileBody(file="file"), instances=None)
DOWNLOAD = Definition(
    name="down", command=("s3", "cp", "s3://bucket/key", "landed"), environment=FIXTURE, responses=(GET,)
)
QUIET = WireLog(
    requests=(),
    leftover=(),
    connections=0,
    connections_open_max=0,
    requests_in_flight_max=0,
    server_cpu_s=None,
    faults=(),
)


def put(size_bytes: int = 10, engine: TransferEngine = TransferEngine.PYTHON, **changes: Any) -> WireRequest:
    request = msgspec.convert(
        ["PUT", "/bucket/key", "", "", 1, 1, engine, 0, 0, 0, 0, 200, size_bytes, 0, 0, {}, "", 0, 0, True, ""],
        type=WireRequest,
    )
    return msgspec.structs.replace(request, **changes)


def log_of(*requests: WireRequest, **changes: Any) -> WireLog:
    return msgspec.structs.replace(QUIET, requests=requests, **changes)


@dataclass
class FakeEndpoint:
    """An endpoint that keeps what it is armed with and has seen `log`."""

    log: WireLog | None = QUIET
    script: Path | None = None
    secrets: tuple[str, ...] = ()
    network: None = None
    events: list[str] = field(default_factory=list)
    responses: tuple[Response, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> EndpointFacts:
        return EndpointFacts(url="http://127.0.0.1:9")

    def adapted(self, definition: Definition) -> Definition:
        if "refused" in definition.command:
            raise BadInput("not here")
        return replace(definition, name=f"adapted {definition.name}")

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        self.events.append(f"arm verify={verify} pristine={[path.name for path in workspace.iterdir()]}")
        self.responses = responses

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        self.events.append("collect")
        meanwhile()
        return self.log

    def served(self) -> dict[str, str]:
        return dict(self.files)


@dataclass
class FakeSpawner:
    """Plays processes: each ends as `exit_code` says, 2 s after its start, and leaves 3 s until the next one."""

    endpoint: FakeEndpoint
    exit_code: int | None = 0
    out: bytes | None = b""  # none: it ended before it opened its files
    err: bytes | None = b""
    written: Mapping[str, bytes] = field(default_factory=dict)
    milestones: str = ""
    launches: list[Launch] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    interrupts: bool = False

    def run(self, launch: Launch) -> ProcessRecord:
        self.endpoint.events.append("run")
        self.launches.append(launch)
        for file, content in ((launch.stdout, self.out), (launch.stderr, self.err)):
            if content is not None:
                file.write_bytes(content)
        if self.interrupts:
            raise KeyboardInterrupt
        for name, content in self.written.items():
            (launch.cwd / name).write_bytes(content)
        started_ns = len(self.launches) * 5_000_000_000
        if self.milestones:
            (launch.stdout.parent / "milestones").write_text(self.milestones.format(started_ns + 500_000_000))
        return ProcessRecord(
            pid=1,
            exit_code=self.exit_code,
            started_ns=started_ns,
            ended_ns=started_ns + 2_000_000_000,
            usage=UsageFacts(user_cpu_s=0.5, system_cpu_s=0.25, peak_memory_bytes=4096),
            peak_memory_source=PeakSource.KERNEL,
            process_count=1,
            sampler_cpu_s=0.0,
            series=None,
            speed=None,
            warnings=(),
        )

    def remove(self, directory: Path, names: Iterable[str]) -> None:
        self.removed += [directory / name for name in names]


@dataclass
class Stage:
    """A bench whose endpoint and processes are played."""

    bench: LocalBench
    endpoint: FakeEndpoint
    spawner: FakeSpawner
    client: FoundClient

    @contextmanager
    def runner(self, definition: Definition) -> Iterator[ClientRunner]:
        with self.bench.workspace(definition.environment) as runner_of:
            yield runner_of(definition, self.client)

    def once(
        self, definition: Definition, settings: Settings = SETTINGS, conditions: Conditions | None = None
    ) -> Measurement | Failure:
        with self.runner(definition) as runner:
            return runner.run_once(4, settings, "name", conditions or Conditions())


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[FoundClient]:
    seen: list[FoundClient] = []
    monkeypatch.setattr(local, "prepare_confinement", seen.append)
    return seen


@pytest.fixture
def stage(tmp_path: Path, prepared: list[FoundClient]) -> Iterator[Stage]:
    program = tmp_path / "aws"
    program.write_bytes(b"\x7fELF")
    endpoint = FakeEndpoint()
    spawner = FakeSpawner(endpoint)
    client = FoundClient(kind="cli-classic", version="2.38.5", executable=program)
    with Workspaces(parent=tmp_path) as workspaces:
        bench = LocalBench(spawner=cast("Spawner", spawner), endpoint=endpoint, workspaces=workspaces)
        yield Stage(bench, endpoint, spawner, client)


def test_a_run_is_armed_then_started_then_collected_in_a_restored_workspace(stage: Stage) -> None:
    stage.spawner.written = {"file": b"overwritten", "stray": b"x"}
    stage.endpoint.log = log_of(put())
    with stage.runner(UPLOAD) as runner:
        for iteration in range(2):
            outcome = runner.run_once(iteration, SETTINGS, "name")
            assert isinstance(outcome, Measurement), outcome
    assert stage.endpoint.events == ["arm verify=True pristine=['file']", "run", "collect"] * 2
    assert outcome.iteration == 1
    assert (outcome.total_time, outcome.cpu_time, outcome.peak_memory) == (2.0, 0.75, 4096)


def test_the_time_between_two_runs_counts_from_the_end_of_the_first(stage: Stage) -> None:
    with stage.runner(LIST) as runner:
        gaps = []
        for _ in range(3):
            outcome = runner.run_once(0, SETTINGS, "name")
            assert isinstance(outcome, Measurement)
            gaps.append(outcome.harness.turnaround_time)
    assert gaps == [None, 3.0, 3.0]


def test_the_definition_runs_as_the_endpoint_adapts_it(stage: Stage) -> None:
    with stage.runner(LIST) as runner:
        assert runner.definition.name == "adapted list"
    with pytest.raises(BadInput, match="not here"):
        stage.once(Definition(name="no", command=("s3", "refused")))


def test_a_definition_without_responses_has_the_default_one(stage: Stage) -> None:
    stage.once(LIST)
    assert stage.endpoint.responses == DEFAULT_RESPONSES
    stage.once(DOWNLOAD)
    assert stage.endpoint.responses == (GET,)


def test_a_client_is_prepared_for_confinement_once(stage: Stage, prepared: list[FoundClient]) -> None:
    with stage.bench.workspace(LIST.environment) as runner_of:
        for _ in range(3):
            runner_of(LIST, stage.client)
    stage.once(LIST)
    assert prepared == [stage.client]


@pytest.mark.parametrize(
    ("exit_code", "what"),
    [
        (3, "exited 3"),
        (-9, "ended by signal 9 (SIGKILL)"),
        (-40, "ended by signal 40"),
        (None, "timed out after 600 s"),
    ],
)
def test_a_bad_end_is_a_failure_with_the_end_of_what_the_client_wrote(
    stage: Stage, exit_code: int | None, what: str
) -> None:
    stage.spawner.exit_code, stage.spawner.err = exit_code, b"x" * STDERR_TAIL_CHARACTERS + b" at last \xff\n"
    outcome = stage.once(LIST)
    assert isinstance(outcome, Failure)
    assert (outcome.iteration, outcome.what, outcome.exit_code, outcome.request) == (4, what, exit_code, "")
    assert outcome.why.endswith(" at last \\xff")
    assert outcome.why.count("x") < STDERR_TAIL_CHARACTERS
    stage.spawner.err, stage.spawner.out = b"", b"to stdout"
    assert cast("Failure", stage.once(LIST)).why == "to stdout"


def test_a_client_that_was_killed_before_it_opened_its_files_timed_out(stage: Stage, tmp_path: Path) -> None:
    stage.spawner.exit_code = stage.spawner.out = stage.spawner.err = None
    outcome = stage.once(LIST, replace(SETTINGS, debug_dir=tmp_path / "debug"))
    assert isinstance(outcome, Failure)
    assert (outcome.what, outcome.why) == ("timed out after 600 s", "")


def test_the_clients_own_failure_comes_first_and_names_the_request(stage: Stage) -> None:
    stage.spawner.exit_code = 1
    stage.endpoint.log = log_of(put(error="no response is left: PUT /bucket/key"))
    outcome = stage.once(UPLOAD)
    assert isinstance(outcome, Failure)
    assert (outcome.what, outcome.request) == ("exited 1", "no response is left: PUT /bucket/key")


@pytest.mark.parametrize(
    ("log", "what"),
    [
        (log_of(put(9)), "the server received 9 of the 10 bytes of file"),
        (log_of(put(engine=TransferEngine.CRT)), "the wire shows engine `crt` where `python` was asked for"),
        (log_of(put(error="checksum mismatch")), "checksum mismatch"),
        (log_of(put(), faults=("no HTTP",)), "no HTTP"),
    ],
)
def test_what_the_wire_contradicts_is_a_failure_although_the_client_exited_0(
    stage: Stage, log: WireLog, what: str
) -> None:
    stage.endpoint.log = log
    outcome = stage.once(UPLOAD)
    assert isinstance(outcome, Failure)
    assert outcome.what.startswith(what)
    assert outcome.exit_code == 0


CRT_CONFIG = "[default]\ns3 =\n  preferred_transfer_client = crt"


@pytest.mark.parametrize(
    ("config", "dimensions", "asked"),
    [
        ("[default]", (), None),
        (CRT_CONFIG, (), "crt"),
        (CRT_CONFIG.replace("crt", "classic"), (), None),
        ("[default]", (("S3TransferClient", "CRT"),), "crt"),
    ],
)
def test_a_client_that_may_choose_must_run_the_engine_that_its_config_or_a_dimension_asks_for(
    stage: Stage, config: str, dimensions: tuple[tuple[str, str], ...], asked: str | None
) -> None:
    stage.client = replace(stage.client, kind="cli")
    stage.endpoint.log = log_of(put())
    definition = replace(UPLOAD, dimensions=dimensions, environment=replace(FIXTURE, config=config))
    outcome = stage.once(definition)
    if asked is None:
        assert isinstance(outcome, Measurement), outcome
    else:
        assert isinstance(outcome, Failure)
        assert outcome.what.startswith(f"the wire shows engine `python` where `{asked}` was asked for")


@pytest.mark.parametrize(
    ("kind", "engine", "block", "is_warned"),
    [
        ("cli-classic", TransferEngine.PYTHON, "", True),
        ("cli-classic", TransferEngine.PYTHON, "s5cmd =\n  part_size = 7MB", True),
        ("s5cmd", TransferEngine.GO, "", True),
        ("s5cmd", TransferEngine.GO, "s5cmd =\n  part_size = 7MB", False),
    ],
)
def test_a_part_size_that_the_client_did_not_take_is_a_warning(
    stage: Stage, kind: str, engine: TransferEngine, block: str, is_warned: bool
) -> None:
    stage.client = replace(stage.client, kind=kind)
    parts = [put(5, engine, query=f"partNumber={number}&uploadId=u") for number in (1, 2)]
    stage.endpoint.log = log_of(*parts, put(0, engine, method="POST", query="uploadId=u"))
    config = f"[default]\ns3 =\n  multipart_chunksize = 1MB\n{block}"
    outcome = stage.once(replace(UPLOAD, environment=replace(FIXTURE, config=config)))
    assert isinstance(outcome, Measurement), outcome
    assert outcome.warnings == ("the config asks for parts of 1 MiB, the client sent 5 B",) * is_warned


def test_of_many_errors_the_first_ones_are_kept(stage: Stage) -> None:
    stage.endpoint.log = log_of(*(put(error=f"error {number}") for number in range(ERRORS_MAX + 5)))
    outcome = stage.once(UPLOAD)
    assert isinstance(outcome, Failure)
    assert outcome.what == "error 0"
    assert outcome.why == "; ".join(f"error {number}" for number in range(1, ERRORS_MAX))


def test_a_response_left_over_is_an_error_unless_it_is_the_default_one(stage: Stage) -> None:
    stage.endpoint.log = log_of(leftover=("responses[0]: 1 of 1 instances unused",))
    assert isinstance(stage.once(LIST), Measurement)
    outcome = stage.once(replace(LIST, responses=(Response(),)))
    assert isinstance(outcome, Failure)
    assert outcome.what == "unused response: responses[0]: 1 of 1 instances unused"


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_download_is_compared_with_what_was_served(stage: Stage, is_logged: bool) -> None:
    get = put(0, method="GET", file="file", served_end=10)
    stage.endpoint.log = log_of(get) if is_logged else None
    stage.endpoint.files = {} if is_logged else {"/bucket/key": "file"}
    stage.spawner.written = {"landed": b"\0" * 10}
    assert isinstance(stage.once(DOWNLOAD), Measurement)
    stage.spawner.written = {"landed": b"\0" * 9 + b"x"}
    outcome = stage.once(DOWNLOAD)
    assert isinstance(outcome, Failure)
    assert "landed" in outcome.what


def test_an_object_from_text_is_told_and_a_listed_one_that_is_missing_is_an_error(stage: Stage) -> None:
    listing = Response(
        match=RequestMatch(path="/bucket"), body=ListingBody(directory="many", prefix="to/"), instances=None
    )
    definition = replace(
        DOWNLOAD,
        command=("s3", "cp", "s3://bucket/to", ".", "--recursive"),
        environment=Environment(file_dirs=(FixtureDir(name="many", file_count=2, file_size_bytes=3),)),
        responses=(listing, Response(match=RequestMatch(path="/bucket/to/*"), body="text", instances=None)),
    )
    gets = [put(0, method="GET", path=f"/bucket/to/file-00000{number}") for number in range(2)]
    stage.endpoint.log = log_of(*gets)
    stage.spawner.written = {"file-000000": b"text", "file-000001": b"text"}
    measured = stage.once(definition)
    assert isinstance(measured, Measurement), measured
    assert measured.warnings == ("2 objects were served from text and not compared",)
    stage.endpoint.log = log_of(gets[0])
    stage.spawner.written = {"file-000000": b"text"}
    outcome = stage.once(definition)
    assert isinstance(outcome, Failure)
    assert outcome.what == "/bucket/to/file-000001 was listed, but file-000001 is not there"


@pytest.mark.parametrize("is_read", [True, False])
def test_of_a_download_that_may_leave_out_objects_only_those_that_were_read_are_compared(
    stage: Stage, is_read: bool
) -> None:
    stage.endpoint.files = {"/bucket/key": "file"}
    stage.endpoint.log = log_of(put(0, method="GET", response_bytes=10)) if is_read else QUIET
    stage.spawner.written = {"landed": b"older"}
    outcome = stage.once(replace(DOWNLOAD, command=(*DOWNLOAD.command, "--no-overwrite")))
    assert isinstance(outcome, Failure) is is_read


@pytest.mark.parametrize("destination", ["landed", "file"])
@pytest.mark.parametrize("keep", [True, False])
def test_files_that_landed_right_are_removed_early_unless_they_are_fixtures_or_kept(
    stage: Stage, destination: str, keep: bool
) -> None:
    stage.bench.workspaces.keep = keep
    stage.endpoint.log = log_of(put(0, method="GET", file="file", served_end=10))
    definition = replace(DOWNLOAD, command=("s3", "cp", "s3://bucket/key", destination))
    stage.spawner.written = {destination: b"\0" * 10}
    with stage.runner(definition) as runner:
        assert isinstance(runner.run_once(0, SETTINGS, "name"), Measurement)
        is_removed = destination == "landed" and not keep
        assert stage.spawner.removed == [runner.workspace.work / "landed"] * is_removed


def test_files_that_landed_wrong_are_left_for_a_look(stage: Stage) -> None:
    stage.endpoint.log = log_of(put(0, method="GET", file="file", served_end=10))
    stage.spawner.written = {"landed": b"wrong"}
    assert isinstance(stage.once(DOWNLOAD), Failure)
    assert stage.spawner.removed == []


def test_the_endpoints_keys_are_masked_in_what_is_kept_even_after_ctrl_c(stage: Stage, tmp_path: Path) -> None:
    stage.endpoint.secrets = ("hunter2hunter2",)
    stage.spawner.out = stage.spawner.err = b"key=hunter2hunter2"
    stage.spawner.exit_code = 1
    settings = replace(SETTINGS, debug_dir=tmp_path / "debug")
    outcome = stage.once(LIST, settings)
    assert isinstance(outcome, Failure)
    kept = [(tmp_path / "debug" / "name" / name).read_text() for name in ("stdout", "stderr")]
    assert "hunter2" not in outcome.why + "".join(kept)
    assert all(text.startswith("key=") for text in kept)
    stage.spawner.interrupts = True
    with stage.runner(LIST) as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run_once(0, settings, "name")
        assert b"hunter2" not in stage.spawner.launches[-1].stdout.read_bytes()


def test_secrets_that_a_failed_client_wrote_are_masked_also_where_its_output_is_cut(stage: Stage) -> None:
    stage.spawner.exit_code = 1
    stage.spawner.err = b"--password hunter2" + b"hunter2" * 100 + b" " + b"x" * (STDERR_TAIL_CHARACTERS - 300)
    outcome = stage.once(LIST)
    assert isinstance(outcome, Failure)
    assert "hunter2" not in outcome.why
    assert outcome.why.startswith("--password ***")


def test_output_that_cannot_be_kept_is_a_warning(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "debug").write_text("a file where the directory has to be")
    settings = replace(SETTINGS, debug_dir=tmp_path / "debug")
    measurement = stage.once(LIST, settings)
    assert isinstance(measurement, Measurement)
    said = f"its output could not be kept: {tmp_path}/debug/name: Not a directory"
    assert measurement.warnings[-1] == said
    stage.spawner.exit_code, stage.spawner.err = 1, b"no such key"
    failure = stage.once(LIST, settings)
    assert isinstance(failure, Failure)
    assert (failure.what, failure.why) == ("exited 1", f"no such key\n{said}")


def test_probes_milestones_count_from_the_spawn(stage: Stage) -> None:
    stage.spawner.milestones = "imports_done {}\n"
    outcome = stage.once(LIST)
    assert isinstance(outcome, Measurement)
    assert outcome.milestones.imports_done == 0.5
    blind = stage.once(LIST, replace(SETTINGS, probes=False))
    assert isinstance(blind, Measurement)
    assert blind.milestones.imports_done is None


def test_a_launch_has_its_conditions_beside_the_clients_own(stage: Stage, tmp_path: Path) -> None:
    conditions = Conditions(env={"EXTRA": "1"}, prefix=("strace", "-f"), writable=(tmp_path / "trace",))
    stage.once(LIST, replace(SETTINGS, interval_s=0.5, timeout_s=7), conditions)
    stage.once(replace(LIST, timeout_s=3.0))
    first, second = stage.spawner.launches
    assert first.argv[:4] == ("strace", "-f", str(stage.client.executable), "s3api")
    assert first.env["EXTRA"] == "1"
    assert "EXTRA" not in second.env
    assert first.writable is not None
    assert {tmp_path / "trace", first.cwd} <= set(first.writable)
    assert (first.interval_s, second.interval_s, first.timeout_s, second.timeout_s) == (0.5, None, 7, 3.0)


@pytest.mark.parametrize(
    ("own_s", "changes", "expected_s"),
    [
        (None, {}, 420),
        (5.0, {}, 300),
        (5.0, {"limit_s": 30.0}, 30),
        (50.0, {"timeout_factor": 1.0, "limit_s": 9.0}, 50),
    ],
)
def test_a_run_that_is_slowed_down_has_more_time_than_its_definition_says_up_to_a_limit(
    stage: Stage, own_s: float | None, changes: dict[str, float], expected_s: float
) -> None:
    stage.once(replace(LIST, timeout_s=own_s), replace(SETTINGS, timeout_s=7, **{"timeout_factor": 60.0, **changes}))
    assert stage.spawner.launches[0].timeout_s == expected_s


def test_variables_pad_the_stack_to_the_size_asked_for(stage: Stage) -> None:
    with stage.runner(LIST) as runner:
        size = runner.stack_size(SETTINGS)
        larger = StackSize(size_bytes=size.size_bytes + 500, entries=size.entries + 3)
        runner.run_once(0, SETTINGS, "name", Conditions(env={"PYTHONHASHSEED": "1"}, stack=larger))
    (launch,) = stage.spawner.launches
    assert (stack_bytes(launch.argv, launch.env), stack_entries(launch.argv, launch.env)) == (
        larger.size_bytes,
        larger.entries,
    )


def test_the_stub_in_the_clients_process_is_for_clients_that_can_have_one(stage: Stage, tmp_path: Path) -> None:
    stage.endpoint.script = tmp_path / "script.json"
    stage.once(LIST)
    (launch,) = stage.spawner.launches
    assert launch.writable is not None
    assert tmp_path / "requests.jsonl" in launch.writable
    stage.client = replace(stage.client, kind="s5cmd")
    with pytest.raises(BadInput, match="cannot be stubbed in its own process"):
        stage.once(UPLOAD)


class NoSpawner:
    """Stands where the helper process would be started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_opening_a_bench_says_what_is_worth_knowing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "Spawner", NoSpawner)
    monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
    opened: list[Path] = []

    @contextmanager
    def endpoint(directory: Path) -> Iterator[FakeEndpoint]:
        assert directory.stat().st_mode & 0o777 == 0o700
        opened.append(directory)
        yield FakeEndpoint()

    said: list[str] = []
    with open_bench(endpoint, say=said.append) as bench:
        assert bench.root.parent == tmp_path
        assert opened == [bench.root / "server"]
    assert (said, list(tmp_path.iterdir())) == ([], [])
    with open_bench(endpoint, parent=tmp_path, keep=True, say=said.append) as bench:
        pass
    assert said == [f"the working directories stay in {bench.root}"]
    assert bench.root.exists()
