"""What ``manifest.json`` (docs/manifest.md) says of a build: the ladder of levels, and the buckets of its pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from adaptc.serve.capacity.ladder import Rung
from adaptc.serve.capacity.page_time import Bucket, bucket_of

SCHEMA = 1


def ladder_of(manifest: Mapping[str, Any]) -> list[Rung]:
    """Return the levels of a build, the full site first, each as its mean page in the best coding.

    The means are over page views where the build knew access logs. Levels without a number stand beside the ladder
    and are left out; without pages the ladder is empty. Raises ``ValueError`` for a schema that this version does not
    know.
    """
    _check(manifest)
    steps = [level for level in manifest["levels"] if level["number"] is not None and level["pages"]]
    steps.sort(key=lambda level: level["number"], reverse=True)
    return [Rung(one["name"], one["mean"]["requests"], one["mean"]["transfer"] / 1000) for one in steps]


def buckets_of(manifest: Mapping[str, Any]) -> Counter[Bucket]:
    """Return the number of pages by bucket of the paper's Table 2, as they are at the first level, uncompressed.

    Raises ``ValueError`` as ``ladder_of`` does.
    """
    _check(manifest)
    first = manifest["levels"][0]["name"]
    found: Counter[Bucket] = Counter()
    for resource in manifest["resources"]:
        page = resource["levels"].get(first, {}).get("page")
        if page is not None:
            container = resource["source"]["size"]
            found[bucket_of(container, page["requests"] - 1, max(0, page["bytes"] - container))] += 1
    return found


def _check(manifest: Mapping[str, Any]) -> None:
    if manifest.get("schema") != SCHEMA:
        raise ValueError(f"the manifest has schema {manifest.get('schema')!r}, not {SCHEMA}")
