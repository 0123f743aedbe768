"""Everything about one client under test: how it is found, run, recognised on the wire, stubbed and tuned.

Each folder beside this module declares the clients of one program as `CLIENTS`, a tuple of `ClientDescriptor`s in its
`__init__`; `registry` collects them, and those that other packages bring. Nothing outside of the folders names a
client. The lower layer that reads definitions (`s3bench.spec`) gets the descriptors as `ClientTraits`, their base; the
upper layer `s3bench.tune` reads what `tuning` declares.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.launch import ClientLaunch, Invocation
from s3bench.clients.package import ClientPackage
from s3bench.clients.store import ClientStore
from s3bench.clients.tuning.client_tuning import ClientTuning
from s3bench.s3.wirelog import TransferEngine
from s3bench.spec.client_traits import ClientTraits


class Untranslatable(Exception):
    """Why no command of aws-cli does what a command line does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCommand:
    """What does the same as a client's command line: words after `aws`, and `settings` for its block of the config."""

    words: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDescriptor(ClientTraits):
    """One client, by the name that `--client` takes.

    `package` is the program behind it, which it may share with other clients. `find(spec, store, path)` looks for it,
    `path` being the PATH, and raises `ClientNotFound`. `invoke(launch)` makes its command line, environment and config
    for one run, and raises `BadInput` for a command that it cannot run.
    `engine` is the transfer engine that must show on the wire when it moves object data; `None` if its own config
    chooses. `tuning` is what the tuner needs to know.

    `driver`: for a library, the directory with the backend of our driver; `FoundClient.executable` is then a Python
    interpreter. `libraries` are the top-level modules that make it what it is, of all that its interpreter can import.
    `is_single_file`: its program needs no files beside it. `is_python`: its program is written in Python, so that a
    profiler for Python sees its functions. `is_stubbed_in_process`: its requests go through
    botocore, where our probe can answer them. `self_test_rank`: the gate's self-test can plant faults into it, and
    takes the client with the lowest rank where the user names none; `None` where it cannot. `crt_lock`: the lock of the
    CRT without which it runs Classic. `instructions_repeat`: the instructions of equal runs differ by far less than a
    gate's limits (`benchmarks/instruction_counts.py`), so that it counts them where time is undecided.
    `aws_command(words, folder)` translates a command line of its program, typed in `folder`, so that it can be
    recorded, and raises `Untranslatable`; `None` where it cannot.
    """

    package: ClientPackage
    find: Callable[[ClientSpec, ClientStore, str], FoundClient]
    invoke: Callable[[ClientLaunch], Invocation]
    engine: TransferEngine | None
    tuning: ClientTuning = field(repr=False)
    driver: Path | None = None
    libraries: tuple[str, ...] = ()
    is_single_file: bool = False
    is_python: bool = True
    is_stubbed_in_process: bool = False
    self_test_rank: int | None = None
    crt_lock: str | None = None
    instructions_repeat: bool = False
    aws_command: Callable[[tuple[str, ...], Path], AwsCommand] | None = None
