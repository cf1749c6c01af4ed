"""Crawls that are killed: a first one, and one that asks for what changed."""

from __future__ import annotations

import hashlib
import random
import shutil
import zlib
from pathlib import Path

from tests.servers.crawl import Answer, Asked, serving

from .bench import Bench
from .ledger import Trial
from .process import finish, start
from .site import files

_OPTIONS = ("-nH", "-k", "--no-netrc", "--waitretry", "0", "-N", "--purge", "--purge-most", "100%", "--tries", "2")
_DELAY = 0.004  # seconds until a response
_COUNTS = (1, 1, 2)


def kill_crawl(bench: Bench, chosen: random.Random, trial: Trial) -> None:
    """Crawl a site, of which there may be an older mirror, kill that, judge, and crawl again."""
    before, now = ((chosen.randrange(3), chosen.randrange(3)) for _ in range(2))
    bench.clear()
    mirror = bench.place.root / "mirror"
    with serving({}) as server:
        if trial.kind == "recrawl":
            server.resources = _resources(*before)
            _complete(bench, server.base, mirror, trial)
        server.resources = _resources(*now)
        for _ in range(chosen.choice(_COUNTS)):
            bench.kill(_words(server.base, mirror), chosen, trial)
            trial.faults += _judge(bench, mirror, {before, now})
        _complete(bench, server.base, mirror, trial)
    if _digests(mirror) != _digests(_clean(bench, *now)):
        names = sorted({name for name, _ in _digests(mirror).items() ^ _digests(_clean(bench, *now)).items()})
        trial.faults.append(f"the next crawl differs from a clean one: {names[:5]}")


def _words(base: str, mirror: Path) -> list[object]:
    return ["crawl", "-q", f"{base}/", "-o", mirror, *_OPTIONS]


def _complete(bench: Bench, base: str, mirror: Path, trial: Trial) -> None:
    code = finish(start(_words(base, mirror), bench.log))
    if code != 0:
        trial.faults.append(f"the crawl ended with {code}: {bench.log.read_text(errors='replace')[-300:]!r}")


def _resources(pages: int, assets: int) -> dict[str, Answer]:
    site = files(pages, assets)
    named = {f"/{path}": _resource(f"/{path}", content) for path, content in site.items()}
    return {**named, "/": _resource("/index.html", site["index.html"]), "/robots.txt": Answer(b"", type="text/plain")}


def _resource(path: str, content: bytes) -> Answer:
    tag = f'"{zlib.crc32(content):x}"'
    fields = (("ETag", tag),)
    kind = "text/html" if path.endswith(".html") else "text/css" if path.endswith(".css") else None

    def decide(asked: Asked) -> Answer:
        if asked.fields.get("if-none-match") == tag:
            return Answer(b"", 304, fields, type=kind, delay=_DELAY)
        return Answer(content, 200, fields, type=kind, delay=_DELAY)

    return Answer(decide=decide)


def _clean(bench: Bench, pages: int, assets: int) -> Path:
    """Return the mirror of a version that a crawl made without being killed."""
    mirror = bench.root / "mirrors" / f"{pages}-{assets}"
    if not (mirror / "complete").exists():
        shutil.rmtree(mirror, ignore_errors=True)
        mirror.mkdir(parents=True)
        with serving({}) as server:
            server.resources = _resources(pages, assets)
            finish(start(_words(server.base, mirror / "mirror"), bench.log))
        (mirror / "complete").touch()
    return mirror / "mirror"


def _judge(bench: Bench, mirror: Path, versions: set[tuple[int, int]]) -> list[str]:
    """Each file of a mirror is one that was received, or that with its links converted."""
    allowed: dict[str, set[str]] = {}
    for version in versions:
        for name, digest in _digests(_clean(bench, *version)).items():
            allowed.setdefault(name, set()).add(digest)
        for name, content in files(*version).items():
            allowed.setdefault(name, set()).add(hashlib.sha256(content).hexdigest())
    found = {name: digest for name, digest in _digests(mirror).items() if not _is_temporary(name)}
    return [f"{name} of the mirror is torn" for name in found if found[name] not in allowed.get(name, set())][:5]


def _is_temporary(name: str) -> bool:
    return name.rpartition("/")[2].startswith(".adaptc-")


def _digests(mirror: Path) -> dict[str, str]:
    found = (path for path in mirror.rglob("*") if path.is_file() and ".adaptc" not in path.relative_to(mirror).parts)
    names = {path.relative_to(mirror).as_posix(): path for path in found}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names.items() if name != "mirror.json"
    }
