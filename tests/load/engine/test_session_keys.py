"""Sessions with directory buckets: begun before requests are made, renewed beside them, used by those that follow."""

import queue
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from s3bench.errors import S3BenchError
from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.engine.request import DATE_S, Requests
from s3bench.load.engine.session_keys import RENEWED_S, SessionKeys, create_session
from s3bench.load.profile.profile import Manner
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.protocol.http import parse_head
from s3bench.s3.signing.authentication import Authenticator
from s3bench.s3.signing.sigv4 import EXPRESS_SERVICE, SigningKeys

BUCKET = "logs--use1-az4--x-s3"
KEYS = Keys(access_key="AKIDEXPRESS", secret_key="secret/of+express")
TURN_S = 20.0


class Turns:
    """A wait that ends when the test says so, and tells how long it would have been."""

    def __init__(self) -> None:
        self.asked: queue.Queue[float] = queue.Queue()
        self._answers: queue.Queue[bool] = queue.Queue()

    def wait(self, wait_s: float) -> bool:
        """Wait for the test; whether to end."""
        self.asked.put(wait_s)
        return self._answers.get(timeout=TURN_S)

    def turn(self, *, ends: bool = False) -> None:
        """End the wait."""
        self._answers.put(ends)


class Creator:
    """Gives sessions with rising numbers; fails where told to."""

    def __init__(self) -> None:
        self.count = 0
        self.fails = False

    def create(self) -> Keys:
        """Begin a session."""
        if self.fails:
            raise S3BenchError("no session", "the server is gone", "wait")
        self.count += 1
        return Keys(access_key=f"ASIA{self.count}", secret_key="s", token=f"t{self.count}")


def test_a_session_is_renewed_before_it_ends_and_tried_again_where_that_fails() -> None:
    turns, creator = Turns(), Creator()
    with SessionKeys(creator.create, wait=turns.wait) as keys:
        assert keys.current().token == "t1"
        assert turns.asked.get(timeout=TURN_S) == RENEWED_S < 300
        turns.turn()
        assert turns.asked.get(timeout=TURN_S) == RENEWED_S
        assert keys.current().token == "t2"
        creator.fails = True
        turns.turn()
        assert turns.asked.get(timeout=TURN_S) < RENEWED_S
        assert keys.current().token == "t2"
        assert [keys.take_error(), keys.take_error()] == ["the server is gone", ""]
        creator.fails = False
        turns.turn()
        assert turns.asked.get(timeout=TURN_S) == RENEWED_S
        assert keys.current().token == "t3"
        turns.turn(ends=True)


def test_a_first_session_that_cannot_begin_is_an_error() -> None:
    creator = Creator()
    creator.fails = True
    with pytest.raises(S3BenchError, match="no session"), SessionKeys(creator.create):
        pytest.fail("there is no session")


def test_requests_are_signed_with_the_keys_of_the_newest_session() -> None:
    at_s = time.time()
    sessions = [Keys(access_key=f"ASIA{n}", secret_key=f"secret {n}", token=f"token {n}") for n in range(2)]
    target = RequestTarget(addresses=(("127.0.0.1", 1),), hosts=("h",), bucket=BUCKET, keys=KEYS, express=True)
    requests = Requests(target, Manner(), "h", wall_s=at_s, session_keys=lambda: sessions[-1])
    authenticator = Authenticator("none", "none", "us-east-1", lambda: at_s)

    def signer(head: bytes) -> str:
        parsed = parse_head(head.removesuffix(b"\r\n\r\n"))
        number = parsed.fields["x-amz-s3session-token"].removeprefix("token ")
        assert "x-amz-security-token" not in parsed.fields
        credentials = (f"ASIA{number}", SigningKeys(f"secret {number}"))
        return authenticator.check(parsed, service=EXPRESS_SERVICE, credentials=credentials).access_key

    assert signer(requests.get("/k")) == "ASIA1"
    sessions.append(Keys(access_key="ASIA2", secret_key="secret 2", token="token 2"))
    assert signer(requests.get("/k")) == "ASIA1"  # until the date is renewed, which forgets what was rendered
    at_s += DATE_S + 1
    assert requests.renew(at_s)
    assert signer(requests.get("/k")) == "ASIA2"


def test_a_copy_is_signed_with_the_keys_of_the_account_since_no_session_can_copy() -> None:
    at_s = time.time()
    session = Keys(access_key="ASIA", secret_key="secret", token="token")
    target = RequestTarget(addresses=(("127.0.0.1", 1),), hosts=("h",), bucket=BUCKET, keys=KEYS, express=True)
    requests = Requests(target, Manner(), "h", wall_s=at_s, session_keys=lambda: session)
    at_s += DATE_S + 1
    assert requests.renew(at_s)
    parsed = parse_head(requests.copy("/k", f"{BUCKET}/other").removesuffix(b"\r\n\r\n"))
    assert "x-amz-s3session-token" not in parsed.fields
    authenticator = Authenticator("none", "none", "us-east-1", lambda: at_s)
    credentials = (KEYS.access_key, SigningKeys(KEYS.secret_key))
    assert authenticator.check(parsed, service=EXPRESS_SERVICE, credentials=credentials).access_key == KEYS.access_key


@pytest.fixture
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RequestTarget]:
    """A directory bucket of an emulator that checks signatures."""
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as server:
        server.arm(EmulatorSettings(buckets=(BUCKET,), access_key=KEYS.access_key, secret_key=KEYS.secret_key))
        host = urlsplit(server.url).netloc
        yield RequestTarget(
            addresses=(("127.0.0.1", server.port),), hosts=(host,), bucket=BUCKET, keys=KEYS, express=True
        )


def test_a_session_is_asked_for_with_the_own_keys(target: RequestTarget) -> None:
    first, second = create_session(target, None), create_session(target, None)
    assert first.token
    assert first.token != second.token
    assert first.access_key != KEYS.access_key


def test_why_a_session_is_refused_is_told(target: RequestTarget) -> None:
    wrong = RequestTarget(addresses=target.addresses, hosts=target.hosts, bucket=BUCKET, keys=Keys(
        access_key=KEYS.access_key, secret_key="wrong"), express=True)  # fmt: skip
    with pytest.raises(S3BenchError, match="directory bucket") as caught:
        create_session(wrong, None)
    assert "SignatureDoesNotMatch" in caught.value.why
    nowhere = RequestTarget(addresses=(("127.0.0.1", 1),), hosts=("h",), bucket=BUCKET, keys=KEYS, express=True)
    with pytest.raises(S3BenchError, match="directory bucket"):
        create_session(nowhere, None)
