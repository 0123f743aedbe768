"""The two ends of the channel between the coordinator of a load run and one worker."""

import socket

import msgspec

from s3bench.load.engine.message import Order, Report
from s3bench.system.channel import Channel

_ORDERS: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)
_REPORTS: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)


def coordinator_channel(sock: socket.socket) -> Channel[Order, Report]:
    """The coordinator's end of the socket pair."""
    return Channel(sock, _REPORTS)


def worker_channel(sock: socket.socket) -> Channel[Report, Order]:
    """The worker's end of the socket pair."""
    return Channel(sock, _ORDERS)
