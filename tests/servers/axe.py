"""axe-core in a page that a browser shows: what it finds against accessibility."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from tests.servers.browser import Browser

# Frames hold pages that are not ours: those of the site that the preview shows
OPTIONS = {"resultTypes": ["violations"], "iframes": False}
PHONE, LAPTOP = 412, 1280
# A page may ask for things without end: that it is loaded and drawn is enough
LOADED = """new Promise((resolve) => document.readyState === 'complete' ? resolve() : addEventListener('load', resolve))
    .then(() => document.fonts.ready)"""


@cache
def axe_core() -> str:
    """Return the text of axe-core, which the package axe-playwright-python brings."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def violations(browser: Browser, url: str, width: int, scheme: str = "light") -> list[str]:
    """Open a page at a width in a colour scheme; return each rule that it violates, with the first elements."""
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Page.setBypassCSP", enabled=True)
    browser.call("Page.navigate", url=url)
    browser.call("Runtime.evaluate", expression=LOADED, awaitPromise=True)
    browser.call("Runtime.evaluate", expression=axe_core())
    command = f"axe.run(document, {json.dumps(OPTIONS)}).then(found => found.violations)"
    answer = browser.call("Runtime.evaluate", expression=command, awaitPromise=True, returnByValue=True)
    return list(map(_described, answer["result"]["value"]))


def _described(violation: dict[str, Any]) -> str:
    elements = [node["html"] for node in violation["nodes"][:3]]
    return f"{violation['id']}: {violation['help']}: {' '.join(elements)}"
