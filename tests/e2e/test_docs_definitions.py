"""The examples of docs/definitions.md run as they stand, against the responses that they have themselves."""

from collections.abc import Callable
from pathlib import Path

import pytest

from s3bench.spec.file_sizes import FileSizes
from s3bench.spec.sizes_document import LeftOut, SizesDocument, encode_sizes
from tests.documented import ROOT, blocks_of
from tests.e2e.conftest import Finished

EXAMPLES = tuple(block.text for block in blocks_of(ROOT / "docs" / "definitions.md") if block.language == "json")


@pytest.mark.usefixtures("aws_cli")
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_on_every_client_that_it_names(
    example: str, s3bench: Callable[..., Finished], tmp_path: Path
) -> None:
    sizes = SizesDocument.of(FileSizes(counts=((5, 3), (9_000_000, 1))), folders=0, left_out=LeftOut())
    (tmp_path / "sizes.json").write_bytes(encode_sizes(sizes))
    (tmp_path / "example.json").write_text(example)
    finished = s3bench("run", "-n", "1", "--suite", "full", "example.json")
    assert (finished.code, [error for each in finished.results for error in each["errors"]]) == (0, []), finished.err
    assert finished.results


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 5
