"""The proof of equal pixels."""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from adaptc.formats.image import png
from adaptc.formats.image.probe import Refusal
from adaptc.formats.image.recompress import jpeg_damage, same_pixels

PNG = "image/png"
PLAIN = ["L", "LA", "RGB", "RGBA", "P"]


def picture(mode: str, side: int = 24) -> Image.Image:
    ramp = Image.linear_gradient("L").resize((side, side))
    image = Image.merge("RGB", (ramp, Image.radial_gradient("L").resize((side, side)), ramp.rotate(90)))
    if mode in ("RGBA", "LA"):
        image.putalpha(ramp.rotate(180))
    return image.quantize(32) if mode == "P" else image.convert(mode)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def unfiltered(image: Image.Image, level: int = 9, **options: Any) -> bytes:
    """Encode a PNG of 8 bits a sample with no filter on any row."""
    bands = 1 if image.mode == "P" else len(image.getbands())
    width = image.width * bands
    samples = image.tobytes()
    rows = b"".join(b"\0" + samples[at : at + width] for at in range(0, len(samples), width))
    return with_rows(encoded(image, bits=8, **options), zlib.compress(rows, level))


def with_rows(content: bytes, stream: bytes) -> bytes:
    """Put another zlib stream in the place of a PNG's."""
    chunks = [chunk for chunk in png.chunks(content) if chunk.name != b"IDAT"]
    chunks.insert(-1, png.Chunk(b"IDAT", stream))
    return png.SIGNATURE + b"".join(chunk.encoded() for chunk in chunks)


@pytest.mark.parametrize("after", [encoded, unfiltered], ids=["filtered", "plain"])
@pytest.mark.parametrize("mode", PLAIN)
def test_one_sample_makes_the_difference(mode: str, after: Any) -> None:
    image = picture(mode)
    before = encoded(image)
    assert same_pixels(PNG, before, after(image)) is True
    changed = image.copy()
    pixel = image.getpixel((5, 7))
    changed.putpixel((5, 7), 31 - pixel if isinstance(pixel, int) else (*pixel[:-1], pixel[-1] ^ 1))  # type: ignore[misc]
    assert same_pixels(PNG, before, after(changed)) is False


@pytest.mark.parametrize(("wide", "narrow"), [("RGBA", "RGB"), ("RGBA", "L"), ("RGBA", "P"), ("RGB", "L"), ("LA", "L")])
def test_other_bands_may_say_the_same(wide: str, narrow: str) -> None:
    small = picture(narrow)
    large = small.convert("RGBA").convert(wide)
    assert same_pixels(PNG, encoded(large), unfiltered(small)) is True
    assert same_pixels(PNG, encoded(large), encoded(small)) is True
    alpha = small.convert("RGB").convert("RGBA")
    alpha.putalpha(254)
    assert same_pixels(PNG, encoded(alpha), unfiltered(small)) is False


def test_sixteen_bits_may_say_no_more_than_eight() -> None:
    small = picture("L")
    wide = Image.frombytes("I;16", small.size, (np.asarray(small).astype("<u2") * 257).tobytes())
    off = Image.frombytes("I;16", small.size, (np.asarray(small).astype("<u2") * 256).tobytes())
    assert same_pixels(PNG, encoded(wide), unfiltered(small)) is True
    assert same_pixels(PNG, encoded(off), unfiltered(small)) is False


def test_another_size_is_another_image() -> None:
    assert same_pixels(PNG, encoded(picture("RGB", 24)), unfiltered(picture("RGB", 25))) is False


def test_damage_is_reported_with_the_message_of_the_decoder() -> None:
    content = encoded(picture("RGB", 200), "JPEG", progressive=True)
    assert jpeg_damage(content) is None
    damage = jpeg_damage(content[:-200])
    assert isinstance(damage, Refusal)
    assert "(VipsJpeg: premature end of JPEG image)" in damage.reason
