"""Smaller copies: right in size, orientation, colours and alpha, and smaller in bytes, or a reason."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageDraw, ImageFilter, PngImagePlugin

from tests.samples.drawn import noise, photo

from adaptc.core.model import Effort
from adaptc.formats.image.degrade import COPY_FORMATS, CopyFormat, Goal, Pixels, degrade, encode_webp_copy
from adaptc.formats.image.halve import (
    CLOSE,
    ImageCopy,
    halve,
    halve_exactly,
    recompress_hard,
    scaled_size,
    slack,
)
from adaptc.formats.image.probe import Refusal
from adaptc.formats.image.score import HARD, MODERATE, TEXT_SCALE, has_colour_edges, measure_texture, sample_rows
from adaptc.formats.image.vips import from_pillow, resize_to_srgb


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def quarters(width: int = 200, height: int = 100) -> Image.Image:
    """Four colours: red, green above blue, gray; with grain, so that a copy pays."""
    image = Image.new("RGB", (width, height))
    boxes = ((0, 0, "red"), (1, 0, "lime"), (0, 1, "blue"), (1, 1, "gray"))
    for x, y, colour in boxes:
        image.paste(Image.new("RGB", (width // 2, height // 2), colour), (x * width // 2, y * height // 2))
    return Image.blend(image, noise(width, height, 40).convert("RGB"), 0.15)


def screenshot(width: int = 400, height: int = 300, soft: bool = True) -> Image.Image:
    """Lines of text on white; a soft one has smoothed edges and a picture below."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.fontmode = "1"
    for line in range(10, height - 40, 14):
        draw.text((8, line), f"{line} File Edit View Window Preferences Help", fill="black")
    if soft:
        image = image.filter(ImageFilter.UnsharpMask(1, 60)).filter(ImageFilter.GaussianBlur(0.45))
        image.paste(photo(width, 60), (0, height - 60))
    return image


def copy_of(content: bytes, **options: Any) -> ImageCopy:
    result = halve(content, **options)
    assert isinstance(result, ImageCopy), result.reason
    assert len(result.content) < len(content)
    assert opened(result).size == (result.width, result.height)
    return result


def opened(derived: ImageCopy) -> Image.Image:
    return Image.open(io.BytesIO(derived.content))


def refused(content: bytes, **options: Any) -> Refusal:
    result = halve(content, **options)
    assert isinstance(result, Refusal)
    return result


def assert_quarters(image: Image.Image, tolerance: int = 70) -> None:
    """The four colours where they belong."""
    width, height = image.size
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128)]
    places = [(1, 1), (3, 1), (1, 3), (3, 3)]
    for colour, (x, y) in zip(colours, places, strict=True):
        seen = image.convert("RGB").getpixel((x * width // 4, y * height // 4))
        assert all(abs(a - b) <= tolerance for a, b in zip(seen, colour, strict=True)), (colour, seen)


# --- sizes


@pytest.mark.parametrize(
    ("size", "expected"), [((400, 300), (200, 150)), ((401, 401), (201, 201)), ((1, 1), (1, 1)), ((2, 6), (1, 3))]
)
def test_a_size_is_half_and_rounded_up(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert scaled_size(*size, 0.5) == expected


def test_a_width_is_chosen_for_the_height_that_it_gives() -> None:
    for width, height in ((401, 307), (333, 500), (1021, 577), (640, 331)):
        size = scaled_size(width, height, 0.5)
        plain = (-(-width // 2), -(-height // 2))
        assert slack((width, height), size) < slack((width, height), plain)
        assert width / 2 <= size[0] <= width * 0.54
    assert slack((401, 307), scaled_size(401, 307, 0.5)) <= CLOSE


def test_a_scale_of_one_keeps_the_size() -> None:
    assert scaled_size(401, 301, 1.0) == (401, 301)


def test_a_limit_of_the_width_holds() -> None:
    assert scaled_size(401, 301, 0.5, widest=150)[0] == 150


# --- still images


@pytest.mark.parametrize("size", [(500, 333), (1900, 1267), (301, 300)])
def test_where_no_half_has_the_same_shape_a_jpeg_says_its_size(size: tuple[int, int]) -> None:
    original = encoded(photo().resize(size), "JPEG", quality=95)
    copy = halve_exactly(original, text_scale=TEXT_SCALE)
    assert isinstance(copy, ImageCopy)
    assert (copy.media_type, copy.extension, copy.slack) == ("image/jpeg", "jpg", 0)
    image = Image.open(io.BytesIO(copy.content))
    exif, pixels = image.getexif(), image.getexif().get_ifd(0x8769)
    assert (pixels[0xA002], pixels[0xA003], exif[0x128]) == (*size, 2)
    shown = (image.width * 72 / float(exif[0x11A]), image.height * 72 / float(exif[0x11B]))
    assert shown == pytest.approx(size, abs=1e-6)
    assert image.width < 0.55 * size[0]


def test_other_images_have_no_size_in_their_metadata() -> None:
    even = encoded(photo(), "JPEG", quality=92)
    assert halve_exactly(even) == halve(even)
    clear = photo().resize((500, 333))
    clear.putalpha(Image.linear_gradient("L").resize((500, 333)))
    assert halve_exactly(encoded(clear)) == halve(encoded(clear))


@pytest.mark.parametrize("effort", ["fast", "default", "max"])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_photograph_is_halved(kind: str, effort: str) -> None:
    result = copy_of(encoded(photo(), kind, quality=92), effort=effort)
    assert (result.width, result.height) == (120, 80)
    assert (result.natural_width, result.natural_height) == (240, 160)
    assert (result.media_type, result.extension) == ("image/webp", "webp")
    assert result.reason.startswith("120x80 of 240x160 pixels, webp quality ")


def test_the_score_reaches_the_target_by_the_lowest_quality_that_does() -> None:
    content = encoded(photo(grain=20), "JPEG", quality=95)
    soft, fine = copy_of(content, target=0.5), copy_of(content, target=0.98, qualities=(45, 97), effort="max")
    assert soft.score is not None
    assert fine.score is not None
    assert fine.score >= 0.98
    assert soft.score < fine.score
    assert "quality 45," in soft.reason
    assert len(soft.content) < len(fine.content)


def test_what_no_quality_reaches_gets_the_highest() -> None:
    result = copy_of(encoded(photo(grain=200), "PNG"), target=0.999)
    assert "quality 75," in result.reason
    assert result.score is not None
    assert result.score < 0.999


def test_a_fixed_quality_is_not_measured() -> None:
    result = copy_of(encoded(photo(), "JPEG", quality=95), target="q=33")
    assert result.score is None
    assert "webp quality 33: " in result.reason


@pytest.mark.parametrize("target", ["much", "q=", "q=much"])
def test_a_target_that_is_none_is_a_mistake(target: str) -> None:
    with pytest.raises(ValueError, match=r"could not convert|invalid literal"):
        Goal.parse(target, 45, 75)


@pytest.mark.parametrize(
    ("formats", "media_type", "extension"),
    [(("webp",), "image/webp", "webp"), (("jpeg", "png"), "image/jpeg", "jpg"), (("png",), "image/png", "png")],
)
def test_only_formats_that_are_allowed(formats: tuple[str, ...], media_type: str, extension: str) -> None:
    result = copy_of(encoded(photo()), formats=formats)
    assert (result.media_type, result.extension) == (media_type, extension)


def test_alpha_is_never_given_to_jpeg() -> None:
    image = photo()
    image.putalpha(Image.radial_gradient("L").resize(image.size))
    assert copy_of(encoded(image), formats=("jpeg", "png")).media_type == "image/png"
    assert refused(encoded(image), formats=("jpeg",)).reason.endswith("no allowed format can hold it")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied(orientation: int) -> None:
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Image.Transpose that makes the stored picture
    stored = quarters()
    if orientation in undo:
        stored = stored.transpose(Image.Transpose(undo[orientation]))
    exif = Image.Exif()
    exif[0x0112] = orientation
    result = copy_of(encoded(stored, "JPEG", quality=95, exif=exif.tobytes()))
    assert (result.natural_width, result.natural_height) == (200, 100)
    assert (result.width, result.height) == (100, 50)
    assert_quarters(opened(result))
    assert not opened(result).getexif()


def test_a_profile_is_converted_to_srgb() -> None:
    # a profile with red and blue exchanged shows itself
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile = profile.replace(b"rXYZ", b"tXYZ").replace(b"bXYZ", b"rXYZ").replace(b"tXYZ", b"bXYZ")
    profile = bytearray(bytes(profile).replace("sRGB".encode("utf-16-be"), "swap".encode("utf-16-be")))
    red, green, blue = quarters().split()
    result = copy_of(encoded(Image.merge("RGB", (blue, green, red)), "JPEG", quality=95, icc_profile=bytes(profile)))
    assert_quarters(opened(result))
    assert "icc_profile" not in opened(result).info


def test_the_usual_profile_costs_nothing_and_goes() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    result = copy_of(encoded(quarters(), "JPEG", quality=95, icc_profile=profile))
    assert_quarters(opened(result))
    assert "icc_profile" not in opened(result).info


def test_cmyk_without_a_profile_is_shown_as_browsers_do() -> None:
    red, green, blue = (band.point(lambda value: 255 - value) for band in quarters().split())
    inks = Image.merge("CMYK", (red, green, blue, Image.new("L", red.size, 0)))
    assert_quarters(opened(copy_of(encoded(inks, "JPEG", quality=95))))
    dark = Image.merge("CMYK", (red, green, blue, Image.new("L", red.size, 128)))
    assert max(high for _, high in opened(copy_of(encoded(dark, "JPEG", quality=95))).getextrema()) < 140


def test_gray_palette_and_one_bit_images_keep_their_picture() -> None:
    for mode in ("L", "P", "1"):
        image = photo(300, 200, grain=120).convert(mode)
        result = copy_of(encoded(image))
        expected = image.convert("RGB").resize((150, 100), Image.Resampling.BOX)
        difference = np.abs(np.asarray(opened(result), dtype=int) - np.asarray(expected, dtype=int))
        assert difference.mean() < 20, mode


def test_sixteen_bits_become_eight() -> None:
    samples = (np.arange(200 * 200, dtype=np.uint32) * 65535 // (200 * 200)).reshape(200, 200).astype(np.uint16)
    samples ^= np.random.default_rng(1).integers(0, 4096, samples.shape, dtype=np.uint16)
    result = opened(copy_of(encoded(Image.fromarray(samples)))).convert("L")
    assert result.getpixel((50, 5)) < 25
    assert result.getpixel((50, 95)) > 230


def test_alpha_is_kept_and_weighs_colours() -> None:
    image = photo()
    image.paste((255, 0, 255), (0, 0, 120, 160))
    alpha = Image.new("L", image.size, 255)
    alpha.paste(0, (0, 0, 119, 160))  # the magenta is invisible but for a column at an odd place
    image.putalpha(alpha)
    result = opened(copy_of(encoded(image)))
    assert result.mode == "RGBA"
    assert result.getpixel((20, 40))[3] == 0
    assert result.getpixel((100, 40))[3] == 255
    assert 100 < result.getpixel((59, 40))[3] < 156


def test_alpha_that_hides_nothing_goes() -> None:
    image = photo()
    image.putalpha(255)
    assert opened(copy_of(encoded(image))).mode == "RGB"


def test_a_transparent_colour_of_a_palette_stays_transparent() -> None:
    image = photo().quantize(64)
    image.paste(63, (0, 0, 100, 160))
    result = opened(copy_of(encoded(image, transparency=63)))
    assert result.getpixel((20, 40))[3] == 0
    assert result.getpixel((100, 40))[3] > 200


# --- text and drawings


def test_text_is_crisp_and_a_photograph_is_not() -> None:
    assert measure_texture(screenshot()).is_crisp
    assert not measure_texture(screenshot()).is_drawn
    assert measure_texture(screenshot(soft=False)).is_drawn
    assert not measure_texture(photo()).is_crisp
    assert not measure_texture(Image.new("RGB", (40, 40))).is_crisp
    assert not measure_texture(Image.new("RGB", (1, 40))).is_crisp


def test_text_that_green_does_not_show_has_colour_edges() -> None:
    text = screenshot().convert("L")
    black = Image.new("L", text.size, 0)
    image = Image.merge("RGB", (text, black, Image.eval(text, lambda value: 255 - value)))  # blue on red
    assert not measure_texture(image).is_crisp
    assert has_colour_edges(image)
    assert not has_colour_edges(photo())
    assert not has_colour_edges(screenshot())


def test_a_line_of_red_on_a_dark_photograph_has_edges_of_colour() -> None:
    """Its few edges are lost among those of the photograph in each of red, green and blue."""
    dark = Image.eval(photo(400, 300), lambda value: value // 3)
    ImageDraw.Draw(dark).text((20, 20), "SALE TODAY ONLY", fill=(230, 20, 20))
    assert has_colour_edges(dark)
    transparent = Image.new("RGBA", (400, 300), (230, 20, 20, 0))
    assert not has_colour_edges(transparent)
    ImageDraw.Draw(transparent).text((20, 20), "SALE TODAY ONLY", fill=(230, 20, 20, 255))
    assert has_colour_edges(transparent)


@pytest.mark.parametrize("is_text", [True, False])
def test_only_colours_of_text_are_kept_sharp(is_text: bool) -> None:
    """Sharp chroma takes four times the time, and does nothing for a photograph."""
    text, picture = screenshot().convert("L"), photo(400, 300)
    drawn = Image.merge("RGB", (text, Image.new("L", text.size, 0), Image.eval(text, lambda value: 255 - value)))
    pixels = from_pillow(drawn if is_text else picture)
    pixels = pixels.copy(interpretation="srgb")
    chosen = degrade(Pixels(pixels), Goal.parse("q=60", 25, 75), "default", ["webp"])
    assert chosen is not None
    assert chosen.content == encode_webp_copy(pixels, "default", 60, is_sharp=is_text)
    assert chosen.content != encode_webp_copy(pixels, "default", 60, is_sharp=not is_text)


def test_copies_of_one_size_share_its_pixels_and_each_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan tries several qualities of a size, and the goal of a score encodes some of them again."""
    sizes, encodings = [], []

    def resize(image: Any, size: tuple[int, int]) -> Any:
        sizes.append(size)
        return resize_to_srgb(image, size)

    def encode(image: Any, effort: Effort, quality: int, **options: Any) -> bytes:
        encodings.append(quality)
        return encode_webp_copy(image, effort, quality, **options)

    monkeypatch.setattr("adaptc.formats.image.halve.resize_to_srgb", resize)
    monkeypatch.setitem(COPY_FORMATS, "webp", CopyFormat("image/webp", "webp", encode))
    content = encoded(photo(302, 202))
    first, other = (copy_of(content, target=f"q={quality}").content for quality in (45, 60))
    assert first != other
    assert copy_of(content, target=0.1, qualities=(45, 75)).content == first
    assert (sizes, encodings) == ([(151, 101)], [45, 60])


def test_text_that_only_alpha_shows_is_seen() -> None:
    image = Image.new("RGBA", (400, 300), (0, 0, 0, 0))
    image.putalpha(Image.eval(screenshot().convert("L"), lambda value: 255 - value))
    assert measure_texture(image).is_crisp


def test_images_with_text_get_a_scale_of_their_own() -> None:
    content = encoded(screenshot(), "PNG", compress_level=0)
    assert copy_of(content).width == 200
    assert copy_of(content, text_scale=TEXT_SCALE).width == 284
    assert copy_of(encoded(photo(400, 300), "PNG"), text_scale=TEXT_SCALE).width == 200


def test_a_drawing_stays_whole_where_that_is_smaller() -> None:
    content = encoded(screenshot(soft=False), "PNG", compress_level=0)
    result = copy_of(content, text_scale=TEXT_SCALE)
    assert (result.width, result.height, result.score) == (400, 300, 1.0)
    assert result.reason.startswith("400x300 of 400x300 pixels, webp lossless")
    assert np.array_equal(np.asarray(opened(result)), np.asarray(screenshot(soft=False)))
    assert copy_of(content).width == 200  # not where half the pixels were asked for
    assert copy_of(content, text_scale=TEXT_SCALE, formats=("png",)).width == 284


def test_strips_are_spread_evenly_and_small_images_are_whole() -> None:
    image = Image.new("I", (100, 1000))
    for row in range(1000):
        image.paste(row, (0, row, 100, row + 1))
    sample = sample_rows(image, 10_000)
    assert sample.size == (100, 96)
    assert [sample.getpixel((0, row)) for row in (0, 31, 32, 63, 64, 95)] == [0, 31, 484, 515, 968, 999]
    assert sample_rows(image, 100_000) is image


# --- animations


def moving(kind: str = "GIF", frames: int = 4, **options: Any) -> bytes:
    pictures = [Image.blend(photo(), photo().rotate(180), step / frames) for step in range(frames)]
    times = [40 * (step + 1) for step in range(frames)]
    return encoded(pictures[0], kind, save_all=True, append_images=pictures[1:], duration=times, **options)


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_an_animation_keeps_frames_times_and_repetitions(kind: str) -> None:
    result = copy_of(moving(kind, loop=3))
    image = opened(result)
    durations = []
    for frame in range(image.n_frames):
        image.seek(frame)
        image.load()
        durations.append(image.info["duration"])
    assert image.size == (120, 80)
    assert durations == [40, 80, 120, 160]
    assert image.info["loop"] in (3, 4)  # a GIF counts repetitions, WebP counts plays
    assert result.score is None


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_is_frozen_on_demand(kind: str) -> None:
    image = opened(copy_of(moving(kind), frozen=True))
    assert getattr(image, "n_frames", 1) == 1
    first = photo().resize((120, 80), Image.Resampling.BOX)
    assert np.abs(np.asarray(image.convert("RGB"), dtype=int) - np.asarray(first, dtype=int)).mean() < 20


def test_animations_that_cannot_be_kept_stay_as_they_are() -> None:
    assert refused(moving("PNG")).reason.endswith("its frames cannot be encoded anew")
    assert refused(moving(), formats=("jpeg", "png")).reason.endswith("its frames cannot be encoded anew")
    large = encoded(
        Image.new("P", (2000, 2000)), "GIF", save_all=True,
        append_images=[Image.new("P", (2000, 2000), step) for step in (1, 2, 3)],
    )  # fmt: skip
    assert refused(large).reason.endswith("its frames are too many to be encoded anew")


# --- refusals


def test_tiny_images_are_not_worth_a_copy() -> None:
    tiny = encoded(Image.new("RGB", (400, 400)))
    narrow = encoded(photo(1000, 20))
    assert len(tiny) < 1500 < len(narrow)
    for content in (tiny, narrow):
        assert refused(content).reason.endswith("it is too small to gain by a smaller copy")


def test_a_copy_that_is_not_smaller_is_refused() -> None:
    content = encoded(photo(grain=200), "WEBP", quality=50)
    result = refused(content, target="q=100", scale=1.0)
    assert result.reason.endswith("a copy would not be smaller")
    assert result.kind == "image-unchanged"


def test_broken_and_oversized_images_are_refused() -> None:
    content = encoded(photo())
    assert refused(b"GIF89a").kind == "image-broken"
    assert refused(content[: len(content) // 2]).kind == "image-broken"
    assert refused(content, limit_pixels=1000).kind == "image-bomb"


def test_types_without_a_smaller_copy_are_named() -> None:
    assert refused(encoded(photo(), "BMP")).reason.endswith("image/bmp is not made smaller")


def gamma(value: int) -> bytes:
    extra = PngImagePlugin.PngInfo()
    extra.add(b"gAMA", value.to_bytes(4, "big"))
    return encoded(photo(), pnginfo=extra)


def test_colours_that_would_change_are_left() -> None:
    assert refused(gamma(100_000)).reason.endswith("its colours are not those of sRGB")
    assert copy_of(gamma(45_000)).width == 120


def test_another_natural_size_by_metadata_is_left() -> None:
    exif = Image.Exif()
    exif[0x011A] = exif[0x011B] = 36.0
    exif[0x0128] = 2
    exif.get_ifd(0x8769).update({0xA002: 480, 0xA003: 320})
    content = encoded(photo(), "JPEG", quality=95, exif=exif.tobytes())
    assert refused(content).reason.endswith("its metadata gives it another natural size")


# --- hard


def test_a_hard_copy_is_narrow_and_smaller_than_a_moderate_one() -> None:
    for width in (200, 700, 1600):
        content = encoded(photo(width, width // 2), "JPEG", quality=92)
        hard = recompress_hard(content)
        assert isinstance(hard, ImageCopy)
        assert hard.width <= 480
        assert hard.natural_width == width
        assert len(hard.content) <= len(copy_of(content, text_scale=TEXT_SCALE).content)


def test_a_hard_copy_of_text_stays_legible_and_of_an_animation_stands_still() -> None:
    text = recompress_hard(encoded(screenshot(), "PNG", compress_level=0))
    assert isinstance(text, ImageCopy)
    assert text.width == 284
    still = recompress_hard(moving())
    assert isinstance(still, ImageCopy)
    assert getattr(opened(still), "n_frames", 1) == 1


def test_a_hard_copy_of_a_broken_image_is_refused() -> None:
    assert isinstance(recompress_hard(b"GIF89a"), Refusal)


def test_the_levels_targets_are_ordered() -> None:
    assert HARD < MODERATE < 1
