"""The budget of a build for flattening ``@import``.

Each sheet with imports gets the text of all sheets that it imports, directly or through others, so that a site whose
sheets all import each other would need the square of their size. The sheets that pages load come first.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

# Bytes that sheets may take from others in a build. Of 19 real sites the largest sum was 1.6 MB.
BUDGET = 128_000_000


# What an import costs in time, in bytes
_IMPORT = 1000


Imports = Mapping[str, Sequence[str]]


def sheets_over_budget(
    imports: Imports, sizes: Mapping[str, int], loaded: Container[str], budget: int = BUDGET
) -> frozenset[str]:
    """Return the sheets whose imports stay, since all sheets together would exceed ``budget``.

    ``imports`` are the sheets that each sheet imports, ``sizes`` their bytes, ``loaded`` those that pages load.
    """
    excess = set()
    importing = [path for path, targets in imports.items() if targets]
    for path in sorted(importing, key=lambda path: (path not in loaded, path)):
        cost = _cost(path, imports, sizes, budget)
        if cost > budget:
            excess.add(path)
        else:
            budget -= cost
    return frozenset(excess)


def _cost(path: str, imports: Imports, sizes: Mapping[str, int], budget: int) -> int:
    """Return the cost of flattening one sheet; no more is counted once it is over ``budget``."""
    cost, seen, pending = 0, {path}, [path]
    while pending and cost <= budget:
        for imported in imports.get(pending.pop(), ()):
            cost += _IMPORT
            if imported not in seen:
                seen.add(imported)
                pending.append(imported)
                cost += sizes.get(imported, 0)
    return cost
