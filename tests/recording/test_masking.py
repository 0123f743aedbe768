"""Secrets, ids and dates are replaced by values of the same form, alike everywhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.recording.masking import Masked, Masker

KEY = "AKIAZ7QXPLANTED00002"
SECRET = "plantedSecretKey/04/zzzzzzzzzzzzzzzzzzzz"

SECRETS = {
    "access key": ("the key {} is here", KEY),
    "temporary access key": ("{}", "ASIAZ7QXPLANTED00003"),
    "credentials file": ("aws_secret_access_key = {}", SECRET),
    "JSON": ('{{"SecretAccessKey": "{}"}}', SECRET),
    "XML": ("<SecretAccessKey>{}</SecretAccessKey>", SECRET),
    "XML in JSON's escapes": ('{{"SecretString": "{{\\"password\\": \\"{}\\"}}"}}', "planted-password"),
    "JSON in XML's escapes": ("<Text>&quot;password&quot;: &quot;{}&quot;</Text>", "planted-password"),
    "session token by its form": ("x {} x", "IQoJb3JpZ2luX2VjPLANTED10abcdefghij/+=="),
    "session token by its field": ("<SessionToken>{}</SessionToken>", "plantedtoken08plantedtoken08"),
    "presigned URL": ("https://b/k?X-Amz-Signature={}&x=1", "9f09planted0909090909090909090909"),
    "presigned URL of version 2": ("https://b/k?Signature={}", "plantedV2signature12%3D"),
    "bearer": ("Authorization: Bearer {}", "plantedbearer13plantedbearer13"),
    "password in a URL": ("postgres://admin:{}@db/x", "planted-password-17"),
    "token of a forge": ("{}", "ghp_planted18planted18planted18plan18"),
    "JSON web token": ("{}", "eyJhbGciOiJQTEFOVEVEMjAi.eyJzdWIiOiJQTEFOVEVEMjAi.c2lnUExBTlRFRDIw"),
    "account of an ARN": ("arn:aws:iam::{}:root", "999988887777"),
    "account in JSON": ('"Account": "{}"', "999988887777"),
    "account in a URL": ("https://sqs.us-east-1.amazonaws.com/{}/queue", "999988887777"),
    "environment in shorthand": ("Variables={{DB_PASS={}}}", "hunter2hunter2"),
    "JSON with a short name": ('{{"DB_PASS": "{}"}}', "hunter2hunter2"),
    "encryption key": ('{{"encryption_key": "{}"}}', "planted30-key"),
    "cookies": ("Cookie: {}", "theme=dark; session=planted31"),
    "cookies in JSON": ('{{"Cookie": "{}"}}', "theme=dark; session=planted32"),
    "none at the beginning": ('{{"password": "{}"}}', "none-of-your-business"),
    "private key": ("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "MIIEplanted25planted25"),
    "UUID": ("id {}", "5c0ffee0-28aa-4bbb-8ccc-1a27ed000028"),
    "resource": ("{}", "i-0f00dfeed12345678"),
}


def masked(text: str, *others: str, known: tuple[str, ...] = ()) -> str:
    masker = Masker(known)
    for each in (text, *others):
        masker.learn(each)
    return masker.masked(text)


@pytest.mark.parametrize("where", SECRETS)
def test_a_secret_is_replaced_by_one_of_the_same_length(where: str) -> None:
    form, secret = SECRETS[where]
    text = form.format(secret)
    clean = masked(text)
    assert secret not in clean
    assert len(clean) == len(text)


@pytest.mark.parametrize("where", SECRETS)
def test_a_text_that_was_masked_stays_as_it_is(where: str) -> None:
    form, secret = SECRETS[where]
    masker = Masker()
    masker.learn(form.format(secret))
    once = masker.masked(form.format(secret))
    assert masker.masked(once) == once


def test_a_secret_known_by_its_field_is_found_where_nothing_names_it() -> None:
    assert SECRET not in masked(f"again {SECRET}", f"aws_secret_access_key = {SECRET}")
    assert masked("s3://logs-999988887777/x", "arn:aws:iam::999988887777:root") == "s3://logs-111122223333/x"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('Cookie: theme="dark"; session=planted', "Cookie: "),
        ("<h>Cookie: session=planted</h><Key>abc</Key>", "</h><Key>abc</Key>"),
        ('{"log": "got Cookie: session=planted", "k": 1}', '", "k": 1}'),
    ],
)
def test_a_cookie_is_masked_to_its_end_and_no_further(text: str, rest: str) -> None:
    assert "planted" not in masked(text)
    assert rest in masked(text)


def test_the_bracket_after_a_secret_stays() -> None:
    assert re.fullmatch(r"Variables=\{DB_PASS=EXAMPLE\w{7}\}", masked("Variables={DB_PASS=hunter2hunter2}"))


def test_the_users_own_keys_are_found_also_percent_encoded() -> None:
    clean = masked("?k=own%2Fsecret%2Bkey and own/secret+key", known=("own/secret+key",))
    assert "own" not in clean
    assert "%2F" not in clean


def test_dates_become_one_date_in_their_own_form() -> None:
    assert masked("<LastModified>2026-11-25T13:03:29.123Z</LastModified>") == (
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    )
    assert masked("Wed, 25 Nov 2026 13:03:29 GMT") == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert masked('{"creationTime":1764075809123,"CreatedDate":1764075809.5}') == (
        '{"creationTime":1767225600000,"CreatedDate":1767225600.0}'
    )


def test_a_date_in_the_name_of_an_object_stays_so_that_names_stay_different() -> None:
    assert masked("<Key>2026-11-25T13:03:29Z</Key>") == "<Key>2026-11-25T13:03:29Z</Key>"


@pytest.mark.parametrize(
    "text",
    [
        "<Size>123456789012</Size>",
        '{"size": 123456789012}',
        '"PasswordResetRequired": "false"',
        "plain words",
        "<httpTokens>required</httpTokens>",
        '{"TokenValidityUnits": {"AccessToken": "minutes"}}',
        "MaxTokens=100000",
        '{"encryptionKey": "arn:aws:kms:eu-west-1:111122223333:alias/x"}',
    ],
)
def test_sizes_and_words_are_not_secrets(text: str) -> None:
    assert masked(text) == text


def test_different_values_stay_different() -> None:
    clean = masked("vpc-0aaaaaaaaaaaaaaaa vpc-0bbbbbbbbbbbbbbbb vpc-0aaaaaaaaaaaaaaaa").split()
    assert clean[0] == clean[2] != clean[1]


def test_counts_are_of_different_values_that_were_masked() -> None:
    masker = Masker()
    for text in (KEY, f"{KEY} {KEY}", "arn:aws:iam::999988887777:root"):
        masker.learn(text)
    masker.masked(f"{KEY} {KEY}")
    assert masker.counts == {Masked.ACCESS_KEY: 1}


@given(st.lists(st.sampled_from([form.format(secret) for form, secret in SECRETS.values()] + ["a b", "\n", '"', "é"])))
def test_no_secret_survives_among_any_neighbours(parts: list[str]) -> None:
    text = "\n".join(parts)
    clean = masked(text)
    assert len(clean) == len(text)
    assert not [secret for _, secret in SECRETS.values() if secret in clean]


@given(st.text())
def test_masking_keeps_the_length_of_any_text(text: str) -> None:
    assert len(masked(text)) == len(text)


@given(st.from_regex(re.compile(r"[0-9]{12}"), fullmatch=True), st.from_regex(re.compile(r"[0-9]{12}"), fullmatch=True))
def test_account_numbers_keep_their_form_and_difference(one: str, other: str) -> None:
    clean = masked(f'"{one}" "{other}"')
    found = re.findall("[0-9]{12}", clean)
    assert len(found) == 2
    assert (found[0] == found[1]) == (one == other)


def masked_command(*words: str) -> list[str]:
    masker = Masker()
    masker.learn_command(words)
    return masker.masked_command(words)


@pytest.mark.parametrize(
    "name",
    [
        "--secret-string",
        "--master-user-password",
        "--sse-c-key",
        "--sse-customer-key",
        "--db-pwd",
        "--db-pass",
        "--encryption-key",
        "--access-key-id",
    ],
)
@pytest.mark.parametrize("value", ["hunter2hunter2", "short", "with, comma", '{"user": "me"}', "*true", "12345"])
def test_all_that_follows_a_secret_option_is_masked(name: str, value: str) -> None:
    [_, after] = masked_command(name, value)
    [joined] = masked_command(f"{name}={value}")
    assert joined == f"{name}={after}"
    assert after != value
    assert len(after) == len(value)


@pytest.mark.parametrize(
    "words",
    [
        ("--sse-c-key", "fileb://sse.key"),
        ("--sse-c-key=fileb://sse.key",),
        ("--max-tokens", "1000"),
        ("--manage-master-user-password", "--db-name", "name"),
        ("--query", "SecretString"),
        ("--http-tokens", "required"),
        ("--http-tokens=required",),
        ("--authorization-type", "NONE"),
        ("--token-validity-units", "AccessToken=minutes"),
        ("--access-token-validity", "60"),
        ("--secret-id", "prod/database"),
        ("--secret-id=prod/database",),
        ("--bucket", "data", "--starting-token", "data"),
        ("--next-token=eyJtYXJrZXIi",),
        ("--api-key", "None"),
        ("--encryption-key", "arn:aws:kms:eu-west-1:111122223333:alias/x"),
        ("--sse-c-key", "fileb://sse.key", "file", "s3://bucket/key"),
    ],
)
def test_names_of_files_settings_and_other_options_stay(words: tuple[str, ...]) -> None:
    assert masked_command(*words) == list(words)


def test_a_key_that_begins_with_dashes_and_has_an_equals_sign_is_no_option() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ==\n-----END PRIVATE KEY-----"
    [name, masked_pem] = masked_command("--private-key", pem)
    assert name == "--private-key"
    assert "MIIEv" not in masked_pem


def test_an_option_in_the_plural_has_several_secrets() -> None:
    words = ("create-user", "--passwords", "first-secret-pw-0", "second-secret-pw", "--user-id", "user")
    clean = masked_command(*words)
    assert [*clean[:2], *clean[4:]] == [*words[:2], *words[4:]]
    assert [len(word) for word in clean] == [len(word) for word in words]
    assert not {*words[2:4]} & {*clean}


@pytest.mark.parametrize("name", ["--sse-c-key", "--db-pass"])
def test_an_option_in_the_singular_has_one_secret(name: str) -> None:
    [_, key, *rest] = masked_command(name, "hunter2hunter2", "file", "s3://bucket/key")
    assert key != "hunter2hunter2"
    assert rest == ["file", "s3://bucket/key"]


@pytest.mark.parametrize("value", ["required", "access_token", "prod/database", "data", "20261128"])
def test_a_secret_that_is_a_plain_word_is_masked_in_its_option_alone(value: str) -> None:
    words = ("--bucket", value, "--secret-string", value)
    masker = Masker()
    masker.learn_command(words)
    [*rest, secret] = masker.masked_command(words)
    assert rest == list(words[:-1])
    assert secret != value
    assert masker.masked(f"<State>{value}</State>") == f"<State>{value}</State>"
    assert masker.masked(value) == value
    assert masker.counts == {Masked.SECRET: 1}


def test_a_secret_that_is_no_plain_word_is_masked_in_every_text() -> None:
    masker = Masker()
    words = ("--secret-string", "hunter2hunter2")
    masker.learn_command(words)
    assert masker.masked("<State>hunter2hunter2</State>") == f"<State>{masker.masked_command(words)[1]}</State>"
