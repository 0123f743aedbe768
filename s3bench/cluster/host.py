"""The engine process: connects to the cluster, forwards the driver's calls to nodes, and ends with the driver.

Started by `engineprocess.connect`. It ends even if Ray blocks.
"""

import os
import select
import socket
import sys
import threading
import time

import msgspec

from s3bench.cluster.control import Connected, EngineMessage, NodeCall, NodeResults, engine_channel
from s3bench.cluster.engine import NodePurpose, connect
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import S3BenchError
from s3bench.s3.control import RemoteError
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import take_control

END_S = 8.0
"""How long leaving a cluster may take once the driver is gone."""

_CLOSE_S = 2.0

_CHANNEL_S = 30.0
_IDLE_S = 86_400.0  # the driver may be busy for long; its end closes the channel


class HostArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of the process, as JSON on its command line; see `engine.connect`."""

    address: str
    nodes: int | None
    purpose: NodePurpose


def main(arguments: HostArguments) -> None:
    """Connect to the cluster, and serve calls until the other end of the channel closes."""
    with take_control() as control:
        threading.Thread(target=_end_with_driver, args=(control,), daemon=True).start()
        channel = engine_channel(control)
        try:
            _serve(channel, arguments)
        except S3BenchError as error:
            channel.send(RemoteError.of(error), limit_s=_CHANNEL_S)
        except ChannelClosed:
            pass


def _serve(channel: Channel[EngineMessage, NodeCall], arguments: HostArguments) -> None:
    with connect(arguments.address, nodes=arguments.nodes, purpose=arguments.purpose) as node_group:
        channel.send(Connected(hosts=node_group.hosts, facts=dict(node_group.facts)), limit_s=_CHANNEL_S)
        try:
            while True:
                call = channel.receive(limit_s=_IDLE_S)
                results = node_group.call(call.method, call.arguments, limit_s=call.limit_s)
                gone = {node: result.why for node, result in results.items() if isinstance(result, NodeGone)}
                there = {node: result for node, result in results.items() if node not in gone}
                channel.send(NodeResults(results=there, gone=gone), limit_s=_CHANNEL_S)
        finally:
            node_group.call("close", dict.fromkeys(range(node_group.nodes), ()), limit_s=_CLOSE_S)


def _end_with_driver(control: socket.socket) -> None:
    """End this process some time after the driver's end of the channel has closed, even if Ray still waits."""
    hangup = select.poll()
    hangup.register(control, 0)
    hangup.poll()
    time.sleep(END_S)
    os._exit(1)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=HostArguments))
