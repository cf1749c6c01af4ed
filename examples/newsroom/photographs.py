"""The scenes of The Harbour Gazette: each function composes one photograph out of `scenery`."""

from __future__ import annotations

from PIL import Image
from scenery import Brush, Colour, Light, Points, Scene, Water

WHITE: Colour = (0.93, 0.93, 0.91)
RED: Colour = (0.66, 0.17, 0.12)
BLACK: Colour = (0.06, 0.07, 0.09)
SUNSET = Light(0.62, 0.44, (1.0, 0.80, 0.48), 0.62, 0.30)


def _lighthouse(brush: Brush, x: float, foot: float, size: float, aspect: float) -> None:
    """A red and white tower of the given height (fraction of the picture's height)."""
    half, bands = size * 0.105 / aspect, 5
    for band in range(bands):
        lower, upper = 1 - band / bands, 1 - (band + 1) / bands
        wide, narrow = half * (0.62 + 0.38 * lower), half * (0.62 + 0.38 * upper)
        top, bottom = foot - size * 0.78 * (1 - upper), foot - size * 0.78 * (1 - lower)
        shades = (RED, (0.50, 0.12, 0.09)) if band % 2 else (WHITE, (0.70, 0.71, 0.72))
        brush.polygon(
            [(x - wide, bottom), (x + wide, bottom), (x + narrow, top), (x - narrow, top)], shades[0]
        )
        brush.polygon(
            [(x + wide * 0.3, bottom), (x + wide, bottom), (x + narrow, top), (x + narrow * 0.3, top)],
            shades[1],
        )
    gallery = foot - size * 0.78
    brush.box(x - half, gallery - size * 0.02, half * 2, size * 0.025, BLACK)
    brush.box(x - half * 0.5, gallery - size * 0.13, half, size * 0.11, (0.25, 0.30, 0.33))
    brush.box(x - half * 0.3, gallery - size * 0.12, half * 0.6, size * 0.09, (1.0, 0.93, 0.66))
    roof: Points = [
        (x - half * 0.75, gallery - size * 0.12),
        (x, gallery - size * 0.22),
        (x + half * 0.75, gallery - size * 0.12),
    ]
    brush.polygon(roof, RED)


Outline = tuple[tuple[float, float], ...]

# Outlines in units of the vessel's length: x from its middle, y from the water line, downwards.
YACHT_HULL: Outline = ((-0.5, -0.20), (0.56, -0.23), (0.40, 0.0), (-0.42, 0.0))
YACHT_DECK: Outline = ((-0.5, -0.205), (0.52, -0.205), (0.52, -0.175), (-0.5, -0.175))
YACHT_CABIN: Outline = ((-0.3, -0.20), (-0.26, -0.31), (0.08, -0.31), (0.16, -0.20))
YACHT_MAST: Outline = ((0.1, -0.20), (0.1, -1.95))
YACHT_STAYS: Outline = ((0.54, -0.20), (0.1, -1.95), (-0.48, -0.20))
YACHT_FURLED: Outline = ((0.1, -0.40), (-0.4, -0.38))
YACHT_MAINSAIL: Outline = ((0.07, -1.89), (0.07, -0.40), (-0.46, -0.40))
YACHT_JIB: Outline = ((0.14, -1.81), (0.14, -0.32), (0.54, -0.30))
FERRY_HULL: Outline = ((-0.5, -0.16), (0.52, -0.21), (0.46, 0.0), (-0.46, 0.0))
FERRY_FUNNEL: Outline = ((-0.30, -0.33), (-0.28, -0.49), (-0.17, -0.49), (-0.16, -0.33))
FERRY_DECKS = ((-0.46, 0.34), (-0.40, 0.28), (-0.08, 0.24))
GULL_LEFT: Outline = ((0, 0), (-0.22, -1), (-0.52, -0.72), (-0.2, -0.62), (-0.03, 0.22))
GULL_RIGHT: Outline = ((0, 0), (0.24, -1.1), (0.54, -0.7), (0.22, -0.68), (0.03, 0.22))
GULL_BODY: Outline = ((-0.12, 0.22), (0, -0.08), (0.16, 0.06), (0.05, 0.3))
GULL_TIP: Outline = ((0.42, -0.86), (0.53, -0.72), (0.40, -0.74))


def _placed(outline: Outline, x: float, y: float, wide: float, high: float | None = None) -> Points:
    """The outline moved to (x, y), `wide` and `high` (as much, if not given) being its units."""
    return [(x + dx * wide, y + dy * (wide if high is None else high)) for dx, dy in outline]


def _sailing_boat(
    brush: Brush, x: float, line: float, size: float, hull: Colour, sail: Colour | None = None
) -> None:
    """A yacht `size` of the picture's width long, floating at `line`; bare masts without a sail colour."""
    place = (x, line, size)
    brush.polygon(_placed(YACHT_HULL, *place), hull)
    brush.polygon(_placed(YACHT_DECK, *place), WHITE)
    brush.polygon(_placed(YACHT_CABIN, *place), WHITE)
    brush.line(_placed(YACHT_MAST, *place), (0.20, 0.18, 0.17), size * 0.028)
    brush.line(_placed(YACHT_STAYS, *place), (0.25, 0.24, 0.24), size * 0.008)
    if sail is None:
        brush.line(_placed(YACHT_FURLED, *place), (0.75, 0.72, 0.66), size * 0.05)
        return
    brush.polygon(_placed(YACHT_MAINSAIL, *place), sail)
    brush.polygon(_placed(YACHT_JIB, *place), WHITE)


def _ferry(brush: Brush, x: float, line: float, size: float) -> None:
    """A car ferry `size` of the picture's width long."""
    brush.polygon(_placed(FERRY_HULL, x, line, size), (0.10, 0.22, 0.38))
    brush.box(x - size * 0.46, line - size * 0.028, size * 0.92, size * 0.028, RED)
    for level, (left, right) in enumerate(FERRY_DECKS):
        _ferry_deck(brush, x + size * left, line - size * (0.245 + 0.085 * level), size, right - left)
    brush.polygon(_placed(FERRY_FUNNEL, x, line, size), (0.86, 0.55, 0.13))
    brush.box(x - size * 0.285, line - size * 0.49, size * 0.117, size * 0.035, BLACK)
    brush.line(_placed(((0.14, -0.41), (0.14, -0.58)), x, line, size), WHITE, size * 0.012)


def _ferry_deck(brush: Brush, left: float, top: float, size: float, length: float) -> None:
    """One deck with its row of windows; `length` in ship's lengths."""
    brush.box(left, top, size * length, size * 0.09, WHITE)
    brush.box(left, top + size * 0.078, size * length, size * 0.012, (0.62, 0.66, 0.70))
    for window in range(int(length * 40)):
        start = left + size * (0.012 + window * 0.025)
        brush.box(start, top + size * 0.028, size * 0.014, size * 0.026, (0.16, 0.21, 0.26))


def _gull(brush: Brush, x: float, y: float, span: float, aspect: float) -> None:
    """A gull seen from the side, wings raised."""
    lift = span * 0.30 * aspect
    brush.polygon(_placed(GULL_LEFT, x, y, span, lift), (0.80, 0.82, 0.85))
    brush.polygon(_placed(GULL_RIGHT, x, y, span, lift), WHITE)
    brush.polygon(_placed(GULL_BODY, x, y, span, lift), WHITE)
    for side in (-span, span):
        brush.polygon(_placed(GULL_TIP, x, y, side, lift), BLACK)


def _flock(brush: Brush, places: list[tuple[float, float, float]], aspect: float) -> None:
    """One gull for each (x, y, span)."""
    for x, y, span in places:
        _gull(brush, x, y, span, aspect)


def storm(width: int = 1280, height: int = 800) -> Image.Image:
    """Waves break over the outer breakwater and its lighthouse."""
    scene = Scene(width, height, 11, 0.46)
    scene.sky((0.22, 0.26, 0.31), (0.66, 0.68, 0.66), Light(0.2, 0.42, (0.92, 0.90, 0.80), 0.35, 0.35))
    scene.clouds(0.95, (0.66, 0.68, 0.69), (0.18, 0.21, 0.26), 0.30)
    scene.sea(Water((0.36, 0.43, 0.44), (0.10, 0.17, 0.18), 0.30, 0.42, 0.8))
    scene.draw(_breakwater)
    for x, y, size in ((0.60, 0.575, 0.21), (0.47, 0.575, 0.10), (0.80, 0.60, 0.15), (0.93, 0.63, 0.09)):
        scene.spray(x, y, size)
    scene.mist((0.72, 0.75, 0.75), 0.47, 0.05, 0.45)
    return scene.finish(0.022, 0.4, 1.15)


def _breakwater(brush: Brush) -> None:
    brush.polygon([(0.42, 0.535), (0.62, 0.528), (1, 0.555), (1, 0.72), (0.40, 0.585)], (0.16, 0.16, 0.16))
    brush.polygon([(0.43, 0.532), (0.62, 0.522), (1, 0.545), (1, 0.57), (0.42, 0.540)], (0.36, 0.36, 0.35))
    for step in range(26):
        x = 0.43 + step * 0.023
        brush.line([(x, 0.545 + step * 0.0006), (x - 0.004, 0.59 + step * 0.004)], (0.10, 0.10, 0.11), 0.0014)
    _lighthouse(brush, 0.475, 0.535, 0.33, 1.6)


def ferry(width: int = 960, height: int = 600) -> Image.Image:
    """The new ferry in the sound on a bright day."""
    scene = Scene(width, height, 23, 0.50)
    scene.sky((0.24, 0.46, 0.74), (0.76, 0.86, 0.93), Light(0.9, -0.1, (1.0, 0.98, 0.92), 0.3, 0.3))
    scene.clouds(0.42, (0.98, 0.98, 0.98), (0.66, 0.72, 0.79))
    scene.ridge(0.502, 0.16, (0.40, 0.50, 0.58), rough=0.5)
    scene.ridge(0.505, 0.13, (0.24, 0.36, 0.28), shape="right")
    scene.sea(
        Water((0.40, 0.58, 0.70), (0.07, 0.25, 0.37), 0.16, 0.10), Light(0.9, 0.1, (0.96, 0.98, 1.0), 0.25)
    )
    scene.draw(lambda brush: _ferry(brush, 0.45, 0.64, 0.56))
    scene.reflect(0.64, 0.30, 0.02)
    flock = [(0.78, 0.2, 0.05), (0.86, 0.27, 0.035), (0.14, 0.16, 0.03)]
    scene.draw(lambda brush: _flock(brush, flock, 1.6))
    return scene.finish()


def sunset_harbour(width: int = 1024, height: int = 683) -> Image.Image:
    """Yachts at their moorings as the sun goes down."""
    scene = Scene(width, height, 31, 0.50)
    scene.sky((0.25, 0.25, 0.42), (0.97, 0.62, 0.36), SUNSET)
    scene.clouds(0.55, (0.99, 0.66, 0.42), (0.38, 0.29, 0.40), 0.34)
    scene.ridge(0.502, 0.15, (0.30, 0.22, 0.30), rough=0.4)
    scene.ridge(0.504, 0.10, (0.17, 0.13, 0.18), shape="left")
    scene.sea(Water((0.80, 0.54, 0.38), (0.16, 0.16, 0.25), 0.10), SUNSET)
    scene.draw(_moorings)
    scene.reflect(0.575, 0.5, 0.018)
    scene.draw(lambda brush: _sailing_boat(brush, 0.50, 0.72, 0.17, (0.13, 0.10, 0.13), (0.62, 0.24, 0.16)))
    return scene.finish(0.02, 0.35)


def _moorings(brush: Brush) -> None:
    for x, y, size in (
        (0.10, 0.56, 0.07),
        (0.21, 0.57, 0.09),
        (0.36, 0.565, 0.08),
        (0.79, 0.58, 0.10),
        (0.92, 0.57, 0.08),
    ):
        _sailing_boat(brush, x, y, size, (0.16, 0.13, 0.17))


def lighthouse(width: int = 640, height: int = 900) -> Image.Image:
    """The lighthouse on Carn Point, upright format."""
    scene = Scene(width, height, 42, 0.66)
    scene.sky((0.30, 0.52, 0.78), (0.84, 0.89, 0.92), Light(0.12, 0.12, (1.0, 0.97, 0.88), 0.4, 0.5))
    scene.clouds(0.5, (0.99, 0.98, 0.97), (0.68, 0.73, 0.80), 0.18)
    scene.sea(Water((0.42, 0.60, 0.70), (0.10, 0.30, 0.40), 0.14, 0.1))
    scene.draw(lambda brush: _lighthouse(brush, 0.70, 0.78, 0.60, 0.71))
    scene.ridge(1.0, 0.48, (0.36, 0.44, 0.20), shape="right", rough=1.2)
    scene.ridge(1.0, 0.34, (0.27, 0.34, 0.15), rough=1.4)
    scene.draw(lambda brush: _gull(brush, 0.22, 0.30, 0.09, 0.71))
    return scene.finish()


def beach(width: int = 1024, height: int = 683) -> Image.Image:
    """High summer on the west beach."""
    scene = Scene(width, height, 57, 0.36)
    scene.sky((0.24, 0.52, 0.82), (0.80, 0.90, 0.95), Light(0.8, -0.12, (1.0, 1.0, 0.94), 0.4, 0.3))
    scene.clouds(0.3, (1.0, 1.0, 1.0), (0.78, 0.84, 0.90))
    scene.ridge(0.362, 0.10, (0.38, 0.48, 0.52), shape="left", rough=0.5)
    scene.sea(Water((0.20, 0.50, 0.62), (0.42, 0.74, 0.74), 0.10, 0.12))
    scene.sand(0.62, (0.88, 0.78, 0.60), (0.60, 0.50, 0.38))
    scene.draw(lambda brush: _sailing_boat(brush, 0.30, 0.40, 0.05, WHITE, WHITE))
    scene.draw(_parasols)
    return scene.finish(0.014, 0.2)


PARASOLS = (
    (0.18, 0.86, 0.10, RED),
    (0.44, 0.80, 0.07, (0.10, 0.35, 0.55)),
    (0.74, 0.90, 0.12, (0.90, 0.68, 0.16)),
)
PARASOL_SHADE: Outline = ((-0.2, 0.0), (1.5, -0.1), (1.5, 0.22), (0.0, 0.25))
PARASOL_TOWEL: Outline = ((0.5, 0.05), (1.3, 0.0), (1.4, 0.15), (0.5, 0.22))


def _parasols(brush: Brush) -> None:
    for x, y, size, colour in PARASOLS:
        brush.polygon(_placed(PARASOL_SHADE, x, y, size), (0.63, 0.55, 0.43))
        brush.line(_placed(((0.0, 0.1), (0.12, -1.5)), x, y, size), (0.36, 0.28, 0.20), size * 0.05)
        for gore in range(6):
            edge = -0.63 + gore * 0.25
            outline = ((edge, -0.85), (edge + 0.25, -0.85), (0.12, -1.6))
            brush.polygon(_placed(outline, x, y, size), WHITE if gore % 2 else colour)
        brush.polygon(_placed(PARASOL_TOWEL, x, y, size), (0.93, 0.90, 0.84))


def night(width: int = 960, height: int = 640) -> Image.Image:
    """The lights of the old town across the harbour."""
    scene = Scene(width, height, 64, 0.52)
    scene.sky((0.02, 0.04, 0.11), (0.14, 0.17, 0.28), Light(0.2, 0.16, (0.98, 0.96, 0.86), 0.5, 0.05))
    scene.clouds(0.35, (0.20, 0.22, 0.30), (0.05, 0.06, 0.11))
    scene.ridge(0.525, 0.22, (0.04, 0.05, 0.08), rough=0.4)
    scene.sea(Water((0.10, 0.13, 0.21), (0.02, 0.03, 0.07), 0.05))
    scene.draw(lambda brush: _lights(brush, scene))
    scene.reflect(0.525, 0.75, 0.030)
    return scene.finish(0.024, 0.3, 1.2)


def _lights(brush: Brush, scene: Scene) -> None:
    for _ in range(300):
        x, depth = scene.rng.random(), scene.rng.random() ** 2
        warm: Colour = (1.0, 0.72 + 0.2 * scene.rng.random(), 0.35 + 0.3 * scene.rng.random())
        brush.disc(x, 0.517 - depth * 0.10, 0.0010 + 0.0014 * scene.rng.random(), warm)
    for index in range(18):
        brush.disc(0.03 + index * 0.055, 0.520, 0.0032, (1.0, 0.86, 0.58))


def fog(width: int = 960, height: int = 640) -> Image.Image:
    """Two boats at anchor, half lost in fog."""
    scene = Scene(width, height, 71, 0.50)
    scene.sky((0.66, 0.69, 0.71), (0.80, 0.81, 0.81))
    scene.ridge(0.502, 0.20, (0.58, 0.62, 0.64), rough=0.3)
    scene.sea(Water((0.74, 0.76, 0.77), (0.38, 0.43, 0.46), 0.05))
    scene.draw(lambda brush: _sailing_boat(brush, 0.72, 0.55, 0.10, (0.40, 0.44, 0.47)), 0.55)
    scene.mist((0.82, 0.83, 0.83), 0.50, 0.10, 0.85)
    scene.draw(lambda brush: _sailing_boat(brush, 0.33, 0.62, 0.19, (0.24, 0.29, 0.33)), 0.9)
    scene.reflect(0.62, 0.45, 0.012)
    scene.mist((0.83, 0.84, 0.84), 0.66, 0.10, 0.35)
    return scene.finish(0.02, 0.2, 1.0)


def dawn_hills(width: int = 1024, height: int = 640) -> Image.Image:
    """The hills behind the sound at first light, one behind the other."""
    scene, light = Scene(width, height, 83, 0.58), Light(0.36, 0.36, (1.0, 0.88, 0.66), 0.55, 0.4)
    scene.sky((0.42, 0.50, 0.66), (0.98, 0.82, 0.66), light)
    scene.clouds(0.35, (1.0, 0.86, 0.74), (0.66, 0.60, 0.66))
    for base, rise, colour in (
        (0.58, 0.34, (0.66, 0.60, 0.66)),
        (0.62, 0.28, (0.48, 0.47, 0.55)),
        (0.66, 0.22, (0.33, 0.36, 0.42)),
    ):
        scene.ridge(base, rise, colour, rough=0.35)
        scene.mist((0.94, 0.82, 0.72), base, 0.05, 0.7)
    scene.sea(Water((0.82, 0.72, 0.66), (0.26, 0.32, 0.42), 0.06), light, top=int(height * 0.66))
    scene.ridge(1.0, 0.42, (0.13, 0.17, 0.13), shape="right", rough=0.9)
    return scene.finish(0.016, 0.3)


def gulls(width: int = 900, height: int = 600) -> Image.Image:
    """Gulls behind a trawler."""
    scene = Scene(width, height, 97, 0.74)
    scene.sky((0.40, 0.57, 0.74), (0.86, 0.89, 0.90), Light(0.1, -0.1, (1.0, 0.98, 0.92), 0.3, 0.5))
    scene.clouds(0.6, (0.96, 0.96, 0.96), (0.66, 0.71, 0.77))
    scene.sea(Water((0.46, 0.57, 0.62), (0.13, 0.26, 0.32), 0.18, 0.25))
    flock = [
        (scene.rng.random(), 0.08 + 0.6 * scene.rng.random(), 0.03 + 0.09 * scene.rng.random() ** 2)
        for _ in range(17)
    ]
    scene.draw(lambda brush: _flock(brush, flock, 1.5))
    return scene.finish()


def lifeboat_1974(width: int = 800, height: int = 560) -> Image.Image:
    """The lifeboat of 1974, an old print in black and white (mode L)."""
    scene = Scene(width, height, 74, 0.44)
    scene.sky((0.52, 0.52, 0.52), (0.80, 0.80, 0.80))
    scene.clouds(0.8, (0.86, 0.86, 0.86), (0.42, 0.42, 0.42))
    scene.sea(Water((0.50, 0.50, 0.50), (0.18, 0.18, 0.18), 0.30, 0.34, 0.7))
    scene.draw(lambda brush: _launch(brush, 0.50, 0.60, 0.34))
    for x, size in ((0.32, 0.07), (0.69, 0.17), (0.5, 0.05)):
        scene.spray(x, 0.61, size)
    return scene.finish(0.045, 0.5, 0.95).convert("L")


def _launch(brush: Brush, x: float, line: float, size: float) -> None:
    """A motor lifeboat with her crew: a high bow, a low cabin, one mast."""
    dark, pale = (0.16, 0.16, 0.16), (0.78, 0.78, 0.78)
    sheer: Points = [
        (x - size * 0.5, line - size * 0.20),
        (x, line - size * 0.15),
        (x + size * 0.56, line - size * 0.30),
    ]
    brush.polygon(
        [*sheer, (x + size * 0.42, line + size * 0.04), (x - size * 0.44, line + size * 0.04)], dark
    )
    brush.line(sheer, pale, size * 0.03)
    brush.polygon(
        [
            (x - size * 0.2, line - size * 0.17),
            (x - size * 0.16, line - size * 0.33),
            (x + size * 0.12, line - size * 0.33),
            (x + size * 0.2, line - size * 0.18),
        ],
        pale,
    )
    for window in range(3):
        brush.box(x - size * (0.12 - window * 0.09), line - size * 0.29, size * 0.05, size * 0.06, dark)
    brush.line([(x, line - size * 0.33), (x + size * 0.02, line - size * 0.78)], dark, size * 0.014)
    for man in (-0.36, -0.29, 0.30):
        brush.box(x + size * man, line - size * 0.30, size * 0.04, size * 0.13, (0.25, 0.25, 0.25))
        brush.disc(x + size * (man + 0.02), line - size * 0.32, size * 0.022, (0.62, 0.62, 0.62))


def deep_water(width: int = 1600, height: int = 480) -> Image.Image:
    """Dark open water, a background for white text."""
    scene = Scene(width, height, 105, 0.16)
    scene.sky((0.07, 0.14, 0.22), (0.20, 0.30, 0.38), Light(0.75, 0.1, (0.50, 0.58, 0.62), 0.4, 0.4))
    scene.sea(Water((0.14, 0.25, 0.33), (0.03, 0.09, 0.15), 0.10), Light(0.75, 0.1, (0.55, 0.66, 0.72), 0.2))
    return scene.finish(0.012, 0.3)


def busan(width: int = 900, height: int = 560) -> Image.Image:
    """The skyline and the bridge of the sister port at dusk."""
    scene = Scene(width, height, 82, 0.60)
    scene.sky((0.10, 0.13, 0.30), (0.86, 0.52, 0.46), Light(0.25, 0.56, (1.0, 0.74, 0.52), 0.4, 0.3))
    scene.clouds(0.4, (0.86, 0.54, 0.50), (0.24, 0.20, 0.34))
    scene.ridge(0.602, 0.26, (0.16, 0.14, 0.22), rough=0.4)
    scene.sea(Water((0.52, 0.38, 0.42), (0.07, 0.09, 0.18), 0.07))
    scene.draw(lambda brush: _towers(brush, scene))
    scene.draw(_bridge)
    scene.reflect(0.605, 0.6, 0.022)
    return scene.finish(0.02, 0.3)


def _towers(brush: Brush, scene: Scene) -> None:
    for index in range(26):
        x, tall, wide = (
            0.40 + index * 0.022,
            0.08 + 0.26 * scene.rng.random() ** 1.6,
            0.016 + 0.012 * scene.rng.random(),
        )
        brush.box(x, 0.605 - tall, wide, tall, (0.13, 0.14, 0.22))
        for row in range(int(tall / 0.014)):
            for column in range(3):
                if scene.rng.random() < 0.45:
                    brush.box(
                        x + wide * (0.14 + column * 0.28),
                        0.600 - tall + row * 0.014,
                        wide * 0.16,
                        0.007,
                        (1.0, 0.83, 0.52),
                    )


def _bridge(brush: Brush) -> None:
    grey: Colour = (0.82, 0.80, 0.84)
    brush.box(0, 0.548, 1, 0.010, (0.30, 0.30, 0.38))
    for tower in (0.12, 0.44):
        brush.box(tower - 0.005, 0.36, 0.010, 0.245, grey)
    curve = [(0.12 + 0.32 * step / 40, 0.36 + 0.165 * (1 - (step / 20 - 1) ** 2)) for step in range(41)]
    brush.line(curve, grey, 0.003)
    brush.line([(-0.06, 0.55), (0.12, 0.36)], grey, 0.003)
    brush.line([(0.44, 0.36), (0.64, 0.55)], grey, 0.003)
    for x, y in curve[::2]:
        brush.line([(x, y), (x, 0.55)], grey, 0.0009)
    for step in range(50):
        brush.disc(step * 0.0204, 0.546, 0.0016, (1.0, 0.90, 0.66))
