"""S3 errors: the exception that rejects a request, and the reply that it becomes.

See https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
"""

from html import escape

from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead, render_head

REQUEST_ID = "S3BENCH000000001"
"""The value of every x-amz-request-id: clients print it, nothing depends on it."""


class S3Error(Exception):
    """The request is rejected: the client gets `status` and an S3 error document.

    `details` are further elements of the document, `headers` further header lines of the reply; names with values.
    """

    def __init__(
        self,
        *,
        status: int,
        code: str,
        message: str,
        details: tuple[tuple[str, str], ...] = (),
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers


def s3_error_reply(
    head: RequestHead | None,
    s3_error: S3Error,
    date_line: bytes,
    *,
    checksums: dict[str, bool] | None = None,
    error: str = "",
) -> Reply:
    """Make the reply that carries `s3_error` to `head`; `checksums` and `error` go into the wire log."""
    return error_reply(
        head,
        status=s3_error.status,
        code=s3_error.code,
        message=s3_error.message,
        date_line=date_line,
        headers=s3_error.headers,
        details=s3_error.details,
        checksums=checksums,
        error=error,
    )


def error_reply(
    head: RequestHead | None,
    *,
    status: int,
    code: str,
    message: str,
    date_line: bytes,
    error: str = "",
    checksums: dict[str, bool] | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    details: tuple[tuple[str, str], ...] = (),
    to_head: bool = False,
) -> Reply:
    """Make an error reply to `head` (`None` when no head could be read), with `details` as further XML elements.

    `error` goes into the wire log. The reply has no body where the request is a HEAD, by `head` or by `to_head`.
    """
    resource = head.path if head is not None else ""
    document = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{_text(message)}</Message>'
        f"{''.join(f'<{name}>{_text(value)}</{name}>' for name, value in details)}"
        f"<Resource>{_text(resource)}</Resource><RequestId>{REQUEST_ID}</RequestId></Error>"
    ).encode()
    rendered = render_head(
        status,
        (
            ("x-amz-request-id", REQUEST_ID),
            ("Content-Type", "application/xml"),
            ("Content-Length", str(len(document))),
            *headers,
        ),
    )
    to_head = to_head or (head is not None and head.method == "HEAD")
    body = b"" if to_head else document
    return Reply(status, rendered + date_line + b"\r\n", body, error=error, checksums=checksums)


def _text(value: str) -> str:
    """`value` as XML text; characters that XML 1.0 forbids become question marks, others that cannot be seen too.

    Lines stay: S3 shows what it would have signed in lines.
    """
    shown = (character if character.isprintable() or character == "\n" else "?" for character in value)
    return escape("".join(shown), quote=False)
