"""The classifier's rules with what ``[decorations]`` of ``adaptc.toml`` says over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.analyse.decorations.evidence import Tag
from adaptc.compile.analyse.decorations.filters import FilterList, read_filters
from adaptc.compile.analyse.decorations.rules import (
    DecorationRules,
    Override,
    load_decoration_rules,
    selector_problem,
    shipped_rules,
)
from adaptc.config.config import Config
from adaptc.config.toml import TomlSource, read_toml
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose, printable
from adaptc.core.digest import digest_parts

# Stands before a CSS selector, as in filter lists; anything else is a pattern of a URL
SELECTOR = "##"


@dataclass(frozen=True, slots=True)
class Configured:
    """The rules, a digest of all that they were made of, and what is to be said of them."""

    rules: DecorationRules
    digest: str
    diagnostics: tuple[Diagnostic, ...] = ()


def configured_rules(config: Config, rules_file: Path | None = None) -> Configured:
    """Return the rules of ``config``; ``rules_file`` takes the place of ``decorations.rules``.

    Raises ``UsageError`` with the file and line of a mistake.
    """
    chosen = config.decorations
    path = rules_file or chosen.rules
    source = read_toml(path) if path else TomlSource()
    rules = load_decoration_rules(source)
    own = [*_overrides("keep", chosen.keep, config), *_overrides("drop", chosen.drop, config), *rules.overrides]
    # where both fit, nothing is lost
    own.sort(key=lambda one: one.tag.verdict != "keep")
    texts = [_read(path) for path in chosen.filters]
    filters = read_filters("\n".join(texts), selector_problem)
    parts = (repr(shipped_rules().values), repr(source.values), repr(chosen.keep), repr(chosen.drop), *texts)
    made = replace(rules, overrides=tuple(own), filters=filters)
    return Configured(made, digest_parts(*parts), tuple(_left_out(filters)))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(printable(f"{path}: cannot be read ({error.strerror})")) from error


def _left_out(filters: FilterList) -> Iterator[Diagnostic]:
    if filters.left_out:
        count, example = len(filters.left_out), filters.left_out[0]
        yield diagnose("filter-unsupported", None, count=f"{count:,}", total=f"{filters.total:,}", example=example)


def _overrides(verdict: str, written: tuple[str, ...], config: Config) -> Iterator[Override]:
    for one in written:
        tag = Tag(verdict, (), f"decorations.{verdict} has {one}")
        if not one.startswith(SELECTOR):
            yield Override(tag, pattern=one)
            continue
        selector = one.removeprefix(SELECTOR)
        if problem := selector_problem(selector):
            source = read_toml(config.file) if config.file else TomlSource()
            raise UsageError(source.complaint(("decorations", verdict), f"decorations.{verdict} has {one}: {problem}"))
        yield Override(tag, selector)
