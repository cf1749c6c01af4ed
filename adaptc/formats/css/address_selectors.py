"""Attribute selectors that look at the addresses of images: ``img[src$=".jpg"]`` (Selectors 4, section 6).

A pass that gives an image another address asks which images such a selector may then take for others. ``[src^=""]`` of
Owl Carousel matches nothing, ``iframe[src*="youtube"]`` no image, and ``[src]`` each one that has any address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adaptc.formats.css.scanner import SPACE

__all__ = ["AddressSelectors"]

_NAMES = ("src", "srcset", "sizes")
_START = re.compile(rf"\[{SPACE}*(?:{'|'.join(_NAMES)})(?![\w-])", re.IGNORECASE)
_TEST = re.compile(
    rf"\[{SPACE}*(?P<name>{'|'.join(_NAMES)}){SPACE}*"
    rf"(?:(?P<operator>[~|^$*]?=){SPACE}*(?:\"(?P<double>[^\"\\\n]*)\"|'(?P<single>[^'\\\n]*)'|(?P<bare>[\w-]+))"
    rf"{SPACE}*[is]?{SPACE}*)?\]",
    re.IGNORECASE,
)
# Selectors 4, 6.2: with an empty value these match nothing, nor does ``~=`` with one that has white space.
_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda text, value: text == value,
    "~=": lambda text, value: value in text.split(),
    "|=": lambda text, value: text == value or text.startswith(f"{value}-"),
    "^=": lambda text, value: value != "" and text.startswith(value),
    "$=": lambda text, value: value != "" and text.endswith(value),
    "*=": lambda text, value: value != "" and value in text,
}

# What the new addresses are like, a copy's and a data URI's: ``../_adaptc/0f3a.webp``, ``data:image/png;base64,AAAA``.
# A value that is part of one may match it. Digits and Base64 may hold any short run of characters.
_KINDS = ("avif", "gif", "jpeg", "jpg", "png", "webp", "svg+xml")
_STARTS = ("data:image/", "../", "_adaptc/")
_RUN = re.compile(r"[\w+/=]{0,4}|[0-9a-f]{5,8}")
_MEDIA = re.compile(rf"data:image/(?:{'|'.join(map(re.escape, _KINDS))})[;,]?(?:base64,)?")
_END = re.compile(rf"[0-9a-f]*\.(?:{'|'.join(_KINDS[:-1])})")
_LENGTH = re.compile(r"[\d.]*(?:px)?")


@dataclass(frozen=True, slots=True)
class AddressTest:
    """One attribute selector, in lower case; ``operator`` is ``None`` for one of presence."""

    name: str
    operator: str | None = None
    value: str = ""

    def may_change(self, attributes: Mapping[str, Any]) -> bool:
        """Whether an image may match before another address is written, and not after, or the other way round."""
        if self.operator is None:
            return self.name != "src" or "src" not in attributes  # with srcset and sizes it chooses among copies
        text = str(attributes.get(self.name) or "").lower()
        return _MATCHES[self.operator](text, self.value) or self._may_match_new()

    def _may_match_new(self) -> bool:
        value = self.value
        if not value or self.operator in ("=", "~=", "|="):
            return False
        if self.name == "sizes":
            return _LENGTH.fullmatch(value) is not None
        if self.operator == "^=":
            return value.startswith(_STARTS) or any(start.startswith(value) for start in _STARTS)
        if self.operator == "$=":
            return _RUN.fullmatch(value) is not None or _END.fullmatch(value) is not None
        known = (*_KINDS, "data:image/", ";base64,", "/_adaptc/")
        is_part = any(value in each or each in value for each in known)
        return is_part or _RUN.fullmatch(value) is not None or _MEDIA.search(value) is not None


@dataclass(frozen=True, slots=True)
class AddressSelectors:
    """The attribute selectors of sheets that look at addresses; ``None`` where one could not be read."""

    tests: frozenset[AddressTest] | None

    @classmethod
    def of(cls, sheets: Iterable[str]) -> AddressSelectors:
        """Return those in the texts of sheets."""
        found = [_tests(text) for text in sheets]
        known = [tests for tests in found if tests is not None]
        return cls(frozenset().union(*known) if len(known) == len(found) else None)

    @property
    def need_src(self) -> bool:
        """Whether one asks if an image has a ``src`` at all."""
        return self.tests is None or any(test.name == "src" and test.operator is None for test in self.tests)

    def may_choose(self, attributes: Mapping[str, Any], *, has_new_src: bool = True) -> bool:
        """Whether other addresses, that in ``src`` among them, may change which selectors match an image."""
        if self.tests is None:
            return True
        return any(test.may_change(attributes) for test in self.tests if has_new_src or test.name != "src")


@lru_cache(maxsize=256)
def _tests(text: str) -> frozenset[AddressTest] | None:
    starts = [match.start() for match in _START.finditer(text)]
    matches = [_TEST.match(text, start) for start in starts]
    if None in matches:
        return None
    return frozenset(_test(match) for match in matches if match is not None)


def _test(match: re.Match[str]) -> AddressTest:
    value = next((match[name] for name in ("double", "single", "bare") if match[name] is not None), "")
    return AddressTest(match["name"].lower(), match["operator"], value.lower())
