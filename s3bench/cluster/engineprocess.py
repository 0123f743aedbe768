"""The engine in a process of its own, so that nothing that it does can hold up or end the driver.

Owns that process and the talk with it. Ray's core ends its process when the machine's Ray is gone, and calls of Ray's
client wait for a lost network without a bound: here both are nodes that do not answer.
"""

import contextlib
import select
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from s3bench.cluster.control import Answer, Answers, Ask, Connected, driver_channel
from s3bench.cluster.engine import NodePurpose
from s3bench.cluster.host import END_S
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import BadInput
from s3bench.s3.control import Refused
from s3bench.system.channel import ChannelClosed
from s3bench.system.child import ChildProcess, module_command

CONNECT_S = 90.0
"""How long connecting and the placing of a process on each node may last."""

_SLACK_S = 0.2  # for the engine's own part of an answer
_TALK_S = 5.0


class EngineNodeGroup:
    """The nodes behind an engine's process; see `fleet.Fleet`. `hosts` are their addresses, in the nodes' order.

    When the process ends all nodes are gone, and when it hangs they are silent.
    """

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._channel = driver_channel(process.control)
        self._readable = select.poll()
        self._readable.register(process.control, select.POLLIN)
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
        return None if self._is_owed else self._channel.receive(limit_s=_TALK_S)

    def _last_words(self) -> str:
        code, last_words = self._process.how_it_ended()
        return f"Ray's process on this machine ended with exit code {code}: {' '.join(last_words.split()) or 'no word'}"


@contextlib.contextmanager
def connect(address: str, *, nodes: int | None, purpose: NodePurpose = NodePurpose.LOAD) -> Iterator[EngineNodeGroup]:
    """Place a process on each of `nodes` machines of the cluster at `address`, as `engine.connect` does.

    They are ended with the context, within a bounded time. Raises `BadInput` where there is no cluster to be used.
    """
    arguments = msgspec.json.encode({"address": address, "nodes": nodes, "purpose": purpose}).decode()
    with contextlib.ExitStack() as stack:
        stderr = stack.enter_context(tempfile.TemporaryFile())
        process = ChildProcess(module_command("s3bench.cluster.host", arguments), stderr=stderr)
        stack.callback(process.end, END_S + _TALK_S)  # closing the channel makes it take leave of the cluster
        yield EngineNodeGroup(process)
