"""Chromium over its DevTools pipe: loads a page and tells how it looks and what it complains about.

Nothing leaves the machine: the sites are served on loopback and every other host resolves to nothing.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--font-render-hinting=none",
    # an animated image stays at its first frame, and none is drawn before it is decoded
    "--blink-settings=imageAnimationPolicy=2", "--disable-checker-imaging",
    # frames of other sites are drawn in the same process, so that their requests are told here too
    "--disable-site-isolation-trials",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *localhost", "--remote-debugging-pipe",
)  # fmt: skip
# Seconds in which a loaded page asks for nothing before it counts as still
QUIET = 0.5
# Has the page use its fonts and draw twice: what it does when something comes into view is done then
DRAWN = """(async () => {
    await document.fonts.ready
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame)
})()"""


@dataclass(slots=True)
class View:
    """A page as it was drawn: PNG bytes, console errors, requests that failed, requests made."""

    png: bytes = b""
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    requests: int = 0


@dataclass(slots=True)
class _Loading:
    """A page that loads: what is seen of it so far, whether its load event came, which requests have no answer yet."""

    seen: View = field(default_factory=View)
    loaded: bool = False
    open: set[str] = field(default_factory=set)
    last: float = field(default_factory=time.monotonic)

    def take(self, event: dict[str, Any]) -> None:
        """Take what the browser says."""
        method, params = event.get("method", ""), event.get("params", {})
        self.loaded |= method == "Page.loadEventFired"
        if method.startswith("Network."):
            self._network(method.removeprefix("Network."), params)
        else:
            self.seen.errors += _errors(method, params)

    def _network(self, method: str, params: dict[str, Any]) -> None:
        self.last = time.monotonic()
        if method == "requestWillBeSent":
            self.seen.requests += not (params["request"]["url"].startswith("data:") or _is_icon(params["request"]))
            # a stream of events never ends
            if params.get("type") != "EventSource":
                self.open.add(params["requestId"])
        elif method == "responseReceived":
            if params["response"]["status"] >= 400 and not _is_icon(params["response"]):
                self.seen.failed.append(params["response"]["url"])
        elif method in ("loadingFinished", "loadingFailed"):
            self.open.discard(params["requestId"])

    @property
    def quiet(self) -> bool:
        """Whether it is loaded, and waits for nothing and has asked for nothing for a moment."""
        return self.loaded and not self.open and time.monotonic() - self.last > QUIET


class Browser:
    """One running Chromium with one tab. ``user`` is the module whose tests the tab is for."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.user: Path | None = None
        self._start()

    def _start(self) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def plumb() -> None:
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        # the ends may have the numbers 3 and 4 themselves: move them out of the way first
        to_browser, from_browser = (_moved_up(one) for one in (to_browser, from_browser))
        self.running = subprocess.Popen(
            [self.path, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=plumb, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number = b"", 0
        self.events: list[dict[str, Any]] = []
        self.session = self.context = ""
        self.renew()

    def renew(self) -> None:
        """Close the tab with all that it stored, and open another in a context of its own, with no cache.

        A browser that has ended is started again.
        """
        if self.running.poll() is not None:
            self.close()
            self._start()
            return
        self.session = ""
        if self.context:
            self.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.events.clear()
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Network.setCacheDisabled", cacheDisabled=True)

    def close(self) -> None:
        """End the browser."""
        self.running.kill()
        self.running.wait()
        os.close(self.output)
        os.close(self.input)
        self.profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a DevTools method and return its result. Raises ``RuntimeError`` when it fails."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive(PATIENCE)
            if reply is None:
                raise RuntimeError(f"{method}: no answer")
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return dict(reply["result"])
            self.events.append(reply)

    def _receive(self, patience: float) -> dict[str, Any] | None:
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], patience)[0]:
                return None
            read = os.read(self.input, 1 << 20)
            if not read:
                raise RuntimeError("the browser ended")
            self.buffer += read
        message, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(message))

    def view(self, url: str, width: int = 1280, height: int = 1600) -> View:
        """Load a page and return its view when it is still. Raises ``RuntimeError`` when it never is."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=url)
        page, requests = _Loading(), -1
        # drawing may ask for more, an image that comes into view
        while requests != page.seen.requests:
            self._await(page)
            requests = page.seen.requests
            self.call("Runtime.evaluate", expression=DRAWN, awaitPromise=True)
            self._take(page)
        page.seen.png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        self._take(page)
        return page.seen

    def _await(self, page: _Loading) -> None:
        end = time.monotonic() + PATIENCE
        while not page.quiet:
            if time.monotonic() > end:
                raise RuntimeError(f"the page is not still after {PATIENCE} s: {page}")
            event = self._receive(QUIET / 2)
            self.events += [] if event is None else [event]
            self._take(page)

    def _take(self, page: _Loading) -> None:
        for event in self.events:
            page.take(event)
        self.events.clear()

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page that was viewed last."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


def _moved_up(descriptor: int) -> int:
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


def _errors(method: str, params: dict[str, Any]) -> list[str]:
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return [details.get("exception", {}).get("description", details["text"]).split("\n")[0]]
    if method == "Log.entryAdded" and params["entry"]["level"] == "error" and params["entry"]["source"] != "network":
        return [params["entry"]["text"]]
    return []


def _is_icon(asked: dict[str, Any]) -> bool:
    """Whether it is the icon that the browser asks for by itself, and now and then after the page is drawn."""
    return str(asked["url"]).endswith("/favicon.ico")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    roots: tuple[str, ...] = ()

    def translate_path(self, path: str) -> str:
        for root in self.roots:
            self.directory = root
            found = super().translate_path(path)
            if os.path.exists(found):
                return found
        return found

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    # a connection that finds the queue full is tried again a second later
    request_queue_size = 128


@contextlib.contextmanager
def serving(*roots: Path) -> Iterator[str]:
    """Serve files on loopback, each from the first of ``roots`` that has it; give the base URL."""
    handler = type("Handler", (_Quiet,), {"roots": tuple(os.fspath(root) for root in roots)})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
