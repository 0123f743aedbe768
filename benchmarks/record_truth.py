#!/usr/bin/env python3
"""Whether recorded definitions do again what was recorded, on many commands and clients.

    benchmarks/record_truth.py --moto /path/to/moto_server --results record_truth.jsonl

Every command is recorded with each client that has it, on the emulator or on moto. Its definition has to be valid, to
give the same requests in each of ten iterations on the recording client (method, path, and bytes of payload), and as a
transfer to run on at least four other clients. Thirty planted secrets are searched in every definition. A folder of
5,000 files has to come below 200 KB. What is in --results already is not done again. Targets: all of it; exit code 1
otherwise.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kept
from peers import free_port, serving

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.clients.finding import find_client
from s3bench.clients.plan import parse_client_spec
from s3bench.clients.registry import known_clients
from s3bench.clients.search import programs_on_path
from s3bench.clients.store import ClientStore
from s3bench.errors import S3BenchError
from s3bench.recording.command import parse_command
from s3bench.recording.definition import RecordedDefinition, Recording, make_definition
from s3bench.recording.exchange import Kind, RecordedExchange, kind_of
from s3bench.recording.live import Behind, record_command
from s3bench.results.measurement import Failure
from s3bench.run.endpoint import Endpoint
from s3bench.s3.wirelog import WireLog, WireRequest
from s3bench.spec.definition import Definition
from s3bench.spec.parse import parse_definitions

ITERATIONS = 10
OTHERS_MIN = 4
FILES = 5000
FILES_BYTES_MAX = 200_000
LIMIT_S = 60.0

TRANSFERS = (
    "s3 cp small s3://bucket/small",
    "s3 cp large s3://bucket/large",
    "s3 cp s3://bucket/a/small down",
    "s3 cp s3://bucket/a/large down",
    "s3 cp folder s3://bucket/folder --recursive",
    "s3 cp s3://bucket/a down --recursive",
    "s3 sync folder s3://bucket/folder",
    "s3 sync s3://bucket/a down",
    "s3 mv small s3://bucket/small",
    "s3 mv s3://bucket/a/small down",
    "s3 rm s3://bucket/a/small",
    "s3 rm s3://bucket/a --recursive",
    "s3 cp s3://bucket/a/small s3://bucket/copy",
    "s3 sync s3://bucket/a s3://bucket/copies",
)
S3_COMMANDS = (
    "s3 ls s3://bucket/a/",
    "s3 ls s3://bucket --recursive",
    "s3 mb s3://another",
    "s3api put-object --bucket bucket --key k --body small",
    "s3api get-object --bucket bucket --key a/small out",
    "s3api get-object --bucket bucket --key a/large --range bytes=5-99 out",
    "s3api head-object --bucket bucket --key a/large",
    "s3api list-objects-v2 --bucket bucket",
    "s3api list-buckets",
    "s3api copy-object --bucket bucket --key k --copy-source bucket/a/small",
    "s3api delete-object --bucket bucket --key a/small",
    "s3api create-multipart-upload --bucket bucket --key k",
    "s3api put-object-tagging --bucket bucket --key a/small --tagging TagSet=[{Key=k,Value=v}]",
    "s3api get-bucket-location --bucket bucket",
)
_CREATE_TABLE = (
    "dynamodb create-table --table-name {unique} --attribute-definitions AttributeName=k,AttributeType=S "
    "--key-schema AttributeName=k,KeyType=HASH --billing-mode PAY_PER_REQUEST"
)
MOTO_COMMANDS = (
    "sts get-caller-identity",
    "sts get-session-token",
    "sts assume-role --role-arn=arn:aws:iam::999988887777:role/r --role-session-name session",
    "ec2 describe-regions",
    "ec2 describe-vpcs",
    "ec2 create-key-pair --key-name {unique}",
    "dynamodb list-tables",
    _CREATE_TABLE,
    "lambda list-functions",
    "logs create-log-group --log-group-name {unique}",
    "logs describe-log-groups",
    "s3api create-bucket --bucket moto-{unique}",
)
SCRIPTS = {
    "s3 cp small s3://bucket/small": "s3.upload_file('small', 'bucket', 'small')",
    "s3 cp large s3://bucket/large": "s3.upload_file('large', 'bucket', 'large')",
    "s3 cp s3://bucket/a/small down": "s3.download_file('bucket', 'a/small', 'down')",
    "s3 cp s3://bucket/a/large down": "s3.download_file('bucket', 'a/large', 'down')",
    "s3 rm s3://bucket/a/small": "s3.delete_object(Bucket='bucket', Key='a/small')",
    "s3 cp s3://bucket/a/small s3://bucket/copy": "s3.copy({'Bucket': 'bucket', 'Key': 'a/small'}, 'bucket', 'copy')",
}
S5CMD = {
    "s3 cp small s3://bucket/small": "cp small s3://bucket/small",
    "s3 cp large s3://bucket/large": "cp large s3://bucket/large",
    "s3 cp s3://bucket/a/small down": "cp s3://bucket/a/small down",
    "s3 cp s3://bucket/a/large down": "cp s3://bucket/a/large down",
    "s3 cp folder s3://bucket/folder --recursive": "cp folder/ s3://bucket/folder/",
    "s3 cp s3://bucket/a down --recursive": "cp s3://bucket/a/* down/",
    "s3 sync folder s3://bucket/folder": "sync folder/ s3://bucket/folder/",
    "s3 sync s3://bucket/a down": "sync s3://bucket/a/* down/",
    "s3 mv small s3://bucket/small": "mv small s3://bucket/small",
    "s3 rm s3://bucket/a/small": "rm s3://bucket/a/small",
    "s3 rm s3://bucket/a --recursive": "rm s3://bucket/a/*",
    "s3 cp s3://bucket/a/small s3://bucket/copy": "cp s3://bucket/a/small s3://bucket/copy",
}

OWN_KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAPLANTED000000001",
    "AWS_SECRET_ACCESS_KEY": "plantedOwnSecret/0123456789+abcdefghijkl",
    "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2VjPLANTEDOWNTOKEN0123456789/abc+def==",
}
# Thirty: the user's own three keys, and these in a file and an object whose contents are kept. {} is the secret.
PLANTED: tuple[tuple[str, str], ...] = (
    ("key {}", "AKIAZ7QXPLANTED00002"),
    ("temporary {}", "ASIAZ7QXPLANTED00003"),
    ("aws_secret_access_key = {}", "plantedSecretKey/04/zzzzzzzzzzzzzzzzzzzz"),
    ('{{"SecretAccessKey": "{}"}}', "plantedSecretKey/05/zzzzzzzzzzzzzzzzzzzz"),
    ("<SecretAccessKey>{}</SecretAccessKey>", "plantedSecretKey/06/zzzzzzzzzzzzzzzzzzzz"),
    ('"SessionToken": "{}"', "FwoGZXIvYXdzEPLANTED07/////////wEaDPlanted"),
    ("<SessionToken>{}</SessionToken>", "plantedtoken08plantedtoken08plantedtoken"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature={}&x=1", "9f09planted0909090909090909090909"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}", "IQoJb3JpZ2luX2VjPLANTED10%2Fabc%3D"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Credential={}", "AKIAZ7QXPLANTED00011%2F20261125%2Fus-east-1"),
    ("https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Signature={}", "plantedV2signature12%3D"),
    ("Authorization: Bearer {}", "plantedbearer13plantedbearer13"),
    ('"password": "{}"', "planted-password-14!"),
    ("<MasterUserPassword>{}</MasterUserPassword>", "planted-password-15!"),
    ('{{"SecretString": "{{\\"password\\": \\"{}\\"}}"}}', "planted-password-16"),
    ("postgres://admin:{}@db/x", "planted-password-17"),
    ("{}", "ghp_planted18planted18planted18plan18"),
    ("{}", "xoxb-planted19-planted19planted19"),
    ("{}", "eyJhbGciOiJQTEFOVEVEMjAi.eyJzdWIiOiJQTEFOVEVEMjAi.c2lnUExBTlRFRDIw"),
    ("account 999988887777 is arn:aws:iam::{}:root", "999988887721"),
    ('"Account": "{}"', "999988887722"),
    ("<OwnerId>{}</OwnerId>", "999988887723"),
    ("https://sqs.us-east-1.amazonaws.com/{}/queue", "999988887724"),
    ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIEplanted25planted25planted25"),
    ('"api_key": "{}"', "planted-api-key-26"),
    ("client_secret={}", "planted-client-secret-27"),
    ("again the one of line three: {}", "plantedSecretKey/04/zzzzzzzzzzzzzzzzzzzz"),
    ("id {}", "5c0ffee0-28aa-4bbb-8ccc-planted00028".replace("planted", "1a27ed0")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A client that records: how it is started, and the client of s3bench that is the same program."""

    name: str
    argv: Callable[[str], tuple[str, ...] | None]
    client: FoundClient
    transfer_client: str = ""
    stands_for: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one command with one client."""

    command: str
    way: str
    error: str = ""
    is_valid: bool = False
    equal: int = 0
    others: tuple[str, ...] = ()
    differences: str = ""
    size_bytes: int = 0
    leaked: tuple[str, ...] = ()


def main() -> int:
    """Record and run everything, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moto", metavar="PROGRAM", default="moto_server", help="moto_server, where it is not on PATH")
    parser.add_argument("--results", type=Path, default=Path("record_truth.jsonl"), help="rows so far; appended to")
    parser.add_argument("--only", default="", help="only commands with this text")
    options = parser.parse_args()
    os.environ.update(OWN_KEYS)
    done = {(row["command"], row["way"]): row for row in kept.read(options.results)}
    ways = tuple(_ways())
    port = free_port()
    with serving([options.moto, "-p", str(port)], port):
        for command, way, url in _plan(ways, f"http://127.0.0.1:{port}"):
            if options.only in command and (command, way.name) not in done:
                row = _row(command, way, url)
                done[command, way.name] = json.loads(json.dumps({name: getattr(row, name) for name in Row.__slots__}))
                kept.append(options.results, done[command, way.name])
                print(f"{way.name:12} {command[:60]:60} {_verdict(done[command, way.name])}", flush=True)
    return _report(list(done.values()))


def _ways() -> Iterator[Way]:
    store = ClientStore.from_environment(os.environ)
    for name, spec in (("v2 classic", "cli-classic"), ("v2 crt", "cli-crt")):
        client = find_client(parse_client_spec(spec), store)
        yield Way(name=name, argv=_aws(client), client=client, transfer_client=spec.removeprefix("cli-"))
    for path in programs_on_path("aws", os.environ.get("PATH", "")):
        client = find_client(parse_client_spec(f"cli-classic@{path}"), store)
        if client.release[:1] == (1,):
            yield Way(name="v1", argv=_aws(client), client=client)
            break
    boto3 = find_client(parse_client_spec("boto3-classic"), store)
    yield Way(name="boto3", argv=_script, client=boto3, stands_for=True)
    s5cmd = find_client(parse_client_spec("s5cmd"), store)
    yield Way(
        name="s5cmd",
        argv=lambda text: (str(s5cmd.executable), *S5CMD[text].split()) if text in S5CMD else None,
        client=s5cmd,
    )


def _aws(client: FoundClient) -> Callable[[str], tuple[str, ...]]:
    return lambda text: (str(client.executable), *text.split())


def _script(text: str) -> tuple[str, ...] | None:
    if text not in SCRIPTS:
        return None
    return sys.executable, "-c", f"import boto3; s3 = boto3.client('s3'); {SCRIPTS[text]}"


def _plan(ways: tuple[Way, ...], moto: str) -> Iterator[tuple[str, Way, str | None]]:
    for command in (*TRANSFERS, *S3_COMMANDS):
        for way in ways:
            if way.argv(command) is not None:
                yield command, way, None
    for command in MOTO_COMMANDS:
        for way in ways[:1] + tuple(way for way in ways if way.name == "v1"):
            yield command, way, moto


def _row(command: str, way: Way, url: str | None) -> Row:
    try:
        with tempfile.TemporaryDirectory(prefix="record-truth-") as place:
            recording, made = _record(command, way, url, Path(place))
            return _checked(command, way, recording, made)
    except S3BenchError as error:
        return Row(command=command, way=way.name, error=str(error).replace("\n", "; "))


def _record(command: str, way: Way, url: str | None, place: Path) -> tuple[Recording, RecordedDefinition]:
    work, store = place / "work", place / "store"
    work.mkdir()
    noise = random.Random(1)
    folder = {"x/1.bin": 70_000, "x/2.bin": 3, "y.bin": 9_000_000, "empty": 0}
    for root, files in (
        (work, {"small": 4096, "large": 20_000_000} | {f"folder/{name}": size for name, size in folder.items()}),
        (store / "bucket", {"a/small": 4096, "a/large": 20_000_000, "a/b/c": 70_000}),
    ):
        for name, size in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(noise.randbytes(size))
    config = place / "config"
    lines = [f"    preferred_transfer_client = {way.transfer_client}"] if way.transfer_client else []
    config.write_text("\n".join(["[default]", "region = us-east-1", *(["s3 =", *lines] if lines else []), ""]))
    argv = way.argv(command.replace("{unique}", f"new-{way.name.replace(' ', '-')}"))  # moto starts empty
    assert argv is not None
    variables = {**os.environ, "AWS_CONFIG_FILE": str(config)}
    behind = Behind(url=url) if url else Behind(data_dir=store)
    recording = record_command(
        parse_command(argv, stands_for=command if way.stands_for else None, folder=work),
        behind=behind, tls=False, with_contents=False, folder=work, variables=variables,
    )  # fmt: skip
    return recording, make_definition(recording, name=None)


def _checked(command: str, way: Way, recording: Recording, made: RecordedDefinition) -> Row:
    [definition] = parse_definitions(made.text, "recorded", known_clients())
    wanted = Counter(_request(each) for each in recording.exchanges)
    equal, differences = 0, ""
    for seen in _iterations(definition, way.client, ITERATIONS):
        if isinstance(seen, str):
            differences = seen
            continue
        got = Counter(_wire_request(each) for each in seen.requests)
        equal += got == wanted
        differences = differences or ("" if got == wanted else f"more {got - wanted}, fewer {wanted - got}"[:600])
    others = tuple(_others(definition, way)) if definition.clients else ()
    leaked = tuple(value for value in OWN_KEYS.values() if value in made.text)
    return Row(
        command=command, way=way.name, is_valid=True, equal=equal, others=others, differences=differences,
        size_bytes=len(made.text.encode()), leaked=leaked,
    )  # fmt: skip


class _Watched:
    """An endpoint whose wire logs are kept."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.log: WireLog | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    def collect(self, meanwhile: Callable[[], object]) -> WireLog | None:
        self.log = self._endpoint.collect(meanwhile)
        return self.log


def _iterations(definition: Definition, client: FoundClient, count: int) -> Iterator[WireLog | str]:
    """The wire log of each iteration, or why it failed."""
    watched: list[_Watched] = []

    @contextmanager
    def opened(directory: Path) -> Iterator[Endpoint]:
        with stub_server()(directory) as endpoint:
            watched.append(_Watched(endpoint))
            yield watched[0]

    with open_bench(opened) as bench, bench.workspace(definition.environment) as make:
        runner = make(definition, client)
        for iteration in range(count):
            outcome = runner.run_once(iteration, Settings(timeout_s=LIMIT_S, probes=False), "truth")
            log = watched[0].log
            if isinstance(outcome, Failure) or log is None:
                yield f"{getattr(outcome, 'what', '')}: {getattr(outcome, 'why', '')[-300:]}"
            else:
                yield log


def _others(definition: Definition, way: Way) -> Iterator[str]:
    """The other clients on which the transfer runs."""
    store = ClientStore.from_environment(os.environ)
    for name in (*definition.clients, "rclone"):
        if name == way.client.kind:
            continue
        try:
            client = find_client(parse_client_spec(name), store)
            if all(not isinstance(seen, str) for seen in _iterations(definition, client, 1)):
                yield name
        except S3BenchError:
            continue


def _sizes(kind: Kind, method: str, sent: int, received: int, *, is_s3: bool) -> tuple[int, int]:
    """Payload bytes that have to be equal: of objects both ways; of other services' requests."""
    if not is_s3:
        return sent, 0
    return (sent if method == "PUT" else 0), (received if kind is Kind.READ else 0)


def _request(each: RecordedExchange) -> tuple[str, str, tuple[int, int]]:
    kind = kind_of(each.method, each.path, each.parameters)
    sizes = _sizes(kind, each.method, each.request_bytes, each.response_bytes, is_s3=each.service in {"", "s3"})
    return each.method, each.path, sizes


def _wire_request(each: WireRequest) -> tuple[str, str, tuple[int, int]]:
    parameters = {piece.partition("=")[0]: piece.partition("=")[2] for piece in each.query.split("&")}
    kind = kind_of(each.method, each.path, parameters)
    is_s3 = each.path.strip("/") != "" and not each.path.startswith("/2015-03-31")
    return each.method, each.path, _sizes(kind, each.method, each.body_bytes, each.response_bytes, is_s3=is_s3)


def _secrets() -> tuple[int, list[str]]:
    """Record a file and an object with all planted secrets, contents kept; what is still in the definitions."""
    text = "\n".join(form.format(secret) for form, secret in PLANTED)
    secrets = [*OWN_KEYS.values(), *(secret for _, secret in PLANTED)]
    written = ""
    way = next(_ways())
    for command in ("s3 cp secrets.txt s3://bucket/secrets.txt", "s3 cp s3://bucket/secrets.txt down"):
        with tempfile.TemporaryDirectory(prefix="record-truth-") as name:
            place = Path(name)
            (place / "store" / "bucket").mkdir(parents=True)
            (place / "store" / "bucket" / "secrets.txt").write_text(text)
            (place / "secrets.txt").write_text(text)
            recording = record_command(
                parse_command((str(way.client.executable), *command.split()), stands_for=None, folder=place),
                behind=Behind(data_dir=place / "store"), tls=False, with_contents=True, folder=place,
                variables=dict(os.environ),
            )  # fmt: skip
            made = make_definition(recording, name=None)
            parse_definitions(made.text, "recorded", known_clients())
            written += made.text
    return len(set(secrets)), [secret for secret in dict.fromkeys(secrets) if secret in written]


def _large_folder() -> int:
    """The size of the definition of a sync of 5,000 files with names and sizes of their own."""
    way = next(_ways())
    noise = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="record-truth-") as name:
        folder = Path(name) / "photos"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"img_{number:05}.jpg").write_bytes(bytes(noise.randrange(1, 9000)))
        recording = record_command(
            parse_command(
                (str(way.client.executable), "s3", "sync", "photos", "s3://bucket/p", "--quiet"),
                stands_for=None, folder=Path(name),
            ),
            behind=Behind(), tls=False, with_contents=False, folder=Path(name), variables=dict(os.environ),
        )  # fmt: skip
        text = make_definition(recording, name=None).text
        parse_definitions(text, "recorded", known_clients())
        shutil.rmtree(folder)
        return len(text.encode())


def _is_good(row: dict[str, Any]) -> bool:
    is_transfer = row["command"] in TRANSFERS
    return bool(
        row["is_valid"] and row["equal"] == ITERATIONS and not row["leaked"]
        and (not is_transfer or len(row["others"]) >= OTHERS_MIN)
    )  # fmt: skip


def _verdict(row: dict[str, Any]) -> str:
    if row["error"]:
        return f"not recorded: {row['error'][:200]}"
    mark = "ok" if _is_good(row) else "BAD"
    counts = f"{row['equal']}/{ITERATIONS} equal, {len(row['others'])} others, {row['size_bytes']} B"
    return f"{mark} {counts} {row['differences'][:300]}"


def _report(rows: list[dict[str, Any]]) -> int:
    good = [row for row in rows if _is_good(row)]
    commands = {row["command"] for row in rows}
    count, leaked = _secrets()
    folder_bytes = _large_folder()
    print(f"{len(good)} of {len(rows)} recordings ({len(commands)} commands) as they should be")
    print(f"{count} planted secrets, in definitions: {leaked or 'none'}")
    print(f"sync of {FILES} files: {folder_bytes} bytes")
    for row in rows:
        if not _is_good(row):
            print(f"  {row['way']}: {row['command']}: {_verdict(row)}")
    return 0 if len(good) == len(rows) and not leaked and folder_bytes < FILES_BYTES_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
