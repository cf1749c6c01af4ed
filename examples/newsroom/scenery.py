"""Procedural photographs: sky, clouds, sea, hills, boats and film grain from seeded noise.

Every picture is a float array of shape (height, width, 3) of display values from 0 to 1, with row 0 at the
top. Nothing is read from a file or a clock: one seed gives one picture. The sea and the clouds are planes
seen in perspective: a row at the fraction t below (above) the horizon lies at the distance
1 / (t + a little), which is what makes flat noise look like water.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Pixels = NDArray[np.floating]
Colour = tuple[float, float, float]
Points = list[tuple[float, float]]

TEXTURE = 512
SUPERSAMPLING = 3


@dataclass(frozen=True, slots=True)
class Light:
    """Where the sun stands (fractions of the picture) and what colour it has."""

    x: float = 0.5
    y: float = 0.3
    colour: Colour = (1.0, 0.95, 0.85)
    strength: float = 0.3
    spread: float = 0.2


@dataclass(frozen=True, slots=True)
class Water:
    """A sea: `far` and `near` colours, height of the waves, and the share of whitecaps (0 to 1)."""

    far: Colour
    near: Colour
    waves: float = 0.10
    caps: float = 0.0
    scale: float = 1.0


def smoothstep(low: float, high: float, values: Pixels) -> Pixels:
    """Hermite step from 0 at `low` to 1 at `high`."""
    t = np.clip((values - low) / (high - low), 0.0, 1.0)
    return np.asarray(t * t * (3 - 2 * t), dtype=np.float32)


def mix(first: Pixels | Colour, second: Pixels | Colour, share: Pixels | float) -> Pixels:
    """`first` where `share` is 0, `second` where it is 1; a (height, width) share serves all channels."""
    weight = np.asarray(share, dtype=np.float32)
    if weight.ndim == 2:
        weight = weight[..., None]
    result = np.asarray(first, np.float32) * (1 - weight) + np.asarray(second, np.float32) * weight
    return np.asarray(result, dtype=np.float32)


def texture(rng: np.random.Generator, octaves: int = 6, first: int = 4, gain: float = 0.55) -> Pixels:
    """Fractal noise that repeats at its edges, TEXTURE pixels square, between 0 and 1."""
    total = np.zeros((TEXTURE, TEXTURE), np.float32)
    for octave in range(octaves):
        cells = min(first << octave, TEXTURE)
        grid = np.pad(rng.random((cells, cells)).astype(np.float32), 2, mode="wrap")
        edge = 2 * TEXTURE // cells
        enlarged = Image.fromarray(grid).resize((TEXTURE + 2 * edge,) * 2, Image.Resampling.BICUBIC)
        total += np.asarray(enlarged)[edge : edge + TEXTURE, edge : edge + TEXTURE] * gain**octave
    return np.asarray((total - total.min()) / (total.max() - total.min()), dtype=np.float32)


def sample(noise: Pixels, x: Pixels, y: Pixels) -> Pixels:
    """Bilinear look-up in a repeating texture; `x` and `y` count texture widths."""
    x, y = x * TEXTURE, y * TEXTURE
    left, top = np.floor(x), np.floor(y)
    fx, fy = x - left, y - top
    i0, j0 = left.astype(int) % TEXTURE, top.astype(int) % TEXTURE
    i1, j1 = (i0 + 1) % TEXTURE, (j0 + 1) % TEXTURE
    upper = noise[j0, i0] * (1 - fx) + noise[j0, i1] * fx
    lower = noise[j1, i0] * (1 - fx) + noise[j1, i1] * fx
    return np.asarray(upper * (1 - fy) + lower * fy, dtype=np.float32)


class Scene:
    """A picture in the making; each method paints over what is there, in the order of a painter."""

    def __init__(self, width: int, height: int, seed: int, horizon: float) -> None:
        """Start with a black picture; `horizon` is a fraction of the height."""
        self.width, self.height = width, height
        self.rng = np.random.default_rng(seed)
        self.horizon = int(height * horizon)
        self.pixels: Pixels = np.zeros((height, width, 3), np.float32)
        rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
        self.u: Pixels = columns / width
        self.v: Pixels = rows / height
        self.aspect = width / height

    def _plain(self, colour: Colour) -> Pixels:
        return np.broadcast_to(np.array(colour, np.float32), self.pixels.shape)

    def sky(self, zenith: Colour, low: Colour, light: Light | None = None) -> None:
        """A gradient from `zenith` down to `low`, with a glow and a disc where the sun is."""
        t = np.clip(self.v * self.height / max(self.horizon, 1), 0, 1)
        self.pixels = mix(self._plain(zenith), low, t**1.4)
        if light is None:
            return
        distance = np.hypot((self.u - light.x) * self.aspect, self.v - light.y)
        glow = np.exp(-((distance / light.spread) ** 1.2)) * light.strength
        disc = smoothstep(0.032, 0.024, distance) * light.strength
        self.pixels = mix(self.pixels, light.colour, np.clip(glow + disc, 0, 1))

    def clouds(self, cover: float, lit: Colour, shade: Colour, scale: float = 0.22) -> None:
        """Clouds on a plane overhead; `cover` from 0 (clear) to 1 (overcast)."""
        noise = texture(self.rng)
        t = np.clip(1 - self.v * self.height / max(self.horizon, 1), 0, 1)
        depth = 1 / (t + 0.22)
        x, y = (self.u - 0.5) * depth * self.aspect * scale, depth * scale
        here, towards_sun = sample(noise, x, y), sample(noise, x + 0.006, y + 0.014)
        edge = 0.74 - 0.52 * cover
        body = smoothstep(edge, edge + 0.22, here) * smoothstep(0.0, 0.10, t)
        brightness = np.clip(0.62 + (here - towards_sun) * 6 - (here - edge) * 0.7, 0, 1)
        self.pixels = mix(self.pixels, mix(self._plain(shade), lit, brightness), body)

    def ridge(
        self,
        base: float,
        rise: float,
        colour: Colour,
        *,
        rough: float = 1.0,
        shape: str = "",
        top: float = 0.0,
    ) -> None:
        """A range of hills; `base` is the height of its foot and `rise` that of its tops, as fractions."""
        noise = texture(self.rng, octaves=8, first=2, gain=0.5)
        line = sample(noise, self.u[0] * 0.55, np.full(self.width, self.rng.random(), np.float32))
        profile = {"": 1.0, "right": self.u[0] ** 1.3 * 1.6, "left": (1 - self.u[0]) ** 1.3 * 1.6}[shape]
        crest = base - rise * np.clip(line * profile - top, 0, 2)
        inside = smoothstep(-0.0015, 0.0015, self.v - crest[None, :]) * (self.v <= base)
        grain = sample(texture(self.rng, first=16, gain=0.75), self.u * 1.6, self.v * 1.9)
        shaded = np.array(colour, np.float32) * (0.72 + 0.62 * rough * (grain[..., None] - 0.22))
        haze = np.clip((self.v - crest[None, :]) / max(rise, 0.01), 0, 1) * 0.25
        self.pixels = mix(self.pixels, mix(shaded, self.pixels, haze), inside)

    def sea(self, water: Water, light: Light | None = None, top: int | None = None) -> None:
        """Water from row `top` (the horizon) down to the lower edge, with glitter and whitecaps."""
        start = self.horizon if top is None else top
        t = np.clip((self.v * self.height - start) / (self.height - start), 0, 1)
        depth = 1 / (t + 0.035)
        noise = texture(self.rng, octaves=7, first=8, gain=0.66)
        x, y = (self.u - 0.5) * depth * self.aspect * 0.16 * water.scale, depth * 0.55 * water.scale
        swell, ripple = sample(noise, x, y), sample(noise, x * 3.1 + 0.37, y * 2.7)
        slope = (swell - sample(noise, x, y + 0.008)) * 5 + (ripple - 0.5) * 0.9
        body = mix(self._plain(water.far), water.near, np.sqrt(t))
        body = body + (slope * water.waves * (0.3 + 0.7 * t))[..., None] * np.array(
            (0.9, 1.0, 1.05), np.float32
        )
        body = self._glitter(body, light, ripple, slope)
        foam = smoothstep(0.78 - 0.3 * water.caps, 0.92 - 0.3 * water.caps, swell * 0.7 + ripple * 0.4)
        body = mix(body, (0.86, 0.89, 0.89), foam * (0.85 if water.caps else 0.0) * smoothstep(0.0, 0.2, t))
        self.pixels = mix(
            self.pixels, np.asarray(body, np.float32), (self.v * self.height >= start).astype(np.float32)
        )

    def _glitter(self, body: Pixels, light: Light | None, ripple: Pixels, slope: Pixels) -> Pixels:
        if light is None:
            return body
        column = np.exp(-(((self.u - light.x) / (0.05 + 0.25 * self.v**3)) ** 2))
        sparks = smoothstep(0.50, 0.72, ripple + slope * 0.25)
        return mix(body, light.colour, np.clip(column * (sparks * 0.95 + 0.12) * light.strength * 2, 0, 1))

    def draw(self, paint: Callable[[Brush], None], opacity: float = 1.0) -> None:
        """Let `paint` draw solid shapes in fractions of the picture, smoothed by supersampling."""
        brush = Brush(self.width, self.height)
        paint(brush)
        layer = brush.flattened()
        self.pixels = mix(self.pixels, layer[..., :3], layer[..., 3] * opacity)

    def reflect(self, line: float, strength: float = 0.55, wobble: float = 0.012) -> None:
        """Mirror what stands above `line` in the water below it, broken by ripples."""
        row = int(line * self.height)
        t = np.clip((self.v - line) / (1 - line), 0, 1)
        noise = sample(texture(self.rng, first=8, gain=0.6), self.u * 0.8, 0.5 / (t + 0.06)) - 0.5
        source_row = 2 * row - self.v * self.height - 1 + noise * wobble * self.height * (0.3 + 3 * t)
        source_column = self.u * self.width + noise * wobble * 1.4 * self.width * (0.2 + 2 * t)
        rows = np.clip(source_row, 0, row - 1).astype(int)
        columns = np.clip(source_column, 0, self.width - 1).astype(int)
        mirrored = self.pixels[rows, columns]
        share = strength * (1 - 0.55 * t) * (self.v >= line) * (source_row >= 0)
        self.pixels = mix(self.pixels, mirrored, share.astype(np.float32))

    def mist(self, colour: Colour, line: float, depth: float, strength: float) -> None:
        """A bank of fog around the row `line`, `depth` thick (fractions)."""
        noise = sample(texture(self.rng, octaves=4, first=2), self.u * 0.5, self.v * 1.5)
        bank = np.exp(-(((self.v - line) / depth) ** 2)) * strength * (0.6 + 0.7 * noise)
        self.pixels = mix(self.pixels, colour, np.clip(bank, 0, 1))

    def spray(self, x: float, y: float, size: float) -> None:
        """The fan of white water where a wave meets a wall."""
        noise = texture(self.rng, octaves=8, first=8, gain=0.8)
        dx, dy = (self.u - x) * self.aspect / size, (y - self.v) / size
        drops = sample(noise, dx * 0.30 + 0.5, dy * 0.16) * 0.7 + sample(noise, dx * 1.3, dy * 0.9) * 0.5
        reach = np.hypot(dx * 1.1, np.maximum(dy - 0.1, 0) * 0.72)
        veil = np.clip(1 - reach + (drops - 0.6) * 2.2, 0, 1) * smoothstep(-0.22, 0.02, dy)
        self.pixels = mix(self.pixels, (0.86, 0.89, 0.90), np.clip(veil**1.3 * 1.1, 0, 0.93))

    def sand(self, top: float, dry: Colour, wet: Colour) -> None:
        """A beach below a wavering water line, with a strip of foam and wet sand."""
        noise = texture(self.rng)
        wave = sample(noise, self.u * 0.7, np.full_like(self.u, 0.3)) - 0.5
        edge = self.v - (top + 0.07 * wave + 0.10 * (self.u - 0.5))
        grain = sample(texture(self.rng, first=32, gain=0.85), self.u * 2.2, self.v * 1.5) - 0.5
        ground = mix(self._plain(wet), dry, smoothstep(0.03, 0.13, edge))
        ground = ground * (1 + 0.34 * grain[..., None])
        self.pixels = mix(self.pixels, ground, smoothstep(0.0, 0.008, edge))
        foam = np.exp(-((edge / 0.014) ** 2)) * smoothstep(0.25, 0.55, grain + 0.5)
        self.pixels = mix(self.pixels, (0.95, 0.96, 0.95), np.clip(foam, 0, 0.95))

    def finish(self, grain: float = 0.018, vignette: float = 0.28, contrast: float = 1.08) -> Image.Image:
        """What the lens and the film add: contrast, darker corners, grain; 8 bits a channel."""
        radius = np.hypot((self.u - 0.5) * 1.15, self.v - 0.5)
        picture = (self.pixels - 0.5) * contrast + 0.5
        picture = picture * (1 - vignette * smoothstep(0.35, 0.85, radius))[..., None]
        speckle = self.rng.normal(0, grain, (self.height, self.width, 1)).astype(np.float32)
        picture = picture + speckle * (0.6 + 0.8 * (1 - np.abs(picture * 2 - 1)))
        return Image.fromarray((np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))


class Brush:
    """Draws polygons, lines and discs in fractions of the picture's width and height."""

    def __init__(self, width: int, height: int) -> None:
        """Prepare a transparent sheet `SUPERSAMPLING` times the size of the picture."""
        self.size = (width, height)
        self.scale = (width * SUPERSAMPLING, height * SUPERSAMPLING)
        self.sheet = Image.new("RGBA", self.scale, (0, 0, 0, 0))
        self.pen = ImageDraw.Draw(self.sheet)

    def polygon(self, points: Points, colour: Colour) -> None:
        """A filled polygon."""
        self.pen.polygon([self._at(*point) for point in points], fill=_bytes(colour))

    def line(self, points: Points, colour: Colour, width: float = 0.0015) -> None:
        """A line, its width as a fraction of the picture's width."""
        thick = max(1, round(width * self.scale[0]))
        self.pen.line([self._at(*point) for point in points], fill=_bytes(colour), width=thick, joint="curve")

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A disc, its radius as a fraction of the picture's width."""
        (cx, cy), r = self._at(x, y), radius * self.scale[0]
        self.pen.ellipse((cx - r, cy - r, cx + r, cy + r), fill=_bytes(colour))

    def box(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """An upright rectangle with its upper left corner at (x, y)."""
        self.polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], colour)

    def flattened(self) -> Pixels:
        """The sheet at the picture's size: shape (height, width, 4), values from 0 to 1."""
        small = self.sheet.resize(self.size, Image.Resampling.BOX)
        return np.asarray(small, np.float32) / 255

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return x * self.scale[0], y * self.scale[1]


def _bytes(colour: Colour) -> tuple[int, int, int, int]:
    red, green, blue = (round(channel * 255) for channel in colour)
    return red, green, blue, 255
