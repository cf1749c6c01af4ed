"""Jinja's environment for templates that may come from users: they lay text out, and do nothing else.

Jinja's own sandbox forbids what leads to the interpreter, but lets templates call any method of what they are given,
such as that of a path which writes a file. Here only what is known to be harmless may be called: functions of adaptc
and of Jinja, and the methods of plain values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    from jinja2 import Environment
    from jinja2.bccache import Bucket

_PLAIN = (str, bytes, int, float, list, tuple, dict, set, frozenset, range, Mapping)
_MODULES = ("adaptc.", "jinja2.")
# What loaders gave, compiled: to compile the report takes several times as long as to build a small site
_CODES: dict[Hashable, CodeType | None] = {}
_MOST_CODES = 64


def sandboxed(**options: Any) -> Environment:
    """Return an environment with the ``options`` of ``jinja2.Environment``; undefined names are errors.

    A template of a loader is compiled once in a process. What a template may not do raises ``jinja2.TemplateError``.
    """
    return _kind()(**options)


@cache
def _kind() -> type[Environment]:
    from jinja2 import BytecodeCache, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Compiled(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            bucket.code = _CODES.get(_code_key(bucket))

        def dump_bytecode(self, bucket: Bucket) -> None:
            if len(_CODES) >= _MOST_CODES:
                _CODES.clear()
            _CODES[_code_key(bucket)] = bucket.code

    class Sandbox(ImmutableSandboxedEnvironment):
        def __init__(self, **options: Any) -> None:
            super().__init__(undefined=StrictUndefined, bytecode_cache=Compiled(), **options)

        def is_safe_callable(self, obj: Any) -> bool:
            return super().is_safe_callable(obj) and _is_harmless(obj)

    return Sandbox


def _code_key(bucket: Bucket) -> Hashable:
    """Return what the code of a template depends on; filters and tests too: the compiler applies them to constants."""
    syntax = bucket.environment
    options = (syntax.trim_blocks, syntax.lstrip_blocks, syntax.keep_trailing_newline, syntax.autoescape)
    return (
        bucket.key,
        bucket.checksum,
        options,
        syntax.finalize,
        *_functions(syntax.filters),
        *_functions(syntax.tests),
    )


def _functions(named: Mapping[str, Any]) -> Iterator[Hashable]:
    """Yield what tells functions apart, those that are made anew with the same arguments too."""
    for name, function in named.items():
        is_partial = isinstance(function, partial)
        yield (name, function.func, function.args, *function.keywords.items()) if is_partial else (name, function)


def _is_harmless(called: Any) -> bool:
    if isinstance(called, partial):
        return _is_harmless(called.func)
    owner = getattr(called, "__self__", None)
    if owner is not None and isinstance(owner, _PLAIN):
        return True
    return called is dict or str(getattr(called, "__module__", None)).startswith(_MODULES)
