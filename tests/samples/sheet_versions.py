"""A style sheet in versions that differ in little."""

from __future__ import annotations

import random


def sheet(version: int) -> str:
    """Return a style sheet; versions differ in one rule."""
    numbers = random.Random(7)
    rules = [f".c{numbers.randrange(10**9):x} {{ margin: {numbers.randrange(10**6)}px }}\n" for _ in range(60)]
    return "".join([*rules, f".version {{ order: {version} }}\n"])
