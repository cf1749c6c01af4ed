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

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--font-render-hinting=none",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *localhost", "--remote-debugging-pipe",
)  # fmt: skip
# Seconds without a request before a page counts as loaded, and at most
QUIET, PATIENCE = 0.5, 20.0


@dataclass(slots=True)
class View:
    """A page as it was drawn: PNG bytes, console errors, requests that failed, bytes received, requests made."""

    png: bytes = b""
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    requests: int = 0


class Browser:
    """One running Chromium with one tab."""

    def __init__(self, path: str) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def plumb() -> None:
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        # the ends may have the numbers 3 and 4 themselves: move them out of the way first
        to_browser, from_browser = (_moved_up(one) for one in (to_browser, from_browser))
        self.running = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=plumb, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number = b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = ""
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
        if getattr(self, "session", ""):
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive(PATIENCE * 3)
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
            self.buffer += os.read(self.input, 1 << 20)
        message, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(message))

    def view(self, url: str, width: int = 1280, height: int = 1600) -> View:
        """Load a page and return its view when it has been quiet for a moment."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=url)
        seen = View()
        start = last = time.monotonic()
        loaded = False
        while time.monotonic() - start < PATIENCE and not (loaded and time.monotonic() - last > QUIET):
            if not self.events:
                event = self._receive(QUIET / 2)
                if event is None:
                    continue
                self.events.append(event)
            for event in self.events:
                loaded |= event.get("method") == "Page.loadEventFired"
                if _note(event, seen):
                    last = time.monotonic()
            self.events.clear()
        seen.png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return seen

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page that was viewed last."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


def _moved_up(descriptor: int) -> int:
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


def _note(event: dict[str, Any], seen: View) -> bool:
    """Take an event into the view; return whether the page is still busy."""
    method, params = event.get("method"), event.get("params", {})
    if method == "Network.requestWillBeSent":
        seen.requests += not (params["request"]["url"].startswith("data:") or _is_icon(params["request"]))
    elif method == "Network.responseReceived":
        if params["response"]["status"] >= 400 and not _is_icon(params["response"]):
            seen.failed.append(params["response"]["url"])
    elif method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        seen.errors.append(details.get("exception", {}).get("description", details["text"]).split("\n")[0])
    elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
        if params["entry"]["source"] != "network":
            seen.errors.append(params["entry"]["text"])
    else:
        return False
    return True


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


@contextlib.contextmanager
def serving(*roots: Path) -> Iterator[str]:
    """Serve files on loopback, each from the first of ``roots`` that has it; give the base URL."""
    handler = type("Handler", (_Quiet,), {"roots": tuple(os.fspath(root) for root in roots)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
