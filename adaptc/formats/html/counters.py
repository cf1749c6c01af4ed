"""Numbers up to which a script counts once they are scrolled into view: the markup holds a zero and the number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.formats.html.document import parse

__all__ = ["write_counted_numbers"]

# Attributes of CountUp, PureCounter and their kind
_NUMBERS = (
    "countto", "data-count", "data-count-to", "data-counter", "data-countto", "data-countup", "data-end", "data-final",
    "data-number", "data-purecounter-end", "data-target", "data-to",
)  # fmt: skip
_NAMED = re.compile("|".join(_NUMBERS), re.IGNORECASE)
_SHOWS = "span, div, p, h1, h2, h3, h4, h5, h6, strong, b, em, i, li, dt, dd, td, small, data"
_ZERO = re.compile(r"\s*(0(?:\.0+)?)\s*")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,4})?")


def write_counted_numbers(text: str) -> str:
    """Return the page's text with the numbers at which its scripts arrive, in place of the zeros that they begin with.

    Without scripts "0+ users" would stay what it says.
    """
    if _NAMED.search(text) is None or "<script" not in text.lower():
        return text
    pieces, position = [], 0
    for start, end, number in _counters(text):
        pieces += [text[position:start], number]
        position = end
    return "".join([*pieces, text[position:]])


def _counters(text: str) -> Iterator[tuple[int, int, str]]:
    for element in parse(text).select(_SHOWS):
        location = element.source_location
        if location is None or location.end_tag is None:
            continue
        zero = _ZERO.fullmatch(text, location.start_tag.end_offset, location.end_tag.start_offset)
        numbers = {value for name in _NUMBERS if _NUMBER.fullmatch(value := element.attr(name) or "")}
        if zero and len(numbers) == 1:
            yield zero.start(1), zero.end(1), numbers.pop()
