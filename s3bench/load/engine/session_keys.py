"""The keys of a session with a directory bucket of S3 Express One Zone, renewed as long as a worker needs them.

A session lasts five minutes (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html). A thread of its
own begins the next one long before that, over a connection of its own, so no measured request waits for it.
"""

import contextlib
import http.client
import socket
import ssl
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Self

from s3bench.errors import S3BenchError
from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.engine.request import Requests
from s3bench.load.profile.profile import Manner

RENEWED_S = 180.0
"""How old a session becomes before the next one begins."""

_RETRIED_S = 5.0
_LIMIT_S = 10.0
_REPLY_BYTES_MAX = 1 << 20
_WHY_MAX = 500


class SessionKeys:
    """Gives the keys of a session that has not ended, while the context lasts.

    Entering it begins the first session with `create` and raises what that raises. Where a later one cannot begin, the
    keys stay as they are, and it is tried again; the server rejects requests once they have expired.
    """

    def __init__(self, create: Callable[[], Keys], *, wait: Callable[[float], bool] | None = None) -> None:
        self._create = create
        self._ended = threading.Event()
        self._wait = wait or self._ended.wait
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._keys = Keys()
        self._error = ""

    def __enter__(self) -> Self:
        self._keys = self._create()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def current(self) -> Keys:
        """The keys of the newest session."""
        return self._keys

    def take_error(self) -> str:
        """Why the last session that could not begin could not; empty if none failed since this was last asked."""
        error, self._error = self._error, ""
        return error

    def _renew(self) -> None:
        wait_s = RENEWED_S
        while not self._wait(wait_s):
            wait_s = _RETRIED_S
            try:
                self._keys = self._create()
                wait_s = RENEWED_S
            except S3BenchError as error:
                self._error = error.why


def create_session(target: RequestTarget, context: ssl.SSLContext | None) -> Keys:
    """Ask `target` for a session. Raises `S3BenchError`."""
    host = target.hosts[0]
    requests = Requests(target, Manner(), host, wall_s=time.time())
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection(target.addresses[0], _LIMIT_S))
            if context is not None:
                name = target.certificate_name(host)
                connection = stack.enter_context(context.wrap_socket(connection, server_hostname=name))
            connection.sendall(requests.create_session())
            response = http.client.HTTPResponse(connection, method="GET")
            response.begin()
            body = response.read(_REPLY_BYTES_MAX)
        root = ET.fromstring(body)  # noqa: S314 (a short answer, and Python's parser limits what entities expand to)
    except (OSError, http.client.HTTPException, ET.ParseError) as error:
        raise _failed(f"{type(error).__name__}: {error}") from error
    found = {node.tag.rpartition("}")[2]: node.text or "" for node in root.iter()}
    access_key, secret_key, token = (found.get(name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
    if response.status != http.HTTPStatus.OK or not (access_key and secret_key and token):
        raise _failed(f"{response.status} {found.get('Code', '')}: {found.get('Message', '')}"[:_WHY_MAX])
    return Keys(access_key=access_key, secret_key=secret_key, token=token, region=target.keys.region)


def _failed(why: str) -> S3BenchError:
    fix = "check the endpoint and the credentials, which need s3express:CreateSession for this bucket"
    return S3BenchError("no session with the directory bucket can begin", why, fix)
