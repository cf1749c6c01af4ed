"""Images as browsers show them: what Chromium makes of profiles, chunks, boxes and EXIF, and what a copy is made of."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.samples.coloured import (
    ADOBE,
    P3,
    SRGB,
    encoded,
    inks,
    numbers,
    picture,
    profile,
    system_profile,
    turned,
    with_chunks,
    with_nclx,
)
from tests.servers.browser import Browser

from adaptc.formats.image import jpeg, png
from adaptc.formats.image.alternates import alternates
from adaptc.formats.image.copiers import convert
from adaptc.formats.image.halve import ImageCopy, halve
from adaptc.formats.image.probe import ImageFacts, density_exif, probe
from adaptc.formats.image.recompress import recompress
from adaptc.formats.image.vips import decode_frames, decode_srgb, to_pillow, vips

SRGB_NAME = "sRGB IEC61966-2.1"
GRAY = b"GRAY"
P3_PRIMARIES = numbers(31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000)
KINDS = ("JPEG", "PNG", "WEBP", "AVIF")


def chunked(*chunks: tuple[bytes, bytes], **options: Any) -> bytes:
    return with_chunks(encoded(picture(), "PNG", **options), *chunks)


def after_pixels(name: bytes, content: bytes) -> bytes:
    chunks = list(png.chunks(encoded(picture(), "PNG")))
    chunks.insert(-1, png.Chunk(name, content))
    return png.SIGNATURE + b"".join(chunk.encoded() for chunk in chunks)


def deep(**chunks: bytes) -> bytes:
    """Return a PNG of 16 bits a sample, with an ICC profile or with chunks."""
    image = vips().Image.new_from_buffer(encoded(picture(), "PNG"), "").linear(257, 0).cast("ushort")
    image = image.copy(interpretation="rgb16")
    described = chunks.pop("icc", None)
    if described is not None:
        image.set_type(vips().GValue.blob_type, "icc-profile-data", described)
    content = bytes(image.pngsave_buffer(bitdepth=16, keep="icc"))
    return with_chunks(content, *((name.encode(), inner) for name, inner in chunks.items()))


def exif(kind: int, count: int = 1, orientation: int = 6) -> bytes:
    """Return EXIF in which the orientation has a type and a count."""
    value = orientation.to_bytes(2, "big") + b"\0\0" if kind == 3 else orientation.to_bytes(4, "big")
    entry = (0x0112).to_bytes(2, "big") + kind.to_bytes(2, "big") + count.to_bytes(4, "big") + value
    return b"MM\0*" + (8).to_bytes(4, "big") + (1).to_bytes(2, "big") + entry + b"\0\0\0\0"


def photographed(*segments: bytes) -> bytes:
    content = encoded(picture(), "JPEG")
    for tiff in reversed(segments):
        content = jpeg.insert_after_start(content, jpeg.Segment(jpeg.APP1, b"Exif\0\0" + tiff))
    return content


def animated(**options: Any) -> bytes:
    frames = [picture(), picture().rotate(180)]
    output = io.BytesIO()
    frames[0].save(output, "WEBP", save_all=True, append_images=frames[1:], lossless=True, duration=1000, **options)
    return output.getvalue()


def boxless_turn() -> bytes:
    """Return AVIF with EXIF that would turn it, and boxes that do not."""
    content = turned("AVIF", 6).replace(b"free", b"irot")
    at = content.index(b"irot") + 4
    return content[:at] + b"\0" + content[at + 1 :]


def described() -> Iterator[tuple[str, bytes]]:
    """Yield pictures that metadata changes, by a name that begins with the type."""
    profiles = {
        "linear, called sRGB": profile(SRGB, 1.0, SRGB_NAME),
        "of sRGB": profile(),
        "of sRGB, of a system": system_profile(),
        "gamma 2.2": profile(SRGB, 2.2),
        "Adobe RGB": profile(ADOBE, 2.199),
        "P3, called sRGB": profile(P3, name="sRGB built-in"),
    }
    for kind in KINDS:
        for name, icc in profiles.items():
            yield f"{kind} {name}", encoded(picture(), kind, icc_profile=icc)
        for name in ("linear, called sRGB", "P3, called sRGB"):
            yield f"{kind} gray, {name}", encoded(picture().convert("L"), kind, icc_profile=profiles[name])
    for kind in ("JPEG", "PNG", "WEBP"):
        yield f"{kind} gray profile", encoded(picture(), kind, icc_profile=profile(curve=1.0, space=GRAY))
        yield f"{kind} gray of gray", encoded(picture().convert("L"), kind, icc_profile=profile(curve=1.0, space=GRAY))
        for space in (b"Lab ", b"XYZ ", b"CMYK", b"HSV "):
            icc = profile(curve=1.0, space=space)
            yield f"{kind} profile of {space.decode()}", encoded(picture(), kind, icc_profile=icc)
        yield f"{kind} broken profile", encoded(picture(), kind, icc_profile=b"no profile" * 30)
        for orientation in range(1, 9):
            yield f"{kind} turned {orientation}", turned(kind, orientation)
    for orientation in (3, 6, 8):
        yield f"AVIF turned by boxes {orientation}", turned("AVIF", orientation).replace(b"free", b"irot", 1)
    yield "AVIF turned by EXIF alone", boxless_turn()
    yield from ((f"PNG {name}", content) for name, content in of_png().items())
    yield from ((f"JPEG {name}", content) for name, content in of_jpeg().items())
    yield "WEBP animated, linear", animated(icc_profile=profile(SRGB, 1.0))
    yield "WEBP animated, turned", animated(exif=b"Exif\0\0" + exif(3))
    flat = encoded(picture(), "AVIF")
    for points in ((1, 13), (12, 13), (1, 8), (1, 1), (2, 2), (1, 4), (9, 16), (1, 6), (1, 14), (1, 15), (9, 14)):
        yield f"AVIF code points {points}", with_nclx(flat, *points)


def of_png() -> dict[str, bytes]:
    linear = profile(SRGB, 1.0)
    return {
        "gamma 1": chunked((b"gAMA", numbers(100_000))),
        "gamma of sRGB": chunked((b"gAMA", numbers(45_455))),
        "gamma nearly of sRGB": chunked((b"gAMA", numbers(46_300))),
        "gamma 1.8": chunked((b"gAMA", numbers(55_555))),
        "primaries of P3": chunked((b"gAMA", numbers(45_455)), (b"cHRM", P3_PRIMARIES)),
        "primaries alone": chunked((b"cHRM", P3_PRIMARIES)),
        "sRGB and gamma 1": chunked((b"sRGB", b"\0"), (b"gAMA", numbers(100_000))),
        "code points of P3": chunked((b"cICP", bytes((12, 13, 0, 1)))),
        "code points of PQ": chunked((b"cICP", bytes((9, 16, 0, 1)))),
        "profile and sRGB": chunked((b"sRGB", b"\0"), icc_profile=linear),
        "profile and gamma": chunked((b"gAMA", numbers(45_455)), icc_profile=linear),
        "profile and code points": chunked((b"cICP", bytes((1, 13, 0, 1))), icc_profile=linear),
        "palette of P3": encoded(picture().quantize(64), "PNG", icc_profile=profile(P3)),
        "16 bits": deep(),
        "16 bits, gamma 1": deep(gAMA=numbers(100_000)),
        "16 bits, linear": deep(icc=linear),
        "gamma after the pixels": after_pixels(b"gAMA", numbers(100_000)),
        "turned after the pixels": after_pixels(b"eXIf", exif(3)),
        "turned by a long number": chunked((b"eXIf", exif(4))),
        "turned, with a prefix": chunked((b"eXIf", b"Exif\0\0" + exif(3))),
        "turned": chunked((b"eXIf", exif(3))),
    }


def of_jpeg() -> dict[str, bytes]:
    return {
        "four inks": inks(),
        "turned by a long number": photographed(exif(4)),
        "turned by two numbers": photographed(exif(3, 2)),
        "turned by a ninth orientation": photographed(exif(3, orientation=9)),
        "turned by the first of two": photographed(exif(3), exif(3, orientation=1)),
        "turned by the second of two": photographed(exif(3, orientation=1), exif(3)),
        "broken EXIF first": photographed(b"no EXIF at all", exif(3)),
    }


DESCRIBED = dict(described())
# What is left as it is, since decoders say nothing of its colours
LEFT = {
    "PNG gamma 1", "PNG gamma 1.8", "PNG primaries of P3", "PNG code points of P3", "PNG code points of PQ",
    "PNG profile and code points", "PNG 16 bits, gamma 1", "AVIF code points (12, 13)", "AVIF code points (1, 8)",
    "PNG profile of Lab ", "PNG profile of XYZ ", "PNG profile of HSV ",
    "AVIF code points (1, 4)", "AVIF code points (9, 16)", "AVIF code points (9, 14)",
}  # fmt: skip


# The pixels of an image as it is drawn, in sRGB: width, height, and RGBA in base64
DRAWN = """(async (url, style) => {
    const image = new Image()
    image.style.cssText = style
    document.body.append(image)
    image.src = url
    await image.decode()
    const {width, height} = image
    const canvas = Object.assign(document.createElement('canvas'), {width, height})
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0)
    const {data} = context.getImageData(0, 0, width, height)
    image.remove()
    return [width, height, btoa(Array.from(data, value => String.fromCharCode(value)).join(''))]
})"""


def drawn(browser: Browser, content: bytes, kind: str, style: str = "") -> Any:
    """Return the pixels that a browser draws, height by width by three colours."""
    url = f"data:image/{kind.lower()};base64,{base64.b64encode(content).decode()}"
    call = f"{DRAWN}({json.dumps(url)}, {json.dumps(style)})"
    answer = browser.call("Runtime.evaluate", expression=call, returnByValue=True, awaitPromise=True)
    width, height, pixels = answer["result"]["value"]
    return np.frombuffer(base64.b64decode(pixels), np.uint8).reshape(height, width, 4)[..., :3].astype(int)


def decoded(content: bytes) -> Any:
    return np.asarray(to_pillow(decode_srgb(content)).convert("RGB")).astype(int)


def distance(first: Any, second: Any) -> float:
    """Return the mean distance of two pictures, of 255; a large one if their sizes differ."""
    return float(np.abs(first - second).mean()) if first.shape == second.shape else 255.0


@pytest.mark.parametrize("name", DESCRIBED)
def test_an_image_is_decoded_as_chromium_shows_it_or_left(browser: Browser, name: str) -> None:
    content = DESCRIBED[name]
    shown = drawn(browser, content, name.split()[0])
    facts = probe(content)
    assert isinstance(facts, ImageFacts)
    assert facts.natural_size == (shown.shape[1], shown.shape[0])
    copy = halve(enlarged(content, name), formats=("webp",)) if name in LEFT else None
    assert (distance(decoded(content), shown) > 1) is (name in LEFT)
    assert copy is None or copy.reason.endswith("its colours are not those of sRGB")


def enlarged(content: bytes, name: str) -> bytes:
    """Return content that is large enough for a copy."""
    trailer = b"\0" * 2000
    return content + (len(trailer) + 8).to_bytes(4, "big") + b"free" + trailer if "AVIF" in name else content + trailer


@pytest.mark.parametrize("name", [name for name in DESCRIBED if name.startswith(("PNG", "JPEG"))])
def test_recompression_keeps_what_chromium_shows(browser: Browser, name: str) -> None:
    content, kind = DESCRIBED[name], name.split()[0]
    for target, allowed in (("exact", 0.5), (0.95, 8)):
        result = recompress("a", content, f"image/{kind.lower()}", target=target)  # type: ignore[arg-type]
        for style in ("", "image-orientation: none"):
            smaller = result.content or content
            assert distance(drawn(browser, smaller, kind, style), drawn(browser, content, kind, style)) < allowed


def test_four_inks_with_a_profile_are_shown_about_as_in_chromium(browser: Browser) -> None:
    content = inks(icc_profile=True)
    assert distance(decoded(content), drawn(browser, content, "JPEG")) < 4


def test_frames_of_an_animation_are_shown_without_its_profile(browser: Browser) -> None:
    content = DESCRIBED["WEBP animated, linear"]
    frames = decode_frames(content)
    first = frames.extract_area(0, 0, frames.width, frames.get("page-height"))
    shown = np.asarray(to_pillow(first).convert("RGB")).astype(int)
    assert distance(shown, drawn(browser, content, "WEBP")) < 1


def test_only_a_jpeg_has_another_density(browser: Browser) -> None:
    tags = density_exif((96, 64), (48, 32)).removeprefix(b"Exif\0\0")
    assert drawn(browser, photographed(tags), "JPEG").shape[:2] == (32, 48)
    assert drawn(browser, chunked((b"eXIf", tags)), "PNG").shape[:2] == (64, 96)
    for kind in ("WEBP", "AVIF"):
        assert drawn(browser, encoded(picture(), kind, exif=tags), kind).shape[:2] == (64, 96)


def test_a_profile_that_changes_nothing_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded(picture(), "PNG", icc_profile=profile(name="my screen"))
    plain = decoded(encoded(picture(), "PNG"))
    assert (decoded(content) == plain).all()


def large(**options: Any) -> bytes:
    grain = Image.blend(picture(300, 200), Image.effect_noise((300, 200), 90).convert("RGB"), 0.2)
    return encoded(grain, "JPEG", **options)


MAKERS: dict[str, Callable[[bytes], bytes | None]] = {
    "alternates": lambda content: next(
        (each.content for each in alternates(content, ["webp"], below=len(content), target=0.9)), None
    ),
    "copies": lambda content: _content(convert(content, format="webp", target=0.9)),
    "halves": lambda content: _content(halve(content)),
}


def _content(copy: object) -> bytes | None:
    return copy.content if isinstance(copy, ImageCopy) else None


def test_formats_that_cannot_be_turned_are_made_for_pages_that_turn_images_only() -> None:
    tags = Image.Exif()
    tags[0x0112] = 6
    made = {name: make(large(exif=tags.tobytes())) for name, make in MAKERS.items()}
    assert made["alternates"] is None
    assert made["copies"] is not None
    assert made["halves"] is not None
    assert all(make(large()) is not None for make in MAKERS.values())
