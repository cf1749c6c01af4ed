"""The score and the search for a quality."""

from __future__ import annotations

import numpy as np
import pytest

from adaptc.formats.image.lossy import Point, search_quality
from adaptc.formats.image.score import ssim

RANDOM = np.random.default_rng(7)
PICTURE = np.clip(RANDOM.normal(128, 40, (61, 47, 3)), 0, 255).astype(np.uint8)


def noisy(amount: int) -> np.ndarray:
    noise = np.random.default_rng(1).normal(0, amount, PICTURE.shape)
    return np.clip(PICTURE + noise, 0, 255).astype(np.uint8)


def test_equal_images_score_one_and_more_noise_scores_less() -> None:
    scores = [ssim(PICTURE, noisy(amount)) for amount in (0, 5, 20, 80)]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < 0.6


def test_a_change_of_colour_alone_is_seen() -> None:
    swapped = PICTURE[:, :, [2, 1, 0]]
    assert ssim(PICTURE, swapped) < 0.95


def test_alpha_is_scored_over_black_and_white() -> None:
    opaque = np.dstack([PICTURE, np.full((61, 47), 255, np.uint8)])
    clear = np.dstack([PICTURE, np.zeros((61, 47), np.uint8)])
    assert ssim(opaque, PICTURE) == 1.0
    assert ssim(opaque, clear) < 0.5
    hidden = clear.copy()
    hidden[:, :, 0] = 0
    assert ssim(clear, hidden) == 1.0


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (8, 8), (9, 7)])
def test_small_images_have_a_score(shape: tuple[int, int]) -> None:
    black, white = np.zeros((*shape, 3), np.uint8), np.full((*shape, 3), 255, np.uint8)
    assert ssim(black, black) == 1.0
    assert ssim(black, white) < 0.5


def test_images_of_different_sizes_are_a_bug() -> None:
    with pytest.raises(ValueError, match="sizes differ"):
        ssim(PICTURE, PICTURE[:10])


def encode(quality: int) -> bytes:
    return b"x" * quality


def score(content: bytes) -> float:
    return len(content) / 100


def test_the_lowest_quality_that_reaches_the_target_is_found() -> None:
    search = search_quality(encode, score, 0.73)
    assert search.content == encode(73)
    assert search.best == Point(73, 73, 0.73)
    assert len(search.points) <= 7


def test_a_target_out_of_reach_gives_nothing_but_its_points() -> None:
    search = search_quality(encode, score, 0.99)
    assert (search.content, search.best) == (None, None)
    assert search.points
