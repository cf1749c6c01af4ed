"""Whether a file moves into the pages that use it, by the cost of a visit or of a single page view.

Who reads several pages of a site fetches a shared file once. Who comes with a crowd, from a link that many follow,
reads one page: to him a file of its own is a request more and nothing less, and the server has the request.
"""

from __future__ import annotations

from functools import lru_cache

import deflate

from adaptc.compile.view import Options, View
from adaptc.core import media

# Values of the option "readers"; ALL is of passes that ask others to move everything, whatever it costs
VISITORS, CROWD, ALL = "visitors", "crowd", "all"

# libdeflate's middle level: sizes are compared, not sent
_LEVEL = 6


def moves_in(path: str, view: View, options: Options) -> bool:
    """Whether the asset at ``path`` costs less inside the pages that use it."""
    if options.get("readers", VISITORS) == ALL:
        return True
    if options.get("readers", VISITORS) == CROWD:
        return transfer_size(path, view) <= view.settings.crowd_limit
    return view.placement(path).inline


def transfer_size(path: str, view: View) -> int:
    """Return the bytes that an asset at this level takes on the way."""
    content = view.artifact(path)
    return _compressed_file_size(content) if media.is_compressible(view.media_type(path)) else len(content)


def compressed_size(content: bytes) -> int:
    """Return the size of text as a server sends it, close enough to compare."""
    return len(deflate.zlib_compress(content, _LEVEL))


# A file's bytes are the same object in all pages of a batch
_compressed_file_size = lru_cache(maxsize=256)(compressed_size)
