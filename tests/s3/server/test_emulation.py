"""The emulators that the harness asks for."""

from s3bench.s3.control import Emulate
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.network.model import parse_network
from s3bench.s3.protocol.exchange import NO_BODY
from s3bench.s3.protocol.http import parse_head
from s3bench.s3.server.emulation import make_emulator


def test_a_network_model_knows_the_bucket_of_virtual_hosted_requests() -> None:
    settings = EmulatorSettings(domain="s3.example.test", buckets=("one", "two"))
    question = Emulate(settings=settings, network=parse_network("reads=1"), objects=())
    handler, _, _ = make_emulator(question, {}, "http")
    heads = [
        parse_head(f"GET /{path} HTTP/1.1\r\nHost: {host}".encode())
        for host, path in (("one.s3.example.test", ""), ("two.s3.example.test", ""), ("s3.example.test", "one"))
    ]
    assert [handler.finish(head, NO_BODY, b"Date: x\r\n").facts[0] for head in heads] == [200, 200, 503]
