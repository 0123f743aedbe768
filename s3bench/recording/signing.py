"""Signs requests anew for the endpoint behind the recording: clients sign with made-up keys for our own address.

botocore calculates the signatures (Signature Version 4), for S3 and for all other services.
"""

from collections.abc import Sequence
from typing import Any

from s3bench.clients.environment import Credentials

_REPLACED = frozenset({"authorization", "host", "x-amz-date", "x-amz-security-token", "date"})
# Headers that proxies and HTTP libraries may change, so that a signature cannot cover them.
_UNSIGNED = frozenset({"accept-encoding", "amz-sdk-invocation-id", "amz-sdk-request", "content-length"})
_PAYLOAD = "x-amz-content-sha256"


class Signer:
    """Signs for the endpoint at `url` with the user's `credentials`."""

    def __init__(self, credentials: Credentials, *, url: str) -> None:
        from botocore.auth import S3SigV4Auth, SigV4Auth  # noqa: PLC0415 (a tenth of a second, for live endpoints)
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 (as above)
        from botocore.credentials import Credentials as Keys  # noqa: PLC0415 (as above)

        class S3Auth(S3SigV4Auth):  # type: ignore[misc,unused-ignore]
            """Takes the hash of the payload as the client calculated it, since the body is not read beforehand."""

            def payload(self, request: Any) -> str:
                return str(request.context["payload"])

        self._keys = Keys(credentials.access_key, credentials.secret_key, credentials.token)
        self._url = url
        self._request: Any = AWSRequest
        self._s3_auth: Any = S3Auth
        self._other_auth: Any = SigV4Auth

    def signed(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        *,
        region: str,
        service: str,
        body: bytes | None,
    ) -> list[tuple[str, str]]:
        """The headers with a new signature; `body` is that of a service other than S3."""
        kept = [(name, value) for name, value in headers if name.lower() not in _REPLACED]
        payload = next((value for name, value in kept if name.lower() == _PAYLOAD), "UNSIGNED-PAYLOAD")
        covered = {name: value for name, value in kept if name.lower() not in _UNSIGNED}
        request = self._request(method=method, url=self._url + target, headers=covered, data=body or b"")
        request.context["payload"] = payload
        auth = self._s3_auth if service == "s3" else self._other_auth
        auth(self._keys, service, region).add_auth(request)
        left = [(name, value) for name, value in kept if name.lower() in _UNSIGNED]
        return [*((name, str(value)) for name, value in request.headers.items()), *left]
