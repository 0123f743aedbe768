"""The path of a client that the user gave."""

import pytest

from s3bench.clients.client import ClientSpec
from s3bench.clients.search import given_path
from s3bench.errors import BadInput


def test_a_path_of_a_user_that_does_not_exist_is_bad_input() -> None:
    with pytest.raises(BadInput, match="~nosuchuser has no home directory"):
        given_path(ClientSpec(kind="s5cmd", path="~nosuchuser/s5cmd"))
