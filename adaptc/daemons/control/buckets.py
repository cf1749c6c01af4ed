"""m as a map from 256 buckets of clients to levels, and the files by which servers read it (section 4.2 there).

Servers hash a client's address to a bucket. m = I + F gives level I + 1 to the first F of the buckets and level I to
the others: the map is monotone in m, so that a client is moved by one level at most while m moves by one, and never to
and fro on the way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from adaptc.core import fs
from adaptc.daemons.run_directory import RunDirectory

BUCKETS = 256


def bucket_levels(m: float, most: int) -> tuple[int, ...]:
    """Return the level of each bucket for m in [0, most]."""
    whole = min(int(m), most)
    better = round((m - whole) * BUCKETS)
    return tuple(min(whole + (number < better), most) for number in range(BUCKETS))


def write_buckets(run: RunDirectory, names: Sequence[str]) -> None:
    """Write the level of each bucket to ``buckets.txt`` and as the markers ``m/BB.LEVEL``. Raises ``OSError``.

    A new marker is made before the old one goes: meanwhile a client has two, never none.
    """
    lines = "".join(f"{number:02x} {name}\n" for number, name in enumerate(names))
    run.write("buckets.txt", lines.encode("ascii"), keep_equal=True)
    wanted = {f"{number:02x}.{name}" for number, name in enumerate(names)}
    folder = run.make("m")
    present = set(os.listdir(folder))
    for name in wanted - present:
        (folder / name).touch(0o644)
    for name in present - wanted:
        fs.remove(str(folder / name))
