"""Access rules of Apache by directory, in .htaccess files and <Directory> sections, that hide what is in the trees.

The trees lie elsewhere, so such rules do not hold for them (docs/serving.md, "Access rules").
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.serve.doctor.directives import Directive, Section, apache_directives
from adaptc.serve.doctor.patient import Patient

OPEN = {("all", "granted"), ("from", "all")}  # Require all granted, Allow from all
ACCESS = frozenset({"require", "deny", "authtype", "authname"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule at ``file:line``, and the URL path from the prefix on below which it hides something that was built."""

    file: str
    line: int
    text: str
    below: str


def access_rules(patient: Patient) -> Iterator[Rule]:
    """Yield the first rule of each directory that hides something built which nothing else protects."""
    found = (rule for directive, folder in _by_directory(patient) for rule in _rule(patient, directive, folder))
    yield from {(rule.file, rule.below): rule for rule in reversed(list(found))}.values()


def _by_directory(patient: Patient) -> Iterator[tuple[Directive, str]]:
    """Yield restricting directives with the directory they hold for: its path in the docroot, "" for the docroot."""
    for one in patient.setup.directives:
        section = next((at for at in one.within if at.name == "directory" and at.args), None)
        if section is not None and is_restricting(one):
            yield from ((one, folder) for folder in _in_docroot(patient, section.args[0]))
    for file in sorted(patient.docroot.rglob(".htaccess")):
        folder = os.fspath(file.parent.relative_to(patient.docroot))
        for one in _read(file):
            if is_restricting(one):
                yield one, "" if folder == "." else folder


def _read(file: Path) -> Iterator[Directive]:
    try:
        text = file.read_text("utf-8", "surrogateescape")
    except OSError:
        return
    yield from apache_directives(text, os.fspath(file))


def is_restricting(one: Directive) -> bool:
    """Whether a directive keeps somebody out."""
    return one.name in ACCESS and tuple(arg.lower() for arg in one.args) not in OPEN


def _in_docroot(patient: Patient, path: str) -> Iterator[str]:
    """Yield where the directory of a section is in the docroot; one above the docroot is none of its own."""
    path = path.rstrip("/")
    for root in patient.docroots:
        if path == root or path.startswith(f"{root}/"):
            yield path[len(root) + 1 :]
            return


def _rule(patient: Patient, one: Directive, folder: str) -> Iterator[Rule]:
    below = f"/{folder}" if folder else ""
    if _is_protected(patient, below):
        return
    hidden = (path for path in patient.manifest.resources if f"/{path}".startswith(f"{below}/"))
    if any(_is_covered(path, one.within) for path in hidden):
        yield Rule(one.file, one.line, " ".join((one.name.capitalize(), *one.args)), below)


def _is_covered(path: str, within: Iterable[Section]) -> bool:
    """Whether <Files> and <FilesMatch> sections around a rule leave it in force for a file."""
    name = os.path.basename(path)
    for section in within:
        if section.name == "files" and section.args and not fnmatch.fnmatchcase(name, section.args[-1]):
            return False
        if section.name == "filesmatch" and section.args and not _matches(section.args[-1], name):
            return False
    return True


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern finds something; one that Python cannot read may find everything."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def _is_protected(patient: Patient, below: str) -> bool:
    """Whether serve.exclude leaves a path alone, or a <Location> of the server says who may come."""
    excluded = any(below == one or below.startswith(f"{one}/") for one in patient.policy.serve.exclude)
    return excluded or any(
        is_restricting(one) and _is_location_of(section, f"{patient.policy.prefix}{below}")
        for one in patient.setup.directives
        for section in one.within
    )


def _is_location_of(section: Section, url: str) -> bool:
    if section.name != "location" or not section.args:
        return False
    path = section.args[-1].rstrip("/")
    return url == path or url.startswith(f"{path}/")
