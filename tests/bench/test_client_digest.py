"""Results name their clients as the document does, so that they have the digest of the program."""

from pathlib import Path

from s3bench.bench.runner import Settings
from s3bench.bench.suite import ReadyCell, run_suite
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import Cell, Plan
from s3bench.results.document import Client, Document
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import ScriptedBench, client


def test_a_result_has_the_client_of_the_document(tmp_path: Path) -> None:
    found = client(tmp_path, "9")
    cell = Cell(definition=Definition(name="list", command=("s3", "ls")), client=ClientSpec(kind="s5cmd", version="9"))
    named = Client(name="s5cmd", version="9", label=found.label, digest="0123456789abcdef")
    document = Document(s3bench="0", started_at="now", clients=(named,))
    plan = Plan(cells=(cell,), iterations=1, warmup=0, skipped=())
    ready = (ReadyCell(cell=cell, client=found),)
    *_, last = run_suite(ScriptedBench(root=tmp_path), ready, Settings(interval_s=None), plan, document, audit=False)
    assert last.document.results[0].client == named
