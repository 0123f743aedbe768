"""The benchmark definition that stands for a workload."""

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.spec.definition import (
    Definition,
    Environment,
    FileBody,
    Fill,
    FixtureDir,
    FixtureFile,
    ListingBody,
    RequestMatch,
    Response,
)

BUCKET = "s3bench-tune"
_FILE = "object"
_DIRECTORY = "files"


def definition_of(workload: Workload, *, config: str) -> Definition:
    """The benchmark of `workload` under the AWS config `config`; its responses tell which objects there must be."""
    fixture: FixtureFile | FixtureDir
    if workload.is_recursive:
        fixture = FixtureDir(
            name=_DIRECTORY,
            file_count=workload.files,
            file_size_bytes=workload.size_bytes,
            sizes=workload.sizes,
            fill=Fill.RANDOM,
        )
    else:
        fixture = FixtureFile(name=_FILE, size_bytes=workload.size_bytes, fill=Fill.RANDOM)
    return Definition(
        name=f"tune.{workload.action}",
        command=_command(workload),
        environment=Environment(
            files=(fixture,) if isinstance(fixture, FixtureFile) else (),
            file_dirs=(fixture,) if isinstance(fixture, FixtureDir) else (),
            config=config,
        ),
        responses=None if workload.is_upload else _responses(workload),
    )


def _command(workload: Workload) -> tuple[str, ...]:
    name = _DIRECTORY if workload.is_recursive else _FILE
    remote = f"s3://{BUCKET}/{name}"
    if workload.action is Action.SYNC:
        return "s3", "sync", name, remote, "--no-progress"
    ends = (name, remote) if workload.is_upload else (remote, f"landed-{name}")
    return "s3", "cp", *ends, *(("--recursive",) if workload.is_recursive else ()), "--no-progress"


def _responses(workload: Workload) -> tuple[Response, ...]:
    if not workload.is_recursive:
        return (_served(f"/{BUCKET}/{_FILE}", _FILE),)
    listing = Response(
        body=ListingBody(directory=_DIRECTORY, prefix=f"{_DIRECTORY}/"),
        match=RequestMatch(method="GET", path=f"/{BUCKET}", query=(("list-type", "2"),)),
        instances=None,
    )
    return listing, _served(f"/{BUCKET}/{_DIRECTORY}/*", f"{_DIRECTORY}/*")


def _served(path: str, file: str) -> Response:
    return Response(body=FileBody(file=file), match=RequestMatch(method="GET", path=path), instances=None)
