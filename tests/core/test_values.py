"""Classes of values behave as those of ``dataclasses``: both decorate the same classes here."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import adaptc
from adaptc.core import values
from adaptc.core.values import pattern

Decorator = Callable[..., Any]
NAN = float("nan")


def classes_of(dataclass: Decorator) -> SimpleNamespace:
    """The same classes, made by a decorator; they can be pickled while they are in this module."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: float = 0.0
        names: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", compare=False)
        token: str = dataclasses.field(default="secret", repr=False)

    @dataclass(frozen=True, slots=True)
    class Place(Point):
        """A point with a title."""

        title: str = "none"

        def __repr__(self) -> str:
            return f"<{self.title}>"

    @dataclass(frozen=True)
    class Wrapped:
        value: tuple[int, ...]
        length: int = dataclasses.field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.value))

    @dataclass(slots=True)
    class Counter:
        count: int = 0
        seen: set[str] = dataclasses.field(default_factory=set)

    @dataclass(frozen=True, slots=True)
    class Folded:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.text.lower() == other.text.lower()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        first: int = 0
        second: str

    @dataclass(frozen=True, slots=True)
    class Renamed(Named):
        third: int

    @dataclass(eq=False)
    class Entity:
        name: str

    @dataclass
    class Bare:
        pass

    return SimpleNamespace(
        **{each.__name__: each for each in (Point, Place, Wrapped, Counter, Folded, Named, Renamed, Entity, Bare)}
    )


BOTH = {"adaptc": classes_of(values.dataclass), "Python": classes_of(dataclasses.dataclass)}


def outcome(call: Callable[[], object]) -> object:
    """What a call returns, or the type of what it raises."""
    try:
        return call()
    except (AttributeError, TypeError) as error:
        return type(error)


CALLS: dict[str, Callable[[SimpleNamespace], object]] = {
    "texts": lambda c: [repr(c.Place(1)), repr(c.Counter(2, {"a"})), repr(c.Wrapped((1, 2))).rpartition(".")[2]],
    "no secret": lambda c: "secret" in repr(c.Point(1)),
    "own lists": lambda c: c.Point(1).names is c.Point(1).names,
    "defaults": lambda c: dataclasses.astuple(c.Place(1, title="a")),
    "fields": lambda c: [each.name for each in dataclasses.fields(c.Place)],
    "slots": lambda c: [c.Point.__slots__, c.Place.__slots__, hasattr(c.Wrapped, "__slots__")],
    "match": lambda c: [c.Point.__match_args__, c.Place.__match_args__],
    "asdict": lambda c: dataclasses.asdict(c.Wrapped((1,))),
    "replace": lambda c: dataclasses.replace(c.Point(1), y=2.0).y,
    "replace before __post_init__": lambda c: dataclasses.replace(c.Wrapped((1,)), value=()).length,
    "equal": lambda c: [c.Point(1, note="a") == c.Point(1, note="b"), c.Point(1) == c.Point(2), c.Bare() == c.Bare()],
    "other class": lambda c: [c.Point(1) == c.Place(1), c.Point(1) == 1, c.Folded("A") == c.Folded("a")],
    "not a number": lambda c: c.Wrapped((NAN,)) == c.Wrapped((NAN,)),
    "entities": lambda c: [c.Entity("a") == c.Entity("a"), len({c.Entity("a"), c.Entity("a")})],
    "hashes": lambda c: [len({c.Wrapped((1,)), c.Wrapped((1,))}), len({c.Folded("a"), c.Folded("a")})],
    "no hash": lambda c: hash(c.Counter()),
    "list in a hash": lambda c: hash(c.Point(1)),
    "frozen": lambda c: setattr(c.Point(1), "x", 2),
    "not deleted": lambda c: delattr(c.Wrapped(()), "value"),
    "frozen subclass": lambda c: setattr(c.Place(1), "title", "a"),
    "no such field": lambda c: setattr(c.Counter(), "other", 5),
    "by keyword": lambda c: dataclasses.astuple(c.Renamed(1, second="a")),
    "not by position": lambda c: c.Named(1, "a"),
    "missing keyword": lambda c: c.Renamed(1),
    "missing argument": lambda c: c.Point(),
    "unknown argument": lambda c: c.Point(1, z=1),
    "too many arguments": lambda c: c.Counter(1, set(), 2),
    "shallow copies": lambda c: [copy.copy(c.Place(1, title="a")).title, copy.copy(c.Wrapped((1,))).length],
    "deep copies": lambda c: copy.deepcopy(c.Counter(3)).count,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_classes_do_what_those_of_python_do(call: Callable[[SimpleNamespace], object]) -> None:
    assert outcome(lambda: call(BOTH["adaptc"])) == outcome(lambda: call(BOTH["Python"]))


@values.dataclass(frozen=True, slots=True)
class Pickled:
    first: int
    second: tuple[str, ...] = ()


@values.dataclass(frozen=True, slots=True)
class PickledSingle:
    only: str


def test_values_are_pickled() -> None:
    for value in (Pickled(1, ("a",)), PickledSingle("a")):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) == value


def test_an_error_names_the_class_and_the_argument() -> None:
    with pytest.raises(TypeError, match=r"Pickled\.__init__\(\) missing 1 required positional argument: 'first'"):
        Pickled()  # type: ignore[call-arg]
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"Pickled\.first cannot be changed"):
        Pickled(1).first = 2  # type: ignore[misc]


# ---- regular expressions of modules


def test_a_name_holds_what_python_compiles_once_it_is_used() -> None:
    module: dict[str, Any] = {"pattern": pattern}
    exec(r"word, never = pattern(r'(?P<it>\w+)', 256), pattern('(')", module)
    first = module["word"]
    assert not isinstance(first, re.Pattern) and first.pattern == r"(?P<it>\w+)"
    assert [match["it"] for match in first.finditer("a bc")] == ["a", "bc"]
    assert isinstance(module["word"], re.Pattern) and module["word"].flags == re.ASCII
    assert first.sub("x", "a bc") == "x x"  # what another name holds goes on to work
    assert not isinstance(module["never"], re.Pattern)


def test_all_of_the_package_can_be_compiled() -> None:
    root = Path(adaptc.__file__).parent
    for file in root.rglob("*.py"):
        if " = pattern(" in file.read_text("utf-8"):
            name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            for value in list(vars(importlib.import_module(name)).values()):
                assert type(value) is not pattern or value.flags  # compiles it
