"""No secret of the command line reaches the document, and none that a client wrote stays on the disk."""

import random
from pathlib import Path
from urllib.parse import quote

import pytest

from s3bench.results import redaction
from s3bench.results.redaction import REDACTED, mask_file, redact, redact_text, without_queries, without_url_credentials


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (["--secret-key", "hunter2", "-k", "x"], ["--secret-key", "***", "-k", "x"]),
        (["--secret-key=hunter2"], ["--secret-key=***"]),
        (["--session-token", "hunter2"], ["--session-token", "***"]),
        (["--aws-access-key-id", "AKIA"], ["--aws-access-key-id", "***"]),
        (["--password", "-hunter2"], ["--password", "***"]),
        (["--password", "--force"], ["--password", "--force"]),
        (["AWS_SECRET_ACCESS_KEY=hunter2"], ["AWS_SECRET_ACCESS_KEY=***"]),
        (["--endpoint-url", "https://me:hunter2@host:1/x"], ["--endpoint-url", "https://***@host:1/x"]),
        (["http://me:p@ss/w@rd@host"], ["http://***@host"]),
        (["x=-my+s3://me:hunter2@host"], ["x=-my+s3://***@host"]),
        (["postgresql://me:hunter2@host/db"], ["postgresql://***@host/db"]),
        (["https://h/k?X-Amz-Signature=ab&part=1"], ["https://h/k?X-Amz-Signature=***&part=1"]),
        (["https://h/k?X-Amz-Credential=ab&part=1"], ["https://h/k?X-Amz-Credential=***&part=1"]),
        (["--endpoint-url", "https://host:1/x"], ["--endpoint-url", "https://host:1/x"]),
        (["-a", "AKIA", "-s", "-hunter2", "-b", "x"], ["-a", "***", "-s", "***", "-b", "x"]),
        (["-aAKIA", "-qshunter2", "-q"], ["-a***", "-qs***", "-q"]),
        (["--prepare", "do --password hunter2; true"], ["--prepare", "do --password ***; true"]),
        (["--prepare=curl -u me:hunter2 host"], ["--prepare=curl -u *** host"]),
        (["-H", "Authorization: Bearer hunter2"], ["-H", "Authorization: ***"]),
        (["curl", "-u", "bob:hunter2", "h"], ["curl", "-u", "***", "h"]),
        (["curl", "-Ssu", "bob:hunter 2", "-U", "bob:a"], ["curl", "-Ssu", "***", "-U", "***"]),
        (["curl", "-su", "bob:hunter2"], ["curl", "-s***", "***"]),
        (["curl", "--user", "bob:hunter2", "--proxy-user", "a:b"], ["curl", "--user", "***", "--proxy-user", "***"]),
        (["python", "-u", "x.py", "-u", "http://h:1"], ["python", "-u", "x.py", "-u", "http://h:1"]),
        (["--sse-customer-key", "hunter2"], ["--sse-customer-key", "***"]),
        (["--passphrase", "hunter2", "--private-key=hunter3"], ["--passphrase", "***", "--private-key=***"]),
        (["-pass", "hunter2", "--db-pwd", "hunter3"], ["-pass", "***", "--db-pwd", "***"]),
        (["--encryption-key", "hunter2", "x"], ["--encryption-key", "***", "x"]),
        (["--sse-c-copy-source-key", "hunter2", "x"], ["--sse-c-copy-source-key", "***", "x"]),
        (["--bypass", "a", "--source-key", "a/b", "PWD=/x"], ["--bypass", "a", "--source-key", "a/b", "PWD=/x"]),
        (["-k", "token", "file", "user@host"], ["-k", "token", "file", "user@host"]),
        ([], []),
    ],
)
def test_secrets_are_replaced_and_nothing_else_is(typed: list[str], kept: list[str]) -> None:
    assert redact(typed) == tuple(kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("true --password hunter2 --secret-key ABC; x", "true --password *** --secret-key ***; x"),
        ("login --password 'hunter 2' --force", "login --password *** --force"),
        ('login --token="hunter 2" now', "login --token=*** now"),
        ("login --password \\\n  hunter2 \\\n  --force", "login --password \\\n  *** \\\n  --force"),
        ("login --password -hunter2", "login --password ***"),
        ("login --password hunter&2|'more'", "login --password ***"),
        ("cat --password-stdin < file; --token --force", "cat --password-stdin < file; --token --force"),
        ("AWS_SECRET_ACCESS_KEY=hunter2 aws s3 ls", "AWS_SECRET_ACCESS_KEY=*** aws s3 ls"),
        ("export MY_TOKEN='hunter 2' && ls", "export MY_TOKEN=*** && ls"),
        ("AWS_SESSION_TOKEN= aws s3 ls", "AWS_SESSION_TOKEN= aws s3 ls"),
        ("password=don't tell, TOKEN=a; ls", "password=*** tell, TOKEN=***; ls"),
        ("aws_secret_access_key = hunter2\nregion = x", "aws_secret_access_key = ***\nregion = x"),
        ('{"SecretAccessKey": "hunter2", "a": 1}', '{"SecretAccessKey": ***, "a": 1}'),
        ('curl "https://h/?token=hunter2" -o x', 'curl "https://h/?token=***" -o x'),
        ('curl -H "Authorization: Bearer hunter2" h', 'curl -H "Authorization: ***" h'),
        ("curl -H 'x-api-key: hunter2' h", "curl -H 'x-api-key: ***' h"),
        ("{'Authorization': b'AWS4 Credential=A, Signature=b', 1}", "{'Authorization': b'***', 1}"),
        ("X-Auth-Token: hunter2; X-Authorization: a b", "X-Auth-Token: ***"),
        ("authorization:Basic aHVudGVy\nhost:h", "authorization:***\nhost:h"),
        ("sent Bearer hunter2.x-y/z== to h", "sent Bearer *** to h"),
        ("curl -H 'Cookie: sid=hunter2; a=b' h", "curl -H 'Cookie: ***' h"),
        ('Cookie: theme="dark"; sid=hunter2\nhost: h', "Cookie: ***\nhost: h"),
        (
            "PASS=hunter2 DB_PASS_PROD=hunter3 --pass-phrase hunter4 :ftp,user=u,pass=hunter5",
            "PASS=*** DB_PASS_PROD=*** --pass-phrase *** :ftp,user=u,pass=***",
        ),
        ('{"pass": "hunter2", 1}', '{"pass": ***, 1}'),
        ("ffmpeg -pass 1 two_pass=1 pass=true", "ffmpeg -pass 1 two_pass=1 pass=true"),
        ("set-cookie: sid=hunter2\nhost: h", "set-cookie: ***\nhost: h"),
        (
            "GPG_PASSPHRASE=hunter2 DB_PASS=hunter3 MYSQL_PWD=hunter4 x",
            "GPG_PASSPHRASE=*** DB_PASS=*** MYSQL_PWD=*** x",
        ),
        ("rclone --sftp-pass hunter2 --pass=hunter3 ls", "rclone --sftp-pass *** --pass=*** ls"),
        ('{"privateKey": "hunter2", "encryption_key": "hunter3", 1}', '{"privateKey": ***, "encryption_key": ***, 1}'),
        (
            "PWD=/home OLDPWD=/x BYPASS=1 passes=3 --compass n --passing 7 x; all tests pass: 3 cookies, a cookie",
            "PWD=/home OLDPWD=/x BYPASS=1 passes=3 --compass n --passing 7 x; all tests pass: 3 cookies, a cookie",
        ),
        (
            "s3://b/pass=2/f pass = 12 s {'pass': 4} --two-pass yes --first-pass 3 --pass-through yes cookie: yes",
            "s3://b/pass=2/f pass = 12 s {'pass': 4} --two-pass yes --first-pass 3 --pass-through yes cookie: yes",
        ),
        ("--monkey x --cookie-jar jar --keyboard y", "--monkey x --cookie-jar jar --keyboard y"),
        (
            "aws s3 cp --sse-c-key hunter2 --sse-c-copy-source-key hunter3 a b",
            "aws s3 cp --sse-c-key *** --sse-c-copy-source-key *** a b",
        ),
        ("curl -u me:hunter2 h; curl -ume:hunter2 h", "curl -u *** h; curl -u*** h"),
        ("curl -su bob:hunter2 h; curl -sSu 'bob:hunter 2' h", "curl -su *** h; curl -sSu *** h"),
        ("curl -subob:hunter2 h", "curl -su*** h"),
        (
            "python -u x.py; sort -u file; ls -lu a; tar -cfu a b:c",
            "python -u x.py; sort -u file; ls -lu a; tar -cfu a b:c",
        ),
        (
            "aws s3api put-object --sse-customer-algorithm AES256 --sse-customer-key hunter2 --key k",
            "aws s3api put-object --sse-customer-algorithm AES256 --sse-customer-key *** --key k",
        ),
        ('{"SSECustomerKey": "hunter2", "a": 1}', '{"SSECustomerKey": ***, "a": 1}'),
        ("curl --user 'me:hunter 2' --proxy-user=a:b h", "curl --user *** --proxy-user=*** h"),
        ("s5cmd -u http://h:1 ls -u me", "s5cmd -u http://h:1 ls -u me"),
        ("curl http://me:hunter2@h/k?X-Amz-Signature=ab&part=1", "curl http://***@h/k?X-Amz-Signature=***&part=1"),
        ("sync; echo 3 | sudo tee /proc/sys/vm/drop_caches", "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches"),
        ("ls -a -s file; the token is secret: no", "ls -a -s file; the token is secret: no"),
        ("", ""),
    ],
)
def test_secrets_in_a_shell_command_or_in_what_it_wrote_are_replaced_and_nothing_else_is(text: str, kept: str) -> None:
    assert redact_text(text) == kept


@pytest.mark.parametrize(
    "piece",
    ["token", "a-", "token=", "'", '"\\', "--token '", "authorization", "-u a:", "-s", "-ss", "pass", "pwd-", "cookie"],
)
def test_long_text_takes_no_long_time(piece: str) -> None:
    redact_text(piece * (200_000 // len(piece)))  # the square of its length would take longer than a test may


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("reset: GET /b/k?X-Amz-Signature=ab&x=1, 10 bytes sent", "reset: GET /b/k?***, 10 bytes sent"),
        ("lost (in PUT /b/k?partNumber=1)", "lost (in PUT /b/k?***)"),
        ("GET /b/k?a=1 and GET /b/l?b=2", "GET /b/k?*** and GET /b/l?***"),
        ("no query here", "no query here"),
    ],
)
def test_queries_of_request_targets_are_replaced(text: str, kept: str) -> None:
    assert without_queries(text) == kept


def test_passwords_in_urls_are_replaced_within_a_text() -> None:
    said = "cannot reach http://me:hunter2@host:1/x, see https://host/y and mail me@host"
    assert without_url_credentials(said) == "cannot reach http://***@host:1/x, see https://host/y and mail me@host"


TOKEN = "IQoJb3JpZ2lu//token+with/every=kind=="
SIGNATURE = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("wrote", "kept"),
    [
        (f"x-amz-security-token:{TOKEN}\nhost:h", "x-amz-security-token:***\nhost:h"),
        (f"{{'X-Amz-Security-Token': b'{TOKEN}', 'a': 1}}", "{'X-Amz-Security-Token': b'***', 'a': 1}"),
        (f"GET /k?X-Amz-Security-Token={quote(TOKEN, safe='')}&x=1", "GET /k?X-Amz-Security-Token=***&x=1"),
        (f"token {TOKEN} and {quote(TOKEN)}", "token *** and ***"),
        (f"SignedHeaders=host, Signature={SIGNATURE}'", "SignedHeaders=host, Signature=***'"),
        (f"DEBUG - Signature:\n{SIGNATURE}\n", "DEBUG - Signature:\n***\n"),
        (f"chunk-signature={SIGNATURE}", "chunk-signature=***"),
        ("x-amz-s3session-token: anOther/One==", "x-amz-s3session-token: ***"),
        ("<SessionToken>anOther</SessionToken>", "<SessionToken>***</SessionToken>"),
        ("the signature: none", "the signature: none"),
        ("", ""),
    ],
)
def test_keys_and_signatures_in_what_a_client_wrote_are_replaced(wrote: str, kept: str, tmp_path: Path) -> None:
    (tmp_path / "stderr").write_bytes(wrote.encode())
    mask_file(tmp_path / "stderr", [TOKEN])
    assert (tmp_path / "stderr").read_bytes().decode() == kept
    assert [path.name for path in tmp_path.iterdir()] == ["stderr"]


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, 5000, 1 << 20])
def test_a_secret_is_found_wherever_the_file_is_cut(
    chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_CHUNK_BYTES", chunk_bytes)
    noise = random.Random(5)
    pieces = [
        noise.randbytes(noise.randrange(min(3000, 300 * chunk_bytes))).replace(b"=", b"") + b"\xff" for _ in range(6)
    ]
    (tmp_path / "stdout").write_bytes(TOKEN.encode().join(pieces))
    mask_file(tmp_path / "stdout", [TOKEN])
    assert (tmp_path / "stdout").read_bytes() == REDACTED.encode().join(pieces)


def test_a_link_that_a_client_left_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text(TOKEN)
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "stdout").symlink_to(tmp_path / "mine")
    mask_file(tmp_path / "output" / "stdout", [TOKEN])
    assert (tmp_path / "mine").read_text() == TOKEN
    assert (tmp_path / "output" / "stdout").read_text() == REDACTED
