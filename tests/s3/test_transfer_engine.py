"""The User-Agent that each client sent to this server, as captured from it."""

import pytest

from s3bench.s3.transfer_engine import engine_of
from s3bench.s3.wirelog import TransferEngine


@pytest.mark.parametrize(
    ("user_agent", "engine"),
    [
        ("CRTS3NativeClient/1.5.1 platform/unknown", TransferEngine.CRT),  # awscrt's S3Client by itself
        (
            "mine/1 CRTS3NativeClient/1.5.1 platform/unknown",
            TransferEngine.CRT,
        ),  # awscrt with a User-Agent of the program
        (  # aws-cli 2.38.5 with preferred_transfer_client = crt
            (
                "aws-cli/2.38.5 md/awscrt#0.38.0 ua/2.1 os/linux#6.18.44 md/arch#x86_64 lang/python#3.14.8 "
                "md/pyimpl#CPython m/Ae,G,W,Z,E,N,b cfg/retry-mode#standard md/installer#docker sid/6130c330d989 "
                "md/distrib#debian.12 md/prompt#off md/command#s3.cp CRTS3NativeClient/1.3.0 platform/unknown m/Ab"
            ),
            TransferEngine.CRT,
        ),
        (  # the same with classic: it names awscrt, which is installed, not used
            (
                "aws-cli/2.38.5 md/awscrt#0.38.0 ua/2.1 os/linux#6.18.44 md/arch#x86_64 lang/python#3.14.8 "
                "md/pyimpl#CPython m/G,Ad,W,Z,E,N,b cfg/retry-mode#standard md/installer#docker sid/6130c330d989 "
                "md/distrib#debian.12 md/prompt#off md/command#s3.cp"
            ),
            TransferEngine.PYTHON,
        ),
        (
            (
                "aws-cli/1.46.2 md/Botocore#1.43.62 md/awscrt#0.38.1 ua/2.1 os/linux#6.18.44 md/arch#x86_64 "
                "lang/python#3.11.7 md/pyimpl#CPython m/N,Z,D,U,b cfg/retry-mode#legacy botocore/1.43.62"
            ),
            TransferEngine.PYTHON,
        ),
        (
            (
                "Boto3/1.44.5 md/Botocore#1.44.5 md/awscrt#0.38.1 ua/2.1 os/linux#6.18.44 md/arch#x86_64 "
                "lang/python#3.11.7 md/pyimpl#CPython m/N,Z,e,E,b,Y cfg/retry-mode#standard Botocore/1.44.5"
            ),
            TransferEngine.PYTHON,
        ),
        ("aws-sdk-go/1.44.298 (go1.22.10; linux; amd64) S3Manager", TransferEngine.GO),
        ("curl/8.0", TransferEngine.OTHER),
        ("", TransferEngine.OTHER),
    ],
)
def test_the_engine_is_read_from_the_user_agent(user_agent: str, engine: TransferEngine) -> None:
    assert engine_of(user_agent) is engine
