"""The probe that counts calls, in real interpreters, by itself, by way of the plug-in and of our driver."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from s3bench.profiling.call_counts import CallCounts, CountedFrom, parse_call_counts
from s3bench.run.inspection import inspection_variables
from tests.clients.conftest import PYTHONS
from tests.clients.test_inspection_probe import PROBES, attempt, drive

COUNTED = """
import sys
sys.path.insert(0, {probes!r})
from s3bench_probe import call_counts
import os, threading, time
call_counts.install("imports")
{work}
"""
WORK = """
def poll():
    os.stat("/")
def items():
    yield 1
    yield 2
class Client:
    def start(self):
        for item in items():
            poll()
def run():
    lock = threading.Lock()
    for _ in range(5):
        with lock:
            Client().start()
    time.sleep(0)
def imports():
    import colorsys
thread = threading.Thread(target=run)
thread.start()
thread.join()
imports()
imports()
"""


def counted(work: str, file: Path, *, python: str = sys.executable, status: int = 0) -> CallCounts:
    done = subprocess.run(
        [python, "-c", COUNTED.format(probes=str(PROBES), work=work)],
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **inspection_variables(call_counts_file=file)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    return parse_call_counts(file.read_text())


def calls(counts: CallCounts) -> Counter[tuple[str, str]]:
    """Calls by the names of caller and callee; the class is left out of the name, which Python before 3.11 lacks."""
    names = [f"{each.module}:{each.function.rpartition('.')[2]}" for each in counts.functions]
    found: Counter[tuple[str, str]] = Counter()
    for edge in counts.edges:
        found["" if edge.caller is None else names[edge.caller], names[edge.callee]] += edge.count
    return found


@pytest.mark.parametrize("python", PYTHONS, indirect=True)
def test_calls_in_all_threads_are_counted_by_caller_in_every_python(python: str, tmp_path: Path) -> None:
    counts = counted(WORK, tmp_path / "c", python=python)
    found = calls(counts)
    assert found["__main__:poll", "os:stat"] == 10
    assert found["__main__:start", "__main__:poll"] == 10
    assert found["__main__:run", "__main__:start"] == 5
    assert found["__main__:start", "__main__:items"] == 5, "a generator that goes on is not called again"
    assert found["__main__:run", "time:sleep"] == 1
    assert found["__main__:<module>", "__main__:imports"] == 2
    assert counts.counted_from is CountedFrom.IMPORTS


def test_an_import_is_a_call_by_the_function_with_the_statement_and_the_import_system_is_left_out(
    tmp_path: Path,
) -> None:
    counts = counted(WORK, tmp_path / "c")
    found = calls(counts)
    assert found["__main__:imports", "colorsys:<module>"] == 1
    assert not [pair for pair in found if "importlib" in pair[1] or "s3bench" in pair[0] + pair[1]]
    [colorsys] = [each for each in counts.functions if each.name == "colorsys:<module>"]
    assert colorsys.file == "colorsys.py"


def test_a_finder_of_modules_is_counted_as_called_by_the_import_system(tmp_path: Path) -> None:
    work = "class Finder:\n    def find_spec(*_): return None\nsys.meta_path.insert(0, Finder)\nimport colorsys"
    found = calls(counted(work, tmp_path / "c"))
    assert [count for pair, count in found.items() if pair[1] == "__main__:find_spec"] == [1]


def test_the_line_is_that_of_the_call(tmp_path: Path) -> None:
    counts = counted("def f():\n    pass\nf()\nf(); f()", tmp_path / "c")
    names = [each.name for each in counts.functions]
    lines = {edge.line: edge.count for edge in counts.edges if names[edge.callee] == "__main__:f"}
    first = COUNTED.split("{work}", maxsplit=1)[0].count("\n") + 1
    assert lines == {first + 2: 1, first + 3: 2}


def test_code_that_is_executed_from_a_string_is_no_import(tmp_path: Path) -> None:
    found = calls(counted("def f():\n    exec('1', {'__name__': 'os'})\nf()", tmp_path / "c"))
    assert found["__main__:f", "os:<exec>"] == 1
    assert not [pair for pair in found if pair[1] == "os:<module>"]


def test_what_the_client_returns_raises_and_holds_is_as_without(tmp_path: Path) -> None:
    work = """
import gc, weakref
class Held: pass
held = Held()
gone = weakref.ref(held)
bound = [].append
def use(value):
    bound(1)
    raise KeyError(len("x"))
try:
    use(held)
except KeyError as error:
    assert error.args == (1,)
del held
assert gone() is None
sys.exit(7)
"""
    assert calls(counted(work, tmp_path / "c", status=7))["__main__:<module>", "__main__:use"] == 1


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    work = "def child():\n    pass\nif os.fork() == 0:\n    child()\n    sys.exit()\nos.wait()"
    assert not [pair for pair in calls(counted(work, tmp_path / "c")) if "child" in pair[1]]


def test_names_with_tabs_and_line_ends_are_written_as_one_line(tmp_path: Path) -> None:
    work = "exec(compile('def f(): pass', 'a\\tb\\nf\\t9', 'exec'), env := {'__name__': 'm\\te\\n0'})\nenv['f']()"
    assert calls(counted(work, tmp_path / "c"))["__main__:<module>", "m e 0:f"] == 1


def test_the_plug_in_counts_from_itself_on(tmp_path: Path) -> None:
    variables = inspection_variables(call_counts_file=tmp_path / "c")
    done = attempt(variables, work="def f(): json.dumps(1)\nf(); f()")
    assert done.returncode == 0, done.stderr
    counts = parse_call_counts((tmp_path / "c").read_text())
    assert calls(counts)["__main__:f", "json:dumps"] == 2
    assert counts.counted_from is CountedFrom.PLUG_IN


def test_a_client_that_was_killed_writes_no_counts(tmp_path: Path) -> None:
    attempt(inspection_variables(call_counts_file=tmp_path / "c"), work="import os; os.kill(os.getpid(), 9)")
    assert (tmp_path / "c").read_text() == ""


def test_the_driver_counts_from_the_sdks_first_import_on(tmp_path: Path) -> None:
    done = drive(inspection_variables(call_counts_file=tmp_path / "c"), tmp_path, "crt-python")
    assert "absent" in done.stderr
    counts = parse_call_counts((tmp_path / "c").read_text())
    found = calls(counts)
    assert found["awscrt.auth:<module>", "awscrt.http:<module>"] == 1
    assert found["s3bench_driver_backend:_make_client", "awscrt.s3:__init__"] == 1
    assert counts.counted_from is CountedFrom.IMPORTS


def test_a_python_that_is_started_with_the_early_directory_counts_from_its_start_on(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("HIDDEN = True")
    work = "import os, sys, sitecustomize, colorsys; print(sitecustomize.HIDDEN, os.environ['PYTHONPATH'], sys.path)"
    path = [str(PROBES / "early"), str(PROBES), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", work],
        env={"PYTHONPATH": ":".join(path), **inspection_variables(call_counts_file=tmp_path / "c")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"True {PROBES}:{tmp_path} ")
    assert path[0] not in done.stdout
    counts = parse_call_counts((tmp_path / "c").read_text())
    assert calls(counts)["__main__:<module>", "colorsys:<module>"] == 1
    assert counts.counted_from is CountedFrom.IMPORTS
