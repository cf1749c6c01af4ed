"""Random documents: fragments in any order and nesting, and good files with bytes changed, cut and repeated."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Sequence

from PIL import Image

from .fragments import CSS, DIRECTIVES, HTML, JSON, NAMES, SCRIPT, SVG

_KINDS = ("html", "html", "html", "html", "css", "css", "svg", "js", "image", "image", "json", "htaccess", "text")
_FORMATS = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "webp": "WEBP", "ico": "ICO", "bmp": "BMP", "avif": "AVIF"}
_TEXT_EXTENSIONS = ("txt", "xml", "md", "mht", "vcf", "csv", "xhtml", "htm", "")
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "shift_jis", "utf-7", "windows-1251")


def fuzzed_site(chosen: random.Random, count: int) -> dict[str, bytes]:
    """Return ``count`` documents by path; their links lead to each other."""
    site: dict[str, bytes] = {}
    while len(site) < count:
        kind = chosen.choice(_KINDS)
        path = _path(chosen, kind)
        if not any(_clash(path, other) for other in site):
            site[path] = b""
    for path in site:
        site[path] = _document(chosen, path, list(site))
    return site


def _clash(path: str, other: str) -> bool:
    return path == other or path.startswith(other + "/") or other.startswith(path + "/")


def _path(chosen: random.Random, kind: str) -> str:
    directory = "".join(f"{chosen.choice('abc')}/" for _ in range(chosen.randrange(3)))
    if kind == "htaccess":
        return f"x/{directory}.htaccess"
    name = chosen.choice(NAMES) + str(chosen.randrange(1000)) if chosen.random() < 0.2 else f"f{chosen.randrange(1000)}"
    extension = {"image": chosen.choice([*_FORMATS]), "text": chosen.choice(_TEXT_EXTENSIONS), "json": "webmanifest"}
    return f"{directory}{name}.{extension.get(kind, kind)}"


def _document(chosen: random.Random, path: str, paths: Sequence[str]) -> bytes:
    extension = path.rpartition(".")[2]
    if extension in _FORMATS:
        return _mutated(chosen, _image(chosen, _FORMATS[extension]))
    fragments = {"css": CSS, "svg": SVG, "js": SCRIPT, "webmanifest": JSON, "htaccess": DIRECTIVES}.get(extension, HTML)
    text = _fill(chosen, _nested(chosen, fragments, chosen.randrange(1, 60)), paths)
    content = text.encode(chosen.choice(_ENCODINGS), "replace")
    return _mutated(chosen, content) if chosen.random() < 0.3 else content


def _nested(chosen: random.Random, fragments: Sequence[str], count: int) -> str:
    """Return fragments in a row; @ in one is a place for others."""
    text = "".join(chosen.choice(fragments) + chosen.choice(("", "\n", " ")) for _ in range(count))
    for _ in range(6):
        if "@@" not in text:
            break
        parts = text.split("@@")
        text = parts[0] + "".join(_inner(chosen, fragments) + part for part in parts[1:])
        text = text[:200_000]
    return text.replace("@@", "")


def _inner(chosen: random.Random, fragments: Sequence[str]) -> str:
    return "".join(chosen.choice(fragments) for _ in range(chosen.randrange(3)))


def _fill(chosen: random.Random, text: str, paths: Sequence[str]) -> str:
    """Put random links for $L, numbers for $N, words for $W and long texts for $T."""
    makers: dict[str, Callable[[], str]] = {
        "$L": lambda: _link(chosen, paths),
        "$N": lambda: str(chosen.choice((0, 1, -1, 7, 99, 1e308, 65536, 2**31, 2**64, "NaN", ""))),
        "$W": lambda: chosen.choice(
            ("a", "main", "ad-banner", "hidden", "É", "\0", "<", "'", '"', "&amp", "\u202e", "")
        ),
        "$T": lambda: chosen.choice(("lorem ipsum " * 40, "x" * 3000, " ", "\t\n\f\r", "&lt;&#0;&#x110000;&notit;")),
    }
    for mark, make in makers.items():
        parts = text.split(mark)
        text = parts[0] + "".join(make() + part for part in parts[1:])
    return text


def _link(chosen: random.Random, paths: Sequence[str]) -> str:
    path = os.fsencode(chosen.choice(paths)).decode("utf-8", "replace")
    dressing = ("{}", "/{}", "./{}", "../{}", "{}#top", "{}?q=1&a", " {} ", "//host/{}", "{}#", "%2e/{}")
    special = (
        "",
        "#",
        "?",
        "data:,x",
        "data:image/png;base64,AAAA",
        "javascript:void 0",
        "http://[",
        "//",
        "\\a",
        "a:b",
    )
    return chosen.choice(dressing).format(path) if chosen.random() < 0.8 else chosen.choice(special)


def _image(chosen: random.Random, name: str) -> bytes:
    width, height = chosen.choice((1, 2, 16, 33, 120)), chosen.choice((1, 3, 16, 90))
    mode = chosen.choice(("RGB", "RGBA", "L", "P", "1"))
    image = Image.frombytes("RGB", (width, height), chosen.randbytes(3 * width * height)).convert(mode)
    if name in ("JPEG", "AVIF") or (name == "BMP" and mode == "RGBA"):
        image = image.convert("RGB")
    stream = io.BytesIO()
    more = {"save_all": True, "append_images": [image.rotate(90)]} if name in ("GIF", "WEBP", "PNG") else {}
    image.save(stream, name, **(more if chosen.random() < 0.3 else {}))
    return stream.getvalue()


def _mutated(chosen: random.Random, content: bytes) -> bytes:
    """Return the content with some bytes changed, a part cut, repeated or moved; or as it is."""
    changed = bytearray(content)
    for _ in range(chosen.choice((0, 1, 1, 2, 8))):
        at, size = chosen.randrange(len(changed) + 1), chosen.choice((1, 2, 4, 16, 256))
        match chosen.randrange(5):
            case 0:
                changed[at : at + size] = chosen.randbytes(min(size, len(changed) - at))
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size] * chosen.choice((1, 2, 50))
            case 3:
                del changed[at:]
            case 4:
                changed[at : at + 4] = chosen.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
    return bytes(changed)
