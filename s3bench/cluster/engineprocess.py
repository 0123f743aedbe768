"""The engine in a process of its own, so that nothing that it does can hold up or end the driver.

Owns that process and the talk with it. Ray's core ends its process when the machine's Ray is gone, and calls of Ray's
client wait for a lost network without a bound: here both are nodes that do not answer.
"""

import contextlib
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

import s3bench
from s3bench.cluster.control import Answer, Answers, Ask, Connected, EngineChannel
from s3bench.cluster.engine import NodePurpose
from s3bench.cluster.host import END_S
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import BadInput
from s3bench.s3.control import Refused
from s3bench.s3.frames import ChannelClosed

CONNECT_S = 90.0
"""How long connecting and the placing of a process on each node may last."""

_SLACK_S = 0.2  # for the engine's own part of an answer
_TALK_S = 5.0
_STDERR_BYTES = 2000

# Isolated mode hides the current directory, so a source tree that is not installed is added, last.
_START = (
    "import sys, runpy; sys.path.append(sys.argv.pop(1)); runpy.run_module('s3bench.cluster.host', run_name='__main__')"
)


class EngineNodeGroup:
    """The nodes behind an engine's process; see `fleet.Fleet`. `hosts` are their addresses, in the nodes' order.

    When the process ends all nodes are gone, and when it hangs they are silent.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, stderr: IO[bytes]) -> None:
        self._process = process
        self._stderr = stderr
        self._channel = EngineChannel(control)
        self._readable = select.poll()
        self._readable.register(control, select.POLLIN)
        self._is_owed = False  # an answer, to a question that was given up
        connected = self._connected()
        self.hosts = connected.hosts
        self.nodes = len(connected.hosts)
        self.facts: Mapping[str, object] = connected.facts

    def ask(self, question: str, told: Mapping[int, tuple[object, ...]], *, limit_s: float) -> Mapping[int, Any]:
        """Ask several nodes the same at once; their answers, or `NodeGone`."""
        if not told:
            return {}
        until_s = time.monotonic() + limit_s + _SLACK_S
        try:
            if self._is_owed and self._answer(until_s) is None:
                return {}
            self._channel.send(Ask(question=question, told=dict(told), limit_s=limit_s), limit_s=_TALK_S)
            answer = self._answer(until_s)
        except ChannelClosed:
            return dict.fromkeys(told, NodeGone(self._last_words()))
        if answer is None:
            return {}
        assert isinstance(answer, Answers), answer
        return {**answer.answers, **{node: NodeGone(why) for node, why in answer.gone.items()}}

    def _connected(self) -> Connected:
        """Wait for the engine to have placed its processes. Raises `BadInput`."""
        try:
            answer = self._answer(time.monotonic() + CONNECT_S)
        except ChannelClosed:
            raise BadInput("there is no cluster to be used", self._last_words()) from None
        if answer is None:
            raise BadInput(
                f"the cluster did not come into use within {CONNECT_S:g} s",
                fix="see whether Ray is well there (`ray status`), and whether this machine reaches all its ports",
            )
        if isinstance(answer, Refused):
            raise answer.error()
        assert isinstance(answer, Connected), answer
        return answer

    def _answer(self, until_s: float) -> Answer | None:
        """The next answer, or `None` where none has begun to come by then: it is owed."""
        self._is_owed = not self._readable.poll(max(0.0, until_s - time.monotonic()) * 1e3)
        return None if self._is_owed else self._channel.receive_answer(limit_s=_TALK_S)

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._stderr.seek(0, 2)
        self._stderr.seek(max(0, self._stderr.tell() - _STDERR_BYTES))
        said = " ".join(self._stderr.read().decode("utf-8", "replace").split())
        return f"Ray's process on this machine ended with exit code {self._process.returncode}: {said or 'no word'}"


@contextlib.contextmanager
def connect(address: str, *, nodes: int | None, purpose: NodePurpose = NodePurpose.LOAD) -> Iterator[EngineNodeGroup]:
    """Place a process on each of `nodes` machines of the cluster at `address`, as `engine.connect` does.

    They are ended with the context, within a bounded time. Raises `BadInput` where there is no cluster to be used.
    """
    with contextlib.ExitStack() as stack:
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        stderr = stack.enter_context(tempfile.TemporaryFile())
        root = str(Path(s3bench.__file__).parent.parent)
        with theirs:
            told = {"control": theirs.fileno(), "address": address, "nodes": nodes, "purpose": purpose}
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, root, msgspec.json.encode(told).decode()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is the driver's
            )
        stack.callback(_end, process, ours)
        yield EngineNodeGroup(process, ours, stderr)


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    """Close the channel, on which the process takes leave of the cluster; kill it where it does not."""
    ours.close()
    try:
        process.wait(END_S + _TALK_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
