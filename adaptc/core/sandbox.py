"""Jinja's environment for templates that may come from users: they lay text out, and do nothing else.

Jinja's own sandbox forbids what leads to the interpreter, but lets templates call any method of what they are given,
such as that of a path which writes a file. Here only what is known to be harmless may be called: functions of adaptc
and of Jinja, and the methods of plain values.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import cache_from_source
from types import CodeType
from typing import TYPE_CHECKING, Any

from adaptc.core.digest import digest_parts
from adaptc.core.fs import package_file, write_atomic
from adaptc.core.libraries import identify

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket

_PLAIN = (str, bytes, int, float, list, tuple, dict, set, frozenset, range, Mapping)
_MODULES = ("adaptc.", "jinja2.")
# What loaders gave, compiled: to compile the report takes several times as long as to build a small site
_CODES: dict[Hashable, CodeType | None] = {}
_MOST_CODES = 64
_MOST_ATTRIBUTES = 4096


def sandboxed(**options: Any) -> Environment:
    """Return an environment with the ``options`` of ``jinja2.Environment``; undefined names are errors.

    A template of a loader is compiled once in a process, and one that adaptc ships once for all of them.
    What a template may not do raises ``jinja2.TemplateError``.
    """
    return _kind()(**options)


@cache
def shipped_template(name: str) -> tuple[str, str, None] | None:
    """Return the text of a shipped template and its file, None for an unknown one: what Jinja expects of a loader."""
    file = package_file("adaptc.templates", name)
    try:
        return file.read_text("utf-8"), str(file), None
    except FileNotFoundError:
        return None


@cache
def _kind() -> type[Environment]:
    from jinja2 import BytecodeCache, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Compiled(BytecodeCache):
        def get_cache_key(self, name: str, filename: str | None = None) -> str:
            return filename or name

        def load_bytecode(self, bucket: Bucket) -> None:
            key = _code_key(bucket)
            if key not in _CODES and _is_shipped(bucket.key):
                _CODES[key] = _kept_code(bucket.key, key)
            bucket.code = _CODES.get(key)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if len(_CODES) >= _MOST_CODES:
                _CODES.clear()
            key = _code_key(bucket)
            _CODES[key] = bucket.code
            if _is_shipped(bucket.key) and bucket.code is not None:
                _keep_code(bucket.key, key, bucket.code)

    safe: dict[tuple[type, str], bool] = {}

    class Sandbox(ImmutableSandboxedEnvironment):
        def __init__(self, **options: Any) -> None:
            super().__init__(undefined=StrictUndefined, bytecode_cache=Compiled(), **options)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            return _remembered(safe, super().is_safe_attribute, obj, attr, value)

        def is_safe_callable(self, obj: Any) -> bool:
            return super().is_safe_callable(obj) and _is_harmless(obj)

    return Sandbox


def _remembered(
    known: dict[tuple[type, str], bool], is_safe: Callable[[Any, str, Any], bool], owner: Any, name: str, value: Any
) -> bool:
    """Return whether an attribute is safe: that depends on the type and the name, and is asked for each value."""
    key = (type(owner), name)
    if key in known:
        return known[key]
    if len(known) >= _MOST_ATTRIBUTES:
        known.clear()
    known[key] = is_safe(owner, name, value)
    return known[key]


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


# ---- the code of shipped templates, kept where Python keeps that of modules: half of what a small build costs


def _is_shipped(file: str) -> bool:
    return os.path.dirname(file) in import_module("adaptc.templates").__path__


def _kept_code(file: str, key: Hashable) -> CodeType | None:
    """Return the code of a template, ``None`` where it is not kept, or is that of another one."""
    try:
        with open(cache_from_source(file), "rb") as kept:
            if kept.readline() != _code_mark(key):
                return None
            code: CodeType = marshal.load(kept)
            return code
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _keep_code(file: str, key: Hashable, code: CodeType) -> None:
    """Keep code, unless Python keeps none; where the directory cannot be written, it is compiled again next time."""
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            target = cache_from_source(file)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write_atomic(target, _code_mark(key) + marshal.dumps(code))


def _code_mark(key: Hashable) -> bytes:
    """Return what kept code begins with: a digest of its key, and of the times of the modules of its functions."""
    parts = list(_named(key))
    files = sorted({file for _, file in parts if file})
    times = (f"{os.stat(file).st_mtime_ns}" for file in files)
    return digest_parts(identify(["Jinja2"]), *(name for name, _ in parts), *files, *times).encode() + b"\n"


def _named(key: Any) -> Iterator[tuple[str, str]]:
    """Yield the parts of a key as texts, with the file of the module of each function."""
    if isinstance(key, tuple):
        for each in key:
            yield from _named(each)
    elif callable(key) and hasattr(key, "__qualname__"):
        module = getattr(key, "__module__", None) or "builtins"
        yield f"{module}.{key.__qualname__}", getattr(sys.modules.get(module), "__file__", None) or ""
    else:
        yield repr(key), ""


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
