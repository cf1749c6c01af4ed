"""The score and the search for a quality."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
import pytest
from PIL import Image

from adaptc.formats.image.lossy import Point, av1_step, encode_avif, jpeg_step, search_quality
from adaptc.formats.image.score import Reference
from adaptc.formats.image.vips import from_pillow

RANDOM = np.random.default_rng(7)
SAMPLES = np.clip(RANDOM.normal(128, 40, (61, 47, 3)), 0, 255).astype(np.uint8)
PICTURE = Image.fromarray(SAMPLES)


def ssim(before: Image.Image, after: Image.Image) -> float:
    return Reference(before).score(after)


def noisy(amount: int) -> Image.Image:
    noise = np.random.default_rng(1).normal(0, amount, SAMPLES.shape)
    return Image.fromarray(np.clip(SAMPLES + noise, 0, 255).astype(np.uint8))


def with_alpha(image: Image.Image, alpha: int) -> Image.Image:
    copy = image.copy()
    copy.putalpha(alpha)
    return copy


def test_equal_images_score_one_and_more_noise_scores_less() -> None:
    scores = [ssim(PICTURE, noisy(amount)) for amount in (0, 5, 20, 80)]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < 0.6


def windows(channel: np.ndarray) -> np.ndarray:
    """Means over 8 by 8 samples, each 4; 61 by 47 samples are continued to 64 by 48."""
    padded = np.pad(channel, [(0, 3), (0, 1)], mode="edge")
    return np.array([[padded[y : y + 8, x : x + 8].mean() for x in range(0, 41, 4)] for y in range(0, 57, 4)])


def expected_score(before: np.ndarray, after: np.ndarray) -> float:
    """SSIM in 64-bit floats (Wang et al. 2004, equation 13), from its definition."""
    luma, blue, red = (0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312)
    total = 0.0
    for weight, row, offset in ((0.75, luma, 0), (0.125, blue, 128), (0.125, red, 128)):
        x, y = (samples.astype(float) @ np.array(row) + offset for samples in (before, after))
        mean_x, mean_y = windows(x), windows(y)
        spread = windows(x * x) - mean_x**2 + windows(y * y) - mean_y**2
        shared = windows(x * y) - mean_x * mean_y
        c1, c2 = 2.55**2, 7.65**2
        scores = (2 * mean_x * mean_y + c1) * (2 * shared + c2) / ((mean_x**2 + mean_y**2 + c1) * (spread + c2))
        total += weight * scores.mean()
    return total


@pytest.mark.parametrize("amount", [5, 20, 80])
def test_the_score_is_that_of_the_definition(amount: int) -> None:
    after = noisy(amount)
    assert ssim(PICTURE, after) == pytest.approx(expected_score(SAMPLES, np.asarray(after)), abs=2e-6)


def test_a_change_of_colour_alone_is_seen() -> None:
    red, green, blue = PICTURE.split()
    assert ssim(PICTURE, Image.merge("RGB", (blue, green, red))) < 0.95


def test_alpha_is_scored_over_black_and_white() -> None:
    opaque, clear = with_alpha(PICTURE, 255), with_alpha(PICTURE, 0)
    assert ssim(opaque, PICTURE) == 1.0
    assert ssim(opaque, clear) < 0.5
    assert ssim(clear, with_alpha(Image.new("RGB", PICTURE.size), 0)) == 1.0


@pytest.mark.parametrize("size", [(1, 1), (50, 3), (8, 8), (7, 9)])
def test_small_images_have_a_score(size: tuple[int, int]) -> None:
    black, white = Image.new("RGB", size), Image.new("RGB", size, "white")
    assert ssim(black, black) == 1.0
    assert ssim(black, white) < 0.5


def test_images_of_different_sizes_are_a_bug() -> None:
    with pytest.raises(ValueError, match="sizes differ"):
        ssim(PICTURE, PICTURE.crop((0, 0, 10, 10)))


def encode(quality: int) -> bytes:
    return b"x" * quality


def curve(gain: float, step: Callable[[int], float] = jpeg_step) -> Callable[[bytes], float]:
    """Return the score of an image whose loss is a power of the quantizer's step."""
    return lambda content: 1 - exp(gain * (step(len(content)) - step(97))) / 1000


@pytest.mark.parametrize("step", [jpeg_step, av1_step])
@pytest.mark.parametrize("target", [0.9, 0.95, 0.98])
@pytest.mark.parametrize("gain", [0.9, 1.3, 1.6])
def test_three_encodings_come_close_to_the_lowest_quality_that_reaches_the_target(
    gain: float, target: float, step: Callable[[int], float]
) -> None:
    score = curve(gain, step)
    lowest = next((quality for quality in range(20, 98) if score(encode(quality)) >= target), None)
    search = search_quality(encode, score, target, step=step)
    assert len(search.points) <= 3
    assert lowest is not None
    assert search.best is not None
    assert search.best.score >= target
    assert search.content == encode(search.best.quality)
    assert lowest <= search.best.quality <= lowest + 4


def test_av1_has_a_step_for_each_encoding() -> None:
    """Qualities that libheif maps to one quantizer give one encoding, and no others do."""
    pixels = from_pillow(PICTURE.crop((0, 0, 16, 16))).copy(interpretation="srgb")
    encodings = {quality: encode_avif(pixels, "fast", quality) for quality in range(19, 99)}
    for quality in range(20, 99):
        is_same = encodings[quality] == encodings[quality - 1]
        assert (av1_step(quality) == av1_step(quality - 1)) is is_same, quality


def test_a_quality_that_gives_an_encoding_that_was_tried_is_not_tried() -> None:
    tried: list[int] = []

    def encode_in_pairs(quality: int) -> bytes:
        tried.append(quality)
        return encode(quality - quality % 2)

    def step(quality: int) -> float:
        return jpeg_step(quality - quality % 2)

    search = search_quality(encode_in_pairs, curve(1.3), 0.95, step=step, first=50, lowest=45, highest=60)
    assert search.best is not None
    assert len({quality // 2 for quality in tried}) == len(tried) > 1


@pytest.mark.parametrize(("loss", "quality"), [(0.03, 80), (0.065, 85), (0.11, None)])
def test_grain_costs_no_more_than_a_high_quality(loss: float, quality: int | None) -> None:
    """Where ``enough`` has at most twice the loss that is allowed, no higher quality is tried."""
    search = search_quality(encode, lambda content: 1 - loss * (2 - len(content) / 100), 0.96, lowest=80, enough=85)
    qualities = [point.quality for point in search.points]
    assert (max(qualities) <= 85) is (quality is not None)
    assert quality is None or (search.best is not None and quality <= search.best.quality <= 85)


def test_a_curve_with_a_step_gives_a_quality_that_was_measured() -> None:
    def score(content: bytes) -> float:
        return 0.99 if len(content) >= 80 else 0.5

    search = search_quality(encode, score, 0.95)
    assert len(search.points) == 3
    assert search.best is None or search.best.quality >= 80
    assert search.content == (None if search.best is None else encode(search.best.quality))


@pytest.mark.parametrize("reached", [0.99, 0.5])
def test_qualities_that_give_the_same_encoding_end_the_search(reached: float) -> None:
    """As those of a PNG that has its 256 colours at each of them."""
    search = search_quality(lambda _quality: b"full", lambda _content: reached, 0.95)
    assert len(search.points) == 2
    assert search.content == (b"full" if reached >= 0.95 else None)
    search = search_quality(lambda _quality: b"full", lambda _content: 0.5, 0.95, ends_highest=True)
    assert search.points[-1].quality == 97


def test_a_first_quality_that_is_the_lowest_ends_the_search() -> None:
    search = search_quality(encode, curve(1.0), 0.5, lowest=45, highest=75, first=45)
    assert [point.quality for point in search.points] == [45]


def test_a_range_of_one_quality_is_encoded_once() -> None:
    assert len(search_quality(encode, curve(1.0), 0.99999, lowest=45, highest=45).points) == 1


def test_a_target_out_of_reach_gives_the_highest_quality_as_a_point() -> None:
    search = search_quality(encode, lambda content: len(content) / 1000, 0.99)
    assert (search.content, search.best) == (None, None)
    assert search.points[-1] == Point(97, 97, 0.097)
    assert len(search.points) <= 3
