import pytest

from s3bench.spec.awsconfig import check_config, transfer_kind
from s3bench.spec.definition import ClientKind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[default]", None),
        ("", None),
        ("[default]\ns3 =\n preferred_transfer_client = crt", ClientKind.CLI_CRT),
        ("[default]\ns3 =\n preferred_transfer_client = classic", ClientKind.CLI_CLASSIC),
        ("[default]\ns3 =\n preferred_transfer_client = default", ClientKind.CLI_CLASSIC),
        ("[default]\ns3=\n\tmultipart_chunksize=8MB\n\tpreferred_transfer_client=crt\nregion=x", ClientKind.CLI_CRT),
        ("[default]\ns3 =\n preferred_transfer_client = auto", None),
        ("[default]\npreferred_transfer_client = crt", None),
        ("[profile x]\ns3 =\n preferred_transfer_client = crt", None),
        ("[DEFAULT]\ns3 =\n preferred_transfer_client = crt\n[default]", None),
        ("no section", None),
    ],
)
def test_the_transfer_client_is_that_of_the_default_profile(text: str, kind: ClientKind | None) -> None:
    assert transfer_kind(text) is kind


@pytest.mark.parametrize(
    "text", ["region = x", "[default", "[default]\n[default]", "[a]\nx = 1\nx = 2", "[a]\nloose", "[a]\ns3 =\n  loose"]
)
def test_what_the_clients_cannot_read_is_told(text: str) -> None:
    complaint = check_config(text)
    assert complaint is not None
    assert complaint.what.startswith("is no AWS config: ")
    assert "\n" not in complaint.what
    assert complaint.fix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[default]",
        "# only a comment",
        "[default]\nregion=%(x)s\n[DEFAULT]\na=b",
        "[default]\ns3 =\n  multipart_chunksize = 8MB\ns5cmd =\n  numworkers = 8\n  part_size = 64MB",
    ],
)
def test_what_the_clients_can_read_is_right(text: str) -> None:
    assert check_config(text) is None
