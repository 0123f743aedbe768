"""awscrt, the CRT's S3 client for Python, by itself."""

from pathlib import Path

from s3bench.clients.crt_python.tuning import TUNING
from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.driver import invoke_driver
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.package import ClientPackage
from s3bench.clients.search import LibrarySearch
from s3bench.s3.wirelog import TransferEngine

_DRIVER = Path(__file__).parent / "driver"


def _invoke(launch: ClientLaunch) -> Invocation:
    return invoke_driver(launch, _DRIVER)


CLIENTS = (
    ClientDescriptor(
        name="crt-python",
        package=ClientPackage(name="awscrt", index_name="awscrt", requirement="awscrt=={}", is_single=True),
        find=LibrarySearch(name="awscrt", distribution="awscrt"),
        invoke=_invoke,
        engine=TransferEngine.CRT,
        tuning=TUNING,
        driver=_DRIVER,
        libraries=("awscrt", "_awscrt"),
        self_test_rank=0,
        instructions_repeat=True,
    ),
)
