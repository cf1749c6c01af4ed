"""Below effort max the quality of a large image is searched on a sample; only the result is made smaller still."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.samples.drawn import encoded, noise, photo

from adaptc.core.model import Effort
from adaptc.formats.image.copiers import convert, likeness
from adaptc.formats.image.halve import ImageCopy
from adaptc.formats.image.lossy import JPEG, PNG, WEBP, Encoder, Search, lossy
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, Refusal, probe
from adaptc.formats.image.score import Reference
from adaptc.formats.image.vips import from_pillow, to_pillow

# coarse enough that no high quality is taken for enough
GRAIN = np.random.default_rng(3).normal(0, 45, (700, 900, 1))
SLOPE = np.linspace((60, 120, 40), (200, 90, 180), 900)[None]
LARGE = Image.fromarray(np.clip(SLOPE + GRAIN, 0, 255).astype(np.uint8))
SMALL = LARGE.crop((0, 0, 300, 200))


def search(image: Image.Image, encoder: Encoder, effort: Effort = "fast") -> Search:
    content = encoded(image, "JPEG", quality=97)
    facts = probe(content, LIMIT_PIXELS)
    assert isinstance(facts, ImageFacts)
    result = lossy(content, facts, effort, 0.95, encoder)
    assert isinstance(result, Search)
    return result


def heights(encoder: Encoder) -> tuple[Encoder, list[int]]:
    """Return an encoder that notes how high the images are that it gets."""
    seen: list[int] = []

    def encode(image: Any, effort: Effort, quality: int) -> bytes:
        seen.append(image.height)
        return encoder.encode(image, effort, quality)

    return replace(encoder, encode=encode, encode_crisp=None, encode_sample=None), seen


def shown(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


@pytest.mark.parametrize("encoder", [JPEG, WEBP])
def test_a_large_image_is_encoded_once_as_a_whole(encoder: Encoder) -> None:
    watched, seen = heights(encoder)
    result = search(LARGE, watched)
    assert result.content is not None
    *tried, last = seen
    assert set(tried) == {256} and last == 700
    assert shown(result.content).size == LARGE.size
    assert Reference(LARGE).score(shown(result.content)) >= 0.94


@pytest.mark.parametrize(("image", "effort", "height"), [(SMALL, "fast", 200), (LARGE, "max", 700)])
def test_small_images_and_other_efforts_need_no_sample(image: Image.Image, effort: Effort, height: int) -> None:
    watched, seen = heights(JPEG)
    assert search(image, watched, effort).content is not None
    assert set(seen) == {height}


def test_a_palette_is_that_of_the_whole_image() -> None:
    watched, seen = heights(PNG)
    result = search(LARGE, watched)
    assert result.content is not None
    assert set(seen) == {700}


def test_only_the_result_is_finished() -> None:
    finished: list[bytes] = []

    def finish(content: bytes, _effort: Effort) -> bytes:
        finished.append(content)
        return content + b"!"

    result = search(SMALL, replace(JPEG, finish=finish))
    assert len(result.points) > 1
    assert [result.content] == [content + b"!" for content in finished]


def test_an_encoder_may_bring_its_decoder() -> None:
    """Pillow writes JPEG 2000; the libvips of pyvips-binary reads none, so nothing could be scored."""
    content = encoded(SMALL, "PNG")
    facts = probe(content, LIMIT_PIXELS)
    assert isinstance(facts, ImageFacts)
    unread = Encoder(jpeg_2000)
    assert isinstance(lossy(content, facts, "fast", 0.9, unread), Refusal)
    found = lossy(content, facts, "fast", 0.9, replace(unread, decode=shown))
    assert isinstance(found, Search)
    assert found.content is not None
    assert found.content[4:8] == b"jP  "


def jpeg_2000(image: Any, _effort: Effort, quality: int) -> bytes:
    output = io.BytesIO()
    to_pillow(image).save(output, "JPEG2000", quality_mode="dB", quality_layers=[20 + quality / 3])
    return output.getvalue()


def test_a_wide_copy_is_as_close_as_a_laptop_shows_it() -> None:
    grainy = Image.blend(photo(1920, 400), noise(1920, 400, 20).convert("RGB"), 0.1)
    content = encoded(grainy, "JPEG", quality=95)
    copy = convert(content, format="avif", target=0.9)
    assert isinstance(copy, ImageCopy) and copy.width == 1920
    assert likeness(content, copy.content, 1280) == pytest.approx(0.9, abs=0.02)
    assert likeness(content, copy.content, 1920) < 0.88


def test_a_sample_of_a_jpeg_is_scored_with_the_pixels_of_the_whole_encoding() -> None:
    encode_sample = JPEG.encode_sample
    assert encode_sample is not None
    for quality in (20, 67, 92):
        whole = JPEG.encode(from_pillow(LARGE).copy(interpretation="srgb"), "default", quality)
        sample = encode_sample(from_pillow(LARGE).copy(interpretation="srgb"), "default", quality)
        assert shown(sample).tobytes() == shown(whole).tobytes()
