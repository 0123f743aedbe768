"""The XML of requests and answers."""

import contextlib
import sys
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.s3.emulator.documents import (
    checked_tags,
    document,
    element,
    iso_time,
    parse,
    parse_tag_header,
    render_tagging,
    url_encoded,
)
from s3bench.s3.emulator.members import parse_tagging
from s3bench.s3.protocol.s3_error import S3Error

printable = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"))


@given(text=printable)
def test_a_text_comes_back_from_a_document_as_it_went_in(text: str) -> None:
    assert ET.fromstring(document("Root", element("Key", text))).findtext("{*}Key") == text


def test_a_control_character_becomes_a_reference() -> None:
    assert element("Key", "bell\x07\r\n\t") == "<Key>bell&#x7;&#13;\n\t</Key>"


@given(text=st.text())
def test_an_encoded_key_is_ascii_and_one_word(text: str) -> None:
    encoded = url_encoded(text)
    assert encoded.isascii()
    assert not set(encoded) & set(' +<>&"')


def test_times_have_whole_seconds() -> None:
    assert iso_time(1_700_000_000.9) == "2023-11-14T22:13:20.000Z"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "MissingRequestBodyError"),
        (b"<Root>", "MalformedXML"),
        (b"<Other/>", "MalformedXML"),
        (b'<!DOCTYPE Root [<!ENTITY a "b">]><Root>&a;</Root>', "MalformedXML"),
        (b"<Root>\xff</Root>", "MalformedXML"),
        (b"not XML", "MalformedXML"),
        (b'<?xml version="1.0" encoding="nonsense"?><Root/>', "MalformedXML"),
        (b'<?xml version="1.0" encoding="utf-7"?><Root/>', "MalformedXML"),
        (b'<?xml version="1.0" encoding="punycode"?><Root/>', "MalformedXML"),
    ],
)
def test_what_is_no_such_document_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(S3Error) as refused:
        parse(data, "Root")
    assert (refused.value.status, refused.value.code) == (400, code)


DECLARATIONS = (
    '<!DOCTYPE Root [<!ENTITY a "b">]>',
    "<!DOCTYPE Root>",
    '<!DOCTYPE Root SYSTEM "file:///etc/hostname">',
    "\n<!--x--><!DOCTYPE\nRoot>",
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "us-ascii", "windows-1252")


def encoded(text: str, encoding: str) -> bytes:
    name = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}.get(encoding, encoding)
    return f'<?xml version="1.0" encoding="{name}"?>{text}'.encode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_document_type_declaration_is_refused_in_every_encoding(declaration: str, encoding: str) -> None:
    with pytest.raises(S3Error, match="document type declaration"):
        parse(encoded(f"{declaration}<Root><Key>k</Key></Root>", encoding), "Root")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_document_is_read_in_every_encoding(encoding: str) -> None:
    assert parse(encoded("<Root><Key>k</Key></Root>", encoding), "Root").need("Key") == "k"


def test_a_text_that_looks_like_a_declaration_is_text() -> None:
    assert parse(b"<Root><Key><![CDATA[<!DOCTYPE a>]]></Key></Root>", "Root").need("Key") == "<!DOCTYPE a>"


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(S3Error):
        parse(data, "Root")


def test_a_namespace_is_not_looked_at() -> None:
    assert parse(b'<Root xmlns="urn:x"><Key>k</Key></Root>', "Root").need("Key") == "k"


tag_text = st.text(alphabet="aZ09äß日 +-=.:/@_", min_size=1, max_size=128).filter(lambda text: text[:4] != "aws:")


@given(tags=st.dictionaries(tag_text, tag_text, max_size=10))
def test_tags_come_back_sorted(tags: dict[str, str]) -> None:
    assert parse_tagging(render_tagging(tags.items()), "object") == tuple(sorted(tags.items()))


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("&".join(f"k{number}=v" for number in range(11)), "BadRequest"),
        ("a=1&a=2", "InvalidArgument"),
        ("=v", "InvalidArgument"),
        (f"{'k' * 129}=v", "InvalidTag"),
        (f"k={'v' * 257}", "InvalidTag"),
        ("k=%3Cv%3E", "InvalidTag"),
        ("aws:k=v", "InvalidTag"),
    ],
)
def test_tags_that_s3_does_not_take_are_refused(header: str, code: str) -> None:
    with pytest.raises(S3Error) as refused:
        parse_tag_header(header)
    assert refused.value.code == code


WHITE = [character for character in map(chr, range(sys.maxunicode + 1)) if character.isspace()]
SPACES = [character for character in WHITE if unicodedata.category(character).startswith("Z")]


def test_a_tag_may_have_every_space_of_unicode() -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/API/API_control_S3Tag.html has the pattern, with its `\\p{Z}`."""
    text = "".join(SPACES)
    assert parse_tagging(render_tagging([(text, text)]), "object") == ((text, text),)


@pytest.mark.parametrize("character", sorted(set(WHITE) - set(SPACES) - set("\r")), ids=ascii)
@pytest.mark.parametrize("owner", ["object", "bucket"])
def test_a_tag_has_no_tabs_and_no_line_breaks(character: str, owner: str) -> None:
    for tag in ((f"a{character}b", "v"), ("k", f"a{character}b")):
        with pytest.raises(S3Error) as refused:
            checked_tags([tag], owner)
        assert refused.value.code == "InvalidTag"


def test_tags_of_a_header_are_decoded() -> None:
    assert parse_tag_header("b=2&a=%C3%BC+x&flag") == (("a", "ü x"), ("b", "2"), ("flag", ""))
