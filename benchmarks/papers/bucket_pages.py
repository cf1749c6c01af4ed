"""Pages that stand for the buckets of Table 2 of Krishnamurthy and others 2003, and what adaptc's levels make of them.

The text of the paper has the limits of the buckets, not the sizes of its 44 pages. Here a bucket is one page with a
size inside its limits: with these sizes, of four for each, the rows "para-1.0" and "baseonly" of Tables 4 to 8 come out
nearest. Containers are words, objects are JPEG images that differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import adaptc
from adaptc.report.manifest import read_manifest
from adaptc.serve.capacity.rungs import PAGE_SHARES, SIZES

# Bytes of the container, number of objects, bytes of all objects
CONTAINER = dict(zip(SIZES, (2_000, 13_000, 31_000), strict=True))
OBJECTS = dict(zip(SIZES, (6, 15, 32), strict=True))
EMBEDDED = dict(zip(SIZES, (6_000, 50_000, 100_000), strict=True))
Load = tuple[str, tuple[str, ...]]  # the paths of a page's container and of its objects
LEVELS = ("full", "halfobject", "halfres", "baseonly", "bundle")


@dataclass(frozen=True, slots=True)
class BucketPage:
    """The bytes of a page's container and of its objects."""

    container: int
    objects: tuple[int, ...]


def page_of(bucket: str) -> BucketPage:
    """Return the page of a bucket such as ``M-L-L``: container, number of objects, bytes of these."""
    container, objects, embedded = bucket.split("-")
    count = OBJECTS[objects]
    return BucketPage(CONTAINER[container], (EMBEDDED[embedded] // count,) * count)


def table_2() -> Iterator[tuple[str, int]]:
    """Yield the buckets, named as Tables 4 to 8 name them, with their percentage of popular pages."""
    for (objects, embedded, container), share in PAGE_SHARES.items():
        yield f"{container}-{objects}-{embedded}", share


def stream(count: int, seed: int) -> list[str]:
    """Return the buckets of a stream of pages in the proportions of Table 2."""
    shares = dict(table_2())
    return random.Random(seed).choices(list(shares), list(shares.values()), k=count)


def paths_of(bucket: str) -> Load:
    """Return the page of a bucket and its objects, as paths on a server."""
    return f"/{bucket}.html", tuple(f"/{bucket}-{number}.jpg" for number in range(len(page_of(bucket).objects)))


def size_of(path: str) -> int:
    """Return the bytes of one of ``paths_of``."""
    name = path.removeprefix("/").removesuffix(".jpg").removesuffix(".html")
    page = page_of(name[:5])
    return page.container if path.endswith(".html") else page.objects[int(name[6:])]


def write_site(docroot: Path, buckets: list[str]) -> None:
    """Write the page of each bucket with its images."""
    for bucket in buckets:
        page, images = page_of(bucket), []
        for number, octets in enumerate(page.objects):
            side, image = _image(octets, random.Random(f"{bucket} {number}"))
            name = f"{bucket}/{number}.jpg"
            (docroot / bucket).mkdir(parents=True, exist_ok=True)
            (docroot / name).write_bytes(image)
            images.append(f'<img src="{name}" width={side} height={side} alt="image {number}">\n')
        head = f"<!DOCTYPE html><html lang=en><title>{bucket}</title>\n{''.join(images)}<p>"
        (docroot / f"{bucket}.html").write_text(head + _words(page.container - len(head), random.Random(bucket)))


def _words(octets: int, chance: random.Random) -> str:
    vocabulary = ["".join(chance.choices("etaoinshrdlucmfw", k=chance.randrange(2, 9))) for _ in range(600)]
    text = ""
    while len(text) < octets:
        text += chance.choice(vocabulary) + " "
    return text[: max(0, octets)]


def _image(octets: int, chance: random.Random) -> tuple[int, bytes]:
    """Return the side and bytes of a square JPEG image that is about so large."""
    from PIL import Image, ImageFilter

    side, image = 8, b""
    while len(image) < octets:
        side += 8
        noise = Image.frombytes("RGB", (side, side), chance.randbytes(side * side * 3))
        buffer = BytesIO()
        noise.filter(ImageFilter.GaussianBlur(2)).save(buffer, "JPEG", quality=85)
        image = buffer.getvalue()
    return side, image


def build_pages(folder: Path, buckets: list[str]) -> dict[str, dict[str, Load]]:
    """Build the pages; return what each action loads, by bucket and action, as paths below ``folder``.

    ``folder/site`` is the docroot, ``folder/opt`` has the levels.
    """
    docroot, output = folder / "site", folder / "opt"
    write_site(docroot, buckets)
    settings = {"docroot": docroot, "output": output, "build.effort": "fast", "build.levels": LEVELS}
    adaptc.build(adaptc.load_config(None, settings))
    rows = read_manifest(output).values["resources"]
    pages = {row["path"]: row for row in rows}
    return {bucket: _actions(folder, pages[f"{bucket}.html"], rows) for bucket in buckets}


def _actions(folder: Path, page: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Load]:
    def at(level: str, path: str, coding: str = "id") -> str:
        built = f"opt/{level}/{coding}/{path}"
        return built if (folder / built).exists() else f"site/{path}"

    def load(level: str, coding: str = "id") -> Load:
        row = page["levels"][level]
        references = row.get("references", page.get("references", ()))
        paths = [*(rows[number]["path"] for number in references), *row.get("extras", ())]
        return at(level, page["path"], coding), tuple(at(level, path) for path in paths)

    bundle = f"{page['path']}.bundle"
    return {
        **dict.fromkeys(("para-1.0", "serial-1.1", "pipe-1.1"), load("full")),
        "compress": load("full", "gz"),
        "bundle": (at("bundle", bundle), ()),
        "bundle.gz": (at("bundle", bundle, "gz"), ()),
        **{level: load(level) for level in ("baseonly", "halfobject", "halfres")},
    }
