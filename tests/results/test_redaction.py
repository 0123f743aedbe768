"""No secret of the command line reaches the document."""

import pytest

from s3bench.results.redaction import redact, without_queries


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
        (["https://h/k?X-Amz-Signature=ab&part=1"], ["https://h/k?X-Amz-Signature=***&part=1"]),
        (["https://h/k?X-Amz-Credential=ab&part=1"], ["https://h/k?X-Amz-Credential=***&part=1"]),
        (["--endpoint-url", "https://host:1/x"], ["--endpoint-url", "https://host:1/x"]),
        (["-a", "AKIA", "-s", "-hunter2", "-b", "x"], ["-a", "***", "-s", "***", "-b", "x"]),
        (["-aAKIA", "-qshunter2", "-q"], ["-a***", "-qs***", "-q"]),
        (["-k", "token", "file", "user@host"], ["-k", "token", "file", "user@host"]),
        ([], []),
    ],
)
def test_secrets_are_replaced_and_nothing_else_is(typed: list[str], kept: list[str]) -> None:
    assert redact(typed) == tuple(kept)


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
