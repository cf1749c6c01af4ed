"""Moving files into the pages that load them: when that costs less, what stands in the way, and what goes along.

A reader of several pages of a site fetches a shared file once. A crowd, which follows a popular link, reads one page
each: for it a separate file is one more request, to the reader and to the server.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from adaptc.compile.page.context import PageContext
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.formats.html.document import parse
from adaptc.formats.html.syntax import attribute_markup, split_tokens

if TYPE_CHECKING:
    from turbohtml import Document, Element

# Values of the option "readers"; with ALL, which only passes set, everything moves whatever it costs
VISITORS, CROWD, ALL = "visitors", "crowd", "all"


def should_inline(path: str, view: View, options: Options) -> bool:
    """Whether the asset at ``path`` costs less inside the pages that use it."""
    if options.get("readers", VISITORS) == ALL:
        return True
    if options.get("readers", VISITORS) == CROWD:
        return transfer_size(path, view) <= view.settings.crowd_limit
    return view.placement(path).inline


# ---- Subresource Integrity (W3C SRI, section 3.3)

# Browsers refuse a file that does not match its ``integrity`` attribute: inlined, it would take effect.
_ALGORITHMS = ("sha256", "sha384", "sha512")  # by strength


def meets_integrity(content: bytes, metadata: str | None) -> bool:
    """Whether a browser accepts ``content``: the strongest known algorithm decides; without one, any content."""
    hashes = [_parsed(token) for token in split_tokens(metadata or "")]
    known = [(algorithm, value) for algorithm, value in hashes if algorithm in _ALGORITHMS]
    if not known:
        return True
    strongest = max((algorithm for algorithm, _ in known), key=_ALGORITHMS.index)
    digest = base64.b64encode(hashlib.new(strongest, content).digest()).decode("ascii")
    return any(algorithm == strongest and value == digest for algorithm, value in known)


def _parsed(token: str) -> tuple[str, str]:
    algorithm, _, value = token.partition("-")
    return algorithm.lower(), value.partition("?")[0].replace("-", "+").replace("_", "/")


# ---- files of frames in the page itself (``<iframe srcdoc>``)

# The reason for an action
FRAMED = "a frame of the page loads it as well"


def framed_files(tree: Document, page: PageContext, view: View) -> frozenset[str]:
    """Return the paths of scripts and style sheets of such frames, which a reader of the page fetches anyway."""
    paths = set()
    frames = tree.find_all("iframe")  # by tag alone: a selector goes through all elements
    for frame in (frame for frame in frames if "srcdoc" in frame.attrs):
        for element in parse(frame.attr("srcdoc") or "").iter_elements(("script", "link")):
            url = element.attr("src") if element.tag == "script" else element.attr("href")
            paths.add(view.follow(page.base, url).path if url else None)
    return frozenset(path for path in paths if path is not None)


def data_uri(content: bytes, media_type: str) -> str:
    """Return a data URI (RFC 2397), percent-encoded or in base64, whichever is shorter."""
    encoded = f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"
    if media_type != media.SVG:
        return encoded
    # Text compresses to half of what base64 of the same text does. Spaces stay: only those at the end are stripped.
    return min(f"data:{media_type},{quote(content, safe=_URI_SAFE)}", encoded, key=len)


_URI_SAFE = " !\"$&'()*+,/:;<=>@[]^_`{|}~-."


# Reasons for actions. Their figures change with the site; `adaptc explain` shows the current ones.
INLINED = "its bytes cost less than a request for it"


SHARED = "a shared file costs less over a visit"


POLICY = "the page has a Content-Security-Policy"


PRELOADED = "a header field has browsers fetch it early"


NAMED = "a script of the page names it, and may fetch it again"


MISMATCH = "browsers refuse it: its integrity attribute says other bytes"


# ---- The attributes of a ``<link>`` or ``<script>`` whose file moves into the page
# Those that say how to fetch the file mean nothing there. Those by which others know the element (an id, a class,
# ``data-`` attributes) go along. Where a script of the page looks the element up by one of them, the element stays:
# the script may want the address. Any other attribute has a meaning of its own.

# How the file is fetched, and notes of generators that no browser reads
_FETCHING = frozenset({
    "as", "charset", "crossorigin", "fetchpriority", "importance", "integrity", "itemprop", "property",
    "referrerpolicy", "type",
})  # fmt: skip
_CARRIED = frozenset({"class", "id", "nonce", "title"})


def first_unusual(
    element: Element, page: PageContext, meant: frozenset[str], allowed: frozenset[str] | None = None
) -> str | None:
    """Return the first attribute, by name, that keeps the element as it is: one that is not ``allowed``.

    Without these those in ``meant`` do not, nor names that no script looks up, which go along: that is for a crowd.
    """
    kept = _unusual(element, meant, page) if allowed is None else set(element.attrs) - allowed
    return min(kept, default=None)


def _unusual(element: Element, meant: frozenset[str], page: PageContext) -> Iterator[str]:
    for name in set(element.attrs) - _FETCHING - meant:
        if not is_carried(name) or any(map(page.looks_up, _names(name, element.attr(name) or ""))):
            yield name


def is_carried(name: str) -> bool:
    """Whether an attribute goes along with the text of a file."""
    return name in _CARRIED or name.startswith("data-")


def _names(name: str, value: str) -> list[str]:
    """Return what a script would look the element up by."""
    return split_tokens(value) if name in ("id", "class") else [name] if name.startswith("data-") else []


def carried_markup(element: Element) -> str:
    """Return the markup of the attributes that go along, each after a space."""
    carried = ((name, str(element.attr(name) or "")) for name in element.attrs if is_carried(name))
    return "".join(f" {attribute_markup(name, value)}" for name, value in carried)


# Expressions that find the parts of a page in its text, as those of jquery-pjax: /<body[^>]*>([\s\S.]*)<\/body>/i
_READS_TAGS = re.compile(
    r"""<(?:html|head|body)(?:\[\^|\(|\.\*|\\[bsSwW]|\[\\)"""
    r"""|(?:indexOf|search|split|match|replace)\(\s*["'`/]<\\?/?(?:html|head|body)\b""",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def reads_tags(script: str | bytes) -> bool:
    """Whether a script finds parts of pages in their text; its own text must not stand there."""
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    return _READS_TAGS.search(text) is not None
