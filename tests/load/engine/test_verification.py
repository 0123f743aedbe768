import itertools
import zlib

from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.engine.verification import Crc32Body


@given(st.binary(min_size=1), st.lists(st.integers(0, 200), max_size=4), st.integers(0))
def test_a_body_of_which_the_crc32_is_known_is_told_from_one_with_a_changed_byte(
    right: bytes, cuts: list[int], at: int
) -> None:
    wrong = bytearray(right)
    wrong[at % len(right)] ^= 1
    body = Crc32Body(zlib.crc32(right))
    for came, is_right in ((right, True), (bytes(wrong), False)):
        assert body.is_equal(b"head" + came, 4) is is_right
        verifier = body.verifier()
        places = sorted({0, len(came), *(min(cut, len(came)) for cut in cuts)})
        for start, end in itertools.pairwise(places):
            verifier.take(memoryview(came)[start:end])
        assert verifier.is_right is is_right
