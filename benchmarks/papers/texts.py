"""The texts of a paper on the page, and what the paper printed: NAME.toml next to this module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_texts(name: str) -> dict[str, Any]:
    """Return ``title``, ``citation``, ``missing``, ``sections`` (title and why, by experiment) and ``published``.

    Published values are by name, each with ``where``, its table, figure or section.
    """
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))
