"""Secrets taken out of what the user typed, before it is kept."""

import re
from collections.abc import Sequence

REDACTED = "***"

_NAMES = r"[\w-]*(?:secret|token|password|passwd|credential|signature|access[-_]key|api[-_]key)[\w-]*"
_SHORT_OPTION = re.compile(r"^(-q*[as])(.*)$", re.DOTALL)  # keys as the s3-benchmark tools take them, flags before
_SECRET_OPTION = re.compile(rf"^--?{_NAMES}$", re.IGNORECASE)
_SECRET_ASSIGNMENT = re.compile(rf"\b({_NAMES}=)[^&\s]+", re.IGNORECASE)
_QUERY = re.compile(r"\?[^\s,)]+")
_URL_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)


def redact(arguments: Sequence[str]) -> tuple[str, ...]:
    """Replace secret values: after or joined to options that name one, in URLs' credentials and signed queries."""
    redacted = []
    hide_next = False
    for argument in arguments:
        short = _SHORT_OPTION.match(argument)
        if hide_next and not argument.startswith("--"):
            redacted.append(REDACTED)
        elif short is not None:
            redacted.append(short[1] + (REDACTED if short[2] else ""))
        else:
            without_credentials = _URL_CREDENTIALS.sub(rf"\g<1>{REDACTED}@", argument)
            redacted.append(_SECRET_ASSIGNMENT.sub(rf"\g<1>{REDACTED}", without_credentials))
        hide_next = bool(_SECRET_OPTION.match(argument)) or (short is not None and not short[2])
    return tuple(redacted)


def without_queries(text: str) -> str:
    """Replace the queries of request targets in `text`: a presigned one is a credential."""
    return _QUERY.sub(f"?{REDACTED}", text)
