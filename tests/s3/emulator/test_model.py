"""The emulator beside a plain model of S3: whatever is done, in whatever order, both hold the same."""

import base64
import hashlib
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.s3.emulator.asking import Answer, Asker, Pending

MIB = 1 << 20
KEYS = ("a", "a/b", "a/b/c", "a b", "b//", "ä/+%")
LARGE = 5 * MIB
SIZES = (0, 1, 10, 100, 3_000, 40_000)

keys = st.sampled_from(KEYS)
sizes = st.sampled_from(SIZES)  # a body is drawn by its size, so that a failing case can be read


BODIES = {size: random.Random(size).randbytes(size) for size in (*SIZES, LARGE)}


@dataclass
class ModelUpload:
    key: str
    number: int
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass
class HalfPut:
    pending: Pending
    body: bytes
    place: tuple[str, str, int]  # key, and the upload's id and the part's number where it is a part


class Model(RuleBasedStateMachine):
    """Versions are kept newest first, as `(id, body)`; a delete marker has no body."""

    def __init__(self) -> None:
        super().__init__()
        self.asker = Asker()
        self.versioning = ""
        self.versions: dict[str, list[tuple[str, bytes | None]]] = {}
        self.uploads: dict[str, ModelUpload] = {}
        self.half: list[HalfPut] = []
        self.begun = 0
        self.ids: set[str] = set()

    # What S3 does, said plainly.

    def keep(self, key: str, answer: Answer, body: bytes | None, *, null_told: bool = False) -> None:
        version_id = answer.headers.get("x-amz-version-id", "null")
        told = self.versioning == "Enabled" or (self.versioning == "Suspended" and null_told)
        assert ("x-amz-version-id" in answer.headers) == told
        versions = self.versions.setdefault(key, [])
        if self.versioning == "Enabled":
            assert version_id not in self.ids, "an id was given twice"
            self.ids.add(version_id)
        else:
            assert version_id == "null"
            versions[:] = [version for version in versions if version[0] != "null"]
        versions.insert(0, (version_id, body))

    def current(self, key: str) -> bytes | None:
        versions = self.versions.get(key)
        return versions[0][1] if versions else None

    def remove(self, key: str, version_id: str) -> None:
        left = [version for version in self.versions.get(key, []) if version[0] != version_id]
        self.versions[key] = left
        if not left:
            del self.versions[key]

    def live(self) -> list[str]:
        return sorted(key for key in self.versions if self.current(key) is not None)

    def ask(self, method: str, key: str = "", **request: Any) -> Answer:
        self.asker.now_s += 1
        return self.asker.ask(method, key, **request)

    # Objects.

    @rule(state=st.sampled_from(["Enabled", "Suspended"]))
    def set_versioning(self, state: str) -> None:
        document = f"<VersioningConfiguration><Status>{state}</Status></VersioningConfiguration>".encode()
        assert self.ask("PUT", query={"versioning": ""}, body=document).status == 200
        self.versioning = state

    @rule(key=keys, size=sizes)
    def put(self, key: str, size: int) -> None:
        body = BODIES[size]
        checksum = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
        answer = self.ask("PUT", key, body=body, headers={"x-amz-checksum-crc32": checksum})
        assert answer.status == 200
        assert answer.headers["etag"] == f'"{hashlib.md5(body).hexdigest()}"'
        self.keep(key, answer, body)

    @rule(key=keys, size=sizes)
    def put_what_is_not_there_yet(self, key: str, size: int) -> None:
        body = BODIES[size]
        answer = self.ask("PUT", key, body=body, headers={"if-none-match": "*"})
        if self.current(key) is None:
            assert answer.status == 200
            self.keep(key, answer, body)
        else:
            assert (answer.status, answer.code) == (412, "PreconditionFailed")

    @rule(key=keys, size=sizes)
    def put_with_a_wrong_checksum(self, key: str, size: int) -> None:
        body = BODIES[size]
        answer = self.ask("PUT", key, body=body, headers={"x-amz-checksum-crc32": "AAAAAQ=="})
        assert (answer.status, answer.code) == (400, "BadDigest")

    @rule(key=keys)
    def get(self, key: str) -> None:
        answer = self.ask("GET", key)
        body = self.current(key)
        if body is None:
            assert (answer.status, answer.code) == (404, "NoSuchKey")
            assert ("x-amz-delete-marker" in answer.headers) == (key in self.versions)
            return
        assert (answer.status, answer.body) == (200, body)
        head = self.ask("HEAD", key)
        assert (head.body, head.headers["content-length"]) == (b"", str(len(body)))
        assert head.headers["etag"] == answer.headers["etag"]

    @rule(key=keys, first=st.integers(0, 50_000) | st.integers(LARGE - 5, LARGE + 5), count=st.integers(1, 50_000))
    def get_a_range(self, key: str, first: int, count: int) -> None:
        body = self.current(key)
        answer = self.ask("GET", key, headers={"range": f"bytes={first}-{first + count - 1}"})
        if body is None:
            assert answer.status == 404
        elif first >= len(body):
            assert (answer.status, answer.code) == (416, "InvalidRange")
        else:
            part = body[first : first + count]
            assert (answer.status, answer.body) == (206, part)
            assert answer.headers["content-range"] == f"bytes {first}-{first + len(part) - 1}/{len(body)}"

    @rule(data=st.data())
    def get_a_version(self, data: st.DataObject) -> None:
        known = [(key, *version) for key, versions in self.versions.items() for version in versions]
        if not known:
            return
        key, version_id, body = data.draw(st.sampled_from(known))
        answer = self.ask("GET", key, query={"versionId": version_id})
        if body is None:
            assert (answer.status, answer.code) == (405, "MethodNotAllowed")
        else:
            assert (answer.status, answer.body) == (200, body)
            assert answer.headers.get("x-amz-version-id") == (version_id if self.versioning else None)

    @rule(source=keys, key=keys)
    def copy(self, source: str, key: str) -> None:
        headers = {"x-amz-copy-source": f"bucket/{_quoted(source)}", "x-amz-metadata-directive": "REPLACE"}
        answer = self.ask("PUT", key, headers=headers)
        body = self.current(source)
        if body is None:
            assert (answer.status, answer.code) == (404, "NoSuchKey")
        else:
            assert answer.status == 200
            self.keep(key, answer, body, null_told=True)

    @rule(key=keys)
    def delete(self, key: str) -> None:
        answer = self.ask("DELETE", key)
        assert answer.status == 204
        if self.versioning:
            assert answer.headers["x-amz-delete-marker"] == "true"
            self.keep(key, answer, None, null_told=True)
        else:
            self.remove(key, "null") if key in self.versions else None

    @rule(data=st.data())
    def delete_a_version(self, data: st.DataObject) -> None:
        known = [(key, version[0]) for key, versions in self.versions.items() for version in versions]
        key, version_id = data.draw(st.sampled_from([*known, ("a", "null")]))
        assert self.ask("DELETE", key, query={"versionId": version_id}).status == 204
        if key in self.versions:
            self.remove(key, version_id)

    # Lists.

    @rule(prefix=st.sampled_from(["", "a", "a/", "b", "x"]), delimiter=st.sampled_from(["", "/", "b"]),
          limit=st.integers(1, 4))  # fmt: skip
    def list_objects(self, prefix: str, delimiter: str, limit: int) -> None:
        expected = _grouped([key for key in self.live() if key.startswith(prefix)], prefix, delimiter)
        found: list[str] = []
        query = {"list-type": "2", "prefix": prefix, "max-keys": str(limit)}
        if delimiter:
            query["delimiter"] = delimiter
        for _ in range(len(KEYS) + 1):
            answer = self.ask("GET", query=query)
            page = [*answer.texts("Contents/Key"), *answer.texts("CommonPrefixes/Prefix")]
            assert len(page) <= limit
            found += sorted(page)
            if answer.texts("IsTruncated") == ["false"]:
                break
            query["continuation-token"] = answer.texts("NextContinuationToken")[0]
        assert found == expected

    @rule(limit=st.integers(1, 4))
    def list_versions(self, limit: int) -> None:
        expected = [
            (key, version_id, body is None) for key in sorted(self.versions) for version_id, body in self.versions[key]
        ]
        found: list[tuple[str, str, bool]] = []
        query = {"versions": "", "max-keys": str(limit)}
        for _ in range(len(expected) + 1):
            answer = self.ask("GET", query=query)
            for node in answer.tree:
                if node.tag in {"Version", "DeleteMarker"}:
                    key, version_id = node.findtext("Key") or "", node.findtext("VersionId") or ""
                    found.append((key, version_id, node.tag == "DeleteMarker"))
                    newest = self.versions[key][0][0] == version_id
                    assert node.findtext("IsLatest") == ("true" if newest else "false")
            if answer.texts("IsTruncated") == ["false"]:
                break
            query["key-marker"] = answer.texts("NextKeyMarker")[0]
            query["version-id-marker"] = answer.texts("NextVersionIdMarker")[0]
        assert found == expected

    @rule()
    def list_uploads(self) -> None:
        expected = sorted((upload.key, upload.number, upload_id) for upload_id, upload in self.uploads.items())
        answer = self.ask("GET", query={"uploads": ""})
        found = list(zip(answer.texts("Upload/Key"), answer.texts("Upload/UploadId"), strict=True))
        assert found == [(key, upload_id) for key, _, upload_id in expected]

    # Multipart uploads.

    @rule(key=keys)
    def begin_upload(self, key: str) -> None:
        answer = self.ask("POST", key, query={"uploads": ""})
        upload_id = answer.texts("UploadId")[0]
        assert upload_id not in self.ids
        self.ids.add(upload_id)
        self.begun += 1
        self.uploads[upload_id] = ModelUpload(key, self.begun)

    @rule(key=keys, size=sizes)
    def upload_in_two_parts(self, key: str, size: int) -> None:
        self.begin_upload(key)
        upload_id, upload = list(self.uploads.items())[-1]
        for number, body in enumerate((BODIES[LARGE], BODIES[size]), 1):
            query = {"uploadId": upload_id, "partNumber": str(number)}
            assert self.ask("PUT", key, query=query, body=body).status == 200
            upload.parts[number] = body
        self._complete(upload_id, upload)

    @precondition(lambda self: self.uploads)
    @rule(data=st.data(), number=st.integers(1, 3), size=st.sampled_from([*SIZES[1:], LARGE, LARGE]))
    def put_part(self, data: st.DataObject, number: int, size: int) -> None:
        body = BODIES[size]
        upload_id, upload = self._any_upload(data)
        query = {"uploadId": upload_id, "partNumber": str(number)}
        assert self.ask("PUT", upload.key, query=query, body=body).status == 200
        upload.parts[number] = body

    @precondition(lambda self: self.uploads)
    @rule(data=st.data(), number=st.integers(1, 3), source=keys)
    def copy_part(self, data: st.DataObject, number: int, source: str) -> None:
        upload_id, upload = self._any_upload(data)
        headers = {"x-amz-copy-source": f"bucket/{_quoted(source)}"}
        body = self.current(source)
        if body:
            headers["x-amz-copy-source-range"] = f"bytes=0-{len(body) // 2}"
            body = body[: len(body) // 2 + 1]
        query = {"uploadId": upload_id, "partNumber": str(number)}
        answer = self.ask("PUT", upload.key, query=query, headers=headers)
        if body is None:
            assert (answer.status, answer.code) == (404, "NoSuchKey")
        else:
            assert answer.status == 200
            upload.parts[number] = body

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def list_parts(self, data: st.DataObject) -> None:
        upload_id, upload = self._any_upload(data)
        answer = self.ask("GET", upload.key, query={"uploadId": upload_id})
        assert answer.texts("Part/PartNumber") == [str(number) for number in sorted(upload.parts)]
        assert answer.texts("Part/Size") == [str(len(upload.parts[number])) for number in sorted(upload.parts)]

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        self._complete(*self._any_upload(data))

    def _complete(self, upload_id: str, upload: ModelUpload) -> None:
        listed = self.ask("GET", upload.key, query={"uploadId": upload_id})
        named = zip(listed.texts("Part/PartNumber"), listed.texts("Part/ETag"), strict=True)
        parts = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in named)
        document = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        answer = self.ask("POST", upload.key, query={"uploadId": upload_id}, body=document)
        in_order = [upload.parts[number] for number in sorted(upload.parts)]
        if not in_order:
            assert (answer.status, answer.code) == (400, "MalformedXML")
        elif any(len(body) < 5 * MIB for body in in_order[:-1]):
            assert (answer.status, answer.code) == (400, "EntityTooSmall")
        else:
            assert answer.status == 200
            self.keep(upload.key, answer, b"".join(in_order))
            del self.uploads[upload_id]
            again = self.ask("POST", upload.key, query={"uploadId": upload_id}, body=document)
            assert (again.status, again.body) == (200, answer.body)

    @precondition(lambda self: self.uploads)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        upload_id, upload = self._any_upload(data)
        assert self.ask("DELETE", upload.key, query={"uploadId": upload_id}).status == 204
        del self.uploads[upload_id]
        assert self.ask("DELETE", upload.key, query={"uploadId": upload_id}).code == "NoSuchUpload"

    def _any_upload(self, data: st.DataObject) -> tuple[str, ModelUpload]:
        upload_id = data.draw(st.sampled_from(sorted(self.uploads)))
        return upload_id, self.uploads[upload_id]

    # Bodies that come while other things happen.

    @precondition(lambda self: len(self.half) < 4)
    @rule(data=st.data(), key=keys, size=st.sampled_from(SIZES[1:]), number=st.integers(0, 2))
    def begin_a_body(self, data: st.DataObject, key: str, size: int, number: int) -> None:
        body = BODIES[size]
        query, upload_id = {}, ""
        if number and self.uploads:
            upload_id, upload = self._any_upload(data)
            key, query = upload.key, {"uploadId": upload_id, "partNumber": str(number)}
        pending = self.asker.begin("PUT", key, query=query, body=body)
        self.half.append(HalfPut(pending, body, (key, upload_id, number)))

    @precondition(lambda self: self.half)
    @rule(data=st.data(), count=st.integers(1, 20_000))
    def more_of_a_body_comes(self, data: st.DataObject, count: int) -> None:
        self.half[data.draw(st.integers(0, len(self.half) - 1))].pending.feed(count)

    @precondition(lambda self: self.half)
    @rule(data=st.data())
    def a_body_ends(self, data: st.DataObject) -> None:
        half = self.half.pop(data.draw(st.integers(0, len(self.half) - 1)))
        key, upload_id, number = half.place
        self.asker.now_s += 1
        answer = half.pending.finish()
        if not upload_id:
            assert answer.status == 200
            self.keep(key, answer, half.body)
        elif upload_id in self.uploads:
            assert answer.status == 200
            self.uploads[upload_id].parts[number] = half.body
        else:
            assert (answer.status, answer.code) == (404, "NoSuchUpload")

    @precondition(lambda self: self.half)
    @rule()
    def a_connection_breaks(self) -> None:
        self.half.pop()

    @invariant()
    def counted(self) -> None:
        assert self.asker.emulator.objects == sum(len(versions) for versions in self.versions.values())

    def teardown(self) -> None:
        """Everything deleted, all memory is back."""
        self.half.clear()
        for upload_id, upload in self.uploads.items():
            self.ask("DELETE", upload.key, query={"uploadId": upload_id})
        for key, versions in self.versions.items():
            for version_id, _ in versions:
                self.ask("DELETE", key, query={"versionId": version_id})
        assert self.asker.emulator.objects == 0
        assert self.asker.emulator.held_bytes == 0
        assert self.ask("DELETE").status == 204


def _quoted(key: str) -> str:
    return "".join(f"%{byte:02X}" for byte in key.encode())


def _grouped(live: list[str], prefix: str, delimiter: str) -> list[str]:
    if not delimiter:
        return live
    groups = set()
    for key in live:
        head, found, _ = key.removeprefix(prefix).partition(delimiter)
        groups.add(prefix + head + found)
    return sorted(groups)


def run(machine: Callable[[], RuleBasedStateMachine], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


def test_it_holds_what_a_plain_model_holds_whatever_is_done_in_whatever_order() -> None:
    run(Model, examples=30, steps=50)


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_it_holds_what_a_plain_model_holds_over_long_runs() -> None:
    run(Model, examples=1_000, steps=100)
