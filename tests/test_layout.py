"""Tests lie where what they test lies, and share nothing but helpers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT, TESTS

# What tests use: sites, servers and other programs, made-up inputs
HELPERS = {"sites", "servers", "samples"}
# What is more than one package: whole builds, and the documentation with its examples
OTHERS = {"builds", "docs"}
# What concerns the whole repository
AT_THE_TOP = {"test_layout.py", "test_house.py"}


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imported(module: Path) -> Iterator[str]:
    """Yield the names of the modules that a module may import, wherever it does."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def test_every_folder_of_tests_is_named_for_a_package() -> None:
    folders = {module.parent.relative_to(TESTS) for module in modules(TESTS)} - {Path()}
    packages = {folder for folder in folders if folder.parts[0] not in HELPERS | OTHERS}
    assert packages
    assert [str(folder) for folder in packages if not (ROOT / "adaptc" / folder / "__init__.py").is_file()] == []


def test_every_folder_of_tests_is_a_package() -> None:
    """Modules are named by their path then: two of them may have the same name."""
    assert {module.parent for module in modules(TESTS) if not (module.parent / "__init__.py").is_file()} == set()


def test_no_test_lies_at_the_top_or_among_helpers() -> None:
    assert {module.name for module in TESTS.glob("test_*.py")} <= AT_THE_TOP
    assert [module for name in HELPERS for module in (TESTS / name).rglob("test_*.py")] == []


def test_helpers_lie_among_helpers() -> None:
    """Elsewhere a module holds tests; what all of them use is at the top."""
    known = {"__init__.py", "conftest.py"}
    inside = [module for module in modules(TESTS) if module.parent != TESTS and module.name not in known]
    strays = [path for path in inside if path.relative_to(TESTS).parts[0] not in HELPERS]
    assert [str(path) for path in strays if not path.name.startswith("test_")] == []


def test_no_module_imports_a_test_module() -> None:
    found = [
        (str(module.relative_to(ROOT)), name)
        for folder in (TESTS, ROOT / "benchmarks")
        for module in modules(folder)
        for name in imported(module)
        if re.search(r"(^|\.)test_\w+($|\.)", name)
    ]
    assert found == []


def test_the_repository_is_found_by_one_constant() -> None:
    """A path made of ``__file__`` breaks when its module moves."""
    assert [module.name for module in modules(TESTS) if "Path(__file__)" in module.read_text("utf-8")] == [
        "places.py",
        "test_layout.py",
    ]
