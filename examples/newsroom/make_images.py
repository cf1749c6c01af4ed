"""Make every picture of The Harbour Gazette: photographs, decorations, banners, icons.

    python make_images.py            # writes below site/, about 2 MB

Nothing but Pillow and numpy, fixed seeds, no clock: the same versions of both give the same bytes. The
results are committed, since the example has to work as it stands.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import photographs
from PIL import Image, ImageDraw, ImageFont

SITE = Path(__file__).parent / "site"
PHOTOS = SITE / "images/photos"
FONT = SITE / "fonts/gazette-display.ttf"
INK, ACCENT, PAPER = (20, 40, 58), (155, 45, 31), (250, 246, 238)
EXIF_ORIENTATION, EXIF_ROTATED = 0x0112, 6
SIDE = 32


def font(size: int) -> ImageFont.FreeTypeFont:
    """The headline font at `size` pixels."""
    return ImageFont.truetype(FONT, size)


def shrunk(picture: Image.Image, width: int) -> Image.Image:
    """`picture` at the given width, in proportion."""
    return picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)


# Photographs --------------------------------------------------------------------------------------


def story_photographs() -> None:
    """Photographs of the articles: progressive in three widths for srcset, baseline, WebP and AVIF."""
    storm, ferry, sunset = photographs.storm(), photographs.ferry(), photographs.sunset_harbour()
    for width in (1280, 960, 640):
        shrunk(storm, width).save(PHOTOS / f"storm-{width}.jpg", quality=74, progressive=True, optimize=True)
    ferry.save(PHOTOS / "ferry.jpg", quality=80)
    shrunk(ferry, 480).save(PHOTOS / "ferry-480.jpg", quality=76)
    sunset.save(PHOTOS / "sunset.jpg", quality=78, progressive=True)
    sunset.save(PHOTOS / "sunset.webp", quality=72, method=6)
    sunset.save(PHOTOS / "sunset.avif", quality=58, speed=6)
    photographs.deep_water().save(SITE / "images/deep-water.jpg", quality=70)
    photographs.busan().save(PHOTOS / "busan.jpg", quality=78)


def odd_photographs() -> None:
    """Photographs with something particular: rotated by EXIF, a wide colour space, one channel, four inks."""
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = EXIF_ROTATED
    exif[0x010F], exif[0x0110] = "Harbour Optical", "Tern 35"
    lying = photographs.lighthouse().transpose(Image.Transpose.ROTATE_90)
    lying.save(PHOTOS / "lighthouse.jpg", quality=78, exif=exif)
    wide_gamut(photographs.beach()).save(PHOTOS / "photo 1.jpg", quality=80, icc_profile=wide_profile())
    photographs.lifeboat_1974().save(PHOTOS / "lifeboat-1974.jpg", quality=72)
    print_advertisement().convert("CMYK").save(SITE / "ads/chandlery-cmyk.jpg", quality=80)


def gallery() -> None:
    """The photo gallery: one large picture and one thumbnail each."""
    for name, scene in GALLERY.items():
        picture = scene()
        shrunk(picture, 880).save(SITE / f"gallery/{name}.jpg", quality=74, progressive=len(name) % 2 == 0)
        cut = shrunk(picture, 300).crop((0, 0, 300, 187))
        cut.save(SITE / f"gallery/thumbs/{name}.jpg", quality=72)


GALLERY: dict[str, Callable[[], Image.Image]] = {
    "dawn": photographs.dawn_hills,
    "fog": photographs.fog,
    "gulls": photographs.gulls,
    "night": photographs.night,
    "sunset": photographs.sunset_harbour,
    "été": photographs.beach,
}


# Primaries of Adobe RGB (1998) relative to D50: rows are X, Y, Z, columns red, green, blue.
WIDE_TO_XYZ = np.array(
    [[0.60974, 0.20528, 0.14919], [0.31111, 0.62567, 0.06322], [0.01947, 0.06087, 0.74457]]
)
SRGB_TO_XYZ = np.array(
    [[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]]
)
GAMMA = 2.2


def wide_gamut(picture: Image.Image) -> Image.Image:
    """The same colours expressed in the space of `wide_profile`."""
    pixels = np.asarray(picture, np.float64) / 255
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    wide = linear @ (np.linalg.inv(WIDE_TO_XYZ) @ SRGB_TO_XYZ).T
    return Image.fromarray((np.clip(wide, 0, 1) ** (1 / GAMMA) * 255 + 0.5).astype(np.uint8))


def wide_profile() -> bytes:
    """A matrix profile, version 2.1 (ICC.1:2001-04): wide primaries, gamma 2.2."""
    text = b"Harbour Gazette wide RGB\0"
    tags = {
        b"desc": b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(4 + 4 + 2 + 1 + 67),
        b"cprt": b"text\0\0\0\0" + b"No copyright is claimed.\0",
        b"wtpt": xyz(0.9642, 1.0, 0.8249),
        **{name: xyz(*WIDE_TO_XYZ[:, column]) for column, name in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))},
        **{
            name: b"curv\0\0\0\0" + struct.pack(">IH", 1, round(GAMMA * 256))
            for name in (b"rTRC", b"gTRC", b"bTRC")
        },
    }
    table, body, start = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    for name, content in tags.items():
        table += name + struct.pack(">II", start + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    return profile_header(128 + len(table) + len(body)) + table + body


def xyz(x: float, y: float, z: float) -> bytes:
    """An XYZ tag: three s15Fixed16 numbers."""
    return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(value * 65536) for value in (x, y, z)))


def profile_header(size: int) -> bytes:
    """The 128 bytes before the tag table; the date is that of the paper's first issue."""
    date = struct.pack(">6H", 1903, 5, 1, 0, 0, 0)
    head = struct.pack(">I4x4s", size, b"\x02\x10\0\0") + b"mntrRGB XYZ " + date + b"acsp"
    return head + bytes(28) + xyz(0.9642, 1.0, 0.8249)[8:] + bytes(48)


# Decorations --------------------------------------------------------------------------------------


def decorations() -> None:
    """Spacer, rule, bullet, corners, strips and the paper's texture: what a light page can do without."""
    folder = SITE / "images/deco"
    Image.new("P", (1, 1)).save(folder / "spacer.gif", transparency=0)
    rope_rule().save(folder / "rule.gif", transparency=0)
    bullet().save(folder / "bullet.gif", transparency=0)
    corner = rounded_corner()
    for turns, name in enumerate(("tl", "bl", "br", "tr")):
        corner.rotate(90 * turns).save(folder / f"corner-{name}.gif", transparency=0)
    strip((36, 66, 92), INK, 44).save(folder / "nav-strip.png")
    strip((238, 230, 212), (255, 253, 248), 120).save(folder / "box-strip.png")
    paper_texture().save(folder / "paper.png", optimize=True)
    flashing_beacon(folder / "beacon.gif")


def rope_rule() -> Image.Image:
    """A rule of twisted rope, 640x9."""
    rule = Image.new("P", (640, 9))
    rule.putpalette((*PAPER, 176, 148, 104, 120, 94, 58))
    pen = ImageDraw.Draw(rule)
    for x in range(-6, 640, 6):
        pen.line((x, 7, x + 6, 1), fill=1, width=3)
        pen.line((x + 2, 7, x + 8, 1), fill=2, width=1)
    return rule


def bullet() -> Image.Image:
    """A diamond, 9x9."""
    image = Image.new("P", (9, 9))
    image.putpalette((*PAPER, *ACCENT))
    ImageDraw.Draw(image).polygon(((4, 0), (8, 4), (4, 8), (0, 4)), fill=1)
    return image


def rounded_corner() -> Image.Image:
    """The upper left corner of a double frame, 14x14."""
    image = Image.new("P", (14, 14))
    image.putpalette((*PAPER, *INK))
    pen = ImageDraw.Draw(image)
    pen.arc((0, 0, 26, 26), 180, 270, fill=1, width=2)
    pen.arc((5, 5, 21, 21), 180, 270, fill=1, width=1)
    return image


def strip(top: tuple[int, int, int], bottom: tuple[int, int, int], height: int) -> Image.Image:
    """A vertical gradient one pixel wide."""
    shares = np.linspace(0, 1, height)[:, None, None]
    return Image.fromarray((np.array(top) * (1 - shares) + np.array(bottom) * shares + 0.5).astype(np.uint8))


def paper_texture() -> Image.Image:
    """Newsprint, 96x96, to be repeated; a palette of eight shades."""
    grain = np.random.default_rng(1903).normal(0, 2.2, (96, 96, 1))
    return Image.fromarray(np.clip(np.array(PAPER) + grain, 0, 255).astype(np.uint8)).quantize(8)


def flashing_beacon(path: Path) -> None:
    """An animated GIF, 24x24: the beam of a lighthouse goes round."""
    frames = [beacon_frame(step) for step in range(6)]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=[140] * 5 + [900], loop=0, disposal=2
    )


def beacon_frame(step: int) -> Image.Image:
    """One frame: the lamp is brightest in the third."""
    frame = Image.new("RGB", (24, 24), INK)
    pen = ImageDraw.Draw(frame)
    reach = (2, 6, 12, 6, 2, 0)[step]
    pen.polygon(((12, 8), (12 + reach, 3), (12 + reach, 13)), fill=(255, 226, 130))
    pen.polygon(((12, 8), (12 - reach, 3), (12 - reach, 13)), fill=(255, 226, 130))
    pen.polygon(((9, 22), (15, 22), (14, 10), (10, 10)), fill=(238, 234, 224))
    pen.rectangle((9, 14, 15, 16), fill=ACCENT)
    pen.rectangle((10, 6, 14, 10), fill=(255, 240, 180) if reach else (120, 120, 110))
    return frame.quantize(16)


# Sprites, logo, icons -----------------------------------------------------------------------------


def weather_sprites() -> None:
    """Six weather signs in a row, SIDE pixels square each, drawn four times as large; RGBA."""
    scale = SIDE * 4
    sheet = Image.new("RGBA", (scale * 6, scale), (0, 0, 0, 0))
    pen = ImageDraw.Draw(sheet)
    for place, sign in enumerate((sun, sun_and_cloud, cloud, rain, wind, waves)):
        sign(pen, place * scale)
    sheet.resize((SIDE * 6, SIDE), Image.Resampling.LANCZOS).save(
        SITE / "images/weather-sprites.png", optimize=True
    )


YELLOW, GREY, BLUE = (226, 158, 36), (122, 138, 152), (46, 108, 160)


def sun(pen: ImageDraw.ImageDraw, x: int) -> None:
    """A disc with rays."""
    for ray in range(8):
        dx, dy = cos(ray * pi / 4), sin(ray * pi / 4)
        pen.line((x + 64 + dx * 38, 64 + dy * 38, x + 64 + dx * 56, 64 + dy * 56), fill=YELLOW, width=8)
    pen.ellipse((x + 36, 36, x + 92, 92), fill=YELLOW)


def sun_and_cloud(pen: ImageDraw.ImageDraw, x: int) -> None:
    """The sun behind a cloud."""
    pen.ellipse((x + 60, 14, x + 112, 66), fill=YELLOW)
    cloud(pen, x)


def cloud(pen: ImageDraw.ImageDraw, x: int) -> None:
    """Three discs on a base."""
    for box in ((12, 56, 60, 104), (38, 34, 94, 90), (72, 54, 118, 104)):
        pen.ellipse((x + box[0], box[1], x + box[2], box[3]), fill=GREY)
    pen.rectangle((x + 36, 70, x + 96, 104), fill=GREY)


def rain(pen: ImageDraw.ImageDraw, x: int) -> None:
    """Drops under a cloud."""
    cloud(pen, x)
    for drop in range(4):
        pen.line((x + 36 + drop * 20, 106, x + 28 + drop * 20, 124), fill=BLUE, width=7)


def wind(pen: ImageDraw.ImageDraw, x: int) -> None:
    """Three streaks, two of them curling."""
    for y, end, radius in ((48, 84, 14), (70, 100, 12), (92, 70, 0)):
        pen.line((x + 14, y, x + end, y), fill=GREY, width=8)
        if radius:
            pen.arc((x + end - radius, y - 2 * radius, x + end + radius, y + 4), 270, 90, fill=GREY, width=8)


def waves(pen: ImageDraw.ImageDraw, x: int) -> None:
    """Two rows of waves."""
    for y in (52, 82):
        for crest in range(3):
            pen.arc((x + 10 + crest * 36, y - 16, x + 46 + crest * 36, y + 20), 180, 360, fill=BLUE, width=8)


def icons() -> None:
    """The logo as a PNG with alpha, the icons of the manifest, the favicon in three sizes."""
    logo = Image.new("RGBA", (520, 72), (0, 0, 0, 0))
    pen = ImageDraw.Draw(logo)
    pen.ellipse((4, 8, 60, 64), fill=ACCENT)
    pen.text((32, 36), "H", font=font(42), fill=PAPER, anchor="mm")
    pen.text((74, 36), "The Harbour Gazette", font=font(44), fill=INK, anchor="lm")
    logo.save(SITE / "images/logo.png", optimize=True)
    magnifier().save(SITE / "images/find.png", optimize=True)
    for side in (192, 512):
        icon(side).quantize(32).save(SITE / f"images/icon-{side}.png", optimize=True)
    icon(48).save(SITE / "favicon.ico", sizes=[(16, 16), (32, 32), (48, 48)])


def magnifier() -> Image.Image:
    """The sign on the search button, 36x36."""
    sign = Image.new("RGB", (144, 144), ACCENT)
    pen = ImageDraw.Draw(sign)
    pen.ellipse((34, 30, 90, 86), outline=PAPER, width=11)
    pen.line((84, 80, 114, 112), fill=PAPER, width=13)
    return sign.resize((36, 36), Image.Resampling.LANCZOS)


def icon(side: int) -> Image.Image:
    """A white letter on a red ground."""
    image = Image.new("RGB", (side, side), ACCENT)
    pen = ImageDraw.Draw(image)
    pen.text((side / 2, side * 0.48), "H", font=font(round(side * 0.8)), fill=PAPER, anchor="mm")
    return image


# Figures and advertisements -----------------------------------------------------------------------


def figures() -> None:
    """A palette chart of the year's catch and a 16-bit grey map of soundings."""
    chart = Image.new("RGB", (620, 300), (255, 255, 255))
    pen = ImageDraw.Draw(chart)
    for line in range(5):
        pen.line((40, 30 + line * 55, 610, 30 + line * 55), fill=(222, 222, 216))
        pen.text((32, 30 + line * 55), str(80 - line * 20), font=font(14), fill=INK, anchor="rm")
    for month, tons in enumerate((22, 28, 36, 51, 64, 70, 74, 69, 58, 40, 30, 24)):
        left = 54 + month * 46
        pen.rectangle(
            (left, 250 - tons * 2.75, left + 30, 250), fill=ACCENT if tons == 74 else (62, 104, 138)
        )
        pen.text((left + 15, 266), "JFMAMJJASOND"[month], font=font(16), fill=INK, anchor="mm")
    chart.quantize(16, dither=Image.Dither.NONE).save(SITE / "images/catch-chart.png", optimize=True)
    soundings().save(SITE / "images/soundings-16bit.png")
    chart_of_port().quantize(16, dither=Image.Dither.NONE).save(
        SITE / "images/chart-of-port.png", optimize=True
    )


def soundings() -> Image.Image:
    """Depth below chart datum of the harbour mouth, 260x180, light is shallow; 16 bits of grey."""
    y, x = np.mgrid[0:180, 0:260]
    channel = np.exp(-(((x - 130 - 40 * np.sin(y / 45)) / 34.0) ** 2))
    shoal = np.exp(-((x - 60) ** 2 + (y - 60) ** 2) / 1800)
    depth = np.round((1 - 0.75 * channel + 0.3 * shoal) / 1.3 * 24) / 24
    return Image.fromarray((12000 + depth * 50000).clip(0, 65535).astype(np.uint16))


def chart_of_port() -> Image.Image:
    """A plan of the harbour, 260x180: Carn Point to the right, the ferry ramp to the left below."""
    scale = 3
    plan = Image.new("RGB", (260 * scale, 180 * scale), (196, 220, 232))
    pen = ImageDraw.Draw(plan)
    land = [
        (0, 90),
        (60, 100),
        (118, 112),
        (150, 134),
        (176, 96),
        (176, 52),
        (206, 40),
        (226, 60),
        (222, 104),
        (260, 130),
    ]
    coast = [(x * scale, y * scale) for x, y in (*land, (260, 180), (0, 180))]
    pen.polygon(coast, fill=(226, 216, 180), outline=INK, width=4)
    pen.line(
        [(118 * scale, 112 * scale), (126 * scale, 70 * scale), (148 * scale, 62 * scale)], fill=INK, width=9
    )
    pen.ellipse([(v * scale) for v in (190, 56, 202, 68)], fill=ACCENT)
    for text, x, y in (
        ("Carn Point", 204, 26),
        ("Ferry ramp", 66, 140),
        ("The Sound", 70, 40),
        ("Basin", 146, 96),
    ):
        pen.text((x * scale, y * scale), text, font=font(12 * scale), fill=INK, anchor="mm")
    return plan.resize((260, 180), Image.Resampling.LANCZOS)


def advertisements() -> None:
    """An animated banner, a still one, and the tracking pixel."""
    frames = [banner_frame(step) for step in range(12)]
    frames[0].save(
        SITE / "ads/ferry-banner-728x90.gif", save_all=True, append_images=frames[1:], duration=220, loop=0
    )
    Image.new("P", (1, 1)).save(SITE / "track/pixel.gif", transparency=0)


def banner_frame(step: int) -> Image.Image:
    """One of twelve frames of the ferry company's banner, 728x90: a ferry crosses."""
    frame = Image.new("RGB", (728, 90), (30, 92, 140))
    pen = ImageDraw.Draw(frame)
    pen.rectangle((0, 66, 728, 90), fill=(16, 58, 96))
    x = 470 + step * 12
    pen.polygon(((x, 52), (x + 112, 48), (x + 100, 72), (x + 10, 72)), fill=(244, 244, 240))
    pen.rectangle((x + 16, 36, x + 84, 52), fill=(244, 244, 240))
    pen.rectangle((x + 28, 22, x + 44, 36), fill=(226, 120, 30))
    for window in range(7):
        pen.rectangle((x + 20 + window * 9, 41, x + 25 + window * 9, 46), fill=(30, 92, 140))
    pen.text((22, 32), "Skerry Line", font=font(38), fill=(255, 255, 255), anchor="lm")
    pen.text((24, 74), "To the islands and back, £9", font=font(20), fill=(255, 220, 130), anchor="lm")
    pen.text((330, 32), "BOOK NOW", font=font(18 if step % 6 < 3 else 20), fill=(255, 220, 130), anchor="lm")
    return frame.quantize(32)


def print_advertisement() -> Image.Image:
    """The chandlery's advertisement as the printer delivered it, 300x250."""
    card = Image.new("RGB", (300, 250), (236, 214, 160))
    pen = ImageDraw.Draw(card)
    pen.rectangle((8, 8, 292, 242), outline=INK, width=3)
    pen.text((150, 54), "Tolland & Daughter", font=font(28), fill=INK, anchor="mm")
    pen.text((150, 92), "Ship chandlers since 1921", font=font(17), fill=ACCENT, anchor="mm")
    pen.ellipse((100, 112, 200, 212), outline=ACCENT, width=18)
    pen.text((150, 226), "Rope, paint, oilskins", font=font(17), fill=INK, anchor="mm")
    return card


STEPS = (
    story_photographs,
    odd_photographs,
    gallery,
    decorations,
    weather_sprites,
    icons,
    figures,
    advertisements,
)
FOLDERS = ("images/photos", "images/deco", "gallery/thumbs", "ads", "track")


def main() -> None:
    """Make all of them."""
    for folder in FOLDERS:
        (SITE / folder).mkdir(parents=True, exist_ok=True)
    for step in STEPS:
        step()


if __name__ == "__main__":
    main()
