"""How a program of the user's ended: its signal by name, and the end of what it wrote."""

import os
import signal
from typing import IO

from s3bench.results.redaction import redact_text

_CUT_BYTES = 4096
"""Read before the part that is shown: a secret that begins there has to be recognized."""


def named_signal(number: int) -> str:
    """A signal with its number, and its name if it has one; real-time signals have none."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def redacted_tail(file: IO[bytes], characters_max: int) -> str:
    """The end of what was written to `file`, without secrets; undecodable bytes are escaped."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - characters_max - _CUT_BYTES))
    return redact_text(file.read().decode("utf-8", "backslashreplace"))[-characters_max:].strip()
