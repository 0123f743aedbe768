"""Runs a command once through a recording endpoint, with the emulator or a live endpoint behind it."""

import configparser
import json
import signal
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from s3bench.clients.environment import FAKE_CREDENTIALS, REGION, check_endpoint_url, find_credentials
from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, BadInput, ClientFailed
from s3bench.load.session.target import parse_url
from s3bench.recording.command import TypedCommand
from s3bench.recording.definition import Recording
from s3bench.recording.endpoint import RecordingEndpoint, Upstream
from s3bench.recording.environment import recorded_config
from s3bench.recording.exchange import RecordedExchange
from s3bench.recording.local_files import read_local_files
from s3bench.recording.signing import Signer
from s3bench.run.ending import end_with_children, named_signal
from s3bench.run.owner import workspace_parent
from s3bench.run.workspace import Workspaces
from s3bench.s3.certificates import write_certificates
from s3bench.s3.control import StoredFile
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.signing.sigv4 import EXPRESS_SERVICE, SERVICE
from s3bench.spec.definition import Definition
from s3bench.spec.parse import parse_definitions
from s3bench.spec.shape import unencodable
from s3bench.spec.stored import buckets_of
from s3bench.system.signals import ending_signals

_FAILURES_SHOWN_MAX = 5
_OTHER_ENDPOINTS = "AWS_ENDPOINT_URL_"
_CREDENTIAL_NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What is behind the recording endpoint: the live endpoint `url`, or without one the emulator.

    The emulator has the buckets that the command names, and `buckets`; the subdirectories of `data_dir` are buckets
    with their files as objects.
    """

    url: str | None = None
    buckets: tuple[str, ...] = ()
    data_dir: Path | None = None


def record_command(
    command: TypedCommand,
    *,
    behind: Behind,
    tls: bool,
    with_contents: bool,
    folder: Path,
    variables: Mapping[str, str],
) -> Recording:
    """Run `command` in `folder` with the environment `variables`, pointed at a recording endpoint.

    Raises `BadInput` before anything runs, and `ClientFailed` if the command fails.
    """
    _check(command, folder, with_contents=with_contents)
    live, secrets = (None, ()) if behind.url is None else _live_upstream(behind.url, command.profile, variables)
    objects, skipped = _stored(behind.data_dir) if behind.data_dir else ((), ())
    local = read_local_files(command.paths, target=command.target, folder=folder, with_contents=with_contents)
    config = _read(Path(variables.get("AWS_CONFIG_FILE") or Path.home() / ".aws" / "config"))
    with ExitStack() as stack:
        workspaces = stack.enter_context(Workspaces(parent=workspace_parent(variables)))
        upstream = live or _emulator(command, behind.buckets, objects, stack, workspaces.root / "emulator")
        certificates = None
        if tls:
            directory = workspaces.root / "recording"
            directory.mkdir(mode=0o700)
            certificates = write_certificates(directory)
        endpoint = stack.enter_context(
            RecordingEndpoint(
                upstream, certificate=certificates.server if certificates else None, keeps_contents=with_contents
            )
        )
        pointed = _pointed(variables, endpoint.url, certificates.ca_bundle if certificates else None, command, config)
        code = _run(_argv(command, endpoint.url), pointed, folder)
        endpoint.settle()
        exchanges, failures, cut_requests = endpoint.exchanges, endpoint.failures, endpoint.cut_requests
    if failures:  # first: the command may have failed by them
        raise ClientFailed(
            "the recording is incomplete",
            "\n".join(failures[:_FAILURES_SHOWN_MAX]),
            "nothing was written; check the endpoint, and record again",
        )
    if code:
        raise _failed(code, exchanges, behind)
    if cut_requests:
        raise ClientFailed(
            "the recording is incomplete",
            "\n".join(cut_requests[:_FAILURES_SHOWN_MAX]),
            "nothing was written; let the command send its requests to their end, and record again",
        )
    if not exchanges:
        raise ClientFailed(
            "the command made no request to the recording endpoint",
            "it does not read AWS_ENDPOINT_URL, or it calls no service, as with --dryrun",
            "nothing was written; let the program use the endpoint in AWS_ENDPOINT_URL",
        )
    return Recording(
        command=command,
        exchanges=exchanges,
        local=local,
        config=config,
        variables=variables,
        known_secrets=(*secrets, *_own_secrets(variables)),
        skipped_objects=skipped,
    )


def _check(command: TypedCommand, folder: Path, *, with_contents: bool) -> None:
    """Raise `BadInput` for a command that no definition can hold."""
    skeleton = [{"name": "recorded", "command": command.words, "responses": []}]
    try:
        parse_definitions(json.dumps(skeleton), "the command", known_clients())
    except BadDefinitions as bad:
        first = bad.problems[0]
        fix = "change to the folder that has the files, and name them relative to it"
        raise BadInput(
            f"the command cannot be recorded: `{' '.join(command.words)}`",
            f"an argument {first.what}",
            fix if "workspace" in first.what else first.fix,
        ) from bad
    if command.source is not None and not (folder / command.source).exists():
        raise BadInput(
            f"{command.source}: no such file or directory",
            f"the command uploads it from {folder}",
            "change to the folder that has it, or correct its name",
        )
    if command.parameter_files and not with_contents:
        raise BadInput(
            f"the command reads its parameters from file://{command.parameter_files[0]}",
            "a definition holds no contents of files unless asked",
            "add --contents, which copies the text of local files and objects into the definition",
        )


def _live_upstream(url: str, profile: str, variables: Mapping[str, str]) -> tuple[Upstream, tuple[str, ...]]:
    """The live endpoint at `url`; also gives the user's own keys, which are sent there. Raises `BadInput`."""
    check_endpoint_url(url)
    _, _, host = parse_url(url)
    base = f"{urlsplit(url).scheme}://{host}"
    keys = find_credentials(profile)
    upstream = Upstream(
        url=base,
        is_live=True,
        signer=None if keys is None else Signer(keys, url=base),
        context=_trusting(variables.get("AWS_CA_BUNDLE")) if base.startswith("https:") else None,
    )
    return upstream, () if keys is None else tuple(filter(None, (keys.access_key, keys.secret_key, keys.token)))


def _trusting(ca_bundle: str | None) -> ssl.SSLContext:
    """What connections to a live endpoint trust: the authorities in `ca_bundle`, the system's without one."""
    try:
        return ssl.create_default_context(cafile=ca_bundle or None)
    except OSError as error:
        raise BadInput(
            f"AWS_CA_BUNDLE {ca_bundle} cannot be used",
            error.strerror or str(error),
            "set it to a file with certificates in PEM, or unset it",
        ) from error


def _emulator(
    command: TypedCommand, buckets: Sequence[str], objects: Sequence[StoredFile], stack: ExitStack, directory: Path
) -> Upstream:
    """Start the emulator, with `buckets` besides those that the command and `objects` name."""
    directory.mkdir(mode=0o700)
    named = buckets_of(Definition(name="recorded", command=command.words))
    everything = dict.fromkeys((*named, *buckets, *(item.bucket for item in objects)))
    emulator = stack.enter_context(EmulatorEndpoint(directory=directory))
    emulator.arm(EmulatorSettings(buckets=tuple(everything)), objects=objects)
    return Upstream(url=emulator.url)


def _stored(data_dir: Path) -> tuple[tuple[StoredFile, ...], tuple[str, ...]]:
    """The files below `data_dir` as objects, and the names of those that cannot be one, since they are not UTF-8."""
    objects, skipped = [], []
    for path in sorted(data_dir.rglob("*")):
        name = path.relative_to(data_dir).as_posix()
        bucket, _, key = name.partition("/")
        if not key or not path.is_file():
            continue
        file = str(path.resolve())
        if unencodable(name) or unencodable(file):
            skipped.append(name)
        else:
            objects.append(StoredFile(bucket, key, file))
    return tuple(objects), tuple(skipped)


def _pointed(
    variables: Mapping[str, str], url: str, ca_bundle: Path | None, command: TypedCommand, config: str
) -> dict[str, str]:
    """The user's environment, with the endpoint and made-up keys: a live endpoint gets the user's from us."""
    dropped = {*_CREDENTIAL_NAMES, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"}
    kept = {
        name: value
        for name, value in variables.items()
        if name not in dropped and not name.startswith(_OTHER_ENDPOINTS)
    }
    kept |= {
        "AWS_ENDPOINT_URL": url,
        "S3_ENDPOINT_URL": url,  # s5cmd's
        "AWS_ACCESS_KEY_ID": FAKE_CREDENTIALS.access_key,
        "AWS_SECRET_ACCESS_KEY": FAKE_CREDENTIALS.secret_key,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
    }
    for name in ("NO_PROXY", "no_proxy"):
        kept[name] = ",".join(filter(None, (variables.get(name, ""), "127.0.0.1")))
    if ca_bundle is not None:
        kept |= {"AWS_CA_BUNDLE": str(ca_bundle), "SSL_CERT_FILE": str(ca_bundle)}
    profile = command.profile or variables.get("AWS_PROFILE") or "default"
    text, _ = recorded_config(config, profile=profile, variables={}, own={}, is_portable=False)
    if not {"AWS_REGION", "AWS_DEFAULT_REGION"} & variables.keys() and "\nregion = " not in text:
        kept["AWS_DEFAULT_REGION"] = REGION
    return kept


def _argv(command: TypedCommand, url: str) -> tuple[str, ...]:
    """The command as typed. aws-cli 2.36's CRT and s5cmd need the endpoint as an option."""
    if not command.is_understood:
        return command.argv
    return (command.argv[0], "--endpoint-url", url, *command.argv[1:])


def _run(argv: Sequence[str], variables: Mapping[str, str], folder: Path) -> int:
    """The exit code of the command, its output on our stderr; interrupted, it is ended with all that it started."""
    process = None
    held: list[tuple[int, FrameType | None]] = []  # interrupts while it starts: they would lose what has just started
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {
        number: handler for number in ending_signals() if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, lambda *both: held.append(both))
    try:
        try:
            process = subprocess.Popen(argv, env=dict(variables), cwd=folder, stdin=subprocess.DEVNULL, stdout=2)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        for interrupt, frame in held:
            handlers[interrupt](interrupt, frame)
        return process.wait()
    except OSError as error:
        raise BadInput(
            f"`{argv[0]}` cannot be started",
            error.strerror or str(error),
            "put its directory on the PATH, or write its path",
        ) from error
    except BaseException:
        if process is not None:
            end_with_children(process)
        raise


def _failed(code: int, exchanges: Sequence[RecordedExchange], behind: Behind) -> ClientFailed:
    """Explain a command that failed; by itself if the emulator has not the services that it called."""
    ending = f"was ended by {named_signal(-code)}" if code < 0 else f"exited {code}"
    services = sorted({each.service for each in exchanges} - {SERVICE, EXPRESS_SERVICE, ""})
    if behind.url is None and services:
        return ClientFailed(
            f"the command {ending}",
            f"it called {' and '.join(services)}, and the emulator, which answered, has S3 only",
            "nothing was written; pass --endpoint-url URL of a server that has the service",
        )
    return ClientFailed(
        f"the command {ending}",
        "a definition of a command that fails would measure nothing",
        "nothing was written; read what the command says above, and record again",
    )


def _own_secrets(variables: Mapping[str, str]) -> Iterator[str]:
    """The user's keys in the environment and in the file of credentials, whichever profile they belong to."""
    yield from (variables[name] for name in _CREDENTIAL_NAMES if variables.get(name))
    sections = configparser.RawConfigParser(default_section="", strict=False)
    place = Path(variables.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
    with suppress(configparser.Error):
        sections.read_string(_read(place))
    for section in sections.sections():
        yield from (value for name, value in sections.items(section) if name.startswith("aws_") and value)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
