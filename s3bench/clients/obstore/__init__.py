"""obstore, the Python bindings of Rust's object_store (https://developmentseed.org/obstore/)."""

from pathlib import Path

from s3bench.clients.descriptor import ClientDescriptor
from s3bench.clients.driver import invoke_driver
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.obstore.settings import CONFIG_KEYS, obstore_settings, own_settings
from s3bench.clients.obstore.tuning import TUNING
from s3bench.clients.package import ClientPackage
from s3bench.clients.search import LibrarySearch
from s3bench.s3.wirelog import TransferEngine

_DRIVER = Path(__file__).parent / "driver"


def _invoke(launch: ClientLaunch) -> Invocation:
    return invoke_driver(launch, _DRIVER, obstore_settings(launch.config, launch.portable_transfer))


CLIENTS = (
    ClientDescriptor(
        name="obstore",
        config_block="obstore",
        config_keys=CONFIG_KEYS,
        parse_config=own_settings,
        runs_unnamed=True,
        package=ClientPackage(name="obstore", index_name="obstore", requirement="obstore=={}", is_single=True),
        find=LibrarySearch(name="obstore", distribution="obstore"),
        invoke=_invoke,
        engine=TransferEngine.OTHER,  # its User-Agent is object_store's
        tuning=TUNING,
        driver=_DRIVER,
        libraries=("obstore",),
        self_test_rank=6,
    ),
)
