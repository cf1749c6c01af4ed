"""What results depend on: a pass declares its libraries, and another version of one rebuilds what depends on it."""

from __future__ import annotations

import ast
import glob
import importlib.metadata
import io
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import oxipng
import pytest
import turbohtml.clean
import zopfli.zopfli
from PIL import Image

from tests.sites.built import BuiltSite

import adaptc
from adaptc.browser import evidence
from adaptc.compile import pipeline
from adaptc.compile.engine.cache import derived
from adaptc.compile.engine.unit import unit_builder
from adaptc.compile.engine.workers.task import own_versions
from adaptc.compile.pipeline import EVERY_PASS, LIBRARIES, PASSES, AlternatePass, AssetPass, Pass, facts_recipe
from adaptc.core import imports, libraries
from adaptc.core.libraries import PYTHON, distributions_of, versions_of
from adaptc.formats import codings
from adaptc.workflow.check.check import Status, check

_ROOT = Path(adaptc.__file__).parent
MODULES = {
    ".".join(["adaptc", *path.relative_to(_ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in _ROOT.rglob("*.py")
}

# ---- imports


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one, but for what is only there for types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield other
                yield from executed(other)
            continue
        yield child
        yield from executed(child)


def imported_names(module: str) -> set[str]:
    names = set()
    for node in executed(parsed(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by a relative name"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_imports_are_those_that_python_parses() -> None:
    for module in MODULES:
        names = imported_names(module)
        own = {name if name in MODULES else name.rpartition(".")[0] for name in names if name.startswith("adaptc.")}
        paths = [name.split(".") for name in own]
        parents = {".".join(path[:count]) for path in paths for count in range(1, len(path))}
        assert imports.imported_modules(module) == own | parents, module
        others = {name.partition(".")[0] for name in names} - {"adaptc"} - sys.stdlib_module_names
        assert imports.packages_of(module) == others, module


def test_a_digest_of_code_has_what_is_imported_inside_functions_too() -> None:
    """A scan of scripts imports turbohtml in a function."""
    assert "turbohtml" in imports.reachable_libraries("adaptc.formats.script.facts")
    assert "adaptc.formats.html.document" in imports.reachable_modules("adaptc.compile.page.skeleton")


# ---- declarations

# What a view does for a pass by code that the pass does not import
_DERIVED, _FONTS = "adaptc.formats.image.copiers", "adaptc.formats.font"
_EVIDENCE = "adaptc.compile.analyse.decorations.evidence"


@cache
def asked_of_views(module: str) -> frozenset[str]:
    """Return the modules that do what a module asks of a view."""
    return frozenset(find_asked(module))


def find_asked(module: str) -> Iterator[str]:
    for node in executed(parsed(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "derive":
                yield _FONTS if ast.unparse(node.args[1]) == "WOFF2" else _DERIVED
            elif node.func.attr == "evidence":
                yield _EVIDENCE


def libraries_of(*modules: str, without: frozenset[str] = frozenset()) -> set[str]:
    """Return the distributions that modules import, directly or not, but for what is imported by ``without`` alone."""
    known, pending = set(without), list(modules)
    packages: set[str] = set()
    while pending:
        module = pending.pop()
        if module not in known:
            known.add(module)
            packages |= imports.packages_of(module)
            pending += [*imports.imported_modules(module), *asked_of_views(module)]
    return {name for package in packages for name in distributions_of(package)}


_CODINGS = frozenset({codings.__name__})


def is_kept_by_content(each: Pass) -> bool:
    """Whether results are in the cache by themselves, not only as part of a level."""
    return isinstance(each, AlternatePass) or (isinstance(each, AssetPass) and each.content_only is not False)


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_a_pass_declares_the_libraries_that_it_imports(each: Pass) -> None:
    """A pass depends on each library that its module imports, or a module of adaptc behind it, at any depth.

    Everything that a pass runs is there: it is a pure function, and reaches code by imports, inside functions too, or
    through its view. Of what a view does, ``derive`` and ``evidence`` run code that the pass need not import, which
    counts as imported here; ``facts`` run what the pass passes to it; ``artifact`` runs passes of the same level, whose
    libraries are in the recipe of the level; all else are look-ups, which are recorded.

    The walk goes through modules that many passes share (``compile.page``). So a pass may declare a library that it
    uses by way of a function that it never calls. Then a unit is built once too often; no unit is wrongly up to date.

    What encodes by ``formats.codings`` need not be declared, but by passes whose results are kept by their contents:
    every level has ``codings.ESTIMATING``, and the libraries of its own codings.
    """
    modules = {f"adaptc.compile.passes.{name.partition(':')[0]}" for name in each.function_names()}
    imported = libraries_of(*modules, without=_CODINGS)
    if is_kept_by_content(each):
        assert not _CODINGS & imports.reachable_modules(*modules)
        assert imported - EVERY_PASS == each.libraries - EVERY_PASS
    else:
        everything = libraries_of(*modules)
        missing = imported - EVERY_PASS - codings.ESTIMATING - each.libraries
        assert not missing, f"{each.name} imports {', '.join(missing)}: declare them in its row of PASSES"
        assert each.libraries <= everything, f"{each.name} imports no {', '.join(each.libraries - everything)}"


# What the engine imports that is no part of what every level depends on
_APART = {
    "adaptc.compile.pipeline": "passes are imported when they run",
    "adaptc.formats.codings": "a level has the libraries of its codings",
    "adaptc.compile.engine.cache.derived": "what passes ask of views; and codings, as above",
    _EVIDENCE: "likewise",
    "adaptc.compile.page.page_harm": "levels with ``instead``, which have the libraries of images",
    "adaptc.compile.analyse.facts": "facts have a recipe of their own",
    "adaptc.compile.analyse.decisions": "decisions are dependencies",
    "adaptc.compile.analyse.decorations.rules": "recipes have a digest of the rules; passes declare what labels need",
}


def test_every_level_depends_on_what_builds_and_verifies_its_units() -> None:
    engine = libraries_of("adaptc.compile.engine.unit.unit_builder", without=frozenset(_APART))
    assert engine <= EVERY_PASS | codings.ESTIMATING
    assert libraries_of("adaptc.compile.page.page_harm") <= EVERY_PASS | pipeline._IMAGES


def test_facts_of_sources_depend_on_the_parsers() -> None:
    behind = libraries_of("adaptc.compile.analyse.facts")
    assert behind <= EVERY_PASS | pipeline._VECTORS
    assert all(f"{name} {version}" in facts_recipe() for name, version in versions_of(behind).items())


def test_evidence_of_a_browser_depends_on_what_its_package_imports() -> None:
    modules = [name for name in MODULES if name.startswith("adaptc.browser.")]
    unused = codings.LIBRARIES - codings.ESTIMATING  # answers are encoded by the settings of effort fast
    assert libraries_of(*modules) - unused == evidence.LIBRARIES


def test_workers_have_all_libraries_that_results_depend_on() -> None:
    """Which is also the list by which workers elsewhere are refused."""
    assert own_versions() == {"adaptc": adaptc.__version__, **versions_of(LIBRARIES)}
    declared = EVERY_PASS.union(codings.LIBRARIES, *(each.libraries for each in PASSES))
    assert declared == LIBRARIES


@pytest.mark.parametrize("name", sorted(LIBRARIES - {PYTHON}))
def test_the_version_is_the_one_that_the_distribution_has(name: str) -> None:
    assert versions_of([name]) == {name: importlib.metadata.version(name)}


# ---- upgrades

LEVELS = ("full", "lossless", "text")
_RANDOM = random.Random(7)
_NOUNS = ["river", "stone", "cloud", "window", "paper", "garden", "copper", "letter"]
_WORDS = " ".join(_RANDOM.choice(_NOUNS) for _ in range(3000))
FILES: dict[str, str | bytes] = {
    "index.html": f"<!DOCTYPE html>\n<title>a</title>\n<link rel=stylesheet href=one.css>\n<p>{_WORDS}<img src=a.png>",
    "one.css": "a  { color : red }\nb  { color : blue ; }\n" * 40,
    "a.svg": '<svg xmlns="http://www.w3.org/2000/svg"> <rect width="9" height="9"/> </svg>',
}

Install = Callable[[str, str], None]


def forget_versions() -> None:
    """Forget what a process knows of versions, and what it made with them."""
    for known in (
        libraries.version_of,
        libraries._named_versions,
        codings.recipe,
        codings._encode_small,
        derived._libraries_of,
        imports.code_digest,
        facts_recipe,
        own_versions,
    ):
        known.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Pretend that another version of a distribution is installed."""
    directory = tmp_path / "packages"
    monkeypatch.syspath_prepend(directory)

    def pretend(name: str, version: str) -> None:
        stem = f"{directory}/{name.replace('-', '_')}"
        for last in glob.glob(f"{stem}-*"):
            os.rmdir(last)
        os.makedirs(f"{stem}-{version}.dist-info")
        forget_versions()

    yield pretend
    forget_versions()


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    noise = Image.frombytes("L", (64, 64), bytes(_RANDOM.choice(b"\0\x40\x80") for _ in range(64 * 64))).convert("RGB")
    png = io.BytesIO()
    noise.save(png, "PNG", compress_level=0)
    return BuiltSite(tmp_path).write({**FILES, "a.png": png.getvalue()})


def test_another_version_rebuilds_the_levels_that_depend_on_it(site: BuiltSite, install: Install) -> None:
    chosen = {"build__levels": LEVELS}
    site.build(**chosen)
    # ``text`` has ``dimensions`` and ``images``, and is below no level
    for name, levels in {"Pillow": {"lossless", "text"}, "pyvips": {"lossless", "text"}, "fonttools": set()}.items():
        before = versions_of([name])[name]
        install(name, "99.1")
        result = site.build(**chosen)
        assert {level for level, _ in result.built} == levels, name
        assert {str(reason) for reason in result.built.values()} <= {f"{name} is 99.1 now, and was {before}"}
        assert len(result.built) == len(levels) * (len(FILES) + 1)
        assert site.built(**chosen) == {}


def test_a_library_of_all_passes_rebuilds_every_level(site: BuiltSite, install: Install) -> None:
    site.build(build__levels=LEVELS)
    install("turbohtml", "99.1")
    assert set(site.built(build__levels=LEVELS).values()) == {"LibrariesChanged"}
    install("tinycss2", "99.2")
    reasons = site.build(build__levels=LEVELS, codings__zst=False).built  # a setting changed as well
    assert {level for level, _ in reasons} == set(LEVELS)
    assert {type(reason).__name__ for reason in reasons.values()} == {"RecipeChanged"}


def test_an_encoder_rebuilds_what_is_encoded_with_it(site: BuiltSite, install: Install) -> None:
    """Effort ``fast`` has gzip by libdeflate."""
    site.build()
    install("zopfli", "99.1")
    assert site.built() == {}
    site.build(build__effort="max")
    install("zopfli", "99.2")
    assert site.built(build__effort="max", codings__gz=False, codings__zst=False) != {}
    install("zopfli", "99.3")
    assert site.built(build__effort="max", codings__gz=False, codings__zst=False) == {}


def test_facts_are_found_anew_by_other_parsers(
    site: BuiltSite, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.build()
    read: list[str] = []

    def gather(path: str, *rest: object, found: Callable[..., object] = unit_builder.gather) -> object:
        read.append(path)
        return found(path, *rest)

    monkeypatch.setattr(unit_builder, "gather", gather)
    install("fonttools", "99.1")
    assert site.built() == {} and not read
    install("lxml", "99.1")
    site.build()
    assert sorted(read) == sorted([*FILES, "a.png"])


def other_sheets(monkeypatch: pytest.MonkeyPatch) -> None:
    minify = turbohtml.clean.minify_css
    monkeypatch.setattr("turbohtml.clean.minify_css", lambda text: minify(text).replace("}", "}\n"))


def other_pngs(monkeypatch: pytest.MonkeyPatch) -> None:
    optimize, deflater = oxipng.optimize_from_memory, oxipng.Deflaters.libdeflater(1)
    monkeypatch.setattr(
        "oxipng.optimize_from_memory", lambda content, **options: optimize(content, **{**options, "deflate": deflater})
    )


def other_gzip(monkeypatch: pytest.MonkeyPatch) -> None:
    compress = zopfli.zopfli.compress
    monkeypatch.setattr(
        "zopfli.zopfli.compress", lambda content, **options: compress(content, numiterations=1, gzip_mode=1)
    )


@pytest.mark.parametrize(
    ("name", "upgrade", "effort"),
    [
        ("turbohtml", other_sheets, "fast"),
        ("oxipng-pybind", other_pngs, "fast"),
        ("zopfli", other_gzip, "max"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trees_are_those_of_a_fresh_build(
    site: BuiltSite,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    upgrade: Callable[[pytest.MonkeyPatch], None],
    effort: str,
) -> None:
    """The library of the next version writes other bytes; the cache has those of the last one."""
    site.build(build__effort=effort)
    before = site.trees()
    upgrade(monkeypatch)
    install(name, "99.1")
    site.build(build__effort=effort)
    fresh = site.clean()
    fresh.build(build__effort=effort)
    pages = {path: content for path, content in site.trees().items() if path.startswith(("full/", "lossless/"))}
    assert pages == {path: content for path, content in fresh.trees().items() if path in pages}
    assert any(content != before.get(path) for path, content in pages.items())


def test_facts_of_texts_are_found_again_by_another_version(install: Install) -> None:
    before = imports.code_digest("adaptc.formats.script.facts")
    install("turbohtml", "99.1")
    assert imports.code_digest("adaptc.formats.script.facts") != before


def test_a_check_says_what_another_version_makes_of_it(site: BuiltSite, install: Install) -> None:
    site.build()
    install("Pillow", "99.1")
    findings = check(site.config(), every_file=False).findings
    assert {(finding.level, finding.status) for finding in findings} == {("lossless", Status.RECIPE)}
    assert "Pillow is 99.1 now" in findings[0].reason
