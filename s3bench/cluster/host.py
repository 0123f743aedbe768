"""The process of an engine: connects, asks nodes what the driver asks, and ends with the driver, whatever Ray does.

Owns the life of this process. Started by `engineprocess.connect` with the number of its control descriptor.
"""

import os
import select
import socket
import sys
import threading
import time

import msgspec

from s3bench.cluster.control import Answer, Answers, Ask, Connected, engine_channel
from s3bench.cluster.engine import NodePurpose, connect
from s3bench.cluster.node_group import NodeGone
from s3bench.errors import S3BenchError
from s3bench.s3.control import Refused
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import take_control

END_S = 8.0
"""How long taking leave of a cluster may last, once the driver is gone."""

_CLOSE_S = 2.0

_TALK_S = 30.0
_IDLE_S = 86_400.0  # the driver may be busy for long; its end closes the channel


class HostArguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is told on its command line, as JSON; see `engine.connect`."""

    address: str
    nodes: int | None
    purpose: NodePurpose


def main(told: HostArguments) -> None:
    """Connect to the cluster, and answer until the other end of the channel closes."""
    with take_control() as control:
        threading.Thread(target=_end_with_driver, args=(control,), daemon=True).start()
        channel = engine_channel(control)
        try:
            _serve(channel, told)
        except S3BenchError as error:
            channel.send(Refused.of(error), limit_s=_TALK_S)
        except ChannelClosed:
            pass


def _serve(channel: Channel[Answer, Ask], told: HostArguments) -> None:
    with connect(told.address, nodes=told.nodes, purpose=told.purpose) as fleet:
        channel.send(Connected(hosts=fleet.hosts, facts=dict(fleet.facts)), limit_s=_TALK_S)
        try:
            while True:
                ask = channel.receive(limit_s=_IDLE_S)
                answers = fleet.ask(ask.question, ask.told, limit_s=ask.limit_s)
                gone = {node: answer.why for node, answer in answers.items() if isinstance(answer, NodeGone)}
                there = {node: answer for node, answer in answers.items() if node not in gone}
                channel.send(Answers(answers=there, gone=gone), limit_s=_TALK_S)
        finally:
            fleet.ask("close", dict.fromkeys(range(fleet.nodes), ()), limit_s=_CLOSE_S)


def _end_with_driver(control: socket.socket) -> None:
    """End this process, some time after the driver's end of the channel is closed: Ray's own waits have no bound."""
    hangup = select.poll()
    hangup.register(control, 0)
    hangup.poll()
    time.sleep(END_S)
    os._exit(1)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=HostArguments))
