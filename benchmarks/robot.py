"""A robot on real sites: what levels do not keep when pages are clicked through.

    python benchmarks/robot.py DIRECTORY... [--level moderate] [--pages 3] [--actions 40] [--seed 0]

Each DIRECTORY is a site, such as Debian's documentation packages install. It is built into a temporary directory, and
``adaptc prove --actions`` acts on pages of every directory and size. Prints a row a site, and each difference; ends
with 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Act on the sites that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", type=Path, metavar="DIRECTORY")
    parser.add_argument("--level", default="moderate")
    for name, default in (("pages", 3), ("actions", 40), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    print(f"{'site':20}{'views':>8}{'differ':>8}{'by acts':>9}{'not proven':>12}", flush=True)
    differing = [site for site in options.sites if act_on(site, options)]
    return int(bool(differing))


def act_on(site: Path, options: argparse.Namespace) -> bool:
    """Build and prove a site; return whether anything differs."""
    with tempfile.TemporaryDirectory(prefix="robot-") as output:
        run("build", site, "-o", output, "--effort", "fast", "--level", "full", "--level", options.level)
        chosen = [f"--{name}={getattr(options, name)}" for name in ("pages", "actions", "seed", "level")]
        verdicts = json.loads(run("prove", "-o", output, *chosen, "--format", "json"))["verdicts"]
    differing = [each for each in verdicts if each["differences"]]
    acted = [each for each in differing if any(found["kind"] == "acts" for found in each["differences"])]
    unproven = sum(each["unproven"] is not None for each in verdicts)
    print(f"{site.name:20}{len(verdicts):8}{len(differing):8}{len(acted):9}{unproven:12}", flush=True)
    for verdict in differing:
        for found in verdict["differences"]:
            print(f"  {verdict['page']} at {verdict['width']}: {found['kind']}: {found['message']}", flush=True)
    return bool(differing)


def run(*words: object) -> str:
    """Run adaptc and return what it prints."""
    command = [sys.executable, "-m", "adaptc", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
