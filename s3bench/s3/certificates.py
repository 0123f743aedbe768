"""Makes the test CA of one run and the server certificate that it signs.

The keys never leave the private directory that they are written to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Where the PEM files are: the CA that clients have to trust, and the server's certificate with its key."""

    ca_bundle: Path
    server: Path


def write_certificates(directory: Path, *, names: Sequence[str] = ()) -> Certificates:
    """Make a new CA and a server certificate for loopback and `names` (addresses, host names) inside `directory`."""
    import trustme  # noqa: PLC0415 (its cryptography library takes long to import, and only --tls needs it)

    authority = trustme.CA()
    issued = authority.issue_cert(*dict.fromkeys((*_NAMES, *names)))
    certificates = Certificates(ca_bundle=directory / "ca.pem", server=directory / "server.pem")
    certificates.server.touch(mode=0o600)
    issued.private_key_and_cert_chain_pem.write_to_path(certificates.server)
    authority.cert_pem.write_to_path(certificates.ca_bundle)
    return certificates
