"""Moving files into the pages that load them: when that costs less, and how.

A reader of several pages of a site fetches a shared file once. A crowd, which follows a popular link, reads one page
each: for it a separate file is one more request, to the reader and to the server.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

import deflate

from adaptc.compile.page.context import PageContext
from adaptc.compile.page.sheets import rebase, sheet_references
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import CODINGS
from adaptc.formats.codings import encode
from adaptc.formats.css.references import rewrite_urls
from adaptc.formats.html.document import parse

if TYPE_CHECKING:
    from turbohtml import Document


# Values of the option "readers"; with ALL, which only passes set, everything moves whatever it costs
VISITORS, CROWD, ALL = "visitors", "crowd", "all"

# libdeflate's middle level: sizes are compared, not sent
_LEVEL = 6


def should_inline(path: str, view: View, options: Options) -> bool:
    """Whether the asset at ``path`` costs less inside the pages that use it."""
    if options.get("readers", VISITORS) == ALL:
        return True
    if options.get("readers", VISITORS) == CROWD:
        return transfer_size(path, view) <= view.settings.crowd_limit
    return view.placement(path).inline


def transfer_size(path: str, view: View) -> int:
    """Return the bytes that an asset at this level takes to transfer."""
    content = view.artifact(path)
    return _compressed_file_size(content) if media.is_compressible(view.media_type(path)) else len(content)


def client_sizes(path: str, view: View) -> tuple[int, ...]:
    """Return the bytes that an asset at this level takes in each content coding (``compressed_sizes``)."""
    content = view.artifact(path)
    is_text = media.is_compressible(view.media_type(path))
    return _compressed_file_sizes(content) if is_text else (len(content),) * len(CODINGS)


def compressed_sizes(content: bytes) -> tuple[int, ...]:
    """Return the sizes of text in each content coding, by fast settings: close enough to compare."""
    return tuple(len(encode(content, coding, "fast")) for coding in CODINGS)


def compressed_size(content: bytes) -> int:
    """Return the size of text as a server sends it, close enough to compare."""
    return len(deflate.zlib_compress(content, _LEVEL))


# A file's bytes are the same object in all pages of a batch
_compressed_file_size = lru_cache(maxsize=256)(compressed_size)
_compressed_file_sizes = lru_cache(maxsize=256)(compressed_sizes)


# ---- Subresource Integrity (W3C SRI, section 3.3)

# Browsers refuse a file that does not match its ``integrity`` attribute: inlined, it would take effect.
_ALGORITHMS = ("sha256", "sha384", "sha512")  # by strength


def meets_integrity(content: bytes, metadata: str | None) -> bool:
    """Whether a browser accepts ``content``: the strongest known algorithm decides; without one, any content."""
    hashes = [_parsed(token) for token in (metadata or "").split()]
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


def rebase_sheet(path: str, sheet: str, page: PageContext, view: View) -> str | None:
    """Return the sheet at ``path`` with its URLs written for the page, ``None`` if one would lead elsewhere."""
    assert page.base_path is not None
    base = view.url_of(path)
    moved = {}
    for reference in sheet_references(sheet):
        url = moved[reference.url] = rebase(view, reference.url, base, page.base_path)
        if view.follow(page.base, url).target != view.follow(base, reference.url).target:
            return None
    return _rewritten(sheet, tuple(moved.items()))


@lru_cache(maxsize=64)
def _rewritten(sheet: str, moved: tuple[tuple[str, str], ...]) -> str:
    urls = dict(moved)
    return rewrite_urls(sheet, lambda reference: urls[reference.url]) if moved else sheet


# Reasons for actions. Their figures change with the site; `adaptc explain` shows the current ones.
INLINED = "its bytes cost less than a request for it"


SHARED = "a shared file costs less over a visit"


MISMATCH = "browsers refuse it: its integrity attribute says other bytes"
