"""Apache and nginx while a watcher keeps the trees: after a change was noticed, no older version is served."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite, decoded
from tests.sites.watched import Watched, save, watched

SERVERS = ("apache", "nginx")
PAGES = ("index.html", "a/one.html", "a/two.html", "b/three.html")
ROUNDS = 24


def page(version: int) -> str:
    return (
        '<!DOCTYPE html>\n<html lang=en><head><title>p</title><link rel=stylesheet href="/one.css"></head>\n'
        f"<body><p>  page-version-{version}.\n" + "<p>  words and words\n" * 20
    )


def sheet(version: int) -> str:
    return f"p  {{ color : #123456 }}\n.sheet-version-{version}  {{ color : #654321 }}\np {{ margin : 0 }}\n"


@pytest.fixture
def site() -> Iterator[BuiltSite]:
    """A site where a server without rights may read: pytest's own directories are closed to others."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-fresh-"))
    root.chmod(0o755)
    yield BuiltSite(root).write({**dict.fromkeys(PAGES, page(0)), "one.css": sheet(0)})
    shutil.rmtree(root)


class Readers:
    """Clients that read all the time. ``floors`` are the versions below which nothing may be served any more.

    A server looks for a file and opens it in two steps. When it goes between them, Apache answers 403 (default_handler)
    or 404, unless it is strict: ``vanished`` counts those.
    """

    def __init__(self, server: Server, kind: str) -> None:
        self.server, self.vanished = server, 0
        self.when_vanished = (403, 404) if kind == "apache" else ()
        self.floors = dict.fromkeys((*PAGES, "one.css"), 0)
        self.faults: list[str] = []
        self.levels: set[str] = set()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(2)]

    def __enter__(self) -> Readers:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for one in self._threads:
            one.join()

    def _read(self, number: int) -> None:
        encodings = ("br", "gzip", "identity")
        while not self._ended.is_set():
            for path in (*PAGES, "one.css"):
                floors = dict(self.floors)
                reply = self.server.get(f"/{path}", Accept_Encoding=encodings[number % 3])
                number += 1
                self.levels.add(reply.headers.get("x-adapt", "none"))
                if reply.status in self.when_vanished:
                    self.vanished += 1
                elif reply.status != 200:
                    self.faults.append(f"{path}: {reply.status}")
                else:
                    self._compare(path, decoded(reply).decode(), floors)

    def _compare(self, path: str, body: str, floors: dict[str, int]) -> None:
        for kind, version in re.findall(r"(page|sheet)-version-(\d+)", body):
            source = path if kind == "page" else "one.css"
            if int(version) < floors[source]:
                self.faults.append(f"{path}: version {version} of {source} after {floors[source]} was noticed")


def noticed(one: Watched, path: str, since: float) -> float:
    """Wait until a change was noticed; return when that was."""
    found: list[float] = []

    def look() -> bool:
        found.extend(event["at"] for event in one.events("noticed") if path in event["paths"] and event["at"] >= since)
        return bool(found)

    one.wait_until(look)
    return found[0]


def is_published(site: BuiltSite, path: str, version: int) -> bool:
    """Whether a version is in the trees; until it is, another change of the file is not told as one of its own."""
    try:
        return re.search(rf"-version-{version}\b", site.read(path, "full").decode()) is not None
    except FileNotFoundError:
        return False


@pytest.mark.servers
@pytest.mark.parametrize("kind", SERVERS)
def test_stale_content_is_never_served(site: BuiltSite, kind: str) -> None:
    served = ServedSite(site, kind, {})
    with (
        served.start() as server,
        watched(site, "--effort", "fast", "--idle", "1") as one,
        Readers(server, kind) as readers,
    ):
        served.switch()
        for version in range(1, ROUNDS + 1):
            path = "one.css" if version % 6 == 0 else PAGES[version % len(PAGES)]
            one.wait_until(lambda path=path: is_published(site, path, readers.floors[path]))
            since = time.time() - 0.001
            save(site.docroot / path, sheet(version) if path == "one.css" else page(version))
            noticed(one, path, since)
            readers.floors[path] = version
            time.sleep(0.03 * (version % 5))
        for path, version in readers.floors.items():
            one.wait_until(lambda path=path, version=version: is_published(site, path, version))
    assert readers.faults == []
    assert readers.vanished <= 5
    assert any(level.startswith("lossless") for level in readers.levels)  # adapted pages were among what was read
