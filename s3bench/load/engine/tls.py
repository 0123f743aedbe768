"""The TLS settings of a load run."""

import ssl

from s3bench.errors import BadInput
from s3bench.load.engine.message import RequestTarget


def client_context(target: RequestTarget) -> ssl.SSLContext | None:
    """Settings for TLS to `target`, `None` where it speaks plain text.

    Certificates are verified, by the system's authorities or those of `target.ca_bundle`, unless the target says
    otherwise. Raises `BadInput` for a bundle that cannot be read.
    """
    if not target.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=target.ca_bundle)
    except OSError as error:  # ssl.SSLError is one
        raise BadInput(
            f"the CA bundle {target.ca_bundle} cannot be used", str(error.strerror or error), "name a PEM file"
        ) from error
    if not target.tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context
