"""Functions of passes whose modules are imported when they are first called.

A command that builds nothing, as ``adaptc check`` of a fresh site, needs the recipes of the levels and no pass: the
modules of all passes, with the parsers that they use, take 0.4 s to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """The function ``name`` of ``adaptc.compile.passes.MODULE``; it is called as that would be."""

    module: str
    name: str

    @property
    def home(self) -> str:
        """The full name of the module."""
        return f"adaptc.compile.passes.{self.module}"

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return function_of(self)(*arguments)


@cache
def function_of(deferred: Deferred) -> Any:
    """Return the function itself. Raises ``ImportError`` and ``AttributeError`` where there is none."""
    return getattr(import_module(deferred.home), deferred.name)
