"""The objects that responses pretend to exist, and a command moved under a prefix."""

from s3bench.spec.definition import (
    Definition,
    Environment,
    FileBody,
    FixtureDir,
    FixtureFile,
    ListingBody,
    RequestMatch,
    Response,
)
from s3bench.spec.remote import RemoteObject, moved_under, remote_objects

ENVIRONMENT = Environment(
    files=(FixtureFile(name="remote", size_bytes=1),),
    file_dirs=(FixtureDir(name="many", file_count=2, file_size_bytes=1),),
)


def objects(*responses: Response) -> tuple[RemoteObject, ...]:
    return remote_objects(Definition(name="x", command=("s3",), environment=ENVIRONMENT, responses=responses))


def get(path: str, file: str, method: str = "GET") -> Response:
    return Response(match=RequestMatch(method=method, path=path), body=FileBody(file=file))


def test_a_get_with_a_file_body_names_an_object() -> None:
    assert objects(get("/bucket/some/key", "remote")) == (RemoteObject(key="some/key", file="remote"),)


def test_a_star_stands_for_every_fixture_that_fits() -> None:
    assert objects(get("/bucket/data/*", "many/*")) == (
        RemoteObject(key="data/file-000000", file="many/file-000000"),
        RemoteObject(key="data/file-000001", file="many/file-000001"),
    )


def test_a_listing_names_the_objects_it_lists_once() -> None:
    listing = Response(
        match=RequestMatch(method="GET", path="/bucket"), body=ListingBody(directory="many", prefix="data/")
    )
    assert objects(listing, get("/bucket/data/*", "many/*")) == objects(get("/bucket/data/*", "many/*"))


def test_other_methods_and_plain_bodies_name_none() -> None:
    assert objects(get("/bucket/key", "remote", "HEAD"), Response(body="text")) == ()


def test_every_s3_location_moves_under_the_prefix_and_nothing_else_changes() -> None:
    definition = Definition(name="x", command=("s3", "cp", "s3://a/k/l", "s3://b", "--quiet"))
    assert moved_under(definition, bucket="own", prefix="p/q").command == (
        "s3", "cp", "s3://own/p/q/k/l", "s3://own/p/q/", "--quiet",
    )  # fmt: skip
