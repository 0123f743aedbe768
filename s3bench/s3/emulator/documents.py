"""Renders and reads S3's XML documents.

Which elements a document has is written where its operation is. S3's namespace and
shapes: https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html.
"""

import re
import time
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from html import escape

from s3bench.s3.protocol.s3_error import S3Error

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

_ERROR_CHARACTERS_MAX = 200
_TAGS_MAX = {"object": 10, "bucket": 50}
_SYSTEM_TAG = {
    "object": "Your TagKey cannot be prefixed with aws:",
    "bucket": "System tags cannot be added/updated by requester",
}
_TAG_KEY_MAX, _TAG_VALUE_MAX = 128, 256
_TAG_TEXT = re.compile(r"[\w \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000+\-=.:/@]*")
"""Letters and digits of any script, spaces (`\\p{Z}` of Unicode: no tabs and no line breaks) and those
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_control_S3Tag.html)."""


def element(name: str, content: object) -> str:
    """Render `<name>content</name>`, the content escaped; characters that XML 1.0 forbids become references."""
    return f"<{name}>{_text(str(content))}</{name}>"


def group(name: str, *children: str) -> str:
    """Render `<name>` around rendered children."""
    return f"<{name}>{''.join(children)}</{name}>"


def document(name: str, *children: str) -> bytes:
    """Render a whole document with the root `name` in S3's namespace."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{NAMESPACE}">{"".join(children)}</{name}>'
    return text.encode("utf-8", "surrogatepass")


def form_document(name: str, *children: str) -> bytes:
    """Render a whole document as responses to forms have it: with no namespace."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{group(name, *children)}'.encode("utf-8", "surrogatepass")


def iso_time(at_s: float) -> str:
    """`at_s` (seconds since 1970) as S3 writes times in documents: whole seconds, with three zeros behind them."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at_s))


def url_encoded(text: str) -> str:
    """`text` as in a listing with `encoding-type=url`; a space is %20, which every decoder takes."""
    return urllib.parse.quote(text, safe="/", errors="surrogatepass")


def parse(data: bytes, root: str) -> "XmlElement":
    """Read a document whose root is `root`. Raises `S3Error` (MalformedXML)."""
    if not data:
        raise S3Error(status=400, code="MissingRequestBodyError", message="Request body is empty.")
    node = _tree(data)
    if _local(node.tag) != root:
        raise malformed(f"its root is not <{root}>")
    return XmlElement(node)


def root_of(data: bytes) -> str:
    """Give the name of the root of a document. Raises `S3Error` (MalformedXML)."""
    return _local(_tree(data).tag)


def _tree(data: bytes) -> ET.Element:
    try:
        return ET.fromstring(data, parser=ET.XMLParser(target=_Builder()))  # noqa: S314 (_Builder takes no entities)
    except (ET.ParseError, ValueError, LookupError) as error:  # LookupError: the encoding that it declares is unknown
        raise malformed(str(error)[:_ERROR_CHARACTERS_MAX]) from error


class _Builder(ET.TreeBuilder):
    """Builds a tree; rejects a document type declaration, in which entities would be declared.

    The parser calls `doctype` whatever the document's encoding is. Raises `ValueError`.
    """

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Reject the declaration."""
        del name, public, system
        raise ValueError("it has a document type declaration")


class XmlElement:
    """An element of a request's document; namespaces are not looked at, as S3 does not either."""

    __slots__ = ("_element",)

    def __init__(self, node: ET.Element) -> None:
        self._element = node

    @property
    def content(self) -> str:
        """Its own text."""
        return self._element.text or ""

    def children(self) -> Iterator[tuple[str, "XmlElement"]]:
        """Give all children with their names."""
        return ((_local(child.tag), XmlElement(child)) for child in self._element)

    def all(self, name: str) -> Iterator["XmlElement"]:
        """Give the children called `name`."""
        return (XmlElement(child) for child in self._element if _local(child.tag) == name)

    def text(self, name: str) -> str | None:
        """Give the text of the child `name`, or `None` where there is none."""
        for child in self._element:
            if _local(child.tag) == name:
                return child.text or ""
        return None

    def need(self, name: str) -> str:
        """Give the text of the child `name`. Raises `S3Error` where there is none."""
        text = self.text(name)
        if text is None:
            raise malformed(f"<{name}> is missing")
        return text


def malformed(why: str) -> S3Error:
    """The error for a malformed document; `why` is ours."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return S3Error(status=400, code="MalformedXML", message=f"{message}: {why}.")


def render_tagging(tags: Iterable[tuple[str, str]]) -> bytes:
    """Render a Tagging document."""
    rendered = (group("Tag", element("Key", key), element("Value", value)) for key, value in tags)
    return document("Tagging", group("TagSet", *rendered))


def parse_tag_header(header: str) -> tuple[tuple[str, str], ...]:
    """Read the x-amz-tagging header. Raises `S3Error`."""
    try:
        tags = urllib.parse.parse_qsl(header, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        tags = [("", "")]
    names = {name for name, _ in tags}
    if "" in names or len(names) < len(tags) or any(pair.count("=") > 1 for pair in header.split("&")):
        message = "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without "
        details = (("ArgumentName", "x-amz-tagging"), ("ArgumentValue", header))
        raise S3Error(status=400, code="InvalidArgument", message=message + "tag name duplicates.", details=details)
    return checked_tags(tags, "object")


def checked_tags(tags: list[tuple[str, str]], owner: str) -> tuple[tuple[str, str], ...]:
    """Give the tags of an `object` or a `bucket`, sorted. Raises `S3Error` where S3 would not take them."""
    if len(tags) > _TAGS_MAX[owner]:
        message = f"{owner.capitalize()} tags cannot be greater than {_TAGS_MAX[owner]}"
        raise S3Error(status=400, code="BadRequest", message=message)
    seen: set[str] = set()
    for key, value in tags:
        if key in seen:
            raise _invalid_tag("Cannot provide multiple Tags with the same key", key)
        seen.add(key)
        if key.startswith("aws:"):
            raise _invalid_tag(_SYSTEM_TAG[owner], key)
        if not 0 < len(key) <= _TAG_KEY_MAX or _TAG_TEXT.fullmatch(key) is None:
            raise _invalid_tag("The TagKey you have provided is invalid", key)
        if len(value) > _TAG_VALUE_MAX or _TAG_TEXT.fullmatch(value) is None:
            raise _invalid_tag("The TagValue you have provided is invalid", key, value)
    return tuple(sorted(tags))


def _invalid_tag(message: str, key: str, value: str | None = None) -> S3Error:
    details = (("TagKey", key),) if value is None else (("TagKey", key), ("TagValue", value))
    return S3Error(status=400, code="InvalidTag", message=message, details=details)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _text(text: str) -> str:
    escaped = escape(text, quote=False).replace('"', "&quot;").replace("\r", "&#13;")
    if escaped.isprintable():
        return escaped
    return "".join(_reference(character) for character in escaped)


def _reference(character: str) -> str:
    """Give `character`, or a reference to it where XML 1.0 forbids it."""
    forbidden = (ord(character) < ord(" ") and character not in "\t\n") or character in "\ufffe\uffff"
    return f"&#x{ord(character):x};" if forbidden else character
