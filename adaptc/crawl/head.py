"""Header fields of responses, as pairs in the order they came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Head:
    """A response without its body. Names of ``fields`` are in lower case; ``raw`` is what came over the wire.

    ``media_type`` is in lower case, without parameters; empty when there is none.
    """

    status: int
    fields: tuple[tuple[str, str], ...] = field(default=())
    raw: bytes = b""
    media_type: str = field(init=False, repr=False, compare=False)
    _first: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the fields: a dozen questions are asked of each response."""
        first = dict(reversed(self.fields))
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "media_type", first.get("content-type", "").partition(";")[0].strip().lower())

    def get(self, name: str) -> str | None:
        """Return the first field of that name."""
        return self._first.get(name)

    def all(self, name: str) -> list[str]:
        """Return every field of that name."""
        return [value for known, value in self.fields if known == name] if name in self._first else []

    @property
    def closes(self) -> bool:
        """Whether the server keeps no connection (RFC 9112, section 9.3)."""
        said = (self._first.get("connection") or "").lower()
        return "close" in said or (self.raw.startswith(b"HTTP/1.0") and "keep-alive" not in said)

    @property
    def charset(self) -> str | None:
        """The charset that Content-Type names."""
        said = self._first.get("content-type") or ""
        found = _CHARSET.search(said) if ";" in said else None
        return (found[1] or found[2]) if found else None

    @property
    def length(self) -> int | None:
        """The number of bytes that Content-Length announces."""
        written = (self.get("content-length") or "").strip()
        return int(written) if written.isascii() and written.isdigit() else None


def parse_head(raw: bytes) -> Head:
    """Parse status line and fields; a line that is no field is ignored, a folded one continues the last."""
    first, _, rest = raw.partition(b"\n")
    words = first.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    fields: list[tuple[str, str]] = []
    for line in rest.decode("utf-8", "replace").splitlines():
        if line[:1] in (" ", "\t") and fields:
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields.append((name.strip().lower(), value.strip()))
    return Head(status, tuple(fields), raw)
