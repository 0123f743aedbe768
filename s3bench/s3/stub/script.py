"""The stub's script: decides which response a request takes, and what is left over.

Each request takes the first response not yet used up that fits it (`match`, `instances`), when its body has been read
to the end; a request that is rejected for its checksums takes none.

Bodies are not kept. So that uploads can be compared with their files afterwards, a script that verifies has a checksum
of each: one that the client declared, else CRC-32, which takes about 1.4 ms for 32 MiB.
"""

from typing import Protocol

from s3bench.errors import S3BenchError
from s3bench.s3.files.file_cache import OpenFile
from s3bench.s3.protocol.checksums import CRC_BYTES, DeclaredChecksum, Verifier, declared_checksums, verifier_for
from s3bench.s3.protocol.exchange import Reply, RequestBody
from s3bench.s3.protocol.http import SUCCESSES, RequestHead, query_pairs
from s3bench.s3.protocol.s3_error import error_reply
from s3bench.s3.stub.response import StubResponse
from s3bench.s3.wirelog import UploadDigest
from s3bench.spec.definition import FileBody, RequestMatch, Response

_RENDERED_MAX = 256
"""Rendered responses kept for the next request of the same file: a HEAD is followed by a GET, one range by the next."""

DIGESTS_MAX = 1_000_000
"""Uploads whose checksums are kept: as many as the wire log keeps requests."""


class Files(Protocol):
    """Where file bodies come from."""

    def find(self, name: str) -> OpenFile | None:
        """Give the file `name`, opened, or `None` where there is none."""


class _PathPattern:
    """A path with `*`. The first `*` stands for as much as it can, as in a regular expression.

    So the texts between the stars are searched for from the end, each once: no path makes it backtrack.
    """

    __slots__ = ("_backwards", "_end", "_start")

    def __init__(self, path: str) -> None:
        self._start, *between, self._end = path.split("*")
        # Backwards, since str.find bounds its work for long texts and str.rfind does not.
        self._backwards = [text[::-1] for text in reversed(between)]

    def wildcard(self, path: str) -> str | None:
        """Give what the first `*` stands for in `path`, or `None` where it does not fit."""
        start, end = len(self._start), len(path) - len(self._end)
        if start > end or not path.startswith(self._start) or not path.endswith(self._end):
            return None
        if self._backwards:
            backwards, at, limit = path[::-1], len(self._end), len(path) - start
            for text in self._backwards:
                at = backwards.find(text, at, limit)
                if at < 0:
                    return None
                at += len(text)
            end = len(path) - at
        return path[start:end]


class _Fit:
    """A `RequestMatch` prepared for matching requests."""

    __slots__ = ("_exact_path", "_method", "_path", "_query")

    def __init__(self, match: RequestMatch) -> None:
        self._method = match.method
        self._exact_path = match.path if match.path is not None and "*" not in match.path else None
        self._path = _PathPattern(match.path) if match.path is not None and "*" in match.path else None
        self._query = match.query

    def wildcard(self, head: RequestHead) -> str | None:
        """Give what the path's first `*` stands for in `head` (empty without one), or `None` where it does not fit."""
        if self._method is not None and head.method != self._method:
            return None
        if self._exact_path is not None and head.path != self._exact_path:
            return None
        stands_for = ""
        if self._path is not None:
            found = self._path.wildcard(head.path)
            if found is None:
                return None
            stands_for = found
        if self._query:
            given = dict(query_pairs(head.query, errors="replace"))
            if not all(name in given and value in {"", given[name]} for name, value in self._query):
                return None
        return stands_for


class _Entry:
    """One response of the script, and how often it can still be taken (`None`: without end).

    `rendered` is made beforehand, except where the file depends on the request; `rendered_files` are the latest, by
    the file's name.
    """

    __slots__ = ("fit", "left", "position", "rendered", "rendered_files", "response")

    def __init__(self, position: int, response: Response, files: Files) -> None:
        self.position = position
        self.response = response
        self.fit = None if response.match is None else _Fit(response.match)
        self.left = response.instances
        self.rendered_files: dict[str, StubResponse] = {}
        self.rendered = (
            None if _depends_on_request(response) else StubResponse(response, _file_of(position, response, files))
        )


class _UploadVerifier(Verifier):
    """Verifies the body of a PUT, and has its checksum by `algorithm`: a CRC where there is one, as it costs least."""

    __slots__ = ("algorithm",)

    def __init__(self, declared: list[DeclaredChecksum]) -> None:
        algorithms = [checksum.algorithm for checksum in declared] or ["crc32"]
        self.algorithm = next(filter(CRC_BYTES.__contains__, algorithms), algorithms[0])
        super().__init__(declared, also=(self.algorithm,))


class Script:
    """The `exchange.Handler` of one iteration.

    File bodies come from `files`; raises `S3BenchError` where one is missing. With `verify` each body is compared with
    the checksums that its request declares, and rejected as S3 does (400, BadDigest) if one is wrong; `digests` has a
    checksum of each upload.
    """

    def __init__(self, responses: tuple[Response, ...], *, files: Files, verify: bool) -> None:
        self.verifies = verify
        self._digests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self._files = files
        self._live = [
            _Entry(position, response, files) for position, response in enumerate(responses) if response.instances != 0
        ]

    def begin(self, head: RequestHead) -> Verifier | None:
        """Give what verifies the body, if anything does."""
        return _verifier_for(head) if self.verifies else None

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        """Give the reply to a whole request."""
        # A request without a body has not been asked about yet, and its checksums are those of no bytes.
        verifier = body.sink or self.begin(head)
        if verifier is None:
            return self._reply(head, date_line)
        assert isinstance(verifier, Verifier)
        checksums, wrong = verifier.outcome(body.trailers)
        if wrong:
            return error_reply(
                head,
                status=400,
                code="BadDigest",
                message=wrong,
                date_line=date_line,
                error=f"checksum mismatch for {head.method} {head.target}: {wrong}",
                checksums=checksums,
            )
        reply = self._reply(head, date_line).with_checksums(checksums)
        if isinstance(verifier, _UploadVerifier) and reply.facts[0] in SUCCESSES:
            self._keep_digest(head, verifier)
        return reply

    def digests(self) -> tuple[UploadDigest, ...]:
        """Give the checksum of each upload that was answered with success, the last of each path and query."""
        return tuple(
            UploadDigest(path, query, algorithm, value) for (path, query), (algorithm, value) in self._digests.items()
        )

    def leftover(self) -> tuple[str, ...]:
        """Each response that no request took, in words, in the order of the script."""
        return tuple(_left_in_words(entry) for entry in self._live if entry.left is not None)

    def _keep_digest(self, head: RequestHead, verifier: _UploadVerifier) -> None:
        if len(self._digests) < DIGESTS_MAX:
            self._digests[head.path, head.query] = (verifier.algorithm, verifier.digest(verifier.algorithm))

    def _reply(self, head: RequestHead, date_line: bytes) -> Reply:
        live = self._live
        for entry in live:
            wildcard = "" if entry.fit is None else entry.fit.wildcard(head)
            if wildcard is not None:
                if entry.left is not None:
                    entry.left -= 1
                    if not entry.left:
                        live.remove(entry)
                if entry.rendered is not None:
                    return entry.rendered.reply(head, date_line)
                return self._reply_with(entry, wildcard, head, date_line)
        # A 400 that no client retries; S3 itself never sends this code.
        message = f"no response left for {head.method} {head.target}"
        return error_reply(head, status=400, code="NoResponseLeft", message=message, date_line=date_line, error=message)

    def _reply_with(self, entry: _Entry, wildcard: str, head: RequestHead, date_line: bytes) -> Reply:
        """Reply with the file that the request names by its path."""
        assert isinstance(entry.response.body, FileBody)
        name = entry.response.body.file.replace("*", wildcard)
        rendered = entry.rendered_files.get(name)
        if rendered is not None:
            return rendered.reply(head, date_line)
        file = self._files.find(name)
        if file is not None:
            if len(entry.rendered_files) >= _RENDERED_MAX:
                del entry.rendered_files[next(iter(entry.rendered_files))]
            rendered = entry.rendered_files[name] = StubResponse(entry.response, file)
            return rendered.reply(head, date_line)
        message = f"the workspace has no file {name!r} for {head.method} {head.target}"
        return error_reply(head, status=404, code="NoSuchKey", message=message, date_line=date_line, error=message)


def _verifier_for(head: RequestHead) -> Verifier | None:
    return _UploadVerifier(declared_checksums(head)) if head.method == "PUT" else verifier_for(head)


def _depends_on_request(response: Response) -> bool:
    return isinstance(response.body, FileBody) and "*" in response.body.file


def _file_of(position: int, response: Response, files: Files) -> OpenFile | None:
    if not isinstance(response.body, FileBody):
        return None
    file = files.find(response.body.file)
    if file is None:
        raise S3BenchError(
            f"responses[{position}]: the workspace has no file {response.body.file!r}",
            "its body is read from there",
            "make it under `environment`",
        )
    return file


def _left_in_words(entry: _Entry) -> str:
    response = entry.response
    fits = response.match
    what = "" if fits is None else f" (match {' '.join(filter(None, (fits.method, fits.path, _query_in_words(fits))))})"
    if response.instances == 1:
        return f"responses[{entry.position}]{what}: unused"
    return f"responses[{entry.position}]{what}: {entry.left} of {response.instances} instances unused"


def _query_in_words(match: RequestMatch) -> str:
    return "?" + "&".join(f"{name}={value}" if value else name for name, value in match.query) if match.query else ""
