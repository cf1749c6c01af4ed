"""Where the CPU time of a clean `lossless` build goes: codecs, parsers, our own code, files, the state.

A timer of CPU time interrupts the build every millisecond and books the time since the last interruption to the
Python function on top of the stack. A call into C ends before it is interrupted, so its whole time is booked to the
function that made it. What belongs to nobody (generated constructors, the standard library) is booked to who called it,
and whatever a module does while it is imported to imports. One process does the work; the sum is that of all processes
of a parallel build. With TMPDIR in memory (/dev/shm) the file system of the machine is not measured, too.
"""

from __future__ import annotations

import argparse
import collections
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from types import FrameType

import adaptc

# The first prefix of the file and function on top of the stack that fits
CATEGORIES = (
    ("codecs: text", ("adaptc/formats/codings.py", "brotli.py", "rewrite.py:_transfer", "gathering.py:gather")),
    ("codecs: images", ("adaptc/formats/image/", "PIL/", "pyvips/", "oxipng", "mozjpeg")),
    ("parsers: HTML (parse, query, compare, write)", ("adaptc/formats/html/", "turbohtml/")),
    ("parsers: CSS", ("adaptc/formats/css/", "tinycss2/", "webencodings/")),
    ("parsers: scripts, JSON", ("adaptc/formats/script/", "json/")),
    ("parsers: SVG", ("adaptc/formats/svg/", "lxml/")),
    ("parsers: URLs", ("adaptc/core/urls.py",)),
    ("digests", ("adaptc/core/digest.py", "hashlib")),
    (
        "files",
        (
            "adaptc/core/fs.py",
            "adaptc/compile/engine/trees/publish.py",
            "adaptc/compile/engine/cache/store.py",
            "os.py",
            "posixpath.py",
        ),
    ),
    ("state", ("adaptc/compile/engine/state/state.py", "adaptc/compile/engine/state/results.py")),
    ("imports of modules", ("<frozen importlib", ":<module>")),
    ("engine, passes, rules", ("adaptc/",)),
)


class Sampler:
    """Books CPU time by the function on top of the stack."""

    def __init__(self) -> None:
        self.seconds: collections.Counter[str] = collections.Counter()
        self.last = 0.0

    def __enter__(self) -> Sampler:
        signal.signal(signal.SIGPROF, self.note)
        self.last = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def note(self, _signal: int, frame: FrameType | None) -> None:
        now = time.process_time()
        self.seconds[_place(frame)] += now - self.last  # type: ignore[assignment]  # seconds
        self.last = now


def _place(frame: FrameType | None) -> str:
    """Return file and function of the innermost frame that belongs to a category."""
    while frame is not None:
        place = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
        if category(place) is not None:
            return place
        frame = frame.f_back
    return "nowhere"


@cache
def category(place: str) -> str | None:
    for name, prefixes in CATEGORIES:
        if any(prefix in place for prefix in prefixes):
            return name
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--functions", type=int, default=0, help="list that many functions, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        config = adaptc.load_config(None, {
            "docroot": arguments.docroot, "output": Path(scratch) / "opt", "build.effort": arguments.effort,
            "build.jobs": 1, "build.levels": ("lossless",),
        })  # fmt: skip
        with Sampler() as sampler:
            adaptc.build(config)
    total = sum(sampler.seconds.values())
    shares: collections.Counter[str] = collections.Counter()
    for place, seconds in sampler.seconds.items():
        shares[category(place) or "other"] += seconds
    for name, seconds in shares.most_common():
        print(f"{seconds:8.2f} s {seconds / total:6.1%}  {name}")
    useful = sum(seconds for name, seconds in shares.items() if name.startswith(("codecs", "parsers")))
    print(f"{total:8.2f} s         CPU in all, {useful / total:.1%} of it in codecs and parsers")
    for place, seconds in sampler.seconds.most_common(arguments.functions):
        print(f"{seconds:8.2f} s {seconds / total:6.1%}  {place.split('site-packages/')[-1]}")


if __name__ == "__main__":
    main()
