"""Makes requests with awscrt's S3 client, all at once, and tells how each ended: JSON on stdin, JSON on stdout.

`{"url": ..., "ca_bundle": ..., "requests": [...]}`; a request has `kind` (`get` or `put`), `path`, `file` to send or to
receive into, and maybe `range` and `checksum` (an algorithm to send by, and for a get: any, to validate).
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from awscrt.auth import AwsCredentialsProvider
from awscrt.http import HttpHeaders, HttpRequest
from awscrt.io import ClientBootstrap, ClientTlsContext, DefaultHostResolver, EventLoopGroup, TlsContextOptions
from awscrt.s3 import (
    S3ChecksumAlgorithm,
    S3ChecksumConfig,
    S3ChecksumLocation,
    S3Client,
    S3RequestTlsMode,
    S3RequestType,
)

LIMIT_S = 120.0
PART_BYTES = 5 << 20


def client_for(order: dict[str, Any]) -> S3Client:
    secure = order["url"].startswith("https:")
    tls = None
    if secure:
        options = TlsContextOptions()
        options.override_default_trust_store_from_path(ca_filepath=order["ca_bundle"])
        tls = ClientTlsContext(options).new_connection_options()
    loops = EventLoopGroup()
    return S3Client(
        bootstrap=ClientBootstrap(loops, DefaultHostResolver(loops)),
        region="us-east-1",
        credential_provider=AwsCredentialsProvider.new_static(
            os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
        ),
        tls_mode=S3RequestTlsMode.ENABLED if secure else S3RequestTlsMode.DISABLED,
        tls_connection_options=tls,
        part_size=PART_BYTES,
        throughput_target_gbps=10.0,
    )


def start(client: S3Client, host: str, request: dict[str, Any]) -> Any:
    headers = HttpHeaders([("Host", host)])
    options: dict[str, Any] = {}
    algorithm = request.get("checksum")
    if request["kind"] == "put":
        headers.add("Content-Length", str(Path(request["file"]).stat().st_size))
        options |= {"type": S3RequestType.PUT_OBJECT, "send_filepath": request["file"]}
        if algorithm:
            options["checksum_config"] = S3ChecksumConfig(
                algorithm=S3ChecksumAlgorithm[algorithm], location=S3ChecksumLocation.TRAILER
            )
    else:
        options |= {"type": S3RequestType.GET_OBJECT, "recv_filepath": request["file"]}
        if "range" in request:
            headers.add("Range", request["range"])
        if algorithm:
            options["checksum_config"] = S3ChecksumConfig(validate_response=True)
    message = HttpRequest("PUT" if request["kind"] == "put" else "GET", request["path"], headers)
    return client.make_request(request=message, **options)


def ended(request: Any) -> str:
    try:
        request.finished_future.result(LIMIT_S)
    except Exception as error:  # noqa: BLE001 (whatever the client raises is told)
        return str(error)
    return "done"


def main() -> None:
    order = json.load(sys.stdin)
    client = client_for(order)
    started = [start(client, urlsplit(order["url"]).netloc, request) for request in order["requests"]]
    json.dump([ended(request) for request in started], sys.stdout)


if __name__ == "__main__":
    main()
