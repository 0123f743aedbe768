"""Signature Version 4 calculated, held against the figures of AWS's own pages."""

import hashlib
import hmac
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from s3bench.s3.signing import sigv4
from s3bench.s3.signing.sigv4 import (
    EMPTY_SHA256,
    SigningKey,
    SigningKeys,
    canonical_path,
    canonical_query,
    canonical_request,
    decode,
    head_to_sign,
    string_to_sign,
)

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
DAY, TIMESTAMP = "20130524", "20130524T000000Z"


# https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html: method, path, query, headers beside
# host, x-amz-content-sha256 and x-amz-date, payload hash; SHA-256 of the canonical request; signature.
EXAMPLES = [
    (
        ("GET", "/test.txt", "", {"range": "bytes=0-9"}, EMPTY_SHA256),
        "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    (
        (
            "PUT",
            "/test$file.text",
            "",
            {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
        ),
        "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    (
        ("GET", "/", "lifecycle", {}, EMPTY_SHA256),
        "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    (
        ("GET", "/", "max-keys=2&prefix=J", {}, EMPTY_SHA256),
        "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
]


@pytest.mark.parametrize(("asked", "digest", "signature"), EXAMPLES)
def test_the_documented_requests_have_the_documented_signatures(
    asked: tuple[str, str, str, dict[str, str], str], digest: str, signature: str
) -> None:
    method, path, query, headers, payload_hash = asked
    fields = {
        "host": "examplebucket.s3.amazonaws.com",
        "x-amz-content-sha256": payload_hash,
        "x-amz-date": TIMESTAMP,
        **headers,
    }
    signed = sorted(fields)
    request = canonical_request(method, canonical_path(path), canonical_query(query), fields, signed, payload_hash)
    text = string_to_sign(TIMESTAMP, f"{DAY}/us-east-1/s3/aws4_request", request)
    assert text == f"AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n{digest}"
    key = SigningKey(SECRET, DAY, "us-east-1")
    assert key.sign(text) == signature
    assert key.sign_request(head_to_sign(TIMESTAMP, key.scope), request.encode("latin-1")) == signature


@pytest.mark.skipif(sigv4.in_c is None, reason="s3bench was installed without a C compiler or Python's headers")
class TestInC:
    @given(secret=st.text(max_size=100), head=st.text(max_size=200), request=st.binary(max_size=400))
    @example(secret="", head="", request=b"")
    def test_the_signature_is_that_of_python(self, secret: str, head: str, request: bytes) -> None:
        key = SigningKey(secret, DAY, "us-east-1")
        with mock.patch.object(sigv4, "in_c", None):
            expected = key.sign_request(head, request)
        assert key.sign_request(head, request) == expected

    @pytest.mark.parametrize(
        "arguments",
        [
            (b"k" * 31, "", b""),
            (b"k" * 33, "", b""),
            ("k" * 32, "", b""),
            (b"k" * 32, b"", b""),
            (b"k" * 32, "", ""),
            (b"k" * 32, ""),
            (),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments: tuple[object, ...]) -> None:
        sign: Any = sigv4.in_c and sigv4.in_c.sign
        with pytest.raises(TypeError):
            sign(*arguments)


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/", "/"),
        ("/b/a-b_c.d~e/F9", "/b/a-b_c.d~e/F9"),
        ("/b//x/../y/./", "/b//x/../y/./"),
        ("/b/a b+c%20", "/b/a%20b%2Bc%2520"),
        ("/b/é漢", "/b/%C3%A9%E6%BC%A2"),
        ("/b/!$&'()*,:;=@[]", "/b/%21%24%26%27%28%29%2A%2C%3A%3B%3D%40%5B%5D"),
    ],
)
def test_a_path_is_encoded_once_and_otherwise_left_alone(path: str, canonical: str) -> None:
    assert canonical_path(path) == canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("", ""),
        ("uploads", "uploads="),
        ("b=2&a=1", "a=1&b=2"),
        ("a=2&a=1&a=", "a=&a=1&a=2"),
        ("a-b=1&a=2", "a=2&a-b=1"),
        ("prefix=a/b c&x=1".replace(" ", "%20"), "prefix=a%2Fb%20c&x=1"),
        ("p=a%2fb&q=%41%7E", "p=a%2Fb&q=A~"),
        *((f"p=%{ord(character):02X}", f"p={character}") for character in "-._~09AZaz"),  # none needs its encoding
        ("p=a+b%2Bc", "p=a%20b%2Bc"),
        ("p=a=b", "p=a%3Db"),
        ("&a=1&&", "a=1"),
        ("p=%", "p=%25"),
        ("p=é".encode().decode("latin-1"), "p=%C3%A9"),
        ("p=%FF", "p=%FF"),
    ],
)
def test_a_query_is_sorted_and_encoded(query: str, canonical: str) -> None:
    assert canonical_query(query) == canonical


def test_one_parameter_can_be_left_out_of_a_query() -> None:
    assert canonical_query("b=2&X-Amz-Signature=0&a=%31", without="X-Amz-Signature") == "a=1&b=2"


@given(st.text(st.characters(max_codepoint=255), max_size=30))
def test_what_is_canonical_stays_as_it_is(query: str) -> None:
    canonical = canonical_query(query)
    assert canonical_query(canonical) == canonical


@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=5)), max_size=5))
def test_names_and_values_come_back_out_of_a_canonical_query(pairs: list[tuple[str, str]]) -> None:
    raw = "&".join(f"{_all_encoded(name)}={_all_encoded(value)}" for name, value in pairs)
    found = [tuple(map(decode, piece.split("="))) for piece in canonical_query(raw).split("&") if piece]
    as_bytes = [tuple(text.encode("latin-1").decode() for text in pair) for pair in found]
    assert sorted(as_bytes) == sorted(pairs)


def _all_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def test_blanks_around_and_inside_header_values_are_folded() -> None:
    fields = {"a": "  x \t  y  ", "b": "x y"}
    request = canonical_request("GET", "/", "", fields, ("a", "b", "c"), "hash")
    assert request == "GET\n/\n\na:x y\nb:x y\nc:\n\na;b;c\nhash"


@given(st.text(max_size=90), st.text(max_size=90))
@example("s" * 61, "longer than a block of the hash")
def test_signatures_are_the_hmac_of_the_derived_key(secret: str, text: str) -> None:
    key = f"AWS4{secret}".encode()
    for part in (b"20130524", b"eu-west-1", b"s3", b"aws4_request"):
        key = hmac.digest(key, part, "sha256")
    signing_key = SigningKey(secret, DAY, "eu-west-1")
    for _ in range(2):  # a key signs any number of times
        assert signing_key.sign(text) == hmac.digest(key, text.encode(), "sha256").hex()


def test_keys_are_derived_once_while_they_are_in_use() -> None:
    keys = SigningKeys(SECRET)
    first = keys.key(DAY, "us-east-1")
    assert keys.key(DAY, "us-east-1") is first
    assert keys.key(DAY, "eu-west-1").scope == "20130524/eu-west-1/s3/aws4_request"
    for day in range(100):
        keys.key(f"201401{day:02}", "us-east-1")
    again = keys.key(DAY, "us-east-1")
    assert again is not first
    assert again.sign("x") == first.sign("x")


def test_a_key_does_not_show_its_secret() -> None:
    assert SECRET not in repr(SigningKeys(SECRET)) + repr(SigningKey(SECRET, DAY, "us-east-1"))
