"""Classes of values and regular expressions as those of Python, which cost the start of a command less.

A command imports 150 data classes, a build 600. Python writes and compiles the source of seven methods for a frozen
class with slots, which takes 0.8 ms. Here only ``__init__`` is compiled, once a value is made; all other methods are
closures. The classes are data classes to ``replace``, ``fields`` and the other functions of ``dataclasses``.

Of 370 regular expressions, which took a sixth of the time of a small build, one of few pages uses 40: those of the
modules with the most are compiled when they are first used.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable
from dataclasses import MISSING, asdict, astuple, field, fields, is_dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "asdict", "astuple", "dataclass", "field", "fields", "is_dataclass", "pattern", "replace"]


def _value_class(
    cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, **options: bool
) -> type | Callable[[type], type]:
    """Make ``cls`` a data class, or return the decorator that does; ``options`` are ``slots`` and ``kw_only``."""
    return _decorated(cls, frozen, eq, options) if cls is not None else lambda cls: _decorated(cls, frozen, eq, options)


def _decorated(cls: type, is_frozen: bool, has_equality: bool, options: dict[str, bool]) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise dataclasses looks for the signature
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    own, methods = vars(cls), {"__init__": _first_init(cls, is_frozen), "__repr__": _repr_of(cls)}
    if has_equality:
        methods |= _equality_of(cls, is_frozen)
    if is_frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    if is_frozen and options.get("slots"):
        methods |= _state_of(cls)
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):  # Python sets it next to an __eq__
            setattr(cls, name, method)
    return cls


def _first_init(cls: type, is_frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` that compiles the one in its place when it is first called."""

    def init(self: Any, *arguments: Any, **keywords: Any) -> None:
        compiled = _compile_init(cls, is_frozen)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *arguments, **keywords)

    return init


def _compile_init(cls: type, is_frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_set_": object.__setattr__, "_absent_": MISSING}
    positional, keywords, lines = ["self"], list[str](), ["pass"]
    for each in fields(cls):
        name, value = each.name, each.name
        default, make = f"_default_{name}", f"_make_{name}"
        if each.default_factory is not MISSING:
            names |= {default: MISSING, make: each.default_factory}
            value = f"{make}() if {name} is _absent_ else {name}"
        elif each.default is not MISSING:
            names[default] = each.default
        if each.init:
            parameters = keywords if each.kw_only else positional
            parameters.append(f"{name}={default}" if default in names else name)
        elif default in names:
            value = f"{make}()" if make in names else default
        else:
            continue
        lines.append(f"_set_(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [*positional, *(["*"] if keywords else []), *keywords]
    exec(f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"  # what an error says of a missing argument
    return init


def _repr_of(cls: type) -> Callable[..., Any]:
    names = [each.name for each in fields(cls) if each.repr]

    def written(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return written


def _equality_of(cls: type, is_frozen: bool) -> dict[str, Any]:
    values = _getter([each.name for each in fields(cls) if each.compare])

    def equals(self: Any, other: object) -> bool:
        return bool(values(self) == values(other)) if type(self) is type(other) else NotImplemented

    return {"__eq__": equals, "__hash__": (lambda self: hash(values(self))) if is_frozen else None}


def _state_of(cls: type) -> dict[str, Callable[..., Any]]:
    """Return how a frozen value with slots is pickled."""
    names = [each.name for each in fields(cls)]
    values = _getter(names)

    def restore(self: Any, state: tuple[Any, ...]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": lambda self: values(self), "__setstate__": restore}


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _refuse(self: Any, name: str, *_value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__qualname__}.{name} cannot be changed")


class _FirstUse:
    """A regular expression with the arguments of ``re.compile``, for a name of a module.

    Once it is compiled, the name holds what ``re.compile`` returned, so that later uses cost nothing more. It has the
    methods of a pattern; functions of ``re`` do not take it.
    """

    def __init__(self, source: str | bytes, flags: int = 0) -> None:
        self.pattern = source
        self._flags, self._names = flags, sys._getframe(1).f_globals

    def __getattr__(self, attribute: str) -> Any:
        if not hasattr(re.Pattern, attribute):
            raise AttributeError(attribute)
        compiled = re.compile(self.pattern, self._flags)
        self._names.update({name: compiled for name, value in self._names.items() if value is self})
        self.__dict__.update({name: getattr(compiled, name) for name in dir(compiled) if name[0] != "_"})
        return getattr(compiled, attribute)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from re import compile as pattern
else:
    dataclass, pattern = _value_class, _FirstUse
