"""Probing: what a header says, and what is refused before a pixel is decoded."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image, ImageCms

from adaptc.formats.image.probe import ImageFacts, Refusal, probe, read_exif


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def facts(content: bytes) -> ImageFacts:
    image = probe(content)
    assert isinstance(image, ImageFacts)
    return image


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


@pytest.mark.parametrize(
    ("mode", "kind", "media_type", "shown", "alpha"),
    [
        ("RGB", "PNG", "image/png", "rgb", False),
        ("RGBA", "PNG", "image/png", "rgb", True),
        ("L", "PNG", "image/png", "gray", False),
        ("LA", "PNG", "image/png", "gray", True),
        ("1", "PNG", "image/png", "gray", False),
        ("P", "PNG", "image/png", "palette", False),
        ("I;16", "PNG", "image/png", "16bit", False),
        ("RGB", "JPEG", "image/jpeg", "rgb", False),
        ("CMYK", "JPEG", "image/jpeg", "cmyk", False),
        ("L", "JPEG", "image/jpeg", "gray", False),
        ("P", "GIF", "image/gif", "palette", False),
        ("RGBA", "WEBP", "image/webp", "rgb", True),
        ("RGB", "AVIF", "image/avif", "rgb", False),
    ],
)
def test_the_header_says_type_size_mode_and_alpha(
    mode: str, kind: str, media_type: str, shown: str, alpha: bool
) -> None:
    image = facts(encoded(Image.new(mode, (40, 30)), kind))
    assert (image.media_type, image.width, image.height) == (media_type, 40, 30)
    assert (image.mode, image.has_alpha, image.is_animated, image.has_icc) == (shown, alpha, False, False)


def test_transparency_without_an_alpha_channel_is_alpha() -> None:
    assert facts(encoded(Image.new("P", (4, 4)), "PNG", transparency=0)).has_alpha
    assert facts(encoded(Image.new("RGB", (4, 4)), "PNG", transparency=(0, 0, 0))).has_alpha


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_an_orientation_of_a_quarter_turn_exchanges_the_natural_size(kind: str) -> None:
    image = facts(encoded(Image.new("RGB", (40, 30)), kind, exif=turned(6)))
    assert image.orientation == 6
    assert image.natural_size == (30, 40)


def test_a_profile_and_frames_are_seen() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert facts(encoded(Image.new("RGB", (4, 4)), "JPEG", icc_profile=profile)).has_icc
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "green", "blue")]
    gif = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=100)
    assert facts(gif).frames == 3


def bomb(width: int, height: int) -> bytes:
    """A PNG whose header claims more than its content holds."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_a_bomb_is_refused_by_its_header() -> None:
    refused = probe(bomb(60_000, 60_000), 100_000_000)
    assert isinstance(refused, Refusal)
    diagnostic = refused.diagnostic("a.png")
    assert diagnostic.id == "image-bomb"
    assert "3600000000 pixels decoded, more than the limit of 100000000" in diagnostic.message


def test_the_limit_is_the_caller_s() -> None:
    content = encoded(Image.new("RGB", (40, 30)), "PNG")
    assert isinstance(probe(content, 1200), ImageFacts)
    assert isinstance(probe(content, 1199), Refusal)


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"<html>", b"\0" * 99])
def test_what_is_no_image_is_a_finding(content: bytes) -> None:
    refused = probe(content)
    assert isinstance(refused, Refusal)
    assert refused.diagnostic("a").id == "image-broken"


@pytest.mark.parametrize(
    ("resolution", "stated", "is_dense"),
    [(144, (700, 400), True), (144, (1400, 800), False), (300, (336, 192), True), (72, (700, 400), False)],
)
def test_a_resolution_counts_where_the_stated_size_follows_from_it(
    resolution: int, stated: tuple[int, int], is_dense: bool
) -> None:
    """As Chromium has it: a photograph for print, which states its stored pixels, is as large as those."""
    exif = Image.Exif()
    exif[0x11A] = exif[0x11B] = float(resolution)
    exif[0x128] = 2
    exif.get_ifd(0x8769).update({0xA002: stated[0], 0xA003: stated[1]})
    content = exif.tobytes()
    assert read_exif(content, (1400, 800)).has_density is is_dense
    assert read_exif(content).has_density is (resolution != 72)
