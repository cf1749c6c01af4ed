"""Lossless WebP: the same pixels, smaller, or nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image, ImageSequence, PngImagePlugin

from adaptc.core.facts import BoundedCache
from adaptc.formats.image import vips
from adaptc.formats.image.alternates import alternates, exact_webp
from adaptc.formats.image.copiers import convert
from adaptc.formats.image.halve import ImageCopy, halve
from adaptc.formats.image.probe import Refusal
from adaptc.formats.image.recompress import recompress


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def picture(mode: str) -> Image.Image:
    ramp = Image.linear_gradient("L").resize((90, 90))
    image = Image.merge("RGBA", (ramp, ramp.rotate(90), Image.radial_gradient("L").resize((90, 90)), ramp))
    return image.convert("RGB").convert(mode) if mode in ("P", "L", "1") else image.convert(mode)


@pytest.mark.parametrize("effort", ["fast", "default", "max"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_a_png_has_a_webp_of_the_same_pixels(mode: str, effort: Any) -> None:
    content = encoded(picture(mode), "PNG", compress_level=0)
    webp = exact_webp(content, effort=effort)
    assert webp is not None
    assert len(webp) < len(content)
    before, after = (Image.open(io.BytesIO(c)).convert("RGBA").tobytes() for c in (content, webp))
    assert before == after


def test_a_gif_of_one_frame_has_one() -> None:
    frame = picture("P")
    still = encoded(frame, "GIF", transparency=3)
    webp = exact_webp(still)
    assert webp is not None
    before, after = (Image.open(io.BytesIO(c)).convert("RGBA").tobytes() for c in (still, webp))
    assert before == after


def animation(**options: Any) -> bytes:
    frames = [picture("P").rotate(angle).convert("P") for angle in (0, 90, 90, 180)]
    settings = {"loop": 0, "duration": [40, 0, 70, 1000], **options}
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], **settings)


def shown(content: bytes) -> list[tuple[bytes, int]]:
    """What is seen at each multiple of ten ms."""
    found = []
    for frame in ImageSequence.Iterator(Image.open(io.BytesIO(content))):
        pixels, time = frame.convert("RGBA").tobytes(), int(frame.info["duration"])
        found += [pixels] * ((time if time > 10 else 100) // 10)
    return found


def test_an_animation_has_one_with_the_same_frames_for_the_same_times() -> None:
    gif = animation()
    webp = exact_webp(gif)
    assert webp is not None
    assert len(webp) < len(gif)
    assert Image.open(io.BytesIO(webp)).info["loop"] == 0
    assert shown(webp) == shown(gif)
    copy = convert(gif, format="webp", target=0.96)
    assert isinstance(copy, ImageCopy)
    assert copy.content == webp
    assert isinstance(convert(gif, format="avif", target=0.96), Refusal)
    assert isinstance(convert(gif, format="webp", target=0.96, width=40), Refusal)


@pytest.mark.parametrize("options", [{"loop": 2}, {"loop": None}])
def test_an_animation_that_ends_has_none(options: dict[str, Any]) -> None:
    assert exact_webp(animation(**options)) is None


def test_an_animation_on_which_decoders_do_not_agree_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.formats.image.alternates._decoded_by_vips", lambda _: [picture("RGBA")] * 4)
    assert exact_webp(animation()) is None


def test_an_animation_of_too_many_pixels_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.formats.image.alternates._MOST_PIXELS", 90 * 90 * 2)
    assert exact_webp(animation()) is None


def with_chunk(name: bytes, content: bytes) -> bytes:
    extra = PngImagePlugin.PngInfo()
    extra.add(name, content)
    return encoded(picture("RGB"), "PNG", compress_level=0, pnginfo=extra)


def test_what_is_not_provably_the_same_has_none() -> None:
    assert exact_webp(with_chunk(b"gAMA", (100_000).to_bytes(4, "big"))) is None
    assert exact_webp(with_chunk(b"gAMA", (45_455).to_bytes(4, "big"))) is not None
    assert exact_webp(encoded(Image.new("I;16", (64, 64)), "PNG", compress_level=0)) is None
    exif = Image.Exif()
    exif[0x0112] = 3
    assert exact_webp(encoded(picture("RGB"), "PNG", compress_level=0, exif=exif.tobytes())) is None


def test_what_is_broken_too_large_or_another_type_has_none() -> None:
    content = encoded(picture("RGB"), "PNG", compress_level=0)
    assert exact_webp(content[: len(content) // 2]) is None
    assert exact_webp(content, limit_pixels=10) is None
    assert exact_webp(encoded(picture("RGB"), "JPEG")) is None


def test_an_image_is_decoded_once_for_all_that_is_made_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def load_once(content: bytes) -> Any:
        decoded.append(content)
        return vips.vips().Image.new_from_buffer(content, "")

    monkeypatch.setattr(vips, "load_once", load_once)
    content = encoded(picture("RGB"), "JPEG", quality=95)
    recompress("a.jpg", content, "image/jpeg", target=0.9)
    alternates(content, ["avif", "webp"], below=len(content), target=0.9)
    halve(content)
    assert decoded.count(content) == 1


def test_a_worker_keeps_few_decoded_images(monkeypatch: pytest.MonkeyPatch) -> None:
    images = BoundedCache[bytes, Any](3 * 40 * 40)
    monkeypatch.setattr(vips, "_decoded_images", images)
    contents = []
    for shade in range(3):
        contents.append(encoded(Image.new("RGB", (30, 30), (shade, 0, 0)), "PNG"))
        assert vips.decode_upright(contents[-1]).width == 30
    assert [content for content, _, _ in images.items()] == contents[-1:]
