from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import Plan, expected_engine, parse_client_spec, plan_runs
from s3bench.errors import BadInput
from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.definition import Definition, Environment
from s3bench.spec.suite import Suite

CRT_CONFIG = Environment(config="[default]\ns3 =\n preferred_transfer_client = crt")
DEFINITIONS = (
    Definition(
        name="s3.cp.upload",
        command=("s3", "cp", "a", "s3://b/k"),
        dimensions=(("FileSize", "32MB"),),
        clients=("s5cmd", "cli-classic", "cli-crt"),
        tags=("default",),
    ),
    Definition(name="s3.sync.download", command=("s3", "sync", "s3://b", "."), environment=CRT_CONFIG, tags=("full",)),
    Definition(name="sqs.send", command=("sqs", "send-message"), tags=("default",)),
)


def specs(*texts: str) -> tuple[ClientSpec, ...]:
    return tuple(parse_client_spec(text) for text in texts)


def plan(
    *clients: str,
    select: str | None = None,
    num_chunks: int = 1,
    chunk_id: int = 0,
    definitions: tuple[Definition, ...] = DEFINITIONS,
    suite: Suite = Suite.FULL,
) -> Plan:
    return plan_runs(
        definitions,
        clients=specs(*clients),
        suite=suite,
        select=select,
        num_chunks=num_chunks,
        chunk_id=chunk_id,
        iterations=2,
        warmup=1,
    )


def cells(planned: Plan) -> list[str]:
    return [f"{cell.definition.name} {cell.client}" for cell in planned.cells]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("s5cmd", ClientSpec(kind="s5cmd")),
        ("cli-crt@2.38.5", ClientSpec(kind="cli-crt", version="2.38.5")),
        ("cli@2.0.0rc1", ClientSpec(kind="cli", version="2.0.0rc1")),
        ("boto3-crt@/path/to/env", ClientSpec(kind="boto3-crt", path="/path/to/env")),
        ("cli@./a@b", ClientSpec(kind="cli", path="./a@b")),
        ("cli@~/env", ClientSpec(kind="cli", path="~/env")),
    ],
)
def test_a_client_is_a_name_with_a_version_or_a_path(text: str, spec: ClientSpec) -> None:
    assert parse_client_spec(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("cli-ctr", "`cli-ctr`: there is no client `cli-ctr`", "did you mean `cli-crt`? The clients are `cli`, "),
        ("", "``: there is no client ``", "The clients are `cli`, "),
        ("S5CMD@1", "`S5CMD@1`: there is no client `S5CMD`", "did you mean `s5cmd`? "),
        ("cli@", "`cli@`: `` is neither a version nor a path", "write `cli@2.38.5`, or `cli@./directory`"),
        ("cli@latest", "`cli@latest`: `latest` is neither a version nor a path", "write `cli@2.38.5`, "),
        ("cli@2.38.5 ", "`cli@2.38.5 `: `2.38.5 ` is neither a version nor a path", "write `cli@2.38.5`, "),
    ],
)
def test_a_client_that_is_none_is_told_with_the_nearest(text: str, what: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_client_spec(text)
    assert caught.value.what == what
    assert caught.value.fix.startswith(fix)


def test_without_a_choice_definitions_run_on_the_clients_they_name_or_on_cli() -> None:
    planned = plan()
    assert cells(planned) == [
        "s3.cp.upload s5cmd",
        "s3.cp.upload cli-classic",
        "s3.cp.upload cli-crt",
        "s3.sync.download cli",
        "sqs.send cli",
    ]
    assert planned.skipped == ()
    assert (planned.iterations, planned.warmup) == (2, 1)


def test_chosen_clients_run_what_names_them_and_what_names_none_and_does_not_contradict() -> None:
    planned = plan("cli-classic@2.30.0", "cli-classic", "s5cmd")
    assert cells(planned) == [
        "s3.cp.upload cli-classic@2.30.0",
        "s3.cp.upload cli-classic",
        "s3.cp.upload s5cmd",
        "sqs.send cli-classic@2.30.0",
        "sqs.send cli-classic",
    ]
    assert planned.skipped == (
        "s3.sync.download is not run on cli-classic@2.30.0: the config asks for cli-crt",
        "s3.sync.download is not run on cli-classic: the config asks for cli-crt",
        "s3.sync.download and 1 more are not run on s5cmd: the definition names no `clients`, so only aws-cli runs it",
    )


def test_a_client_that_a_definition_does_not_name_is_skipped() -> None:
    planned = plan("cli")
    assert cells(planned) == ["s3.sync.download cli", "sqs.send cli"]
    assert planned.skipped == (
        "s3.cp.upload FileSize=32MB is not run on cli: the definition names s5cmd, cli-classic, cli-crt",
    )


def test_what_was_not_selected_is_not_told_to_be_without_a_client_too() -> None:
    planned = plan("s5cmd", "cli", select="cp")
    assert planned.skipped == (
        "s3.cp.upload FileSize=32MB is not run on cli: the definition names s5cmd, cli-classic, cli-crt",
        "2 benchmarks not selected by -k cp",
    )


def test_a_client_chosen_twice_runs_once() -> None:
    assert cells(plan("s5cmd", "s5cmd")) == ["s3.cp.upload s5cmd"]


def test_a_client_that_nothing_runs_on_is_bad_input() -> None:
    with pytest.raises(BadInput) as caught:
        plan("boto3-crt")
    assert caught.value.what == "no benchmark runs on boto3-crt"
    assert "the definition names s5cmd, cli-classic, cli-crt" in caught.value.why
    assert caught.value.fix == (
        "select one of cli, cli-classic, cli-crt, obstore, rclone, s5cmd; or add the client to `clients`"
    )


def test_a_client_that_a_dimension_excludes_is_not_to_be_selected_nor_added() -> None:
    dimensions = (("S3TransferClient", "Classic"),)
    named = ("cli-classic", "s5cmd")
    classic = replace(DEFINITIONS[0], dimensions=dimensions, clients=named)
    with pytest.raises(BadInput) as caught:
        plan_runs((classic,), clients=(parse_client_spec("cli-crt"),))
    assert caught.value.why == "the dimension S3TransferClient is Classic"
    assert caught.value.fix == "select one of cli-classic"


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("upload and crt", ["s3.cp.upload cli-crt"]),
        ("s5cmd or full", ["s3.cp.upload s5cmd", "s3.sync.download cli"]),
        ("32mb and not s5cmd", ["s3.cp.upload cli-classic", "s3.cp.upload cli-crt"]),
        ("not s3", ["sqs.send cli"]),
    ],
)
def test_a_selection_looks_at_name_dimensions_client_and_tags(select: str, expected: list[str]) -> None:
    assert cells(plan(select=select)) == expected


def test_what_is_not_selected_is_counted() -> None:
    assert plan(select="sync").skipped == ("2 benchmarks not selected by -k sync",)


def test_nothing_selected_is_bad_input_with_what_is_near() -> None:
    with pytest.raises(BadInput) as caught:
        plan(select="sqs.sned and defualt")
    assert str(caught.value) == ("-k sqs.sned and defualt: no benchmark is selected\nnear are `sqs.send` or `default`")
    with pytest.raises(BadInput, match=r"there are `s3\.cp\.upload`, `s3\.sync\.download` or `sqs\.send`; s3bench run"):
        plan(select="zzzzzzzz")


def test_the_transfer_client_that_results_show_can_be_selected() -> None:
    assert cells(plan(select="S3TransferClient=CRT")) == ["s3.cp.upload cli-crt"]
    assert cells(plan(select='"s3.cp.upload FileSize=32MB S3TransferClient=Classic"')) == ["s3.cp.upload cli-classic"]


@pytest.mark.parametrize(
    ("word", "config", "runs", "skipped"),
    [
        ("CRT", "", ["cli", "cli-crt"], ["cli-classic"]),
        ("Classic", "", ["cli", "cli-classic"], ["cli-crt"]),
        ("mine", "", ["cli", "cli-classic", "cli-crt"], []),
        ("CRT", CRT_CONFIG.config, ["cli", "cli-crt"], ["cli-classic"]),
    ],
)
def test_a_client_that_contradicts_the_dimension_of_the_transfer_client_is_not_run(
    word: str, config: str, runs: list[str], skipped: list[str]
) -> None:
    definition = Definition(
        name="up",
        command=("s3", "cp", "a", "s3://b/k"),
        dimensions=(("S3TransferClient", word),),
        environment=Environment(config=config),
    )
    planned = plan("cli", "cli-classic", "cli-crt", definitions=(definition,))
    assert cells(planned) == [f"up {kind}" for kind in runs]
    label = f"up S3TransferClient={word}"
    assert planned.skipped == tuple(
        f"{label} is not run on {kind}: the dimension S3TransferClient is {word}" for kind in skipped
    )


@pytest.mark.parametrize(
    ("kind", "config", "word", "engine"),
    [
        ("cli", "", None, None),
        ("cli", "", "mine", None),
        ("cli", "", "CRT", TransferEngine.CRT),
        ("cli", "", "Classic", TransferEngine.PYTHON),
        ("cli", CRT_CONFIG.config, None, TransferEngine.CRT),
        ("cli", CRT_CONFIG.config.replace("crt", "default"), None, TransferEngine.PYTHON),
        ("cli", CRT_CONFIG.config.replace("crt", "auto"), None, None),
        ("cli-classic", "", None, TransferEngine.PYTHON),
        ("s5cmd", CRT_CONFIG.config, None, TransferEngine.GO),
    ],
)
def test_the_engine_that_has_to_run_is_the_clients_the_configs_or_the_dimensions(
    kind: str, config: str, word: str | None, engine: TransferEngine | None
) -> None:
    dimensions = () if word is None else (("S3TransferClient", word),)
    definition = Definition(
        name="up",
        command=("s3", "cp", "a", "s3://b/k"),
        dimensions=dimensions,
        environment=Environment(config=config),
    )
    assert expected_engine(definition, kind) == engine


def test_a_dimension_that_is_not_there_is_told_with_the_nearest_one() -> None:
    with pytest.raises(BadInput, match=r"near are `FileSize=32MB`"):
        plan(select="FileSize=3MB")


def test_a_selection_is_made_from_the_suite_and_says_what_only_the_full_one_has() -> None:
    everything = (*DEFINITIONS, Definition(name="s3.cp.big", command=("s3", "cp", "b", "s3://b/k"), tags=("full",)))
    planned = plan(select="cp", definitions=everything, suite=Suite.DEFAULT)
    assert set(cells(planned)) == {f"s3.cp.upload {client}" for client in ("s5cmd", "cli-classic", "cli-crt")}
    assert planned.skipped == (
        "1 benchmark not selected by -k cp",
        "1 benchmark selected by -k cp only with --suite full",
    )
    assert "s3.cp.big cli" in cells(plan(select="cp", definitions=everything))


@pytest.mark.parametrize(
    ("clients", "select", "definitions", "what"),
    [
        ((), "sync", DEFINITIONS, "the default suite has no benchmark for -k sync"),
        ((), None, DEFINITIONS[1:2], "the default suite has no benchmark"),
        (("cli-crt",), None, DEFINITIONS[1:2], "the default suite has no benchmark that runs on cli-crt"),
    ],
)
def test_what_only_the_full_suite_has_is_bad_input_that_names_the_option(
    clients: tuple[str, ...], select: str | None, definitions: tuple[Definition, ...], what: str
) -> None:
    with pytest.raises(BadInput) as caught:
        plan(*clients, select=select, definitions=definitions, suite=Suite.DEFAULT)
    assert (caught.value.what, caught.value.why, caught.value.fix) == (
        what,
        "only the full suite has: s3.sync.download",
        "add --suite full",
    )
    assert plan(*clients, select=select, definitions=definitions).cells


def test_no_definitions_are_bad_input() -> None:
    with pytest.raises(BadInput, match="no benchmarks"):
        plan(definitions=())


@pytest.mark.parametrize(
    ("num_chunks", "chunk_id", "what"),
    [
        (0, 0, "--num-chunks is 0"),
        (2, 2, "--chunk-id is 2, with --num-chunks 2"),
        (2, -1, "--chunk-id is -1, with --num-chunks 2"),
    ],
)
def test_a_chunk_that_is_not_there_is_bad_input(num_chunks: int, chunk_id: int, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        plan(num_chunks=num_chunks, chunk_id=chunk_id)
    assert caught.value.what == what


def _many(count: int) -> tuple[Definition, ...]:
    return tuple(
        Definition(name=f"b{at}", command=("s3", "ls"), clients=("cli-classic", "cli-crt")[: 1 + at % 2])
        for at in range(count)
    )


@given(count=st.integers(1, 40), num_chunks=st.integers(1, 12))
def test_chunks_are_even_disjoint_and_together_everything(count: int, num_chunks: int) -> None:
    definitions = _many(count)
    whole = cells(plan(definitions=definitions))
    chunks = [plan(definitions=definitions, num_chunks=num_chunks, chunk_id=chunk_id) for chunk_id in range(num_chunks)]
    assert sorted(_flat(chunks, cells)) == sorted(whole)
    sizes = [len({cell.definition for cell in chunk.cells}) for chunk in chunks]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1


def _flat(chunks: Iterable[Plan], each: Callable[[Plan], list[str]]) -> list[str]:
    return [item for chunk in chunks for item in each(chunk)]


def test_a_chunk_says_what_the_others_have() -> None:
    assert plan(num_chunks=2, chunk_id=1).skipped == ("2 benchmarks in other chunks than 1 of 2",)
