"""A headless Chromium that looks at pages of a site: what they load, show and say.

It is driven by Playwright (the extra ``browser``). Every request is answered by us: pages have the addresses that they
have on their server, and nothing is asked of the network. ``adaptc.browser.evidence`` holds values only; the compiler
knows nothing else of this package.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

# Looked for on the PATH, in this order. The headless shell has no windows, which cost a fifth of a second a tab
NAMES = (
    "chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome",
    "google-chrome-stable", "chrome",
)  # fmt: skip


def find_chromium(named: str = "") -> str | None:
    """Return the path of the browser: ``named`` (a name or path), else ``CHROME_PATH``, else the first of ``NAMES``."""
    return next(filter(None, map(shutil.which, _wanted(named))), None)


def lacking(named: str = "") -> str:
    """Return in words what is not installed of what looks at pages, Chromium or Playwright; nothing if both are."""
    if find_chromium(named) is None:
        return "there is no Chromium"
    return "" if find_spec("playwright") else "Playwright is not installed (pip install 'adaptc[browser]')"


def names_tried(named: str = "") -> str:
    """Return the names and paths that ``find_chromium`` looks for, for messages."""
    return ", ".join(_wanted(named))


def _wanted(named: str) -> tuple[str, ...]:
    wanted = named or os.environ.get("CHROME_PATH", "")
    return (wanted,) if wanted else NAMES
