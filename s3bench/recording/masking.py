"""Masks secrets, ids and dates in recorded text: each is replaced by a made-up value of the same form and length. Pure.

One value gets one replacement, wherever it is: an id in the command is the id in a response. Values that are known by
their form alone (access keys, UUIDs) are found everywhere; those that are known by the name of their field (passwords,
tokens) are learned first, and then found everywhere as well. Dates become one fixed date, where they are the whole of a
field, so that names of objects stay different.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from urllib.parse import quote

from s3bench.results.redaction import COOKIE, COOKIE_VALUE, SECRET_WORDS

FIXED_DATE = "2026-01-01"
"""Later than the time of every fixture, so that `s3 sync` decides alike in each iteration."""

_FIXED_EPOCH = "1767225600"  # the same in seconds since 1970
_FILLER = "EXAMPLE"
_LEARNED_MIN = 8  # shorter ones would be found inside of ordinary words


class Masked(StrEnum):
    """What was masked; the values are used in messages."""

    OWN_CREDENTIALS = "your own credentials"
    ACCESS_KEY = "access keys"
    PRIVATE_KEY = "private keys"
    PRESIGNED = "signatures of presigned URLs"
    TOKEN = "tokens"  # noqa: S105 (no token)
    SECRET = "secrets and passwords"  # noqa: S105 (no password)
    ACCOUNT = "account numbers"
    UUID = "UUIDs"
    RESOURCE = "ids of resources"
    HASH = "hashes and ETags"
    DATE = "dates"


# Names with such a word that are those of no secret: settings, limits, and what only describes a secret.
_PLAIN_NAMES = (
    r"http-?tokens(?:-?enforced)?|max[-_]?tokens|[\w.-]*(?:password[-_]?age|type|units|required|validity|days|minutes"
    r"|seconds|length|size|period|duration|scopes?|source|version|method|provider|algorithm|vendor|strategy|behavior"
    r"|action|hint|identifier|prevention|settings|configurations?)"
)
_NAMES = (
    rf"(?!(?:{_PLAIN_NAMES})(?![\w.-]))[\w.-]*(?:{SECRET_WORDS}"
    r"|authorization|session[-_]?key|host[-_]?id|request[-_]?id)[\w.-]*"
)
_PLAIN_OPTION = (
    r"--[\w-]*(?:(?<!access-key)-ids?|-names?|-arns?|-(?:id|arn|issuer)-list"
    r"|(?:starting|next|next-page|page|pagination|continuation)-token)"
)
_OPTION = re.compile(r"--[A-Za-z][\w-]*(?:=|\Z)")
_SECRET_OPTION = re.compile(rf"(?!{_PLAIN_OPTION}\Z)--{_NAMES}", re.IGNORECASE)
_NO_SECRETS = "true|false|null|none|seconds|minutes|hours|days"
_NO_SECRET_VALUE = re.compile(rf"fileb?://.*|arn:.*|{_NO_SECRETS}|", re.DOTALL | re.IGNORECASE)
# Plain words and numbers: `required`, `access_token`, `prod/database`, `2026`.
_PLAIN_VALUE = re.compile(r"(?:(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)(?:[-_./ ]|\Z))+")
_RESOURCES = (
    "acl|ami|aki|cgw|dopt|eigw|eipalloc|eipassoc|eni|eni-attach|fl|fs|fsmt|i|igw|key|lgw|lt|nat|pcx|pl|r|rtb|rtbassoc|sg|"
    "sgr|snap|subnet|tgw|tgw-attach|tgw-rtb|vgw|vol|vpc|vpce|vpn"
)
_DATE_NAME = r"[\w-]*(?:time|date|stamp|created|modified|expir|since|until|At)[\w-]*"
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_HTTP_DATE = r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
_BASIC = r"[0-9]{8}T[0-9]{6}Z"

_NO_SECRET = rf"(?i:(?!\s*(?:bearer|basic)\s|(?:{_NO_SECRETS})(?![\w.-])|arn:|\*|{_ISO}|{_HTTP_DATE}))"
_BARE_END = r"\s&\"'<>\\,;"

_KEY_PREFIXES = "AKIA|ASIA|AROA|AIDA|AGPA|AIPA|ANPA|ANVA|APKA|ABIA|ACCA|ASCA"  # IAM User Guide, "Unique identifiers"
_SIGNING = r"X(?:-|%2D)Amz(?:-|%2D)(?:Signature|Credential|Security(?:-|%2D)Token)"
_TOKENS = (
    r"gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|hvs\.[\w-]{16,}"
    r"|[sr]k_(?:live|test)_\w{16,}|AIza[\w-]{35}|npm_\w{30,}|pypi-[\w-]{30,}"
)

# In the order in which they are tried at each place of a text. The group named as the kind is what is replaced.
_FORMS: tuple[tuple[Masked, str], ...] = (
    (Masked.PRIVATE_KEY, r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<_>.*?)-----END [A-Z ]*PRIVATE KEY-----"),
    (Masked.PRESIGNED, rf"(?i:\b(?:{_SIGNING}|AWSAccessKeyId|Signature)=)(?P<_>[^&\s\"'<>\\]+)"),
    (Masked.TOKEN, r"(?P<_>(?:FwoGZXIvYXdz|IQoJb3JpZ2luX2Vj|FQoGZXIvYXdz|AQoDYXdz)[A-Za-z0-9+/=%_-]{16,})"),
    (Masked.TOKEN, r"(?P<_>\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"),
    (Masked.TOKEN, rf"(?P<_>\b(?:{_TOKENS}))"),
    (Masked.TOKEN, r"(?i:\b(?:bearer|basic)\s+)(?P<_>[\w.~+/=-]{8,})"),
    (Masked.SECRET, r"\b[a-z][a-z0-9+.-]*://[^/\s:@\"'<>]*:(?P<_>[^/\s@\"'<>]+)@"),
    (Masked.ACCESS_KEY, rf"(?<![A-Z0-9])(?:{_KEY_PREFIXES})(?P<_>[A-Z0-9]{{12,}})(?![A-Z0-9a-z])"),
    (Masked.SECRET, r"(?i:\"" + _NAMES + r"\"\s*:\s*\")" + _NO_SECRET + r"(?P<_>(?:[^\"\\]|\\.)+)(?=\")"),
    (Masked.SECRET, r"(?i:\\\"" + _NAMES + r"\\\"\s*:\s*\\\")" + _NO_SECRET + r"(?P<_>[^\"\\]+)(?=\\\")"),
    (Masked.SECRET, r"(?i:&quot;" + _NAMES + r"&quot;\s*:\s*&quot;)" + _NO_SECRET + r"(?P<_>[^&]+)(?=&quot;)"),
    (Masked.SECRET, r"(?i:<(?:\w+:)?" + _NAMES + r">)" + _NO_SECRET + r"(?P<_>[^<]+)(?=</)"),
    (Masked.SECRET, rf"(?i:\b{COOKIE})(?P<_>{COOKIE_VALUE})"),
    (
        Masked.SECRET,
        rf"(?i:(?<![\w.-]){_NAMES}\s*[=:]\s*)" + _NO_SECRET + rf"(?P<_>[^{_BARE_END}]{{5,}}[^{_BARE_END}\]}})])",
    ),
    (
        Masked.ACCOUNT,
        r"(?<![\w.])(?<!Size>)(?<!Bytes>)(?<!Length>)(?<!\":)(?<!\": )(?P<_>[0-9]{12})(?![\w.](?!dkr))",
    ),
    (Masked.ACCOUNT, r"(?<=[-/])(?P<_>[0-9]{12})(?=[-/.])"),
    (
        Masked.UUID,
        r"(?i:(?<![0-9a-f-])(?P<_>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![0-9a-f]))",
    ),
    (Masked.RESOURCE, r"(?<![\w-])(?:" + _RESOURCES + r")-(?P<_>[0-9a-f]{17}|[0-9a-f]{8})(?![\w-])"),
    (Masked.HASH, r"(?<![0-9A-Za-z])(?P<_>[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![0-9A-Za-z])"),
    (Masked.DATE, r"(?<!<Key>)(?<!<Prefix>)(?<=>)(?P<_>" + _ISO + "|" + _HTTP_DATE + "|" + _BASIC + ")(?=<)"),
    (Masked.DATE, r"(?<=\")(?P<_>" + _ISO + "|" + _HTTP_DATE + "|" + _BASIC + r")(?=\"|\\\")"),
    (Masked.DATE, r"(?i:\"" + _DATE_NAME + r"\"\s*:\s*)(?P<_>[0-9]{10}(?:\.[0-9]+|[0-9]{3})?)(?![0-9.])"),
    (Masked.DATE, r"\A(?P<_>" + _ISO + "|" + _HTTP_DATE + "|" + _BASIC + r")\Z"),
)


def _compiled() -> tuple[re.Pattern[str], tuple[Masked, ...]]:
    parts = [form.replace("(?P<_>", f"(?P<k{at}>") for at, (_, form) in enumerate(_FORMS)]
    return re.compile("|".join(parts), re.DOTALL), tuple(kind for kind, _ in _FORMS)


_PATTERN, _KINDS = _compiled()
_LEARNED = frozenset({Masked.ACCOUNT, Masked.SECRET, Masked.TOKEN, Masked.PRESIGNED, Masked.OWN_CREDENTIALS})
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})\Z")
_NOT_ESCAPED = re.compile(r"(\\.)|[A-Za-z0-9+/=]")


class Masker:
    """Masks texts of one recording; `known` are secrets that are known already, the user's own credentials.

    Every text has to be learned before the first one is masked.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._replacements: dict[str, str] = {}
        self._learned: list[str] = []
        self._made: set[str] = set()
        self._counts: dict[Callable[[str, int], str], int] = {}
        self._kinds: dict[str, Masked] = {}
        self._used: set[str] = set()
        for value in known:
            for form in dict.fromkeys((value, quote(value, safe=""))):
                if len(form) >= _LEARNED_MIN:
                    self._replacement(Masked.OWN_CREDENTIALS, form, _filler)

    @property
    def counts(self) -> dict[Masked, int]:
        """How many different values of each kind were masked."""
        kinds = [self._kinds[value] for value in self._used]
        return {kind: kinds.count(kind) for kind in Masked if kind in kinds}

    def learn(self, text: str) -> None:
        """Find what has to be masked in `text`."""
        self._by_form(text)

    def learn_command(self, words: Sequence[str]) -> None:
        """Find what has to be masked in a command: also the values of options whose names say that they are secret.

        Plain words are masked there alone: other texts have them too, and mean something else.
        """
        for _, text, is_secret in _parts(words):
            self.learn(text)
            if is_secret and not _PLAIN_VALUE.fullmatch(text):
                self._replacement(Masked.SECRET, text, _filler)

    def masked_command(self, words: Sequence[str]) -> list[str]:
        """The words of a command with all that has to be masked replaced."""
        return [
            name + (self._masked_whole(text) if is_secret else self.masked(text))
            for name, text, is_secret in _parts(words)
        ]

    def _masked_whole(self, value: str) -> str:
        """The value of a secret option, masked as a whole."""
        self._used.add(value)
        return self._replacement(Masked.SECRET, value, _filler, everywhere=False)

    def masked(self, text: str) -> str:
        """The text with all that has to be masked replaced."""
        for value in self._learned:
            if value in text:
                self._used.add(value)
                text = text.replace(value, self._replacements[value])
        return self._by_form(text, self._used)

    def _by_form(self, text: str, used: set[str] | None = None) -> str:
        return _PATTERN.sub(lambda found: self._replaced(found, used), text)

    def _replaced(self, found: re.Match[str], used: set[str] | None) -> str:
        group = found.lastgroup
        assert group is not None
        kind, value = _KINDS[int(group[1:])], found[group]
        start, end = found.start(group) - found.start(), found.end(group) - found.start()
        if value in self._made:
            return found[0]
        if kind is Masked.SECRET and '\\"' in value:  # JSON in a string of JSON has fields of its own
            self._by_form(value)
        if used is not None:
            used.add(value)
        whole = found[0]
        return whole[:start] + self._replacement(kind, value, _MAKERS.get(kind, _filler)) + whole[end:]

    def _replacement(
        self, kind: Masked, value: str, make: Callable[[str, int], str], *, everywhere: bool = True
    ) -> str:
        """What `value` becomes; `everywhere` if it is to be found in all texts."""
        if value in self._replacements:
            return self._replacements[value]
        count = self._counts[make] = self._counts.get(make, 0) + 1
        made = make(value, count)
        self._replacements[value] = made
        self._kinds[value] = kind
        self._made.add(made)
        if everywhere and kind in _LEARNED and len(value) >= _LEARNED_MIN:
            self._learned.append(value)
            self._learned.sort(key=len, reverse=True)
        return made


def _parts(words: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Each word of a command: the name of an option before its `=`, the rest, and whether that is a secret's value.

    Options with a name in the plural (`--passwords`) take several words.
    """
    is_secret = is_list = False
    for word in words:
        if _OPTION.match(word):
            name, equals, value = word.partition("=")
            is_secret = bool(_SECRET_OPTION.fullmatch(name))
            is_list = bool(re.search("[^s]s$", name))
            yield (f"{name}=", value, is_secret and _hides(value)) if equals else ("", word, False)
            is_secret = is_secret and not equals
        else:
            yield "", word, is_secret and _hides(word)
            is_secret = is_secret and is_list


def _hides(value: str) -> bool:
    """Whether the value of a secret option is the secret itself."""
    return not _NO_SECRET_VALUE.fullmatch(value)


def _filler(value: str, count: int) -> str:
    number = str(count)[-len(value) :]
    length = len(value) - len(number)
    return (_FILLER * (length // len(_FILLER) + 1))[:length] + number


def _hexadecimal(value: str, count: int) -> str:
    return f"{count:0{len(value)}x}"[-len(value) :]


def _uuid(_value: str, count: int) -> str:
    return f"00000000-0000-4000-8000-{count:012x}"


def _account(_value: str, count: int) -> str:
    return f"{111122223332 + count:012}"  # AWS's documentation uses 111122223333


def _private_key(value: str, _count: int) -> str:
    return _NOT_ESCAPED.sub(lambda found: found[1] or "A", value)


def _date(value: str, _count: int) -> str:
    """The fixed date in the same form: digits for digits, fractions of zeros."""
    if value[:1].isalpha():
        return "Thu, 01 Jan 2026 00:00:00 GMT"
    if "-" not in value[:5]:
        if "T" in value:
            return "20260101T000000Z"
        return _FIXED_EPOCH + re.sub("[0-9]", "0", value[len(_FIXED_EPOCH) :])
    zone = _ZONE.search(value)
    at = zone.start() if zone else len(value)
    return FIXED_DATE + re.sub("[0-9]", "0", value[len(FIXED_DATE) : at]) + re.sub("[0-9]", "0", value[at:])


_MAKERS: dict[Masked, Callable[[str, int], str]] = {
    Masked.PRIVATE_KEY: _private_key,
    Masked.ACCOUNT: _account,
    Masked.UUID: _uuid,
    Masked.RESOURCE: _hexadecimal,
    Masked.HASH: _hexadecimal,
    Masked.DATE: _date,
}
