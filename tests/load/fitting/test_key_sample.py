"""The sample of keys: bounded, complete for each key in it, and blind to popularity."""

from collections import Counter

import numpy as np
import pytest

from s3bench.load.fitting.key_sample import KeySample, SampledKey


def test_a_sample_stays_small_and_knows_every_request_of_its_keys() -> None:
    random = np.random.default_rng(1)
    keys = [f"k{number}" for number in random.zipf(1.3, size=30_000)]
    sample = KeySample(keys_max=500)
    for at_s, key in enumerate(keys):
        found = sample.at("b", key)
        if found is not None:
            found.read(float(at_s))
    counts = Counter(keys)
    assert 200 < len(sample) <= 500
    assert sample.share < 1
    kept = {key: found for key in counts if (found := sample.at("b", key)) is not None}
    assert {key: found.reads for key, found in kept.items()} == {key: counts[key] for key in kept}
    assert len(kept) / sample.share == pytest.approx(len(counts), rel=0.15)


def test_a_log_with_few_keys_is_not_sampled() -> None:
    sample = KeySample(keys_max=500)
    assert all(sample.at("b", str(number)) is not None for number in range(500))
    assert (len(sample), sample.share) == (500, 1.0)


def test_the_same_key_in_two_buckets_is_two_keys() -> None:
    sample = KeySample()
    assert sample.at("a", "k") is not sample.at("b", "k")


@pytest.mark.parametrize("is_in_order", [True, False])
def test_the_first_read_after_a_write_is_found_whatever_the_order_of_the_lines(is_in_order: bool) -> None:
    key = SampledKey()
    if is_in_order:
        key.written(10.0)
    key.read(25.0)
    key.read(17.0)
    if not is_in_order:
        key.written(10.0)
    assert key.first_read_after_write_at_s == 17.0


def test_reads_before_a_write_do_not_count_as_reads_after_it() -> None:
    key = SampledKey()
    key.read(5.0)
    key.written(10.0)
    assert key.first_read_after_write_at_s is None
    key.read(12.0)
    assert key.first_read_after_write_at_s == 12.0
