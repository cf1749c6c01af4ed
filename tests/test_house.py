"""The rules of the house for modules (CONTRIBUTING.md, Style): their size, their number, who imports whom, patterns."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

from tests.places import ROOT

PACKAGE = ROOT / "adaptc"
MOST_LINES = 600
FEW_LINES = 60
MOST_MODULES = 460


@cache
def modules() -> dict[str, Path]:
    """The files of adaptc by the names of their modules."""
    return {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def lines(file: Path) -> int:
    return file.read_text("utf-8").count("\n")


def imported(tree: ast.AST, known: Set[str]) -> set[str]:
    """The modules that a module imports: at its top, in its functions, and for types alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & known or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(file.read_bytes()) for name, file in modules().items()}


@cache
def imports() -> dict[str, set[str]]:
    return {name: imported(tree, modules().keys()) - {name} for name, tree in trees().items()}


@cache
def importers() -> Mapping[str, set[str]]:
    found = defaultdict(set)
    for name, others in imports().items():
        for other in others:
            found[other].add(name)
    return found


@cache
def loaded_by_name() -> Set[str]:
    """Modules that are named in a string: entry points, and the tables of modules that call ``import_module``.

    Tables have whole names (``adaptc.cli.build:build``), with or without ``adaptc``, or the last parts of those of one
    folder (``prefetch:remove_prefetch``). A folder whose ``__init__`` calls ``import_module`` is a table itself.
    """
    named = set(re.findall(r"= *(adaptc[\w.]+):", (ROOT / "setup.cfg").read_text("utf-8")))
    ends = set()
    for name, file in modules().items():
        texts = strings(trees()[name])
        named |= {text.partition(":")[0] for text in texts}
        if "import_module(" in file.read_text("utf-8"):
            named |= {f"adaptc.{text}" for text in texts}
            ends |= {text.partition(":")[0] for text in texts if re.fullmatch(r"[a-z][\w.]*:\w+", text)}
            if file.name == "__init__.py" and file.parent != PACKAGE:
                named |= {module for module in modules() if module.rpartition(".")[0] == name}
    return {module for module in modules() if module in named or module.rpartition(".")[2] in ends}


def strings(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def is_exempt(name: str, only_importer: str) -> bool:
    """Whether a small module may have one importer: the ``__init__`` that lists it, or a table of names."""
    file = modules()[name]
    return file.stem.startswith("__") or only_importer == name.rpartition(".")[0] or name in loaded_by_name()


def test_no_module_is_too_long() -> None:
    long = {name: lines(file) for name, file in modules().items() if lines(file) > MOST_LINES}
    assert not long, f"split these along their concepts, at most {MOST_LINES} lines each:\n{rows(long)}"


def test_a_small_module_lives_with_its_only_importer() -> None:
    lonely = {
        f"{name} ({lines(file)} lines)": f"only {importer} imports it"
        for name, file in modules().items()
        if lines(file) < FEW_LINES and len(importers()[name]) == 1
        for importer in importers()[name]
        if not is_exempt(name, importer)
    }
    assert not lonely, f"move what these define into their importers:\n{rows(lonely)}"


def test_imports_make_no_circle() -> None:
    """Imports in functions and for types alone count: a circle of them is a concept that was cut in two."""
    circle = circle_of(imports())
    assert not circle, "put what both need into a module that imports neither:\n  " + "\n  imports ".join(circle)


def circle_of(graph: Mapping[str, Set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


def test_modules_are_few() -> None:
    count = len(modules())
    folders = {folder: len(list((ROOT / folder).glob("*.py"))) for folder in map(folder_of, modules().values())}
    fullest = dict(sorted(folders.items(), key=lambda item: -item[1])[:10])
    assert count <= MOST_MODULES, (
        f"adaptc has {count} modules, {count - MOST_MODULES} too many: merge those that are one concept, or raise"
        f" MOST_MODULES here and say why. The fullest folders:\n{rows(fullest)}"
    )


def folder_of(file: Path) -> str:
    return str(file.parent.relative_to(ROOT))


def rows(values: Mapping[str, object]) -> str:
    return "\n".join(f"  {name}: {value}" for name, value in values.items())


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python 3.11.0 to 3.11.4, that of Debian 12 too, match them wrongly (CPython, issue 106052)."""
    found = {
        f"{name}:{node.lineno}": f"an atomic group (?>...) in place of {match[0]}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for match in [POSSESSIVE_GROUP.search(pattern_of(node))]
        if match
    }
    assert not found, f"possessive quantifiers of groups:\n{rows(found)}"


# A group or a part with a name: those named here are one character
POSSESSIVE_GROUP = re.compile(r"(?:(?<![\\(])\)|<(?!SPACE>|NAME_CHARACTER>)\w+>)(?:[*+?]|\{[\d,]+\})\+")


def pattern_of(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a string, with the names of the parts of an f-string in angle brackets."""
    if isinstance(node, ast.Constant):
        text = node.value
        return text.decode("latin-1") if isinstance(text, bytes) else text if isinstance(text, str) else ""
    return "".join(
        f"<{ast.unparse(part.value)}>" if isinstance(part, ast.FormattedValue) else pattern_of(part)
        for part in node.values
        if isinstance(part, ast.FormattedValue | ast.Constant)
    )


def test_imports_are_seen_wherever_they_are() -> None:
    source = """
from typing import TYPE_CHECKING
import a.b
from a import c, x
if TYPE_CHECKING:
    from a.d import name
def f():
    from a.e import name
"""
    known = {"a", "a.b", "a.c", "a.d", "a.e", "a.f"}
    assert imported(ast.parse(source), known) == known - {"a", "a.f"}


def test_a_circle_is_told_in_the_order_of_its_imports() -> None:
    assert circle_of({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    circle = circle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
    assert set(circle) == {"a", "b", "c"}
    follows = {"a": "b", "b": "c", "c": "a"}
    assert all(follows[name] == other for name, other in pairwise(circle))


def test_tables_of_names_are_known() -> None:
    """Commands, passes and servers are loaded by name; so is the module that starts the program."""
    named = loaded_by_name()
    assert {"adaptc.cli.main", "adaptc.cli.about", "adaptc.serve.servers.lighttpd", "adaptc.workflow.api"} <= named
    assert "adaptc.compile.passes.loading" in named
    assert {"adaptc.core.urls", "adaptc.daemons.follow", "adaptc.report.ledger"}.isdisjoint(named)
