"""Why an image stays as it is: a value that becomes a diagnostic."""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.shortage import raise_shortage


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an image stays as it is: a kind of ``diagnostics.KINDS`` and the fields of its message."""

    kind: str
    fields: tuple[tuple[str, str | int], ...]

    def diagnostic(self, path: str) -> Diagnostic:
        """Return the diagnostic for the file ``path``."""
        return diagnose(self.kind, Location(path), **dict(self.fields))

    @property
    def reason(self) -> str:
        """The message without a location."""
        return diagnose(self.kind, None, **dict(self.fields)).message


def broken(media_type: str, problem: object) -> Refusal:
    """Return the refusal of an image that cannot be read. Raises ``Shortage`` if memory was short."""
    if isinstance(problem, Exception):
        raise_shortage(problem)
    first_line = (str(problem).strip() or "no reason given").splitlines()[0]
    return Refusal("image-broken", (("media_type", media_type), ("problem", first_line)))


def unchanged(reason: str) -> Refusal:
    """Return the refusal of an image that can be read but had better stay as it is."""
    return Refusal("image-unchanged", (("reason", reason),))
