"""boto3, with its transfer manager in Python, Classic, or the CRT's."""

import json
from pathlib import Path

from s3bench.clients.boto3.tuning import CLASSIC_TUNING, CRT_TUNING
from s3bench.clients.client import ClientSpec, release_of
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.driver import invoke_driver
from s3bench.clients.environment import ServerAddress
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.package import ClientPackage
from s3bench.clients.search import LibrarySearch, version_in
from s3bench.errors import ClientNotFound
from s3bench.s3.wirelog import TransferEngine

_DRIVER = Path(__file__).parent / "driver"
_LIBRARIES = ("boto3", "botocore", "s3transfer", "awscrt", "_awscrt", "urllib3", "jmespath", "dateutil")
CRT_SINCE = (0, 19, 18)
"""The oldest awscrt that boto3 accepts."""


def _pointing(server: ServerAddress) -> str:
    bundle = f", verify={json.dumps(str(server.ca_bundle))}" if server.ca_bundle else ""
    return f'boto3.client("s3", endpoint_url="{server.url}"{bundle})'


def _invoke(launch: ClientLaunch) -> Invocation:
    return invoke_driver(launch, _DRIVER)


def _check_crt(spec: ClientSpec, version: str, sites: tuple[Path, ...], where: Path) -> None:
    crt = version_in("awscrt", sites)
    if crt is None or release_of(crt) < CRT_SINCE:
        raise ClientNotFound(
            f"{spec}: boto3 {version} in {where} cannot use the CRT",
            f"awscrt there is {crt or 'missing'}; boto3 asks for 0.19.18 or later",
            "install boto3 with its CRT, `pip install 'boto3[crt]'`, or `s3bench clients install boto3`",
        )


_PACKAGE = ClientPackage(name="boto3", index_name="boto3", requirement="boto3[crt]=={}", pointing=_pointing)

CLIENTS = (
    ClientDescriptor(
        name="boto3-classic",
        package=_PACKAGE,
        find=LibrarySearch(name="boto3", distribution="boto3", companion="awscrt"),
        invoke=_invoke,
        engine=TransferEngine.PYTHON,
        tuning=CLASSIC_TUNING,
        driver=_DRIVER,
        libraries=_LIBRARIES,
        is_stubbed_in_process=True,
        self_test_rank=1,
        instructions_repeat=True,
    ),
    ClientDescriptor(
        name="boto3-crt",
        package=_PACKAGE,
        find=LibrarySearch(name="boto3", distribution="boto3", companion="awscrt", check=_check_crt),
        invoke=_invoke,
        engine=TransferEngine.CRT,
        tuning=CRT_TUNING,
        driver=_DRIVER,
        libraries=_LIBRARIES,
        crt_lock="boto3",
        self_test_rank=5,
        instructions_repeat=True,
    ),
)
