"""Recompression: smaller, and the same in a browser or as good as was asked."""

from __future__ import annotations

import io
import zlib
from functools import cache
from typing import Any

import pytest
from PIL import Image, ImageCms, ImageOps, PngImagePlugin

from adaptc.formats.image import jpeg, png
from adaptc.formats.image.recompress import Recompression, recompress

PNG, JPEG = "image/png", "image/jpeg"


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def picture(mode: str = "RGB", side: int = 96) -> Image.Image:
    """A smooth picture with colours, edges and, if the mode has it, alpha."""
    ramp = Image.linear_gradient("L").resize((side, side))
    disc = Image.radial_gradient("L").resize((side, side))
    image = Image.merge("RGB", (ramp, disc, ramp.rotate(90)))
    if mode in ("RGBA", "LA"):
        image.putalpha(disc)
    return image.convert(mode)


def noise(mode: str = "RGB", side: int = 128) -> Image.Image:
    """The picture with grain, which no lossless coding shrinks much."""
    image = picture(mode, side)
    bands = [Image.blend(band, Image.effect_noise((side, side), 60), 0.15) for band in image.split()]
    return Image.merge(mode, bands)


def pixels(content: bytes, mode: str = "RGBA") -> bytes:
    return Image.open(io.BytesIO(content)).convert(mode).tobytes()


def smaller_of(content: bytes, media_type: str, **options: Any) -> tuple[Recompression, bytes]:
    result = recompress("a." + media_type.partition("/")[2], content, media_type, **options)
    assert result.content is not None, result.reason
    assert len(result.content) < len(content)
    return result, result.content


@cache
def profile() -> bytes:
    """A profile, created once: it holds the time of its creation."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def turned(orientation: int = 6) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "a camera"
    return exif.tobytes()


# --- exact, PNG


@pytest.mark.parametrize("effort", ["fast", "default", "max"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_a_png_keeps_its_pixels(mode: str, effort: str) -> None:
    content = encoded(picture(mode, 48), "PNG", compress_level=0)
    result, smaller = smaller_of(content, PNG, effort=effort)
    assert pixels(smaller) == pixels(content)
    assert result.score == 1.0
    assert result.reason == f"{len(content) - len(smaller):,} bytes saved, pixels identical"


def test_colours_under_full_transparency_stay() -> None:
    image = picture("RGBA")
    image.putalpha(0)
    content = encoded(image, "PNG", compress_level=0)
    assert pixels(smaller_of(content, PNG)[1]) == pixels(content)


@pytest.mark.parametrize(("mode", "colour"), [("P", 3), ("RGB", (255, 0, 255)), ("L", 255)])
def test_a_transparent_colour_stays_transparent(mode: str, colour: Any) -> None:
    image = Image.new(mode, (64, 64), colour)
    image.paste(picture(mode, 32), (8, 8))
    content = encoded(image, "PNG", compress_level=0, transparency=colour)
    assert pixels(smaller_of(content, PNG)[1]) == pixels(content)


def test_sixteen_bits_stay_sixteen() -> None:
    image = Image.new("I;16", (64, 64))
    image.putdata([(x * 7919) % 65536 for x in range(64)] * 64)
    content = encoded(image, "PNG", compress_level=0)
    smaller = smaller_of(content, PNG)[1]
    assert Image.open(io.BytesIO(smaller)).tobytes() == image.tobytes()


def test_sixteen_bits_that_say_no_more_than_eight_become_eight() -> None:
    image = Image.new("I;16", (64, 64))
    image.putdata([x * 257 for x in range(64)] * 64)
    smaller = smaller_of(encoded(image, "PNG", compress_level=0), PNG)[1]
    described = png.read_header(smaller)
    assert described is not None
    assert described.depth == 8


def chunky(*chunks: tuple[bytes, bytes]) -> bytes:
    extra = PngImagePlugin.PngInfo()
    for name, content in chunks:
        extra.add(name, content)
    return encoded(picture(), "PNG", compress_level=0, pnginfo=extra)


def test_chunks_that_change_colours_are_kept_and_others_go() -> None:
    gamma, white = (100_000).to_bytes(4, "big"), png.SRGB_PRIMARIES
    smaller = smaller_of(chunky((b"gAMA", gamma), (b"cHRM", white), (b"tEXt", b"Author\0me")), PNG)[1]
    assert [(c.name, c.content) for c in png.colour_chunks(smaller)] == [(b"gAMA", gamma), (b"cHRM", white)]
    assert b"tEXt" not in png.chunk_names(smaller)


def test_a_profile_stays_with_the_kind_of_colour_it_is_for() -> None:
    gray_in_rgb = picture("L").convert("RGB")
    smaller = smaller_of(encoded(gray_in_rgb, "PNG", compress_level=0, icc_profile=profile()), PNG)[1]
    described = png.read_header(smaller)
    assert described is not None
    assert described.colour_type & 2
    assert Image.open(io.BytesIO(smaller)).info["icc_profile"] == profile()


def test_exif_of_a_png_is_kept_only_if_it_turns_the_image() -> None:
    for orientation, kept in ((1, False), (6, True)):
        content = encoded(picture(), "PNG", compress_level=0, exif=turned(orientation))
        assert (b"eXIf" in png.chunk_names(smaller_of(content, PNG)[1])) is kept


def test_an_animated_png_is_left() -> None:
    content = encoded(picture("P"), "PNG", save_all=True, append_images=[picture("P").rotate(90)])
    result = recompress("a.png", content, PNG)
    assert result.content is None
    assert [str(d) for d in result.diagnostics] == [
        "a.png: note: is copied as it is: it is an animated PNG [image-unchanged]"
    ]


def test_what_cannot_shrink_is_kept() -> None:
    smallest = smaller_of(encoded(picture(), "PNG", compress_level=0), PNG)[1]
    assert recompress("a.png", smallest, PNG) == Recompression(None, "already smallest")


@pytest.mark.parametrize(("image", "filtered"), [(noise(), True), (picture("P"), False)])
def test_fast_filters_the_rows_of_photographs_alone(image: Image.Image, filtered: bool) -> None:
    smaller = smaller_of(encoded(image, "PNG", compress_level=0), PNG, effort="fast")[1]
    rows = zlib.decompress(b"".join(chunk.content for chunk in png.chunks(smaller) if chunk.name == b"IDAT"))
    header = png.read_header(smaller)
    assert header is not None
    bits = header.width * header.depth * {2: 3, 3: 1}[header.colour_type]
    assert any(rows[:: 1 + bits // 8]) is filtered


# --- exact, JPEG


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_jpeg_keeps_its_pixels(mode: str, options: dict[str, Any]) -> None:
    content = encoded(picture(mode, 200), "JPEG", quality=90, comment=b"x" * 900, **options)
    assert pixels(smaller_of(content, JPEG)[1]) == pixels(content)


def test_a_jpeg_of_rgb_samples_stays_one() -> None:
    content = encoded(picture(), "JPEG", keep_rgb=True, comment=b"x" * 900)
    assert pixels(smaller_of(content, JPEG)[1]) == pixels(content)


def test_the_profile_of_a_jpeg_stays() -> None:
    content = encoded(picture(), "JPEG", icc_profile=profile(), comment=b"x" * 900)
    assert Image.open(io.BytesIO(smaller_of(content, JPEG)[1])).info["icc_profile"] == profile()


@pytest.mark.parametrize(("orientation", "kept"), [(1, False), (6, True)])
def test_exif_of_a_jpeg_is_kept_only_if_it_turns_the_image(orientation: int, kept: bool) -> None:
    content = encoded(picture(), "JPEG", exif=turned(orientation), comment=b"x" * 900)
    smaller = smaller_of(content, JPEG)[1]
    assert (jpeg.exif_segment(smaller) is not None) is kept
    assert Image.open(io.BytesIO(smaller)).getexif().get(0x0112) == (orientation if kept else None)


def test_exif_that_changes_the_natural_size_is_kept() -> None:
    exif = Image.Exif()
    exif[0x011A], exif[0x011B], exif[0x0128] = 144.0, 144.0, 2
    exif.get_ifd(0x8769).update({0xA002: 48, 0xA003: 48})
    content = encoded(picture(), "JPEG", exif=exif.tobytes(), comment=b"x" * 900)
    assert jpeg.exif_segment(smaller_of(content, JPEG)[1]) == jpeg.exif_segment(content)


def progressive(**options: Any) -> bytes:
    return encoded(picture(), "JPEG", progressive=True, **options)


def scans(content: bytes) -> bytes:
    """Return all from the first scan on."""
    return content[content.index(b"\xff\xda") :]


def test_fast_takes_the_metadata_of_a_progressive_jpeg_and_no_more() -> None:
    options: dict[str, Any] = {"icc_profile": profile(), "exif": turned(6), "keep_rgb": True}
    smaller = smaller_of(progressive(comment=b"x" * 900, **options), JPEG, effort="fast")[1]
    assert smaller == progressive(**options)
    assert scans(smaller_of(progressive(exif=turned(1)), JPEG, effort="fast")[1]) == scans(progressive())


def test_fast_leaves_a_progressive_jpeg_without_metadata() -> None:
    content = progressive(quality=95)
    assert recompress("a.jpg", content, JPEG, effort="fast") == Recompression(None, "already smallest")
    assert smaller_of(content, JPEG)[1]


def test_fast_codes_a_jpeg_anew_that_is_not_progressive() -> None:
    content = encoded(noise(), "JPEG")
    smaller = smaller_of(content, JPEG, effort="fast")[1]
    assert pixels(smaller) == pixels(content)
    assert scans(smaller) != scans(content)


@pytest.mark.parametrize("options", [{}, {"comment": b"x" * 900}])
def test_damage_after_the_metadata_is_reported_by_fast(options: dict[str, Any]) -> None:
    result = recompress("a.jpg", progressive(**options)[:-9], JPEG, effort="fast")
    assert result.content is None
    assert [d.id for d in result.diagnostics] == ["image-broken"]


def test_a_cmyk_jpeg_is_left() -> None:
    for target in ("exact", 0.9):
        result = recompress("a.jpg", encoded(picture("CMYK"), "JPEG"), JPEG, target=target)  # type: ignore[arg-type]
        assert (result.content, [d.id for d in result.diagnostics]) == (None, ["image-unchanged"])


def test_a_jpeg_with_a_second_image_is_left() -> None:
    content = encoded(picture(), "MPO", save_all=True, append_images=[picture()])
    result = recompress("a.jpg", content, JPEG)
    assert result.content is None
    assert "second image" in result.reason


# --- what is broken, wrong or out of bounds


@pytest.mark.parametrize("target", ["exact", 0.9])
@pytest.mark.parametrize(("kind", "media_type"), [("PNG", PNG), ("JPEG", JPEG)])
def test_a_truncated_image_is_left_with_a_finding(kind: str, media_type: str, target: Any, capfd: Any) -> None:
    content = encoded(picture(side=200), kind)
    result = recompress("a", content[: len(content) // 2], media_type, target=target)
    assert result.content is None
    assert [d.id for d in result.diagnostics] == ["image-broken"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("kind", "path", "media_type"), [("JPEG", "img/a.png", PNG), ("PNG", "img/a.jpg", JPEG)])
def test_an_image_with_a_wrong_extension_is_recompressed_as_what_it_holds(
    kind: str, path: str, media_type: str
) -> None:
    content = encoded(noise(), kind, **({"quality": 90} if kind == "JPEG" else {"compress_level": 1}))
    result = recompress(path, content, media_type)
    assert result.content is not None
    assert Image.open(io.BytesIO(result.content)).format == kind
    assert [str(d) for d in result.diagnostics] == [
        f"{path}: note: is called {path[-4:]} but holds image/{kind.lower()} [image-wrong-extension]"
    ]


@pytest.mark.parametrize(("mode", "expected"), [("RGB", "JPEG"), ("RGBA", "PNG")])
def test_a_png_that_is_called_jpg_becomes_one_with_a_loss_where_it_is_opaque(mode: str, expected: str) -> None:
    image = noise().convert(mode)
    if mode == "RGBA":
        image.putalpha(128)
    result = recompress("a.jpg", encoded(image, "PNG"), JPEG, target=0.9, effort="fast")
    assert result.content is not None
    assert Image.open(io.BytesIO(result.content)).format == expected


def test_an_image_in_a_format_that_is_not_recompressed_is_left_whatever_its_name() -> None:
    result = recompress("a.png", encoded(picture(), "GIF"), PNG, target=0.9)
    assert result.content is None
    assert [d.id for d in result.diagnostics] == ["image-wrong-extension"]


def test_the_limit_on_pixels_comes_before_decoding() -> None:
    result = recompress("a.png", encoded(picture(), "PNG"), PNG, limit_pixels=1000)
    assert [d.id for d in result.diagnostics] == ["image-bomb"]


@pytest.mark.parametrize("media_type", ["image/gif", "image/webp", "image/avif", "image/x-icon", "text/html"])
def test_other_types_are_left_without_a_finding(media_type: str) -> None:
    assert recompress("a", b"anything", media_type) == Recompression(None, f"{media_type} is not recompressed")


# --- with a measured loss


@pytest.mark.parametrize(("kind", "media_type"), [("JPEG", JPEG), ("PNG", PNG), ("WEBP", "image/webp")])
@pytest.mark.parametrize("target", [0.7, 0.8])
def test_a_lossy_image_reaches_its_score(kind: str, media_type: str, target: float) -> None:
    content = encoded(noise(), kind, quality=98)
    result, _ = smaller_of(content, media_type, target=target, effort="fast")
    assert result.score is not None
    assert target <= result.score < 1
    assert "score" in result.reason


def test_a_lower_target_is_hardly_ever_larger() -> None:
    content = encoded(picture(side=256), "JPEG", quality=98)
    sizes = [len(smaller_of(content, JPEG, target=t, effort="fast")[1]) for t in (0.8, 0.9, 0.97)]
    assert sizes[0] < 1.05 * sizes[1] < 1.05 * sizes[2]


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_turned_image_stays_stored_as_it_is_and_turned(kind: str) -> None:
    image = (picture if kind == "JPEG" else noise)(side=256).crop((0, 0, 256, 128))
    options = {"quality": 98} if kind == "JPEG" else {"compress_level": 0}
    content = encoded(image, kind, exif=turned(6), **options)
    smaller = Image.open(io.BytesIO(smaller_of(content, f"image/{kind.lower()}", target=0.9, effort="fast")[1]))
    assert smaller.size == (256, 128)
    assert dict(smaller.getexif()) == {0x0112: 6}
    assert ImageOps.exif_transpose(smaller).size == (128, 256)


def test_alpha_survives_a_lossy_png() -> None:
    smaller = smaller_of(encoded(noise("RGBA"), "PNG"), PNG, target=0.8, effort="fast")[1]
    alpha = Image.open(io.BytesIO(smaller)).convert("RGBA").getchannel("A")
    assert alpha.getextrema()[0] < 40
    assert alpha.getextrema()[1] > 215


def test_a_target_out_of_reach_falls_back_to_the_exact_result() -> None:
    content = encoded(picture("RGBA", 128), "PNG", compress_level=0)
    result, smaller = smaller_of(content, PNG, target=1.0, effort="fast")
    assert result.score == 1.0
    assert pixels(smaller) == pixels(content)


def test_a_drawing_without_compression_keeps_its_pixels_where_that_is_as_small() -> None:
    """Its lossy encoding is far smaller than the source, and so is the exact one."""
    content = encoded(picture(side=200).quantize(16).convert("RGB"), "PNG", compress_level=0)
    result, smaller = smaller_of(content, PNG, target=0.96, effort="fast")
    assert result.score == 1.0
    assert pixels(smaller) == pixels(content)


def test_colours_other_than_srgb_are_not_re_encoded_but_may_shrink_exactly() -> None:
    content = chunky((b"gAMA", (100_000).to_bytes(4, "big")))
    result, smaller = smaller_of(content, PNG, target=0.9)
    assert result.score == 1.0
    assert png.colour_chunks(smaller) == png.colour_chunks(content)


def overflowing_jpeg() -> bytes:
    """Return a JPEG that decodes, with coefficients that no JPEG may be written with."""
    stream = io.BytesIO()
    Image.new("L", (16, 16), 200).save(stream, "JPEG")
    content = bytearray(stream.getvalue())
    table = content.index(b"\xff\xc4\x00\xb5\x10") + 5  # Huffman codes of AC coefficients: 16 counts, then symbols
    for at in range(table + 16, table + 16 + sum(content[table : table + 16])):
        content[at] |= 0x0F if content[at] & 0x0F else 0  # 15 bits for each
    scan = content.index(b"\xff\xda")
    content[scan + 2 + content[scan + 3] : -2] = b"\x55" * 60
    return bytes(content)


def test_a_jpeg_that_ends_mozjpeg_is_broken_and_the_next_is_not() -> None:
    broken = recompress("a.jpg", overflowing_jpeg(), "image/jpeg")
    assert broken.content is None
    assert [one.id for one in broken.diagnostics] == ["image-broken"]
    smaller_of(encoded(picture(), "JPEG", quality=90), "image/jpeg")


def test_a_process_that_the_kernel_killed_is_lack_of_memory() -> None:
    from adaptc.formats.image import mozjpeg

    content = encoded(picture(), "JPEG", quality=90)
    process = mozjpeg.JpegOptimizer()
    assert process.ask(content)
    process._running.kill()  # type: ignore[union-attr]
    with pytest.raises(MemoryError):
        process.ask(content)
    assert process.ask(content)
    process.end()
