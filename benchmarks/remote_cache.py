"""What a remote cache saves: clean builds without one, as the first machine with one, and as the second.

Each is a process with a cache of its own on disk. The store is a directory; each request to it takes 20 ms longer, as
to an object store. CPU time is that of all processes of a build, as of ``adaptc build``, which does little work itself.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any


def build(docroot: str, output: str, url: str | None, delay: float) -> None:
    """Build, and print figures as JSON."""
    import adaptc
    from adaptc.core.remote import Remote

    requests: Counter[str] = Counter()

    def delayed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wait_and_call(*arguments: Any) -> Any:
            requests[name] += 1
            time.sleep(delay)
            return call(*arguments)

        return wait_and_call

    for name in ("files", "read", "write"):
        setattr(Remote, name, delayed(name, getattr(Remote, name)))
    begun = time.monotonic()
    chosen = {"docroot": docroot, "output": output, "build.remote_cache": url}
    result = adaptc.build(adaptc.load_config(overrides=chosen), isolated=False)
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    figures = {"units": len(result.built), "cpu": cpu, "wall": time.monotonic() - begun, "requests": requests.total()}
    print(json.dumps(figures))


def main() -> None:
    """Measure the sites that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroots", nargs="+", metavar="DOCROOT")
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that a request takes (default: 0.02)")
    options = parser.parse_args()
    print(f"{'site':24} {'machine':10} {'units':>6} {'CPU s':>7} {'wall s':>7} {'requests':>8}")
    for docroot in options.docroots:
        with tempfile.TemporaryDirectory() as work:
            for machine, url in (
                ("without", None),
                ("first", f"file://{work}/store"),
                ("second", f"file://{work}/store"),
                ("second", f"file://{work}/store"),  # with nothing to do
            ):
                arguments = [docroot, f"{work}/{machine}", url or "", str(options.delay)]
                command = [sys.executable, os.fspath(Path(__file__)), "--one", *arguments]
                done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                times = f"{done['cpu']:7.1f} {done['wall']:7.1f}"
                print(
                    f"{Path(docroot).name:24} {machine:10} {done['units']:6} {times} {done['requests']:8}", flush=True
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        build(sys.argv[2], sys.argv[3], sys.argv[4] or None, float(sys.argv[5]))
    else:
        main()
