"""What `s3bench serve` writes to stderr, without a server."""

import io
from collections.abc import Sequence

import pytest

from s3bench.cli.serve.log import ServerLog
from s3bench.cli.serve.request_log import LogFormat
from s3bench.s3.control import Counters, Drained


class Heard:
    """A voice whose lines are kept."""

    def __init__(self) -> None:
        self.text = io.StringIO()

    def say(self, lines: Sequence[str]) -> None:
        self.text.writelines(f"{line}\n" for line in lines)

    def count(self, counters: Counters) -> None:
        del counters


@pytest.mark.parametrize("form", list(LogFormat))
def test_an_error_in_our_own_code_is_reported_in_every_form_of_the_log(form: LogFormat) -> None:
    heard = Heard()
    drained = Drained(
        requests=(), pending=0, faults=("no HTTP",), failures=("the server failed: KeyError()",), counters=Counters()
    )
    ServerLog(form, heard, started_s=0.0).update(drained)  # type: ignore[arg-type]
    said = heard.text.getvalue()
    assert "the server failed: KeyError(); please report this as a bug of s3bench" in said
    assert ("no HTTP" in said) is (form is not LogFormat.NONE)
