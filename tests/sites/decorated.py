"""Small sites in memory for the tests of the classifier of images."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping

from PIL import Image

from tests.sites.memory import MemoryTree

from adaptc.compile.analyse.decorations.evidence import UseEvidence
from adaptc.compile.analyse.decorations.image_rules import sheet_images
from adaptc.compile.analyse.decorations.labels import ImageLabel, classify_site
from adaptc.compile.analyse.decorations.page_images import page_uses
from adaptc.compile.analyse.decorations.rules import load_decoration_rules
from adaptc.config.toml import parse_toml
from adaptc.core import media
from adaptc.core.urls import SiteAddress
from adaptc.formats.html.document import parse
from adaptc.site.site import Site, SiteTarget, Source


def flat(width: int, height: int) -> bytes:
    """A PNG of one colour."""
    return png(Image.new("RGB", (width, height), "navy"))


def photo(width: int, height: int) -> bytes:
    """A PNG with as many colours and as much entropy as a photograph."""
    chance = random.Random(1)
    small = Image.frombytes("RGB", (64, 64), bytes(chance.randrange(256) for _ in range(64 * 64 * 3)))
    return png(small.resize((width, height), Image.Resampling.NEAREST))


def shape(width: int, height: int) -> bytes:
    """A PNG of a shape in one colour on a transparent ground."""
    image = Image.new("RGBA", (width, height))
    image.paste((255, 255, 255, 255), (width // 8, height // 8, 7 * width // 8, 7 * height // 8))
    return png(image)


def png(image: Image.Image) -> bytes:
    output = io.BytesIO()
    image.save(output, "PNG")
    return output.getvalue()


def site_of(files: Mapping[str, bytes]) -> Site:
    sources = {path: Source("", len(files[path]), media.by_name(path) or media.BINARY) for path in sorted(files)}
    return Site.of(sources, SiteAddress(), ("index.html",))


def classified(
    files: Mapping[str, bytes | str], rules: str = "", levels: tuple[str, ...] = (), pages: list[str] | None = None
) -> list[ImageLabel]:
    """Classify the images of a site; ``rules`` is TOML over the rules that ship."""
    content = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    own = load_decoration_rules(parse_toml(rules, "own.toml"))
    return list(classify_site(MemoryTree(content), site_of(content), own, pages, levels))


def labels(files: Mapping[str, bytes | str], rules: str = "", levels: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the label of each reference of the site's pages."""
    return {use.ref: use.label.value for use in classified(files, rules, levels)}


class UrlResolver:
    """Where URLs lead in a site."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def url_of(self, path: str) -> str:
        return self.site.address.url_of(path)

    def follow(self, base: str, reference: str) -> SiteTarget:
        return self.site.follow(base, reference)


def uses(html: str, path: str = "index.html", **files: str) -> list[UseEvidence]:
    """Return the uses of a page of a site with some images, and with the sheets ``NAME.css`` of ``files``."""
    sheets = {f"{name}.css": text for name, text in files.items()}
    images = ("a.png", "b.png", "c.png", "d/a.png", "v.svg")
    site = site_of(dict.fromkeys(("index.html", "other.html", path, *images, *sheets), b""))
    rules = load_decoration_rules()
    return page_uses(parse(html), path, UrlResolver(site), lambda sheet: sheet_images(sheets[sheet]), rules)
