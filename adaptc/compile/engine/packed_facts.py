"""The facts of a source as the state stores them: JSON, compressed, without the targets."""

from __future__ import annotations

import json
import zlib
from typing import Any

from adaptc.compile.analyse.facts import Facts
from adaptc.compile.analyse.styling import NO_STYLING
from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.core.facts import pack_facts, unpack_facts
from adaptc.formats.characters import NOTHING_WRITTEN

__all__ = ["pack_source", "source_facts", "source_values", "unpack_source"]


def pack_source(facts: Facts) -> bytes:
    """Return the facts of a source as bytes."""
    return zlib.compress(json.dumps(source_values(facts)).encode(), 1)


def unpack_source(packed: bytes) -> Facts:
    """Return what ``pack_source`` packed."""
    return source_facts(json.loads(zlib.decompress(packed)))


def source_values(facts: Facts) -> dict[str, Any]:
    """Return the facts of a source as JSON values."""
    return {
        "digest": facts.digest,
        "embeds": facts.embeds,
        "pinned": facts.pinned,
        "transfer": facts.transfer,
        "diagnostics": pack_diagnostics(facts.diagnostics),
        "images": facts.images,
        "first_image": facts.first_image,
        "photographs": facts.photographs,
        "writing": pack_facts(facts.writing),
        "styling": pack_facts(facts.styling),
    }


def source_facts(values: dict[str, Any], targets: tuple[str, ...] = ()) -> Facts:
    """Return the facts of ``source_values``."""
    return Facts(
        values["digest"],
        tuple((role, target) for role, target in values["embeds"]),
        tuple(values["pinned"]),
        targets,
        values["transfer"],
        unpack_diagnostics(values["diagnostics"]),
        tuple(values["images"]),
        values["first_image"],
        tuple(values["photographs"]),
        unpack_facts(values["writing"], NOTHING_WRITTEN),
        unpack_facts(values["styling"], NO_STYLING),
    )
