import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.load.profile.sizes import SIZE_BYTES_MAX, SLOTS, Sizes, fixed, parse_sizes
from s3bench.units import BadQuantity

KIB = 1024
MIB = 1024**2


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4096", 4096),
        ("0", 0),
        ("1K", KIB),
        ("1M", MIB),
        ("1G", 1024**3),
        ("2t", 2 * 1024**4),
        ("32MiB", 32 * MIB),
        ("1mib", MIB),
        ("1Mib", MIB),
        ("4 MiB", 4 * MIB),
        ("1MB", 1_000_000),
        ("1.5GB", 1_500_000_000),
        ("1.5K", 1536),
        ("5TiB", SIZE_BYTES_MAX),
    ],
)
def test_one_size_is_one_slot(text: str, size_bytes: int) -> None:
    assert parse_sizes(text) == Sizes(text=text, slots=(size_bytes,))


@given(st.integers(0, SIZE_BYTES_MAX) | st.integers(0, 5000).map(lambda count: count * KIB))
def test_a_fixed_size_has_a_text_that_means_it(size_bytes: int) -> None:
    assert parse_sizes(fixed(size_bytes).text) == fixed(size_bytes)


def test_the_text_of_a_fixed_size_is_short() -> None:
    assert [fixed(size).text for size in (0, 1000, 1024, 1536, 32 * MIB)] == ["0B", "1000B", "1KiB", "1536B", "32MiB"]


def test_a_weighted_list_gets_slots_by_weight() -> None:
    sizes = parse_sizes("4KiB:70,1MiB:30")
    assert sizes.slots == (4 * KIB,) * 179 + (MIB,) * 77  # 179.2 and 76.8 of 256
    assert sizes.size_bytes_max == MIB
    assert str(sizes) == "4KiB:70,1MiB:30"


def test_the_same_size_twice_adds_up() -> None:
    assert parse_sizes("1K:1,2K:2,1024:1").slots == (KIB,) * 128 + (2 * KIB,) * 128


@given(st.lists(st.integers(10, 100), min_size=1, max_size=20))
def test_no_size_is_more_than_one_slot_from_its_share(weights: list[int]) -> None:
    slots = parse_sizes(",".join(f"{index}:{weight}" for index, weight in enumerate(weights))).slots
    assert len(slots) == SLOTS
    assert list(slots) == sorted(slots)
    shares = [weight * SLOTS / sum(weights) for weight in weights]
    counts = [slots.count(index) for index in range(len(weights))]
    assert all(math.floor(share) <= count <= math.ceil(share) for share, count in zip(shares, counts, strict=True))
    remainders = [(share - math.floor(share), count > share) for share, count in zip(shares, counts, strict=True)]
    rounded_up = [remainder for remainder, up in remainders if up]
    rounded_down = [remainder for remainder, up in remainders if not up]
    assert not rounded_up or not rounded_down or min(rounded_up) >= max(rounded_down) - 1e-9


def test_a_weight_below_one_slot_is_refused_and_the_least_is_reported() -> None:
    with pytest.raises(BadQuantity) as refused:
        parse_sizes("1K:999,1M:1")
    assert "size 1048576 has 0.100% of the weight" in refused.value.what
    assert "at least 3.906 of the 1000 in all" in refused.value.what
    assert parse_sizes("1K:996.09,1M:3.91").slots.count(MIB) == 1


def test_uniform_sizes_have_the_mean_and_spread_of_the_distribution() -> None:
    sizes = parse_sizes("uniform:1KiB-1MiB")
    theory = stats.uniform(KIB, MIB - KIB)
    assert len(sizes.slots) == SLOTS
    assert sizes.mean_bytes == pytest.approx(theory.mean(), rel=1e-6)
    assert np.std(sizes.slots) == pytest.approx(theory.std(), rel=1e-4)
    assert min(sizes.slots) > KIB
    assert sizes.size_bytes_max < MIB


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.5, 3.0])
def test_lognormal_sizes_have_the_mean_and_the_quantiles_of_the_distribution(sigma: float) -> None:
    sizes = parse_sizes(f"lognormal:64KiB,{sigma}")
    theory = stats.lognorm(sigma, scale=64 * KIB)
    assert sizes.mean_bytes == pytest.approx(theory.mean(), rel=1e-4)
    for slot in (0, 1, 64, 127, 128, 200, 254, 255):
        below, above = theory.ppf(slot / SLOTS), theory.ppf((slot + 1) / SLOTS)
        assert below - 1 <= sizes.slots[slot] <= above + 1
    middle = theory.expect(lb=theory.ppf(100 / SLOTS), ub=theory.ppf(101 / SLOTS), conditional=True)
    assert sizes.slots[100] == pytest.approx(middle, abs=1)


def test_lognormal_sizes_with_a_largest_one_are_the_distribution_without_what_is_above() -> None:
    sizes = parse_sizes("lognormal:64KiB,1.5,1MiB")
    theory = stats.lognorm(1.5, scale=64 * KIB)
    assert sizes.mean_bytes == pytest.approx(theory.expect(ub=MIB, conditional=True), rel=1e-4)
    assert sizes.size_bytes_max <= MIB
    assert list(sizes.slots) == sorted(sizes.slots)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a size"),
        ("big", "is not a size"),
        ("-1", "which is below 0"),
        ("1X", "is not a size"),
        ("9" * 400, "is not a size"),
        ("6TiB", "S3 stores at most 5 TiB"),
        ("1K,2K", "'1K' has no weight"),
        ("1K:1,", "'' has no weight"),
        ("1K:0,2K:1", "'0' is not a weight"),
        ("1K:-1,2K:1", "'-1' is not a weight"),
        ("1K:nan", "'nan' is not a weight"),
        ("1K:", "'' is not a weight"),
        ("uniform:1K", "is not a range of two sizes"),
        ("uniform:2K-1K", "the first size is above the second"),
        ("lognormal:64KiB", "is not a median, a sigma"),
        ("lognormal:64KiB,0", "'0' is not a sigma"),
        ("lognormal:64KiB,9", "'9' is not a sigma"),
        ("lognormal:64KiB,x", "'x' is not a sigma"),
        ("lognormal:0,1", "the median is 0"),
        ("lognormal:64KiB,1,64KiB", "the largest size is not above the median"),
        ("lognormal:64KiB,1,1M,2", "is not a median, a sigma"),
        ("lognormal:1GiB,5", "S3 stores at most 5 TiB"),
    ],
)
def test_what_is_no_size_is_refused_with_the_reason_and_what_is_right(text: str, message: str) -> None:
    with pytest.raises(BadQuantity) as refused:
        parse_sizes(text)
    assert f'is "{text[:50]}' in refused.value.what
    assert message in refused.value.what
    assert "lognormal:64KiB,1.5" in refused.value.fix


@given(st.text(alphabet="0123456789KMGTiB.:,-uniformlgal ", max_size=30))
def test_any_text_gives_sizes_or_is_refused(text: str) -> None:
    try:
        sizes = parse_sizes(text)
    except BadQuantity:
        return
    assert len(sizes.slots) in {1, SLOTS}
    assert all(0 <= size_bytes <= SIZE_BYTES_MAX for size_bytes in sizes.slots)
    assert msgspec.json.decode(msgspec.json.encode(sizes), type=Sizes) == sizes
