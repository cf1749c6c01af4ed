"""Reads the html5lib-tests files (MIT) in tests/data: blocks of ``#section`` lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.places import DATA


def sections(path: Path, first: bytes = b"#data") -> Iterator[dict[str, bytes]]:
    """Yield each test as section name -> content."""
    for block in (b"\n" + path.read_bytes()).split(b"\n" + first + b"\n")[1:]:
        yield dict(_parts(first + b"\n" + block))


def _parts(block: bytes) -> Iterator[tuple[str, bytes]]:
    name, lines = "", []
    for line in block.split(b"\n"):
        if line.startswith(b"#") and line[1:].replace(b"-", b"").isalpha() and line.islower():
            if name:
                yield name, b"\n".join(lines)
            name, lines = line[1:].decode(), []
        else:
            lines.append(line)
    yield name, b"\n".join(lines)


def tree_cases() -> list[str]:
    """Return the markup of every tree-construction test for whole documents."""
    found = []
    for path in sorted((DATA / "html5lib-tree").glob("*.dat")):
        found += [case["data"] for case in sections(path) if "document-fragment" not in case]
    texts = {data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n") for data in found}
    return sorted(texts)
