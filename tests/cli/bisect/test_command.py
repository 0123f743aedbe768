"""What `s3bench bisect` refuses as it reads its options. What it does is tests/cli/test_bisect.py's."""

import click
import pytest

from s3bench.cli.bisect.command import bisect_command


def test_a_seed_that_no_record_may_have_is_refused() -> None:
    ends = ("--client", "s5cmd", "--good", "0.1.0", "--bad", "0.3.3")
    with pytest.raises(click.BadParameter, match="-1 is not in the range x>=0") as caught:
        bisect_command.main([*ends, "--seed", "-1"], standalone_mode=False)
    assert caught.value.param is not None
    assert caught.value.param.name == "seed"
