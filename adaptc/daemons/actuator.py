"""Whether the server does what a daemon asks for: by what was emitted, and by asking the server itself.

A level that the server's configuration does not know is no level: buckets without a known one get that of the
configuration, which may be heavier, and the loop would turn round. So a daemon reads what was emitted (``Knobs``), and
a canary asks the running server for each level once: everybody's bucket has the first level, which is the same page,
and only the two buckets that the canary's address may have, 1/128 of the clients, get the others for a moment.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.daemons.control.bucket_ladder import REJECT, write_buckets
from adaptc.daemons.run_directory import RunDirectory
from adaptc.report.manifest import Manifest
from adaptc.serve.state_directory import BUCKETS, KNOBS, Knobs, read_knobs

SETTLING = 3.0  # seconds after which a change has effect: nginx tests files once a second
_TIMEOUT = 2.0
_BUSY = 0.5  # seconds of an answer, from which a crowd is there, and everybody would have the full site meanwhile
_PAUSE = 0.1


class Disobedient(Exception):
    """The running server does not do what its emitted configuration says; the text says what."""


def required_knobs(output: Path) -> Knobs:
    """Return what ``adaptc control`` can set for an output. Raises ``UsageError`` where that is nothing."""
    knobs = read_knobs(output)
    if knobs is None:
        raise UsageError(
            f"{output / KNOBS} is missing: nothing says what the server can do; run adaptc emit, and reload the server"
        )
    if not knobs.buckets:
        raise UsageError(
            f"the configuration in {output}/serve has no buckets, so there is nothing that control could set: say "
            "buckets = true in [serve], run adaptc emit, and reload the server; or run adaptc switch"
        )
    refuse_other_state(knobs, output)
    return knobs


def refuse_other_state(knobs: Knobs, output: Path) -> None:
    """Raise ``UsageError`` where the server reads another state directory than the one that daemons write."""
    ours = output / "run"
    if os.path.isdir(knobs.state) and os.path.realpath(knobs.state) != os.path.realpath(ours):
        raise UsageError(
            f"the server reads {knobs.state} (serve.state), and daemons write {ours}: make {ours} a link to it"
        )


# ---- the canary


@dataclass(frozen=True, slots=True)
class Canary:
    """A client that asks the server at ``url`` for a page of the site. ``sleep`` waits for some seconds."""

    url: str
    knobs: Knobs
    run: RunDirectory
    sleep: Callable[[float], None] = time.sleep

    def prove(self, manifest: Manifest) -> str:
        """Prove that the server obeys; return what could not be proven, "" for nothing.

        Flag and buckets are as for everybody to have the full site before and afterwards. Raises ``Disobedient``.
        """
        page, levels = _page(manifest, self.knobs)
        if reason := self._hidden(page):
            return reason
        begun = time.monotonic()
        try:
            self._ask(page)
        except (OSError, HTTPException) as error:
            return f"{self.url} does not answer ({error})"
        if time.monotonic() - begun > _BUSY:
            return "the server is too busy to be asked"
        try:
            return self._prove(page, levels)
        finally:
            self.run.reset()

    @property
    def _top(self) -> str:
        """The level that everybody else has meanwhile."""
        return self.knobs.ladder[0] if self.knobs.buckets else self.knobs.level

    def _hidden(self, page: str) -> str:
        """Return why a request could not tell whether the server obeys, or must not, "" where it can."""
        if not self.knobs.exposes:
            return "answers do not say what they are (serve.expose = false)"
        if not (self.knobs.flag or self.knobs.buckets):
            return "the configuration has neither flag nor buckets"
        if self._top not in self.knobs.same:
            return f"a test would show level {self._top} to all visitors"
        return "" if page else "no page was built at these levels"

    def _prove(self, page: str, levels: list[str]) -> str:
        own, top = _own_buckets(self.url), self._top
        for level in (*levels, *([REJECT] if self.knobs.reject else [])):
            if self.knobs.buckets:
                write_buckets(self.run, [level if bucket in own else top for bucket in BUCKETS])
            elif level != top:
                continue
            self.run.set_flag(True)
            found = self._awaited(page, level)
            if found != level and found == self.knobs.ladder[-1] and self.knobs.is_paced:
                return "the server is asked for more pages than serve.nginx_page_rate"
            if found != level:
                raise Disobedient(
                    f"{self.url} does not obey: asked for level {level}, it sent {found or 'the original'}; "
                    "reload the server with the emitted configuration, and see adaptc doctor"
                )
        return ""

    def _awaited(self, page: str, level: str) -> str:
        """Return the level that the server sends, once it is the one that is wanted, or after ``SETTLING``."""
        for _ in range(round(SETTLING / _PAUSE)):
            found = ""
            with suppress(OSError, HTTPException):
                found = self._ask(page)
            if found == level:
                break
            self.sleep(_PAUSE)
        return found

    def _ask(self, page: str) -> str:
        """Return the level of a page, "" for the original. Raises ``OSError`` and ``HTTPException``."""
        request = urllib.request.Request(self.url.rstrip("/") + page, headers={"Accept-Encoding": "identity"})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                shown = answer.headers.get("X-Adapt", "")
        except urllib.error.HTTPError as error:
            shown = error.headers.get("X-Adapt", "")
        return str(shown).partition("/")[0].strip("-")


def _page(manifest: Manifest, knobs: Knobs) -> tuple[str, list[str]]:
    """Return the URL path of a page, and the levels at which it has a file: the page with most of them, "" for none."""
    best, levels = "", list[str]()
    wanted = knobs.ladder if knobs.buckets else (knobs.level,)
    for path, resource in manifest.resources.items():
        own = [level for level in wanted if resource.pages and resource.at(level) is not None]
        if len(own) > len(levels) and path.isascii() and " " not in path:
            best, levels = f"{knobs.prefix}/{path}", own
            if len(own) == len(wanted):
                break
    return best, levels


def _own_buckets(url: str) -> set[str]:
    """Return the buckets of the address from which this machine asks a server, by Apache's hash and by nginx's."""
    address = _address(url)
    return {hashlib.md5(address.encode(), usedforsecurity=False).hexdigest()[:2], nginx_bucket(address)}


def _address(url: str) -> str:
    import socket

    parts = urlsplit(url)
    with socket.create_connection(
        (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)), _TIMEOUT
    ) as end:
        return str(end.getsockname()[0])


_PERCENT, _WHOLE = 39, 10_000  # 0.39 % a bucket (templates/nginx-http.conf.j2)


def nginx_bucket(address: str) -> str:
    """Return the bucket that nginx's split_clients gives an address."""
    value, total = murmur2(address.encode()), 0
    for bucket in BUCKETS[:-1]:
        total += _PERCENT
        if value < total * 0xFFFFFFFF // _WHOLE:
            return bucket
    return BUCKETS[-1]


def murmur2(data: bytes) -> int:
    """Return MurmurHash2 with seed 0, as nginx has it (ngx_murmur_hash2)."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    value = len(data) & mask
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = value * factor & mask ^ word
    if rest := data[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15
