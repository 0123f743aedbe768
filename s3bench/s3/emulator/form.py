"""Reads multipart/form-data (RFC 7578) while it arrives: the fields, which are small, then the bytes of the file.

S3 takes the fields before the part called `file`, and ignores whatever comes after that part
(https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html). Pure.
"""

import re
from collections.abc import Iterator

from s3bench.s3.protocol.s3_error import S3Error

FIELDS_BYTES_MAX = 20 * 1024
"""What may come before the bytes of the file."""

_FORM = re.compile(r"multipart/form-data[ \t]*(?:;(.*))?", re.IGNORECASE)
_PARAMETER = re.compile(r';?[ \t]*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))[ \t]*')
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")  # RFC 2046 5.1.1
_DISPOSITION = re.compile(r"content-disposition:[ \t]*form-data[ \t]*;(.*)", re.IGNORECASE)


def boundary_of(content_type: str) -> bytes:
    """Give the boundary of a form, by its Content-Type. Raises `S3Error` for any other type."""
    found = _FORM.fullmatch(content_type)
    if found is None:
        message = "At least one of the pre-conditions you specified did not hold"
        details = (("Condition", "Bucket POST must be of the enclosure-type multipart/form-data"),)
        raise S3Error(status=412, code="PreconditionFailed", message=message, details=details)
    boundary = _parameters(found[1] or "").get("boundary", "")
    if _BOUNDARY.fullmatch(boundary) is None:
        raise malformed_form()
    return boundary.encode()


class FieldReader:
    """Reads the parts before the file. `fields` are by lower-case names, as S3 compares them.

    `file_name` is that of the file, without its directories; `None` where the form does not name it.
    """

    def __init__(self, boundary: bytes) -> None:
        self.fields: dict[str, str] = {}
        self.file_name: str | None = None
        self._delimiter = b"\r\n--" + boundary
        self._data = bytearray(b"\r\n")  # the first delimiter begins a line as well
        self._at = 0  # where the delimiter before the next part is searched

    def feed(self, piece: memoryview) -> memoryview | None:
        """Read on; gives what has come of the file once its part begins. Raises `S3Error`."""
        self._data += piece
        file_at = self._read_parts()
        if (len(self._data) if file_at is None else file_at) > FIELDS_BYTES_MAX:
            message = "Your POST request fields preceding the upload file were too large."
            raise S3Error(status=400, code="MaxPostPreDataLengthExceeded", message=message)
        if file_at is None:
            return None
        begun = bytes(self._data[file_at:])
        self._data.clear()
        return memoryview(begun)

    def _read_parts(self) -> int | None:
        """Read the parts that have come whole; gives where the bytes of the file begin."""
        data, delimiter = self._data, self._delimiter
        while True:
            start = data.find(delimiter, self._at)
            head_at = start + len(delimiter)
            following = data[head_at : head_at + 2]
            if start < 0 or len(following) < 2:  # noqa: PLR2004 (a line end, or two hyphens)
                return None
            if following == b"--":
                raise no_file()
            if following != b"\r\n":
                raise malformed_form()
            head_end = data.find(b"\r\n\r\n", head_at)
            if head_end < 0:
                return None
            value_at = head_end + 4
            name, file_name = _names(data[head_at:head_end].decode("utf-8", "replace"))
            if name == "file":
                self.file_name = file_name
                return value_at
            end = data.find(delimiter, value_at)
            if end < 0:
                return None
            self.fields[name] = data[value_at:end].decode("utf-8", "replace")
            self._at = end


class FileReader:
    """Finds the end of the file; `ended` says that it has come."""

    def __init__(self, boundary: bytes) -> None:
        self.ended = False
        self._delimiter = b"\r\n--" + boundary
        self._held = b""  # the last bytes, where the delimiter may have begun

    @property
    def framing_bytes(self) -> int:
        """What comes after the file at least: the delimiter, and the hyphens that end the form."""
        return len(self._delimiter) + 2

    def feed(self, piece: memoryview) -> Iterator[memoryview]:
        """Give what of `piece`, and of what was held back before, belongs to the file."""
        if self.ended:
            return
        if self._held:
            missing = self._delimiter[len(self._held) :]
            next_bytes = bytes(piece[: len(missing)])
            if missing.startswith(next_bytes):
                self._held += next_bytes
                self.ended = next_bytes == missing
                return
            yield memoryview(self._held)
            self._held = b""
        data = bytes(piece)  # memory that can be searched; it lives as long as this call
        end = data.find(self._delimiter)
        self.ended = end >= 0
        if not self.ended:
            # The delimiter has one carriage return, its first byte, so none can begin inside of another that failed.
            begun = data.rfind(b"\r", max(0, len(data) - len(self._delimiter)))
            end = begun if begun >= 0 and self._delimiter.startswith(data[begun:]) else len(data)
            self._held = data[end:]
        if end:
            yield piece[:end]


def malformed_form() -> S3Error:
    """The error for a body that is no form."""
    message = "The body of your POST request is not well-formed multipart/form-data."
    return S3Error(status=400, code="MalformedPOSTRequest", message=message)


def no_file() -> S3Error:
    """The error for a form without a part called `file`."""
    message = "POST requires exactly one file upload per request."
    return S3Error(status=400, code="IncorrectNumberOfFilesInPostRequest", message=message)


def _names(head: str) -> tuple[str, str | None]:
    """Give the name of a part, in lower case, and of its file, by its headers. Raises `S3Error`."""
    for line in head.split("\r\n"):
        found = _DISPOSITION.fullmatch(line)
        if found is None:
            continue
        parameters = _parameters(found[1])
        file_name = parameters.get("filename")
        if file_name is not None:  # some browsers send the whole path
            file_name = re.split(r"[/\\]", file_name)[-1]
        if "name" in parameters:
            return parameters["name"].lower(), file_name
    raise malformed_form()


def _parameters(text: str) -> dict[str, str]:
    """Read `name="value"; name=value`; names in lower case. A backslash escapes only a quotation mark."""
    return {
        found[1].lower(): found[3] if found[2] is None else found[2].replace('\\"', '"')
        for found in _PARAMETER.finditer(text)
    }
