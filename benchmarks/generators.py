"""Repeat the recipes of docs/static-hosts.md for generators that npm installs: Eleventy, Astro and Next.js.

Each gets the least project of its kind and the packages, and then the commands of its section, unchanged. The
published directory must have every file of the generated site and its words, and a smaller page. Prints the versions,
the seconds of the commands and the bytes of the home page; exits with 1 if a recipe fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MANUAL = Path(__file__).parent.parent / "docs/static-hosts.md"
WORDS = "A page about herons, with words of its own."


@dataclass(frozen=True)
class Generator:
    """A generator: its packages, the least project as files by path, and the directory that it writes."""

    packages: tuple[str, ...]
    files: dict[str, str]
    output: str = "site"


GENERATORS = {
    "Eleventy": Generator(
        ("@11ty/eleventy@3",),
        {
            "index.md": f"---\nlayout: page.html\n---\n{WORDS}\n",
            "_includes/page.html": "<!doctype html>\n<html lang=en>\n<title>t</title>\n\n\n{{ content }}\n</html>\n",
            ".eleventyignore": "opt\npublic\n",
        },
    ),
    "Astro": Generator(
        ("astro@5",),
        {
            "src/pages/index.astro": "---\n---\n<!doctype html>\n<html lang=en>\n<head>\n<title>t</title>\n</head>\n"
            f"<body>\n\n    <p>{WORDS}</p>\n\n\n</body>\n</html>\n",
            "astro.config.mjs": "export default { compressHTML: false }\n",
        },
    ),
    "Next.js": Generator(
        ("next@16", "react@19", "react-dom@19"),
        {
            "next.config.mjs": 'export default { output: "export" }\n',
            "pages/index.jsx": f"export default function Home() {{ return <p>{WORDS}</p> }}\n",
        },
        "out",
    ),
}


def commands(section: str) -> str:
    """Return the commands of a section of the manual."""
    found = re.search(rf"\n### {re.escape(section)}\n.*?```sh\n(.*?)```", MANUAL.read_text("utf-8"), re.DOTALL)
    if found is None:
        raise SystemExit(f"{MANUAL} has no section {section}")
    return found[1]


def prepare(generator: Generator, project: Path, npm: str) -> None:
    """Write a project and install its packages. Raises ``CalledProcessError``."""
    for path, text in generator.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    (project / "package.json").write_text(json.dumps({"private": True}))
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", *generator.packages]
    subprocess.run(install, cwd=project, check=True)
    tools = project / "bin"
    tools.mkdir()
    (tools / "adaptc").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m adaptc.cli "$@"\n')
    (tools / "adaptc").chmod(0o755)


def run(script: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands of a recipe as a reader does."""
    environment = {
        **os.environ,
        "PATH": f"{project / 'bin'}:{os.environ['PATH']}",
        "ASTRO_TELEMETRY_DISABLED": "1",
        "NEXT_TELEMETRY_DISABLED": "1",
    }
    return subprocess.run(
        ["sh", "-e", "-c", script], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def fault(done: subprocess.CompletedProcess[str], site: Path, public: Path) -> str:
    """Return what is wrong with the result of a recipe, empty if nothing is."""
    if done.returncode:
        return f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
    files = [file.relative_to(site) for file in site.rglob("*") if file.is_file() and "/." not in str(file)]
    if missing := [str(each) for each in files if not (public / each).is_file()]:
        return f"not published: {' '.join(missing)}"
    text = " ".join(re.sub(r"<[^>]*>", " ", (public / "index.html").read_text("utf-8")).split())
    if WORDS not in text:
        return "the published page has lost its words"
    is_smaller = any((public / each).stat().st_size < (site / each).stat().st_size for each in files)
    return "" if is_smaller else "no file is smaller"


def row(name: str, generator: Generator, npm: str) -> str:
    """Repeat a recipe and return a row of the table, or raise ``SystemExit`` with what is wrong."""
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        prepare(generator, project, npm)
        start = time.monotonic()
        done = run(commands(name), project)
        seconds = time.monotonic() - start
        site, public = project / generator.output, project / "public"
        if problem := fault(done, site, public):
            raise SystemExit(f"{name}: {problem}")
        package = generator.packages[0].rpartition("@")[0]
        version = json.loads((project / "node_modules" / package / "package.json").read_text())["version"]
        sizes = [(tree / "index.html").stat().st_size for tree in (site, public)]
    return f"| {name} {version} | {seconds:.0f} s | {sizes[0]:,} B | {sizes[1]:,} B |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(GENERATORS)}")
    parser.add_argument("--npm", default="npm")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in GENERATORS]:
        parser.error(f"no generator {unknown[0]}: {', '.join(GENERATORS)}")
    print("| generator | commands | its page | published |\n| --- | --- | --- | --- |", flush=True)
    for name in arguments.names or GENERATORS:
        print(row(name, GENERATORS[name], arguments.npm), flush=True)


if __name__ == "__main__":
    main()
