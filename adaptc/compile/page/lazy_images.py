"""Images that a known library loads late: it copies ``data-src`` to ``src``, and ``data-srcset`` to ``srcset``.

Of lazysizes, lozad and vanilla-lazyload that is known. Others, which copy the address alone, leave no way to say the
size of a smaller copy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["lazy_source", "without_lazy_loader"]

# What the text of each library holds
_MARKS = (
    ("lazySizesConfig", 'srcsetAttr:"data-srcset"'),
    ("lozad", 'getAttribute("data-srcset")'),
    ('data_src:"src"', 'data_srcset:"srcset"'),
)
_LARGEST = 40_000  # characters of a library: a larger file has other code as well
_SPACE = re.compile(r"\s+")
_READS = re.compile(r"""data-src\b|\bdataset\.src\b|\bdata\(\s*["']src["']""")
_OTHER = frozenset({"srcset", "sizes", "data-srcset", "data-sizes"})


def without_lazy_loader(page: PageContext) -> PageContext | None:
    """Return the page with its other scripts, ``None`` if it has no such library or another script reads ``data-src``.

    The library changes no other image, and the address of the ones that it loads in no other way.
    """
    others = {script: facts for script, facts in page.scripts.items() if not _is_loader(script)}
    if len(others) == len(page.scripts) or any(map(_reads_source, others)):
        return None
    return replace(page, scripts=others)


def lazy_source(image: Element) -> str | None:
    """Return the address that the library gives an image, ``None`` if there is a choice of others."""
    return None if not _OTHER.isdisjoint(image.attrs) else image.attr("data-src")


@lru_cache(maxsize=256)
def _is_loader(script: str | bytes) -> bool:
    if len(script) > _LARGEST:
        return False
    code = _SPACE.sub("", _text(script)).replace("'", '"')
    return any(all(mark in code for mark in marks) for marks in _MARKS)


@lru_cache(maxsize=256)
def _reads_source(script: str | bytes) -> bool:
    return _READS.search(_text(script)) is not None


def _text(script: str | bytes) -> str:
    return script if isinstance(script, str) else script.decode("utf-8", "replace")
