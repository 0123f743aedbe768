"""Zipf exponents: found within their intervals where they are known, from all keys or a sample of them."""

import numpy as np
import pytest

from s3bench.load.fitting.popularity import Popularity, Spectrum, expected_counts, fit_popularity


def drawn(exponent: float, *, objects: int, reads: int, seed: int = 1, share: float = 1.0) -> Spectrum:
    """The counts of a log whose law is known, of the keys in a sample."""
    random = np.random.default_rng(seed)
    masses = np.arange(1, objects + 1, dtype=float) ** -exponent
    counts = random.multinomial(reads, masses / masses.sum())
    counts = counts[(counts > 0) & (random.random(objects) < share)]
    return Spectrum(counts.tolist(), reads=reads, share=share)


def fitted(spectrum: Spectrum) -> Popularity:
    found = fit_popularity(spectrum)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("exponent", "objects", "reads"),
    [
        (0.4, 2000, 40_000),
        (0.7, 20_000, 100_000),
        (0.9, 50_000, 50_000),
        (1.0, 300, 1_000_000),
        (1.1, 100_000, 500_000),
        (1.6, 20_000, 100_000),
    ],
)
def test_a_known_exponent_and_number_of_objects_are_found(exponent: float, objects: int, reads: int) -> None:
    found = fitted(drawn(exponent, objects=objects, reads=reads))
    assert found.exponent == pytest.approx(exponent, abs=0.03)
    assert found.exponent_high - found.exponent_low < 0.15
    if exponent < 1.5:  # a steep law says little of the objects that are hardly ever read
        assert found.objects == pytest.approx(objects, rel=0.1)


def test_the_interval_holds_the_exponent_as_often_as_it_says() -> None:
    found = [fitted(drawn(0.8, objects=1000, reads=10_000, seed=seed)) for seed in range(20)]
    assert sum(each.exponent_low <= 0.8 <= each.exponent_high for each in found) >= 17


def test_a_sample_of_the_keys_shows_the_same_law() -> None:
    found = fitted(drawn(0.8, objects=100_000, reads=500_000, share=0.05))
    assert found.exponent == pytest.approx(0.8, abs=0.05)
    assert found.objects == pytest.approx(100_000, rel=0.1)
    assert found.keys == pytest.approx(fitted(drawn(0.8, objects=100_000, reads=500_000)).keys, rel=0.05)


def test_objects_that_are_equally_popular_are_recognised() -> None:
    found = fitted(drawn(0.0, objects=1000, reads=50_000))
    assert found.is_even
    assert found.exponent_high < 0.1


def test_the_share_of_keys_that_are_read_once_is_counted() -> None:
    found = fitted(Spectrum([1] * 300 + [2] * 100, reads=500, share=1.0))
    assert found.once_share == 0.75
    assert found.once_share_low < 0.75 < found.once_share_high


def test_one_key_that_is_far_too_popular_does_not_decide() -> None:
    spectrum = drawn(0.8, objects=20_000, reads=200_000)
    counts = [*spectrum.counts.tolist(), 100_000]
    found = fitted(Spectrum(counts, reads=300_000, share=1.0))
    assert found.exponent == pytest.approx(0.8, abs=0.2)


def test_too_few_reads_or_keys_are_not_fitted() -> None:
    assert fit_popularity(Spectrum([1] * 100, reads=100, share=1.0)) is None
    assert fit_popularity(Spectrum([100] * 10, reads=1000, share=1.0)) is None


def test_the_expected_frequencies_are_those_of_the_log() -> None:
    spectrum = drawn(0.9, objects=20_000, reads=200_000)
    levels = [1, 2, 5, 20, 100]
    expected = expected_counts(fitted(spectrum), levels)
    counted = [int((spectrum.counts >= level).sum()) for level in levels]
    assert expected == pytest.approx(counted, rel=0.1)
