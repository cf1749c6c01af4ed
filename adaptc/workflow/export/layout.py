"""The names of the files of an export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adaptc.core.model import CODINGS, FORMATS, name_in_tree

SUFFIXES = {name: f".{name}" for name in (*CODINGS, *FORMATS)}


def _suffixed(path: str, coding: str) -> str:
    return path + SUFFIXES.get(coding, "")


def _parallel(path: str, coding: str) -> str:
    return f"{coding}/{name_in_tree(coding, path)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of files in an export by path and coding, and the codings and formats next to the identity."""

    name: Callable[[str, str], str]
    codings: tuple[str, ...]


LAYOUTS = {
    "suffix": Layout(_suffixed, (*CODINGS, *FORMATS)),
    "parallel": Layout(_parallel, (*CODINGS, *FORMATS)),
    "none": Layout(_suffixed, ()),
}
