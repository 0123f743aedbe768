"""Which results are held against which."""

import pytest

from s3bench.compare.matching import Matching, group_by_document, group_by_value, match
from s3bench.errors import BadInput
from tests.compare.documents import client, result, source

CLASSIC = client("cli-classic")
CRT = client("cli-crt")
OLD_CRT = client("cli-crt", "2.36.0")
S5CMD = client("s5cmd", "2.3.0")


def labels(matching: Matching) -> list[tuple[str, str]]:
    return [(each.baseline.result.client.label, each.other.result.client.label) for each in matching.matches]


def by_document(*sources: tuple[object, ...]) -> Matching:
    first, second = group_by_document([source(str(number), *results) for number, results in enumerate(sources)]).groups  # type: ignore[arg-type]
    return match(first, second)


def test_other_versions_of_one_client_match() -> None:
    matching = by_document((result(of=OLD_CRT),), (result(of=CRT),))
    assert labels(matching) == [("cli-crt@2.36.0", "cli-crt@2.38.5")]
    assert not matching.only_baseline
    assert not matching.only_other


def test_two_versions_in_one_document_match_by_label() -> None:
    matching = by_document((result(of=OLD_CRT), result(of=CRT)), (result(of=CRT),))
    assert labels(matching) == [("cli-crt@2.38.5", "cli-crt@2.38.5")]
    assert [cell.result.client for cell in matching.only_baseline] == [OLD_CRT]


def test_a_name_that_is_ambiguous_for_one_benchmark_is_not_for_another() -> None:
    matching = by_document(
        (result(of=OLD_CRT), result(of=OLD_CRT, name="s3.rm")),
        (result(of=OLD_CRT), result(of=CRT), result(of=CRT, name="s3.rm")),
    )
    assert labels(matching) == [("cli-crt@2.36.0", "cli-crt@2.36.0"), ("cli-crt@2.36.0", "cli-crt@2.38.5")]


def test_the_order_of_dimensions_means_nothing_and_their_values_do() -> None:
    matching = by_document(
        (result(dimensions={"FileSize": "4KB", "FileCount": "1"}), result(dimensions={"FileSize": "8KB"})),
        (result(dimensions={"FileCount": "1", "FileSize": "4KB"}), result(dimensions={"FileSize": "9KB"})),
    )
    assert len(matching.matches) == 1
    assert [cell.dimensions for cell in matching.only_baseline] == [(("FileSize", "8KB"),)]
    assert [cell.dimensions for cell in matching.only_other] == [(("FileSize", "9KB"),)]


def test_classic_matches_the_crt_of_its_own_family() -> None:
    classic, crt = {"S3TransferClient": "Classic"}, {"S3TransferClient": "CRT"}
    grouping = group_by_value(
        [
            source(
                "a",
                result(of=CRT, dimensions=crt),
                result(of=client("boto3-crt"), dimensions=crt),
                result(of=client("boto3-classic"), dimensions=classic),
                result(of=CLASSIC, dimensions=classic),
                result(of=S5CMD),
            )
        ],
        "S3TransferClient",
    )
    assert [group.name for group in grouping.groups] == ["S3TransferClient=CRT", "S3TransferClient=Classic"]
    matching = match(*grouping.groups)
    assert labels(matching) == [("cli-crt@2.38.5", "cli-classic@2.38.5"), ("boto3-crt@2.38.5", "boto3-classic@2.38.5")]
    assert grouping.notes == ("1 of 5 results have no dimension S3TransferClient and were left out",)


def test_two_versions_of_classic_match_the_same_versions_of_crt() -> None:
    clients = (CRT, OLD_CRT, client("cli-classic", "2.36.0"), CLASSIC)
    results = [
        result(of=each, dimensions={"S3TransferClient": "CRT" if "crt" in each.name else "Classic"}) for each in clients
    ]
    matching = match(*group_by_value([source("a", *results)], "S3TransferClient").groups)
    assert labels(matching) == [("cli-crt@2.38.5", "cli-classic@2.38.5"), ("cli-crt@2.36.0", "cli-classic@2.36.0")]


def test_clients_match_whatever_their_transfer_client() -> None:
    grouping = group_by_value(
        [
            source(
                "a",
                result(of=CLASSIC, dimensions={"FileSize": "4KB", "S3TransferClient": "Classic"}),
                result(of=CRT, dimensions={"FileSize": "4KB", "S3TransferClient": "CRT"}),
                result(of=S5CMD, dimensions={"FileSize": "4KB"}),
            )
        ],
        "client",
        baseline="s5cmd",
    )
    assert [group.name for group in grouping.groups] == ["client=s5cmd", "client=cli-classic", "client=cli-crt"]
    assert [len(match(grouping.groups[0], other).matches) for other in grouping.groups[1:]] == [1, 1]


def test_one_client_with_both_transfer_clients_keeps_them_apart() -> None:
    both = [
        result(of=each, dimensions={"S3TransferClient": value})
        for each in (client("cli", "1"), client("cli", "2"))
        for value in ("Classic", "CRT")
    ]
    grouping = group_by_value([source("a", *both)], "client")
    assert [group.name for group in grouping.groups] == ["client=cli@1", "client=cli@2"]
    matching = match(*grouping.groups)
    assert [(each.baseline.dimensions, each.other.dimensions) for each in matching.matches] == [
        ((("S3TransferClient", "Classic"),), (("S3TransferClient", "Classic"),)),
        ((("S3TransferClient", "CRT"),), (("S3TransferClient", "CRT"),)),
    ]


def test_chunks_of_one_run_are_joined() -> None:
    grouping = group_by_value([source("a", result(of=CRT)), source("b", result(of=S5CMD), result(of=CRT))], "client")
    assert len(grouping.groups[0].cells[0].result.measurements) == 12
    assert grouping.notes == ("results in several documents were joined: 1",)


@pytest.mark.parametrize(
    ("by", "baseline", "said"),
    [
        ("FileSzie", None, "did you mean `FileSize`"),
        ("Region", None, "The documents have `FileSize` or `client`"),
        ("FileSize", None, "its only value is 4KB"),
        ("client", "s5cmb", "did you mean `s5cmd`"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(by: str, baseline: str | None, said: str) -> None:
    one = source("a", result(dimensions={"FileSize": "4KB"}), result(of=S5CMD, dimensions={"FileSize": "4KB"}))
    with pytest.raises(BadInput) as caught:
        group_by_value([one], by, baseline=baseline)
    assert said in str(caught.value)
