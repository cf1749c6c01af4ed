"""A headless Chromium over its DevTools pipe (Chrome DevTools Protocol, --remote-debugging-pipe).

Every request is answered by us (the protocol's Fetch domain): pages have the addresses that they have on their server,
and nothing is asked of the network. Absolute URLs of the site would not have led to a loopback server.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# Looked for on the PATH, in this order.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars", "--mute-audio", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
    "--disable-extensions", "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--font-render-hinting=none",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    # an animated image stays at its first frame: another one would look like a difference between two levels
    "--blink-settings=imageAnimationPolicy=2",
)  # fmt: skip

# Seconds: without a request until a loaded page counts as drawn; at most until then; until the browser has to answer
_QUIET, _PATIENCE, _SILENCE = 0.4, 15.0, 30.0
# The file descriptors that --remote-debugging-pipe reads and writes; ours are moved above them
_READS, _WRITES, _ABOVE = 3, 4, 10


class BrowserError(Exception):
    """The browser could not be started, ended, or does not answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sends for a URL."""

    body: bytes
    media_type: str
    headers: tuple[tuple[str, str], ...] = ()


# Gives the answer for an absolute URL, None for 404.
Server = Callable[[str], Answer | None]


def find_chromium() -> str | None:
    """Return the path of the first browser of ``NAMES`` that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A running browser with one tab. Raises ``BrowserError`` in every method."""

    def __init__(self, program: str, profile: str) -> None:
        self._server: Server = lambda _: None
        self._buffer, self._number, self._session = b"", 0, ""
        self._start(program, profile)

    def open_tab(self) -> None:
        """Open the tab that pictures are taken of; every request in it comes to us."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Network.enable")
        self._call("Network.setCacheDisabled", cacheDisabled=True)
        self._call("Network.setBypassServiceWorker", bypass=True)
        self._call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._call("Emulation.setEmulatedMedia", features=[still])

    def _start(self, program: str, profile: str) -> None:
        theirs, self._out = os.pipe()
        self._in, back = os.pipe()
        reads, writes = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for one in (theirs, back))
        os.close(theirs)
        os.close(back)
        files = [
            (os.POSIX_SPAWN_DUP2, reads, _READS),
            (os.POSIX_SPAWN_DUP2, writes, _WRITES),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        # Chromium refuses to run as root in its sandbox; what it shows here are the user's own pages
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        arguments = [program, *_FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        try:
            self._process = os.posix_spawn(program, arguments, os.environ, file_actions=files)
        except OSError as error:
            os.close(self._out)
            os.close(self._in)
            raise BrowserError(error.strerror) from None
        finally:
            os.close(reads)
            os.close(writes)

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._out)
        os.close(self._in)

    # ---- pictures

    def picture(self, url: str, server: Server, width: int, height: int) -> bytes:
        """Return the top of the page at ``url`` as a PNG, ``width`` by ``height`` CSS pixels, when it is drawn."""
        self._server = server
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._send("Page.navigate", url=url)
        self._settle()
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _settle(self) -> None:
        """Wait until the page is loaded and asks for nothing more."""
        end = time.monotonic() + _PATIENCE
        loaded = False
        while time.monotonic() < end:
            message = self._receive(_QUIET)
            if message is None and loaded:
                return
            if message is not None:
                loaded |= message.get("method") == "Page.loadEventFired"
                self._serve(message)

    # ---- the protocol

    def _send(self, method: str, **parameters: Any) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        try:
            while content:
                content = content[os.write(self._out, content) :]
        except BrokenPipeError:
            raise BrowserError("it ended") from None
        return self._number

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self._send(method, **parameters)
        while True:
            reply = self._receive(_SILENCE)
            if reply is None:
                raise BrowserError(f"no answer to {method}")
            if reply.get("id") == number:
                if "error" in reply:
                    raise BrowserError(f"{method}: {reply['error'].get('message')}")
                return dict(reply["result"])
            self._serve(reply)

    def _receive(self, patience: float) -> dict[str, Any] | None:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], patience)[0]:
                return None
            read = os.read(self._in, 1 << 20)
            if not read:
                raise BrowserError("it ended")
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _serve(self, message: dict[str, Any]) -> None:
        if message.get("method") != "Fetch.requestPaused":
            return
        parameters = message["params"]
        request, url = parameters["requestId"], parameters["request"]["url"]
        if not url.startswith(("http:", "https:")):  # data: and blob: are the browser's
            self._send("Fetch.continueRequest", requestId=request)
            return
        answer = self._server(url)
        if answer is None:
            self._send("Fetch.fulfillRequest", requestId=request, responseCode=404)
            return
        headers = [("Content-Type", answer.media_type), *answer.headers]
        self._send(
            "Fetch.fulfillRequest",
            requestId=request,
            responseCode=200,
            responseHeaders=[{"name": name, "value": value} for name, value in headers],
            body=base64.b64encode(answer.body).decode("ascii"),
        )


@contextlib.contextmanager
def running(program: str) -> Iterator[Chromium]:
    """Start a browser with a profile of its own, and end it. Raises ``BrowserError``."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(program, profile)
        try:
            browser.open_tab()
            yield browser
        finally:
            browser.close()
