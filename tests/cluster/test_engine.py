"""Ray is asked for only where it is needed, and missed in words."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from s3bench.cli.main import s3bench_command
from s3bench.cluster.engine import connect
from s3bench.errors import BadInput, ExitCode

LIVE = ("--endpoint-url", "http://127.0.0.1:9", "--bucket", "data")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match="--cluster needs packages") as raised, connect("auto", nodes=None):
        pass
    assert raised.value.fix.endswith("-m pip install 'ray[client]>=2.40'")
    assert raised.value.exit_code is ExitCode.BAD_INPUT


def test_nothing_else_imports_ray() -> None:
    reported = (
        "import sys, s3bench.cli.main, s3bench.cli.load.command, s3bench.cluster.engine; sys.exit('ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", reported], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--cluster", "auto"), "--cluster needs an endpoint"),
        ((*LIVE, "--cluster", "auto", "--workers", "2"), "--cluster cannot be combined with --workers"),
        ((*LIVE, "--cluster", "auto", "--trace", "t"), "--cluster cannot be combined with --trace"),
        ((*LIVE, "--cluster", "auto", "--calibrate"), "--cluster cannot be combined with --calibrate"),
        ((*LIVE, "--nodes", "2"), "--nodes needs --cluster"),
        ((*LIVE, "--workers-per-node", "2"), "--workers-per-node needs --cluster"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_refused(arguments: tuple[str, ...], what: str) -> None:
    error = CliRunner().invoke(s3bench_command, ["load", *arguments]).exception
    assert isinstance(error, BadInput)
    assert error.what == what


@pytest.mark.parametrize("address", ["ray://host", "host:10001", "http://host:1", "ray://"])
def test_an_address_of_no_cluster_is_refused(address: str) -> None:
    refused = CliRunner().invoke(s3bench_command, ["load", *LIVE, "--cluster", address])
    assert refused.exit_code == ExitCode.BAD_INPUT
    assert "write auto or ray://HOST:PORT" in refused.output
