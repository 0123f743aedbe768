"""An engine's process that answers, is slow, hangs or ends: its nodes are there, silent or gone, and nobody waits."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from s3bench.cluster.engineprocess import EngineNodeGroup, connect
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import BadInput, ExitCode
from s3bench.system.child import ChildProcess

TOLD = {0: (1, {"path": b"data"}), 1: ()}
ANSWERS = {0: "here", 1: NodeGone("it was ended")}

ENGINE = """
import sys
from s3bench.cluster.control import NodeResults, Connected, engine_channel
from s3bench.s3.control import RemoteError
from s3bench.system.channel import ChannelClosed
from s3bench.system.child import take_control
channel = engine_channel(take_control())
if sys.argv[1:]:
    channel.send(RemoteError(what=sys.argv[1], why="why", fix="fix", bad_input=True), limit_s=9)
    sys.exit()
channel.send(Connected(hosts=("10.0.0.1", "10.0.0.2"), facts={"engine": "none"}), limit_s=9)
try:
    while (ask := channel.receive(limit_s=60)).method != "end":
        channel.send(NodeResults(results={0: ask.method}, gone={1: "it was ended"}), limit_s=9)
    sys.exit("these were its last words")
except ChannelClosed:
    pass
"""


class Engine:
    """A process that talks as `s3bench.cluster.host` does, and says what it is asked."""

    def __init__(self, stack: ExitStack, *arguments: str) -> None:
        stderr = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        self.process = ChildProcess((sys.executable, "-c", ENGINE, *arguments), stderr=stderr)
        stack.callback(self.process.end, 0.01)

    @property
    def node_group(self) -> EngineNodeGroup:
        return EngineNodeGroup(self.process)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_nodes_answer_through_the_engines_process(stack: ExitStack) -> None:
    node_group = Engine(stack).node_group
    assert (node_group.nodes, node_group.hosts, node_group.facts) == (2, ("10.0.0.1", "10.0.0.2"), {"engine": "none"})
    assert node_group.call("here", TOLD, limit_s=20) == ANSWERS
    assert node_group.call("here", {}, limit_s=0) == {}


def test_while_the_process_hangs_all_nodes_are_silent_and_a_late_answer_is_no_answer_to_the_next_question(
    stack: ExitStack,
) -> None:
    engine = Engine(stack)
    node_group = engine.node_group
    os.kill(engine.process.pid, signal.SIGSTOP)
    assert node_group.call("before", TOLD, limit_s=0.01) == {}
    assert node_group.call("between", TOLD, limit_s=0.01) == {}
    os.kill(engine.process.pid, signal.SIGCONT)
    assert node_group.call("here", TOLD, limit_s=20) == ANSWERS


def test_when_the_process_ends_all_nodes_are_gone_with_its_last_words(stack: ExitStack) -> None:
    node_group = Engine(stack).node_group
    for _ in range(2):
        answers = node_group.call("end", TOLD, limit_s=20)
        assert answers.keys() == TOLD.keys()
        assert {each.why for each in answers.values()} == {
            "Ray's process on this machine ended with exit code 1: these were its last words"
        }


def test_why_there_is_no_cluster_is_said_by_the_process(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="no cluster here") as raised:
        _ = Engine(stack, "no cluster here").node_group
    assert (raised.value.why, raised.value.fix) == ("why", "fix")
    monkeypatch.setattr("s3bench.cluster.engineprocess.CONNECT_S", 0.0)
    with pytest.raises(BadInput, match="the cluster was not usable within 0 s"):
        _ = Engine(stack).node_group


def test_a_stop_ends_the_wait_for_a_cluster_and_the_process_with_it(stack: ExitStack) -> None:
    stderr = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
    process = ChildProcess((sys.executable, "-c", "import time; time.sleep(600)"), stderr=stderr)
    stack.callback(process.end, 0.01)
    stops = iter((False, True))
    with pytest.raises(KeyboardInterrupt):
        EngineNodeGroup(process, is_over=lambda: next(stops))
    code, _ = process.how_it_ended()
    assert code == -signal.SIGKILL


def test_a_stop_ends_the_wait_for_a_response_and_the_process_with_it(stack: ExitStack) -> None:
    engine = Engine(stack)
    node_group = engine.node_group
    os.kill(engine.process.pid, signal.SIGSTOP)
    stops = iter((False, True))
    with pytest.raises(KeyboardInterrupt):
        node_group.call("look", TOLD, limit_s=600, is_over=lambda: next(stops))
    code, _ = engine.process.how_it_ended()
    assert code == -signal.SIGKILL
    assert all(isinstance(each, NodeGone) for each in node_group.call("close", TOLD, limit_s=20).values())


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 's3bench[cluster]'")
    with pytest.raises(BadInput, match=r"--cluster ray://127\.0\.0\.1:1: no usable Ray cluster") as raised:  # noqa: SIM117
        with connect("ray://127.0.0.1:1", nodes=None):
            pass
    assert "Connection refused" in raised.value.why
    assert raised.value.exit_code is ExitCode.BAD_INPUT
