"""Images in other formats: who names a media type in Accept gets it, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.core.model import MEDIA_TYPES, is_negotiable
from adaptc.serve.verify.judge import Case
from adaptc.serve.verify.matrix import BEST, PART, Scene, headers_of
from adaptc.serve.verify.negotiation import ORIGINAL
from adaptc.serve.verify.targets import Target
from adaptc.serve.verify.wire import Request

_TYPES = tuple(MEDIA_TYPES.values())
_FIRST, _LAST = _TYPES[0], _TYPES[-1]
# What a client may say of image formats; ``image/*`` names none.
TYPES: tuple[str | None, ...] = (
    None,
    f"{','.join(_TYPES)},image/apng,*/*;q=0.8",
    f"{_LAST},*/*",
    f"{_LAST.upper()};q=0.5",
    f"{_FIRST};q=0, {_LAST}",
    f"image/png, {_FIRST} ; q=0.001, {_LAST};q=0.000",
    f"{';q=0,'.join(_TYPES)};q=0.0",
    "image/*,*/*",
    f"{_FIRST}-x, x{_LAST}",
)


def format_cases(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield requests for an image by clients that accept other formats."""
    scene, path = scene.around(target), target.resource.path
    if not (scene.policy.formats and is_negotiable(path)) or scene.is_refused(target):
        return
    for types in TYPES:
        headers = headers_of(BEST) | ({} if types is None else {"Accept": types})
        if scene.mode.rejects:
            yield Case("format", "rejected", path, Request(target.url, headers), asked=scene.asked)
            continue
        wanted = scene.wanted(target, BEST, types=types)
        yield Case("format", "full", path, Request(target.url, headers), wanted, scene.asked)
        yield Case("format", "full", path, Request(target.url, headers, "HEAD"), wanted, scene.asked)
        if wanted[0].level != ORIGINAL and wanted[0].size > PART[1]:
            part = Request(target.url, headers | {"Range": "bytes=0-9"})
            yield Case("format", "part", path, part, wanted, scene.asked, PART)
