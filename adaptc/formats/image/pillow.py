"""The door to Pillow: imported when first used, limited to the formats of the web."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

# What Pillow raises on broken input. A bug of ours would be another type (TypeError, KeyError,
# AttributeError).
BROKEN = (OSError, SyntaxError, ValueError, EOFError, OverflowError, IndexError, struct.error, zlib.error)

# Pillow plugins outside this list (EPS calls Ghostscript, PSD, FLI, ...) are never given content of a site.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "ICO", "BMP", "TIFF")


def open_image(content: bytes) -> Image.Image:
    """Open an image by its header, without decoding pixels. Raises one of ``BROKEN``.

    Pillow's own limit on pixels is switched off since it is a warning or an error by global state; ``probe``
    compares the header's size with the limit of the configuration instead.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    return Image.open(io.BytesIO(content), formats=_FORMATS)
