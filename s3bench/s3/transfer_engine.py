"""Recognises which transfer engine sent a request, from its bytes.

What each client really sends is in tests/s3/test_transfer_engine.py, captured from it.
"""

from s3bench.s3.wirelog import TransferEngine

_MARKS = (
    # aws-c-s3 appends its own product to whatever User-Agent the program gave, whichever language drives it.
    ("CRTS3NativeClient/", TransferEngine.CRT),
    ("Botocore/", TransferEngine.PYTHON),
    ("aws-cli/", TransferEngine.PYTHON),
    ("Boto3/", TransferEngine.PYTHON),
    ("aws-sdk-go", TransferEngine.GO),
)


def engine_of(user_agent: str) -> TransferEngine:
    """The engine that wrote `user_agent`; the first mark found decides."""
    for mark, engine in _MARKS:
        if mark in user_agent:
            return engine
    return TransferEngine.OTHER
