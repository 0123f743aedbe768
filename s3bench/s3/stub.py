"""The stub's script: which response a request takes, and what is left over.

Owns the order of responses, `match` and `instances`. Each request takes the first response not yet used up that fits
it, at the moment its body has been read to the end; a request that is refused for its checksums takes none. Pure:
`answer` renders, `connection` sends.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from msgspec import structs

from s3bench.s3.answer import Answer, OpenFile
from s3bench.s3.checksums import Verifier, verifier_for
from s3bench.s3.exchange import Body, Reply
from s3bench.s3.http import RequestHead
from s3bench.s3.refusal import refuse
from s3bench.spec.definition import FileBody, Match, Response


class _Entry:
    """One response of the script and how often it can still be taken (`None`: without end)."""

    __slots__ = ("answer", "fits", "left", "position", "response")

    def __init__(self, position: int, response: Response, file: OpenFile | None) -> None:
        self.position = position
        self.response = response
        self.answer = Answer(response, file)
        self.fits = None if response.match is None else _Fit(response.match)
        self.left = response.instances


class _Fit:
    """A `Match` made ready: whether it fits a request."""

    __slots__ = ("_exact_path", "_method", "_path", "_query")

    def __init__(self, match: Match) -> None:
        self._method = match.method
        self._exact_path = match.path if match.path is not None and "*" not in match.path else None
        self._path = None
        if match.path is not None and "*" in match.path:
            self._path = re.compile(".*".join(map(re.escape, match.path.split("*"))), re.DOTALL)
        self._query = match.query

    def __call__(self, head: RequestHead) -> bool:
        if self._method is not None and head.method != self._method:
            return False
        if self._exact_path is not None and head.path != self._exact_path:
            return False
        if self._path is not None and self._path.fullmatch(head.path) is None:
            return False
        if not self._query:
            return True
        given = dict(parse_qsl(head.query, keep_blank_values=True))
        return all(name in given and value in {"", given[name]} for name, value in self._query)


class Script:
    """The `exchange.Handler` of one iteration.

    `files` holds every `FileBody` of the responses, opened, by name. With `verify` each body is held against the
    checksums that its request declares, and refused as S3 does (400, BadDigest) when one is wrong.
    """

    def __init__(self, responses: tuple[Response, ...], *, files: Mapping[str, OpenFile], verify: bool) -> None:
        self._verify = verify
        self._live = [
            _Entry(position, response, files[response.body.file] if isinstance(response.body, FileBody) else None)
            for position, response in enumerate(responses)
            if response.instances != 0
        ]

    def begin(self, head: RequestHead) -> Verifier | None:
        """What verifies the body, if anything does."""
        return verifier_for(head) if self._verify else None

    def finish(self, head: RequestHead, body: Body, date_line: bytes) -> Reply:
        """The reply to a whole request."""
        checksums = None
        if isinstance(body.sink, Verifier):
            checksums, wrong = body.sink.outcome(body.trailers)
            if wrong:
                return refuse(
                    head,
                    status=400,
                    code="BadDigest",
                    message=wrong,
                    date_line=date_line,
                    error=f"checksum mismatch for {head.method} {head.target}: {wrong}",
                    checksums=checksums,
                )
        answer = self._take(head)
        if answer is None:
            return _nothing_left(head, date_line, checksums)
        reply = answer.reply(head, date_line)
        return reply if checksums is None else structs.replace(reply, checksums=checksums)

    def leftover(self) -> tuple[str, ...]:
        """Each response that no request took, in words, in the order of the script."""
        return tuple(_left_in_words(entry) for entry in self._live if entry.left is not None)

    def _take(self, head: RequestHead) -> Answer | None:
        live = self._live
        for index, entry in enumerate(live):
            if entry.fits is None or entry.fits(head):
                if entry.left is not None:
                    entry.left -= 1
                    if not entry.left:
                        del live[index]
                return entry.answer
        return None


def _nothing_left(head: RequestHead, date_line: bytes, checksums: dict[str, bool] | None) -> Reply:
    """A 400 that no client retries; S3 itself never sends this code."""
    message = f"no response left for {head.method} {head.target}"
    return refuse(
        head,
        status=400,
        code="NoResponseLeft",
        message=message,
        date_line=date_line,
        error=message,
        checksums=checksums,
    )


def _left_in_words(entry: _Entry) -> str:
    response = entry.response
    fits = response.match
    what = "" if fits is None else f" (match {' '.join(filter(None, (fits.method, fits.path, _query_in_words(fits))))})"
    if response.instances == 1:
        return f"responses[{entry.position}]{what}: unused"
    return f"responses[{entry.position}]{what}: {entry.left} of {response.instances} instances unused"


def _query_in_words(match: Match) -> str:
    return "?" + "&".join(f"{name}={value}" if value else name for name, value in match.query) if match.query else ""
