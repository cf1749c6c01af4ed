"""Purges caches in front of the server: by level, by URL, or all that they have of the site.

``serve.purge`` names them. A level is purged by its label (``Surrogate-Key``, ``Cache-Tag``), when nobody gets it any
more: else readers would get it for as long as ``serve.shared_seconds`` says. Each cache has a thread of its own: one
that does not answer delays nobody. What fails is tried again, and then told.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from adaptc.core.diagnostics import UsageError
from adaptc.core.urls import NOWHERE, quote_path, unquote_path
from adaptc.core.values import dataclass, field

if TYPE_CHECKING:
    from adaptc.config.config import Config, ServeConfig
    from adaptc.serve.state_directory import Knobs

PAUSES = (0.0, 1.0, 5.0)  # seconds before each try
TIMEOUT = 10.0  # seconds of a try
MOST_URLS = 1000  # beyond which everything is purged
MOST_AT_ONCE = 30  # tags or URLs in one request, of Cloudflare's API
FASTLY_TOKEN, CLOUDFLARE_TOKEN = "FASTLY_API_TOKEN", "CLOUDFLARE_API_TOKEN"  # environment variables


class PurgeError(Exception):
    """A cache that does not do as it is told; the text is the problem."""


@dataclass(frozen=True, slots=True)
class Purge:
    """What to purge: labels of levels and pages, and URLs; without both, everything below the URL ``site``."""

    site: str
    labels: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Cache(Protocol):
    """A cache in front of the server."""

    def purge(self, wanted: Purge) -> None:
        """Purge once. Raises ``PurgeError``."""


# ---- the caches


@dataclass(frozen=True, slots=True)
class Varnish:
    """Varnish with the emitted VCL, by ``varnishadm`` with ``options``.

    Bans test stored objects alone, so that Varnish can apply them before anybody asks (its ban lurker).
    """

    options: tuple[str, ...] = ()

    def purge(self, wanted: Purge) -> None:
        """Ban what is meant."""
        for expression in self._expressions(wanted):
            _run(["varnishadm", *self.options, "ban", *expression])

    def _expressions(self, wanted: Purge) -> Iterator[tuple[str, str, str]]:
        for label in wanted.labels:
            yield "obj.http.Surrogate-Key", "~", f"(^|[[:space:]]){_pattern(label)}([[:space:]]|$)"
        for url in wanted.urls:
            yield "obj.http.X-Adaptc-Url", "~", rf"^{_pattern(_path(url))}([?]|$)"
        if not (wanted.labels or wanted.urls):
            yield "obj.http.X-Adaptc-Url", "~", f"^{_pattern(_path(wanted.site).rstrip('/'))}/"


def _pattern(text: str) -> str:
    """Return a regular expression for ``text`` without backslashes, which have a meaning for ``varnishadm``, too."""
    return re.sub(r"[^A-Za-z0-9/_%~-]", lambda match: "[.]" if match[0] == "." else f"[{match[0]}]", text)


@dataclass(frozen=True, slots=True)
class NginxLocation:
    """A location of nginx that purges the path that follows (``proxy_cache_purge``)."""

    location: str

    def purge(self, wanted: Purge) -> None:
        """Request the location for each URL. Raises ``PurgeError`` for labels: it knows paths only."""
        if not wanted.urls:
            raise PurgeError("it purges by path alone: name the directory of the cache (nginx:/var/cache/nginx)")
        for url in wanted.urls:
            _ask("GET", self.location.rstrip("/") + _path(url), may_miss=True)


@dataclass(frozen=True, slots=True)
class NginxFiles:
    """The directory of a ``proxy_cache_path``: each file has its key (``KEY:``), and the fields of the answer."""

    folder: Path

    def purge(self, wanted: Purge) -> None:
        """Delete the files that are meant."""
        paths = {_path(url) for url in wanted.urls}
        try:
            for file in filter(Path.is_file, self.folder.rglob("*")):
                if self._is_meant(file, wanted, paths):
                    file.unlink(missing_ok=True)
        except OSError as error:
            raise PurgeError(f"{error.strerror}: {error.filename}") from error

    def _is_meant(self, file: Path, wanted: Purge, paths: Collection[str]) -> bool:
        try:
            with file.open("rb") as opened:
                head = opened.read(16_384).partition(b"\r\n\r\n")[0]
        except FileNotFoundError:
            return False
        key = re.search(rb"\nKEY: (.*?)\n", head)
        if key is None:
            return False
        stored = _path(key[1].decode("utf-8", "replace"))
        if wanted.labels or wanted.urls:
            fields = re.findall(rb"\r\n(?:Surrogate-Key|Cache-Tag): ([^\r\n]*)", head, re.IGNORECASE)
            labels = re.split("[ ,]+", b" ".join(fields).decode("latin-1"))
            return stored in paths or not set(wanted.labels).isdisjoint(labels)
        return stored.startswith(_path(wanted.site).rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class Fastly:
    """A service of Fastly (https://www.fastly.com/documentation/reference/api/purging/)."""

    service: str
    token: str = field(repr=False)
    api: str = "https://api.fastly.com"

    def purge(self, wanted: Purge) -> None:
        """Purge by keys, by URLs, or everything of the service."""
        fields = {"Fastly-Key": self.token, "Accept": "application/json"}
        base = f"{self.api}/service/{self.service}"
        for part in _parts(wanted.labels):
            _ask("POST", f"{base}/purge", fields | {"Surrogate-Key": " ".join(part)})
        for url in wanted.urls:
            _ask("POST", f"{self.api}/purge/{url.partition('://')[2]}", fields)
        if not (wanted.labels or wanted.urls):
            _ask("POST", f"{base}/purge_all", fields)


@dataclass(frozen=True, slots=True)
class Cloudflare:
    """A zone of Cloudflare (https://developers.cloudflare.com/api/resources/cache/methods/purge/)."""

    zone: str
    token: str = field(repr=False)
    api: str = "https://api.cloudflare.com/client/v4"

    def purge(self, wanted: Purge) -> None:
        """Purge by tags, by URLs, or everything of the zone."""
        fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        bodies: list[dict[str, object]] = [{"tags": part} for part in _parts(wanted.labels)]
        bodies += [{"files": part} for part in _parts(wanted.urls)]
        for body in bodies or [{"purge_everything": True}]:
            answer = _ask("POST", f"{self.api}/zones/{self.zone}/purge_cache", fields, json.dumps(body).encode())
            if b'"success":false' in answer.replace(b" ", b""):
                raise PurgeError(answer.decode("utf-8", "replace")[:300])


@dataclass(frozen=True, slots=True)
class Command:
    """A command of one's own; ``label LABEL...``, ``url URL...`` or ``all SITE`` are appended."""

    words: tuple[str, ...]

    def purge(self, wanted: Purge) -> None:
        """Run the command."""
        kinds = [("label", wanted.labels), ("url", wanted.urls)]
        for kind, values in [pair for pair in kinds if pair[1]] or [("all", (wanted.site,))]:
            _run([*self.words, kind, *values])


def _parts(values: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(values), MOST_AT_ONCE):
        yield list(values[start : start + MOST_AT_ONCE])


def _path(url: str) -> str:
    """Return the path of a URL as requests have it; ``url`` may be that of a key, with host or without."""
    path = urlsplit(url).path
    return path if path.startswith("/") else f"/{path.partition('/')[2]}"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PurgeError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise PurgeError(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")


def _ask(
    method: str,
    url: str,
    fields: dict[str, str] | None = None,
    body: bytes | None = None,
    may_miss: bool = False,
) -> bytes:
    """Return the answer. Raises ``PurgeError`` for any but success; 404 is one where nothing was stored."""
    request = urllib.request.Request(url, body, fields or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        if may_miss and error.code == 404:
            return b""
        raise PurgeError(f"{urlsplit(url).netloc} answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise PurgeError(f"{urlsplit(url).netloc}: {error}") from error


# ---- what the configuration names


def cache_of(text: str) -> Cache:
    """Return the cache that an entry of ``serve.purge`` names. Raises ``UsageError``."""
    kind, _, rest = text.partition(":")
    if kind == "varnish":
        return Varnish(tuple(shlex.split(rest)))
    if kind == "nginx" and rest.startswith(("http://", "https://")):
        return NginxLocation(rest)
    if kind == "nginx" and rest.startswith("/"):
        return NginxFiles(Path(rest))
    if kind == "fastly" and rest:
        return Fastly(rest, _token(FASTLY_TOKEN, text))
    if kind == "cloudflare" and rest:
        return Cloudflare(rest, _token(CLOUDFLARE_TOKEN, text))
    if kind == "command" and rest.strip():
        return Command(tuple(shlex.split(rest)))
    raise UsageError(
        f"serve.purge: {text} names no cache; write varnish, varnish:-n NAME, nginx:DIRECTORY, nginx:URL, "
        "fastly:SERVICE, cloudflare:ZONE or command:PROGRAM"
    )


def _token(name: str, text: str) -> str:
    token = os.environ.get(name, "")
    if not token:
        raise UsageError(f"serve.purge: {text} needs a token in the environment variable {name}")
    return token


def urls_of(site: str, paths: Collection[str], indexes: Collection[str]) -> tuple[str, ...]:
    """Return the URLs of files below the URL ``site``; those of index pages with and without their names."""
    urls = dict[str, None]()
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        if name in indexes:
            urls[f"{site}/{quote_path(f'{folder}/' if folder else '')}"] = None
        urls[f"{site}/{quote_path(path)}"] = None
    return tuple(urls)


def labels_of(config: Config, urls: Collection[str]) -> tuple[str, ...]:
    """Return the labels of pages at these URLs, as the emitted configuration says them; none but for shared caches."""
    from adaptc.serve.policy import page_label
    from adaptc.serve.state_directory import read_knobs

    knobs = read_knobs(config.output) if config.serve.shared_seconds else None
    if knobs is None:
        return ()
    return tuple(dict.fromkeys(page_label(knobs.name, unquote_path(urlsplit(url).path)) for url in urls))


def site_of(base_url: str | None, prefix: str) -> str:
    """Return the URL of the site without its final slash; a path alone where nobody says the host."""
    parts = urlsplit(base_url or NOWHERE)
    host = f"{parts.scheme}://{parts.netloc}" if parts.hostname != urlsplit(NOWHERE).hostname else ""
    return f"{host}{quote_path(prefix)}"


# ---- purging


Report = Callable[[str], None]


def purge(named: str, wanted: Purge, sleep: Callable[[float], None] = time.sleep) -> str:
    """Purge the cache ``named``, with retries; return the problem, "" for none."""
    problem = ""
    for pause in PAUSES:
        sleep(pause)
        try:
            cache_of(named).purge(wanted)
        except PurgeError as error:
            problem = f"{named}: {error}"
        except UsageError as error:
            return str(error)
        else:
            return ""
    return problem


def start(caches: Sequence[str], wanted: Purge, report: Report) -> list[threading.Thread]:
    """Purge each cache in a thread of its own; ``report`` gets problems, from these threads."""

    def run(named: str) -> None:
        if problem := purge(named, wanted):
            report(problem)

    threads = [threading.Thread(target=run, args=(named,), name="purge", daemon=True) for named in caches]
    for thread in threads:
        thread.start()
    return threads


@dataclass(frozen=True, slots=True)
class Purges:
    """What daemons purge, without waiting: the ``levels`` that differ, by the labels of the sites called ``names``.

    ``problems`` are those that nobody has told yet.
    """

    caches: tuple[str, ...]
    site: str
    names: tuple[str, ...]
    levels: tuple[str, ...]
    problems: deque[str] = field(default_factory=deque)

    def forget(self, levels: Collection[str]) -> None:
        """Purge the ``levels`` that differ."""
        labels = tuple(f"{name}-{level}" for name in self.names for level in self.levels if level in levels)
        if labels:
            start(self.caches, Purge(self.site, labels), self.problems.append)


def purges_of(serve: ServeConfig, site: str, knobs: Sequence[Knobs]) -> Purges | None:
    """Return what daemons purge, None for nothing. Varnish, where it chooses the level, has each apart."""
    caches = tuple(text for text in serve.purge if serve.reverse_proxy != "varnish" or not text.startswith("varnish"))
    levels = dict.fromkeys(level for each in knobs for level in each.levels if level not in each.same)
    if not caches or not levels:
        return None
    return Purges(caches, site, tuple(each.name for each in knobs), tuple(levels))


def purge_within(caches: Sequence[str], wanted: Purge, seconds: float) -> list[str]:
    """Purge caches, for ``seconds`` at most; return the problems. What takes longer goes on, and is a problem too."""
    problems: list[str] = []
    end, threads = time.monotonic() + seconds, start(caches, wanted, problems.append)
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = [f"{named}: no answer yet" for named, thread in zip(caches, threads, strict=True) if thread.is_alive()]
    return [*list(problems), *late]
