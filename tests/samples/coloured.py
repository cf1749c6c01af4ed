"""Pictures whose colours or whose upright position metadata gives: profiles, chunks, EXIF and boxes of AVIF."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from itertools import starmap
from typing import Any

from PIL import Image, ImageCms

from adaptc.formats.image import png
from adaptc.formats.image.vips import vips

# Primaries of ICC profiles: columns of X, Y and Z under D50 (what "colorants" hold), red, green, blue
SRGB = ((0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410))
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
# Transfer functions: a gamma, or the parameters g, a, b, c, d of a parametric curve (ICC.1, 10.18, type 3)
SRGB_CURVE = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def profile(
    primaries: Sequence[tuple[float, float, float]] = SRGB,
    curve: float | Sequence[float] = SRGB_CURVE,
    name: str = "a profile",
    space: bytes = b"RGB ",
) -> bytes:
    """Return an ICC profile by its numbers; of gray where ``space`` says so."""
    curves = (b"kTRC",) if space == b"GRAY" else (b"rTRC", b"gTRC", b"bTRC")
    tags = {b"desc": _description(name), b"wtpt": _xyz((0.9642, 1.0, 0.8249)), b"cprt": b"text\0\0\0\0none\0"}
    tags |= dict.fromkeys(curves, _curve(curve))
    if space != b"GRAY":
        tags |= dict(zip((b"rXYZ", b"gXYZ", b"bXYZ"), map(_xyz, primaries), strict=True))
    return _profile(tags, space)


def _profile(tags: dict[bytes, bytes], space: bytes) -> bytes:
    table, contents, at = b"", b"", 128 + 4 + 12 * len(tags)
    for tag, content in tags.items():
        table += tag + struct.pack(">II", at + len(contents), len(content))
        contents += content + b"\0" * (-len(content) % 4)
    length = at + len(contents)
    header = struct.pack(">I4s4s4s4s4s12s4s", length, b"none", b"\2\x40\0\0", b"mntr", space, b"XYZ ", b"", b"acsp")
    header = header.ljust(68, b"\0") + b"".join(starmap(_fixed, ((0.9642,), (1.0,), (0.8249,))))
    return header.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + contents


def _fixed(number: float) -> bytes:
    return struct.pack(">i", round(number * 65536))


def _xyz(values: Sequence[float]) -> bytes:
    return b"XYZ \0\0\0\0" + b"".join(map(_fixed, values))


def _curve(curve: float | Sequence[float]) -> bytes:
    if isinstance(curve, float):
        return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(curve * 256))
    return b"para\0\0\0\0" + struct.pack(">HH", 3, 0) + b"".join(map(_fixed, curve))


def _description(name: str) -> bytes:
    text = name.encode() + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + b"\0" * 78


# ---- pictures


def picture(width: int = 96, height: int = 64) -> Image.Image:
    """Return a picture in which every change of colour, and each turn, shows."""
    across = Image.linear_gradient("L").rotate(90).resize((width, height))
    down = Image.linear_gradient("L").resize((width, height))
    middle = Image.radial_gradient("L").resize((width, height))
    return Image.merge("RGB", (across, down, middle))


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """Return an image file, nearly without loss."""
    output = io.BytesIO()
    lossless = {"WEBP": {"lossless": True}, "PNG": {}}.get(kind, {"quality": 98, "subsampling": "4:4:4"})
    image.save(output, kind, **(lossless | options))
    return output.getvalue()


def turned(kind: str, orientation: int) -> bytes:
    """Return a picture with EXIF that gives it an orientation; in AVIF without ``irot`` and ``imir``."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(picture(), kind, exif=exif.tobytes())
    return content.replace(b"irot", b"free").replace(b"imir", b"free") if kind == "AVIF" else content


def with_chunks(content: bytes, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG with chunks after its header."""
    return png.insert_after_header(content, [png.Chunk(*chunk) for chunk in chunks])


def numbers(*values: int) -> bytes:
    """Return numbers of 32 bits, as gAMA and cHRM hold them."""
    return b"".join(value.to_bytes(4, "big") for value in values)


def with_nclx(content: bytes, primaries: int, transfer: int) -> bytes:
    """Return an AVIF image whose box ``colr`` states code points of H.273."""
    at = content.index(b"colrnclx") + 8
    return content[:at] + struct.pack(">HH", primaries, transfer) + content[at + 4 :]


def inks(**options: Any) -> bytes:
    """Return a JPEG of four inks, with the profile that libvips has for them if ``icc_profile`` is true."""
    has_profile = options.pop("icc_profile", False)
    image = vips().Image.new_from_buffer(encoded(picture(), "PNG"), "").icc_export(output_profile="cmyk")
    return bytes(image.jpegsave_buffer(Q=98, keep="icc" if has_profile else "none", **options))


def system_profile() -> bytes:
    """Return the sRGB profile that LittleCMS makes, of version 4."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
