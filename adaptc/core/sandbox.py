"""Jinja's environment for templates that may come from users: they lay text out, and do nothing else.

Jinja's own sandbox forbids what leads to the interpreter, but lets templates call any method of what they are given,
such as that of a path which writes a file. Here only what is known to be harmless may be called: functions of adaptc
and of Jinja, and the methods of plain values.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_PLAIN = (str, bytes, int, float, list, tuple, dict, set, frozenset, range, Mapping)
_MODULES = ("adaptc.", "jinja2.")


def sandboxed(**options: Any) -> Environment:
    """Return an environment with the ``options`` of ``jinja2.Environment``; undefined names are errors.

    What a template may not do raises ``jinja2.TemplateError``.
    """
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        def is_safe_callable(self, obj: Any) -> bool:
            return super().is_safe_callable(obj) and _is_harmless(obj)

    return Sandbox(undefined=StrictUndefined, **options)


def _is_harmless(called: Any) -> bool:
    if isinstance(called, partial):
        return _is_harmless(called.func)
    owner = getattr(called, "__self__", None)
    if owner is not None and isinstance(owner, _PLAIN):
        return True
    return called is dict or str(getattr(called, "__module__", None)).startswith(_MODULES)
