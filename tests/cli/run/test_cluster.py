"""`s3bench run --cluster`: what is refused, what it costs those who do not ask for it, and a suite on real nodes."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from s3bench.cli.main import s3bench_command
from s3bench.cli.run.options import RunOptions
from s3bench.cluster.engine import NodePurpose
from s3bench.cluster.suite.node import SuiteNode
from s3bench.errors import BadInput, ExitCode
from s3bench.results.document import Document, parse_document
from s3bench.spec.file_sizes import FileSizes
from s3bench.spec.sizes_document import LeftOut, SizesDocument, encode_sizes
from tests.cluster.node_groups import LocalNodeGroup
from tests.cluster.suite.suites import upload, written

CLUSTER = ("--cluster", "auto")


def invoked(*arguments: object) -> Any:
    return CliRunner().invoke(s3bench_command, ["run", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--nodes", "2"), "--nodes needs --cluster"),
        (("--cluster", "host:6379"), "--cluster is 'host:6379'"),
        (("--cluster", "ray://host"), "--cluster is 'ray://host'"),
        ((*CLUSTER, "--debug-dir", "kept"), "--cluster cannot be combined with --debug-dir"),
        ((*CLUSTER, "--keep-workspace"), "--cluster cannot be combined with --keep-workspace"),
        ((*CLUSTER, "--prepare", "true"), "--cluster cannot be combined with --prepare"),
        ((*CLUSTER, "--cleanup", "true"), "--cluster cannot be combined with --cleanup"),
        ((*CLUSTER, "--client", "cli-crt@./build"), "--cluster cannot be combined with --client cli-crt@./build"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_refused(arguments: tuple[str, ...], what: str) -> None:
    error = invoked(*arguments).exception
    assert isinstance(error, BadInput)
    assert error.what == what


def test_a_network_model_in_a_file_is_refused_and_one_in_words_is_not(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"ttfb": "1ms"}', encoding="utf-8")
    (tmp_path / "samples").write_text("1ms\n", encoding="utf-8")
    for network in (tmp_path / "model.json", f"ttfb=samples:{tmp_path / 'samples'}"):
        error = invoked(*CLUSTER, "--endpoint", "emulator", "--network", network).exception
        assert isinstance(error, BadInput)
        assert error.what == "--cluster cannot be combined with files in --network"
    for network in ("ttfb=1ms", "ec2:c5.large,ttfb=1ms"):
        listed = invoked(*CLUSTER, "--endpoint", "emulator", "--network", network, "--list")
        assert listed.exit_code == 0


def test_a_list_needs_no_cluster_and_is_that_of_one_machine() -> None:
    assert invoked(*CLUSTER, "--list").stdout == invoked("--list").stdout


def test_nodes_are_given_the_values_of_every_setting_that_varies(tmp_path: Path) -> None:
    from s3bench.cli.run import cluster, command  # noqa: PLC0415 (as the command does)

    typed = command.run_command.make_context("run", [*CLUSTER, "-P", "multipart_chunksize", "8MB", "9MB"]).params
    words = tuple(cluster._words(RunOptions.of(typed)))
    at = words.index("--parameter-list")
    assert words[at : at + 3] == ("--parameter-list", "multipart_chunksize", "8MB,9MB")


def test_who_asks_for_no_cluster_imports_nothing_of_it() -> None:
    told = (
        "import sys; from s3bench.cli.main import s3bench_command\n"
        "s3bench_command(['run', '--list', '-q'], standalone_mode=False)\n"
        "sys.exit(any(name.startswith(('s3bench.cluster', 's3bench.load', 'ray')) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", told], check=True, capture_output=True)


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two real nodes in this process, in the place of those that Ray would place."""

    @contextmanager
    def connected(
        address: str, *, nodes: int | None, purpose: NodePurpose, is_over: Callable[[], bool]
    ) -> Iterator[LocalNodeGroup]:
        assert not is_over()
        assert (address, nodes, purpose) == ("auto", None, NodePurpose.SUITE)
        with ExitStack() as stack:
            nodes = [SuiteNode(), SuiteNode()]
            for node in nodes:
                stack.callback(node.close)
            yield LocalNodeGroup(nodes)

    import s3bench.cli.run.cluster  # noqa: PLC0415 (as the command does)

    monkeypatch.setattr(s3bench.cli.run.cluster, "connect", connected)


def run_to(output: Path, *arguments: object) -> Document:
    finished = invoked(*arguments, "-o", output)
    assert finished.exit_code == ExitCode.DONE, finished.output
    return parse_document(output.read_bytes(), source="output")


def test_a_suite_on_two_nodes_has_the_results_of_one_machine_and_no_pair_is_split(
    two_nodes: None, tmp_path: Path
) -> None:
    pair = upload("up", 1000, clients=["s5cmd", "crt-python"])
    file = written(tmp_path, *(upload("up", size, clients=["s5cmd"]) for size in (2000, 3000)), pair)
    options = (file, "-n", "1", "--client", "crt-python", "--client", "s5cmd", "-k", "up")
    shared = run_to(tmp_path / "many.json", *CLUSTER, "--nodes", "2", *options)
    alone = run_to(tmp_path / "one.json", *options)
    assert [result.identity for result in shared.results] == [result.identity for result in alone.results]
    assert [len(result.measurements) for result in shared.results] == [1] * 4
    assert shared.clients == alone.clients
    assert shared.machine["cpu_model"] == alone.machine["cpu_model"]
    cluster = shared.options["cluster"]
    assert {key: value for key, value in shared.options.items() if key != "cluster"} == alone.options
    assert {unit["node"] for unit in cluster["units"]} == {"node-1", "node-2"}
    assert [unit["chunk_id"] for unit in cluster["units"]] == [0, 1, 2]
    compared = CliRunner().invoke(s3bench_command, ["compare", str(tmp_path / "one.json"), str(tmp_path / "many.json")])
    assert compared.exit_code == ExitCode.DONE, compared.output


def test_a_chunk_of_a_suite_is_shared_too_and_nodes_have_the_files_of_sizes_beside_their_definitions(
    two_nodes: None, tmp_path: Path
) -> None:
    sizes = SizesDocument.of(FileSizes(counts=((1000, 2), (2000, 1))), folders=1, left_out=LeftOut())
    (tmp_path / "sizes.json").write_bytes(encode_sizes(sizes))
    command = ["s3", "cp", "files", "s3://bucket/files", "--recursive"]
    like = upload("like", 0, clients=["s5cmd"]) | {"command": command, "environment": {"like": "sizes.json"}}
    file = written(tmp_path, *(upload("up", size, clients=["s5cmd"]) for size in (1000, 2000)), like)
    document = run_to(tmp_path / "out.json", *CLUSTER, file, "--num-chunks", "2", "--chunk-id", "0")
    assert [result.name for result in document.results] == ["up", "like"]
    assert [unit["chunk_id"] for unit in document.options["cluster"]["units"]] == [0, 2]
    measured = [each.wire.bytes_received for result in document.results for each in result.measurements if each.wire]
    assert measured == [1000, 4000]


def test_a_client_that_fails_is_an_error_of_its_result_and_exit_code_4(two_nodes: None, tmp_path: Path) -> None:
    bad = upload("bad", 1000, clients=["s5cmd"]) | {"timeout": 0.001}
    file = written(tmp_path, bad, upload("up", 1000, clients=["s5cmd"]))
    output = tmp_path / "out.json"
    assert invoked(*CLUSTER, file, "-o", output).exit_code == ExitCode.CLIENT_FAILED
    failed, good = json.loads(output.read_bytes())["results"]
    assert (failed["status"], good["status"]) == ("failed", "complete")
    told = invoked(*CLUSTER, file, "-q", "-o", tmp_path / "quiet.json").stderr
    assert told.startswith("s3bench: bad FileSize=1000 B on s5cmd@")
    assert told.endswith(": 1 failed: timed out after 0.001 s\n")
    assert told.count("\n") == 1
