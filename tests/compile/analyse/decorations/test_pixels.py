"""What an image file looks like."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.sites.decorated import flat, photo, png

from adaptc.compile.analyse.decorations.evidence import ImageEvidence, image_evidence
from adaptc.core import media


def test_a_flat_picture_and_a_photograph() -> None:
    dull, rich = image_evidence(flat(300, 200), media.PNG), image_evidence(photo(300, 200), media.PNG)
    assert (dull.width, dull.height, dull.entropy, dull.colours, dull.transparent) == (300, 200, 0, 1, 0)
    assert rich.entropy is not None
    assert rich.entropy > 6.3
    assert rich.colours is not None
    assert rich.colours > 150


def test_transparent_pixels_do_not_count_as_colours() -> None:
    image = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    image.paste((255, 0, 0, 255), (0, 0, 10, 5))
    found = image_evidence(png(image), media.PNG)
    assert (found.has_alpha, found.colours, found.transparent) == (True, 1, 0.5)


def test_animation() -> None:
    output = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(output, "GIF", save_all=True, append_images=frames[1:])
    assert image_evidence(output.getvalue(), media.GIF).frames == 2


def test_the_orientation_turns_the_size() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    output = io.BytesIO()
    Image.new("RGB", (40, 20)).save(output, "JPEG", exif=exif.tobytes())
    found = image_evidence(output.getvalue(), media.JPEG)
    assert (found.width, found.height) == (20, 40)


@pytest.mark.parametrize("content", [b"", b"not an image", flat(300, 200)[:60]])
def test_what_cannot_be_read_has_no_picture(content: bytes) -> None:
    found = image_evidence(content, media.PNG)
    assert (found.size, found.entropy, found.colours) == (len(content), None, None)


def test_too_many_pixels_are_not_decoded() -> None:
    assert image_evidence(flat(30, 20), media.PNG, limit_pixels=599) == ImageEvidence(media.PNG, len(flat(30, 20)))


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="20" height="1in"', (20, 96)),
        ('viewBox="0 0 24 12"', (24, 12)),
        ('width="48px" viewBox="0 0 24 12"', (48, 24)),
        ('width="100%" viewBox="0,0,24,12"', (24, 12)),
        ("", (None, None)),
        ('viewBox="0 0 0 0"', (None, None)),
    ],
)
def test_sizes_of_vector_images(attributes: str, size: tuple[float | None, float | None]) -> None:
    found = image_evidence(f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}><g/></svg>'.encode(), media.SVG)
    assert (found.width, found.height) == size
    assert (found.is_vector, found.shapes) == (True, 1)


def test_a_vector_image_that_is_none() -> None:
    assert image_evidence(b"no markup", media.SVG) == ImageEvidence(media.SVG, 9)
