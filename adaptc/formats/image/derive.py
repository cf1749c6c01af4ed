"""The kinds of smaller copies that there are, by the name that passes ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adaptc.formats.image.halve import Derived, halve, recompress_hard
from adaptc.formats.image.refusal import Refusal

# Goes up whenever a kind makes other bytes of the same image
VERSION = 2

KINDS: Mapping[str, Callable[..., Derived | Refusal]] = {"half": halve, "hard": recompress_hard}
