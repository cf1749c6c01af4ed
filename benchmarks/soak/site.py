"""A site in versions, and what clean builds of them give: the truth that every other build is compared with."""

from __future__ import annotations

import hashlib
import io
import os
import random
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image

import adaptc
from adaptc.config.config import Config
from adaptc.core.model import CODINGS
from adaptc.formats.codings import CodingError, decode
from adaptc.workflow.configuration import load_config

PAGES = 36
WORDS = ("sea", "calm", "tonight", "tide", "full", "moon", "fair", "straits", "coast", "light", "gleams", "cliffs")
SETTINGS = (
    '[build]\nlevels = ["full", "lossless"]\neffort = "fast"\n',
    '[build]\nlevels = ["full", "lossless", "moderate", "extreme"]\neffort = "fast"\n',
    '[build]\nlevels = ["lossless", "text"]\neffort = "fast"\n[serve]\nfreshness = "strict"\n',
)
# Directories of an output that are no trees: configuration, state of daemons, and empty files whose times count
_OTHERS = ("run", "serve", "times")


@dataclass(frozen=True, slots=True)
class Version:
    """Which pages, shared files and settings a site has: each a number."""

    pages: int
    assets: int
    settings: int

    @property
    def name(self) -> str:
        """Return the name of its directory."""
        return f"{self.pages}-{self.assets}-{self.settings}"


def draw(chosen: random.Random) -> Version:
    """Return a version by lot."""
    return Version(chosen.randrange(3), chosen.randrange(3), chosen.randrange(len(SETTINGS)))


def text(seed: object, count: int) -> str:
    """Return words by lot."""
    chosen = random.Random(str(seed))
    return " ".join(chosen.choice(WORDS) + str(chosen.randrange(100)) for _ in range(count))


@cache
def files(pages: int, assets: int) -> dict[str, bytes]:
    """Return the docroot of a version: every third page differs, a page and a directory come and go."""
    numbers = range(PAGES if pages != 2 else PAGES - 6)
    site = {f"p{number // 6}/{number}.html": _page(number, pages if number % 3 == 0 else 0) for number in numbers}
    if pages == 1:
        site["new.html"] = _page("new", 1)
    links = "".join(f"<p><a href={path}>{path}</a>\n" for path in sorted(site))
    site["index.html"] = f"<!DOCTYPE html>\n<html lang=en><title>index</title>\n{links}".encode()
    return site | _assets(assets)


def _page(number: object, version: int) -> bytes:
    return (
        f'<!DOCTYPE html>\n<html lang=en><head><title>{number}</title>\n<link rel="stylesheet" href="/one.css">\n'
        '<script src="/app.js"></script></head>\n<body>\n<img src="/logo.svg" alt="">'
        '<img src="/photo.png" alt="A photo">'
        f"\n<p>  {text((number, version), 300)}\n</body></html>\n"
    ).encode()


def _assets(version: int) -> dict[str, bytes]:
    pixels = random.Random(version).randbytes(3 * 96 * 64)
    stream = io.BytesIO()
    Image.frombytes("RGB", (96, 64), pixels).resize((384, 256)).save(stream, "PNG")
    return {
        "one.css": f".a  {{ width : {version}px }}\n.b {{ background: url(photo.png) }}\n".encode() * 3,
        "app.js": f"// version\nvar version = {version} ;\n".encode(),
        "logo.svg": f'<svg xmlns="http://www.w3.org/2000/svg"> <path d="M 0 0 L {version} 9"/> </svg>\n'.encode(),
        "photo.png": stream.getvalue(),
        "app.webmanifest": f'{{ "name" : "{version}" }}\n'.encode(),
        "same.bin": bytes(range(256)) * 20,
    }


def write(docroot: Path, wanted: dict[str, bytes]) -> Iterator[str]:
    """Bring a docroot to a version, one file after the other; yield each path. Equal files have equal times."""
    for path in sorted(path for path in below(docroot) if path not in wanted):
        (docroot / path).unlink()
        yield path
    for path, content in wanted.items():
        file = docroot / path
        if file.exists() and file.read_bytes() == content:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{file.name}.new")
        new.write_bytes(content)
        at = 1_600_000_000 + zlib.crc32(content) % 10_000_000
        os.utime(new, (at, at))
        os.replace(new, file)
        yield path


def below(root: Path) -> Iterator[str]:
    """Yield the paths of files and links below ``root``, but for the private directory."""
    for directory, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name != ".adaptc")
        links = [name for name in inner if os.path.islink(os.path.join(directory, name))]
        yield from (os.path.relpath(os.path.join(directory, name), root) for name in sorted([*names, *links]))


@dataclass(frozen=True)
class Place:
    """A directory with a docroot, its settings and its output."""

    root: Path

    @property
    def docroot(self) -> Path:
        """The site."""
        return self.root / "site"

    @property
    def output(self) -> Path:
        """The trees."""
        return self.root / "opt"

    @property
    def settings(self) -> Path:
        """The configuration."""
        return self.root / "adaptc.toml"

    def write(self, version: Version) -> None:
        """Bring docroot and settings to a version."""
        self.settings.write_text(SETTINGS[version.settings])
        for _ in write(self.docroot, files(version.pages, version.assets)):
            pass

    def config(self) -> Config:
        """Return the configuration of a build in this process."""
        places = {"docroot": str(self.docroot), "output": str(self.output), "build.jobs": 1}
        return load_config(self.settings, places)

    def trees(self) -> dict[str, str]:
        """Return the digest of each file of trees and documents by path; links as "-> target"."""
        paths = (path for path in below(self.output) if path.split("/")[0] not in _OTHERS)
        return {path: _digest(self.output / path) for path in paths}


def _digest(file: Path) -> str:
    if file.is_symlink():
        return f"-> {os.readlink(file)}"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def decoded(path: str, content: bytes) -> bytes | None:
    """Return what a file of the trees stands for, None where its coding is broken; ``path`` is LEVEL/CODING/..."""
    coding = path.split("/")[1]
    try:
        return decode(content, coding, None) if coding in CODINGS else content  # type: ignore[arg-type]
    except CodingError:
        return None


def plain_name(path: str) -> str:
    """Return the name of a representation without its content coding."""
    level, coding, rest = path.split("/", 2)
    return f"{level}/{'id' if coding in CODINGS else coding}/{rest}"


def is_representation(path: str) -> bool:
    """Whether a path of an output is a file of a tree."""
    return path.count("/") > 1 and path.split("/")[0] not in _OTHERS


@dataclass
class Truth:
    """Clean builds of versions, made when they are needed and kept below ``root``."""

    root: Path
    _trees: dict[Version, dict[str, str]] = field(default_factory=dict)
    _contents: dict[Version, dict[str, set[str]]] = field(default_factory=dict)

    def place(self, version: Version) -> Place:
        """Return the directory of a clean build."""
        place = Place(self.root / version.name)
        if not (place.root / "complete").exists():
            shutil.rmtree(place.root, ignore_errors=True)
            place.docroot.mkdir(parents=True)
            place.write(version)
            adaptc.build(place.config())
            (place.root / "complete").touch()
        return place

    def copy(self, version: Version, target: Place) -> None:
        """Make ``target`` the state after a clean build."""
        shutil.rmtree(target.root, ignore_errors=True)
        target.root.mkdir(parents=True)
        subprocess.run(["cp", "-a", *self.place(version).root.glob("*"), target.root], check=True)

    def trees(self, version: Version) -> dict[str, str]:
        """Return what ``Place.trees`` gives after a clean build."""
        if version not in self._trees:
            self._trees[version] = self.place(version).trees()
        return self._trees[version]

    def contents(self, version: Version) -> dict[str, set[str]]:
        """Return the digests of decoded representations by their plain names."""
        if version not in self._contents:
            self._contents[version] = dict(decoded_digests(self.place(version).output))
        return self._contents[version]

    def allowed(self, versions: Iterable[Version]) -> dict[str, set[str]]:
        """Return the digests that any of these versions gives."""
        merged: dict[str, set[str]] = {}
        for version in versions:
            for name, digests in self.contents(version).items():
                merged.setdefault(name, set()).update(digests)
        return merged


def decoded_digests(output: Path) -> dict[str, set[str]]:
    """Return the digests of decoded representations in an output by their plain names; "torn" is one that is broken."""
    digests: dict[str, set[str]] = {}
    for path in filter(is_representation, below(output)):
        content = decoded(path, (output / path).read_bytes())
        digest = "torn" if content is None else hashlib.sha256(content).hexdigest()
        digests.setdefault(plain_name(path), set()).add(digest)
    return digests
