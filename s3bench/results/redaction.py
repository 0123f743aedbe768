"""Redacts secrets in stored or shown text: command lines, URLs, and what clients wrote."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote

REDACTED = "***"

_KEYS = (
    r"(?:access|api|customer|encryption|private)[-_]?key|sse-c(?:-copy-source)?-key"
    r"|(?<![a-z0-9/])(?<!first[-_])(?<!second[-_])(?<!single[-_])(?<!two[-_])(?<!multi[-_])pass(?![a-z0-9]|[-_]?through)"
    r"(?!['\"]?\s*[=:]?\s*['\"]?(?:[0-9]{1,3}|true|false|yes|no)(?!\w))"
    r"|(?<![a-z0-9])pwd(?=[-_])|(?<=[-_])pwd(?![a-z0-9])"  # not $PWD
)
SECRET_WORDS = rf"secret|token|password|passwd|passphrase|credential|signature|{_KEYS}"
"""What names of secrets contain, in any case."""

_NAMES = rf"(?>[\w-]*?(?:{SECRET_WORDS})[\w-]*)"
_SHORT_OPTION = re.compile(r"^(-q*[as])(.*)$", re.DOTALL)  # keys as the s3-benchmark tools take them, flags before
_SECRET_OPTION = re.compile(rf"^--?{_NAMES}$", re.IGNORECASE)
_QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
_VALUE_END = r"""(?=['");,]*(?:\s|$))"""
_VALUE = rf"(?:{_QUOTED}|\S)+?{_VALUE_END}"
_QUERY_VALUE = rf"(?:{_QUOTED}|[^\s&])+?(?:{_VALUE_END}|(?=['\"]*&))"
_HEADER = rf"(?>[\w-]*?authorization)['\"]?\s*[:=]|x-{_NAMES}['\"]?\s*:"
COOKIE = r"(?:set-)?cookie\\?['\"]?\s*:\s*\\?['\"]?(?=[^\s;'\"=<]+=)"
COOKIE_VALUE = r"(?:[^'\"\r\n\\<]|(?<==)\"[^\"\r\n]*\")+"
"""A Cookie header up to its value, in any case, and the value, of which a part may be quoted (RFC 6265 4.1.1)."""
_OPTION = rf"--?{_NAMES}(?:[ \t]|\\\n)+"
_ASSIGNMENT = rf"{_NAMES}(?:['\"]?=|['\"]?\s+=\s+|['\"]\s*:\s*)"
_USER_SHORT, _USER_LONG = r"-[#0-9aBfgGiIjJklLMnNOpqRsSvZ]*[uU]", r"--(?:proxy-)?user"  # curl(1), flags before
_USER = rf"(?:{_USER_SHORT}[ \t]*|{_USER_LONG}(?:=|[ \t]+))(?=['\"]?[^\s:'\"]+:(?!//))"
_USER_OPTION = re.compile(rf"{_USER_SHORT}|{_USER_LONG}")
_USER_VALUE = re.compile(r"[^\s:]+:(?!//)")
_SECRETS = tuple(
    re.compile(rf"((?<![\w-]){name}){value}", re.DOTALL)
    for name, value in (
        (rf"(?i:(?:{_HEADER})\s*(?:b?['\"])?)", r"[^'\"\r\n]+"),
        (rf"(?i:{COOKIE})", COOKIE_VALUE),
        (r"Bearer\s+", r"[\w.~+/=-]+"),
        (rf"(?i:{_OPTION})(?!--|[|;&<>])", _VALUE),
        (rf"(?i:{_ASSIGNMENT})", _QUERY_VALUE),
        (_USER, _VALUE),
    )
)
"""What is replaced in text; the first group is kept."""
_QUERY = re.compile(r"\?[^\s,)]+")
# A password may contain an `@` and, if it is not encoded, a `/`; in HTTP URLs nothing after it has an `@`.
_URL_CREDENTIALS = re.compile(r"\b(https?://?)[^\s?#]*@|(?<![a-z0-9+.-])([a-z0-9+.-]+://)[^/\s]+@", re.IGNORECASE)
_SECRET_MAX = 8192
# What clients write with `--debug` besides known credentials: signatures, and the sessions of S3 Express.
_SIGNED = (
    rb"(?i:signature['\"]?\s*[:=]\s*b?['\"]?(?=[0-9a-f]{64})|x-amz-(?:security|s3session)-token['\"]?\s*[:=]\s*b?['\"]?"
    rb"|<(?:SessionToken|SecretAccessKey|AccessKeyId)>)"
)
_CHUNK_BYTES = 1 << 20


def redact(arguments: Sequence[str]) -> tuple[str, ...]:
    """Replace secret values: of options that name one, and in each argument, which may be a shell command."""
    redacted = []
    hide_next = is_user = False
    for argument in arguments:
        short = _SHORT_OPTION.match(argument)
        if (hide_next and not argument.startswith("--")) or (is_user and _USER_VALUE.match(argument)):
            redacted.append(REDACTED)
        elif short is not None:
            redacted.append(short[1] + (REDACTED if short[2] else ""))
        else:
            redacted.append(redact_text(argument))
        hide_next = bool(_SECRET_OPTION.match(argument)) or (short is not None and not short[2])
        is_user = bool(_USER_OPTION.fullmatch(argument))
    return tuple(redacted)


def redact_text(text: str) -> str:
    """Replace secret values in a shell command, or in what one wrote.

    Values of options and variables that name one, `Authorization` and `Cookie` headers, `-u user:password` as of curl,
    credentials of URLs, and signed queries.
    """
    for pattern in _SECRETS:
        text = pattern.sub(rf"\g<1>{REDACTED}", text)
    return without_url_credentials(text)


def without_queries(text: str) -> str:
    """Replace the queries of request targets in `text`: a presigned one is a credential."""
    return _QUERY.sub(f"?{REDACTED}", text)


def without_url_credentials(text: str) -> str:
    """Replace user names and passwords in the URLs of `text`."""
    return _URL_CREDENTIALS.sub(lambda found: f"{found[1] or found[2]}{REDACTED}@", text)


def mask_file(path: Path, secrets: Iterable[str]) -> None:
    """Replace the file at `path` by one without signatures and `secrets`, also as they are spelled in URLs."""
    spellings = {spelling for text in secrets for spelling in (text, quote(text), quote(text, safe=""))}
    known = "|".join(re.escape(text) for text in sorted(spellings, key=len, reverse=True) if text)
    pattern = re.compile(rb"(?P<name>%b)[\w%%+/=.-]{1,%d}|(?:%b)" % (_SIGNED, _SECRET_MAX // 2, known.encode()))
    with path.open("rb") as source, NamedTemporaryFile(dir=path.parent, delete=False) as masked:
        rest = b""
        while chunk := source.read(_CHUNK_BYTES):
            clean, rest = _masked(pattern, rest + chunk, keep=_SECRET_MAX)
            masked.write(clean)
        masked.write(_masked(pattern, rest, keep=0)[0])
    Path(masked.name).replace(path)


def _masked(pattern: re.Pattern[bytes], text: bytes, *, keep: int) -> tuple[bytes, bytes]:
    """Mask matches that begin before the last `keep` bytes; returns the masked text and the rest, to be continued."""
    parts = []
    at = 0
    for found in pattern.finditer(text):
        if found.start() >= len(text) - keep:
            break
        parts += [text[at : found.start()], found["name"] or b"", REDACTED.encode()]
        at = found.end()
    end = max(at, len(text) - keep)
    return b"".join((*parts, text[at:end])), text[end:]
