"""Runs the engine in a process of its own, so that it can neither block nor end the driver.

Ray's core ends its process when the machine's Ray is gone, and calls of Ray's client wait for a lost network without a
limit: here both appear as nodes that do not respond.
"""

import contextlib
import select
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from s3bench.cluster.control import Connected, EngineMessage, NodeCall, NodeResults, driver_channel
from s3bench.cluster.engine import NodePurpose
from s3bench.cluster.host import END_S
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import BadInput
from s3bench.s3.control import RemoteError
from s3bench.system.channel import ChannelClosed
from s3bench.system.child import ChildProcess, module_command

CONNECT_S = 90.0
"""How long connecting and placing a process on each node may take."""

_TURN_S = 0.1  # so soon a stop takes effect
_SLACK_S = 0.2  # for the engine process itself
_CHANNEL_S = 5.0


class EngineNodeGroup:
    """The nodes behind an engine process; implements `StoppableNodeGroup`. `hosts` are their addresses, in order.

    If the process ends, all nodes are gone; if it hangs, they do not respond. Making it waits until the engine has
    placed its processes. If that or a call `is_over` before, the process is killed and `KeyboardInterrupt` is raised.
    """

    def __init__(self, process: ChildProcess, *, is_over: Callable[[], bool] = lambda: False) -> None:
        self._process = process
        self._channel = driver_channel(process.control)
        self._readable = select.poll()
        self._readable.register(process.control, select.POLLIN)
        self._is_owed = False  # the response to a call that timed out
        connected = self._connected(is_over)
        self.hosts = connected.hosts
        self.nodes = len(connected.hosts)
        self.facts: Mapping[str, object] = connected.facts

    def call(
        self,
        method: str,
        arguments: Mapping[int, tuple[object, ...]],
        *,
        limit_s: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Mapping[int, Any]:
        """Call a method on several nodes at once; see `StoppableNodeGroup.call`."""
        if not arguments:
            return {}
        until_s = time.monotonic() + limit_s + _SLACK_S
        try:
            if self._is_owed and self._receive(until_s) is None:
                return {}
            self._channel.send(NodeCall(method=method, arguments=dict(arguments), limit_s=limit_s), limit_s=_CHANNEL_S)
            message = self._receive_in_turns(until_s, is_over)
        except ChannelClosed:
            return dict.fromkeys(arguments, NodeGone(self._last_words()))
        if message is None:
            return {}
        assert isinstance(message, NodeResults), message
        return {**message.results, **{node: NodeGone(why) for node, why in message.gone.items()}}

    def _connected(self, is_over: Callable[[], bool]) -> Connected:
        """Wait until the engine has placed its processes. Raises `BadInput`."""
        try:
            message = self._receive_in_turns(time.monotonic() + CONNECT_S, is_over)
        except ChannelClosed:
            raise BadInput("no usable Ray cluster", self._last_words()) from None
        if message is None:
            raise BadInput(
                f"the cluster was not usable within {CONNECT_S:g} s",
                fix="check Ray with `ray status` there, and that this machine can reach all its ports",
            )
        if isinstance(message, RemoteError):
            raise message.error()
        assert isinstance(message, Connected), message
        return message

    def _receive_in_turns(self, until_s: float, is_over: Callable[[], bool]) -> EngineMessage | None:
        """The next message, or `None` if none has started to arrive by then."""
        while (message := self._receive(min(until_s, time.monotonic() + _TURN_S))) is None:
            if is_over():
                self._process.kill()  # it waits for Ray, and would not leave in an orderly way either
                raise KeyboardInterrupt
            if time.monotonic() >= until_s:
                break
        return message

    def _receive(self, until_s: float) -> EngineMessage | None:
        """The next message, or `None` if none has started to arrive by then."""
        self._is_owed = not self._readable.poll(max(0.0, until_s - time.monotonic()) * 1e3)
        return None if self._is_owed else self._channel.receive(limit_s=_CHANNEL_S)

    def _last_words(self) -> str:
        code, last_words = self._process.how_it_ended()
        return (
            f"Ray's process on this machine ended with exit code {code}: {' '.join(last_words.split()) or 'no message'}"
        )


@contextlib.contextmanager
def connect(
    address: str,
    *,
    nodes: int | None,
    purpose: NodePurpose = NodePurpose.LOAD,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[EngineNodeGroup]:
    """Place a process on each of `nodes` machines of the cluster at `address`, as `engine.connect` does.

    They end with the context, within a bounded time. Raises `BadInput` without a usable cluster, and
    `KeyboardInterrupt` if it `is_over` before all are placed.
    """
    arguments = msgspec.json.encode({"address": address, "nodes": nodes, "purpose": purpose}).decode()
    with contextlib.ExitStack() as stack:
        stderr = stack.enter_context(tempfile.TemporaryFile())
        process = ChildProcess(module_command("s3bench.cluster.host", arguments), stderr=stderr)
        stack.callback(process.end, END_S + _CHANNEL_S)  # closing the channel makes it leave the cluster
        yield EngineNodeGroup(process, is_over=is_over)
