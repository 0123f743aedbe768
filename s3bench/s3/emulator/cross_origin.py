"""Cross-origin resource sharing (CORS): the requests to a bucket that browsers allow to web pages of other origins.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html; codes, messages and headers are those of recorded
responses of S3 (docs/s3-behaviour.md). Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from s3bench.s3.emulator.documents import XmlElement, document, element, group, malformed
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.s3_error import S3Error

_METHODS = frozenset({"GET", "PUT", "HEAD", "POST", "DELETE"})
_RULES_MAX = 100
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2; `*` is one of these characters
_VARY = ("Vary", "Origin, Access-Control-Request-Headers, Access-Control-Request-Method")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorsRule:
    """One rule; an origin and a header may have a `*` for any text."""

    rule_id: str
    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...]
    exposed: tuple[str, ...]
    max_age_s: int | None

    def origin_for(self, origin: str) -> str:
        """Give the origin that is allowed, which is `*` where the rule says so; empty where it is not allowed."""
        fitting = next((allowed for allowed in self.origins if _fits(origin, allowed)), None)
        return "" if fitting is None else (fitting if fitting == "*" else origin)

    def allows(self, method: str, headers: Sequence[str]) -> bool:
        """Whether a request by `method` may have `headers`, which are in lower case."""
        return method in self.methods and all(
            any(_fits(name, allowed.lower()) for allowed in self.headers) for name in headers
        )


def response_headers(
    rules: Sequence[CorsRule], origin: str, method: str, headers: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Give the headers by the first rule that allows `method` with `headers` from `origin`; none without one."""
    for rule in rules:
        allowed = rule.origin_for(origin)
        if not allowed or not rule.allows(method, headers):
            continue
        told = [("Access-Control-Allow-Origin", allowed), ("Access-Control-Allow-Methods", ", ".join(rule.methods))]
        if headers:
            told.append(("Access-Control-Allow-Headers", ", ".join(headers)))
        if rule.exposed:
            told.append(("Access-Control-Expose-Headers", ", ".join(rule.exposed)))
        if rule.max_age_s is not None:
            told.append(("Access-Control-Max-Age", str(rule.max_age_s)))
        if allowed != "*":
            told.append(("Access-Control-Allow-Credentials", "true"))
        return (*told, _VARY)
    return ()


def preflight_headers(
    fields: Mapping[str, str], rules: Sequence[CorsRule] | None, *, kind: str
) -> tuple[tuple[str, str], ...]:
    """Give the headers of the response to OPTIONS on a `kind` of resource. Raises `S3Error` where it is not allowed.

    `rules` is `None` where there is no such bucket, and empty where it has no configuration.
    """
    origin, method = fields.get("origin"), fields.get("access-control-request-method")
    if not origin:
        message = "Insufficient information. Origin request header needed."
        raise S3Error(status=400, code="BadRequest", message=message)
    why = "CORS is not enabled for this bucket." if rules is not None else "Bucket not found"
    if rules:
        if method not in _METHODS:
            message = f"Invalid Access-Control-Request-Method: {method or 'null'}"
            raise S3Error(status=400, code="BadRequest", message=message)
        asked = fields.get("access-control-request-headers", "").lower().split(",")
        told = response_headers(rules, origin, method, [name.strip() for name in asked if name.strip()])
        if told:
            return told
        why = (
            "This CORS request is not allowed. This is usually because the evalution of Origin, request method / "
            "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's "
            "CORS spec."
        )
    details = (("Method", method or "OPTIONS"), ("ResourceType", kind))
    raise S3Error(status=403, code="AccessForbidden", message=f"CORSResponse: {why}", details=details)


def parse_rules(configuration: XmlElement) -> tuple[CorsRule, ...]:
    """Read a CORSConfiguration document. Raises `S3Error`."""
    rules = tuple(_rule(node) for node in configuration.all("CORSRule"))
    if not 0 < len(rules) <= _RULES_MAX:
        raise malformed(f"it has {len(rules)} rules; 1 to {_RULES_MAX} are possible")
    return rules


def render_rules(rules: Sequence[CorsRule]) -> bytes:
    """Render a CORSConfiguration document."""
    return document("CORSConfiguration", *(_rendered(rule) for rule in rules))


def _rule(node: XmlElement) -> CorsRule:
    texts: dict[str, list[str]] = {}
    for name, child in node.children():
        texts.setdefault(name, []).append(child.content)
    rule = CorsRule(
        rule_id="".join(texts.get("ID", [])),
        origins=tuple(texts.get("AllowedOrigin", [])),
        methods=tuple(texts.get("AllowedMethod", [])),
        headers=tuple(texts.get("AllowedHeader", [])),
        exposed=tuple(texts.get("ExposeHeader", [])),
        max_age_s=_max_age(texts.get("MaxAgeSeconds", [])),
    )
    if not rule.origins or not rule.methods:
        raise malformed("a <CORSRule> has no <AllowedOrigin> or no <AllowedMethod>")
    for method in rule.methods:
        if method not in _METHODS:
            raise _bad(f"Found unsupported HTTP method in CORS config. Unsupported method is {method}")
    for header in (*rule.headers, *rule.exposed):  # those are sent to browsers
        if _HEADER_NAME.fullmatch(header) is None:
            raise _bad("A CORS rule names a header that no request or response can have")
    for kind, values in (("AllowedOrigin", rule.origins), ("AllowedHeader", rule.headers)):
        for value in values:
            if value.count("*") > 1:
                raise _bad(f'{kind} "{value}" can not have more than one wildcard.')
    return rule


def _max_age(texts: list[str]) -> int | None:
    if not texts:
        return None
    seconds = parse_decimal(texts[0])
    if seconds is None:
        raise malformed("<MaxAgeSeconds> is not a number")
    return seconds


def _rendered(rule: CorsRule) -> str:
    return group(
        "CORSRule",
        *((element("ID", rule.rule_id),) if rule.rule_id else ()),
        *(element("AllowedHeader", header) for header in rule.headers),
        *(element("AllowedMethod", method) for method in rule.methods),
        *(element("AllowedOrigin", origin) for origin in rule.origins),
        *(element("ExposeHeader", header) for header in rule.exposed),
        *((element("MaxAgeSeconds", rule.max_age_s),) if rule.max_age_s is not None else ()),
    )


def _fits(text: str, pattern: str) -> bool:
    before, wildcard, after = pattern.partition("*")
    if not wildcard:
        return text == pattern
    return len(text) >= len(before) + len(after) and text.startswith(before) and text.endswith(after)


def _bad(message: str) -> S3Error:
    return S3Error(status=400, code="InvalidRequest", message=message)
