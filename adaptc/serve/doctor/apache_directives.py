"""Apache's configuration as a list of directives, and those that restrict access by directory.

Access rules in .htaccess files and <Directory> sections do not apply to the trees, which are elsewhere
(docs/serving.md, "Access rules").
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.serve.server import Directive, Installation, Section

OPEN = {("all", "granted"), ("from", "all")}  # Require all granted, Allow from all
ACCESS = frozenset({"require", "deny", "authtype", "authname"})

_SECTION = re.compile(r"<(/?)(\w+)\s*(.*?)>?\s*$")


def apache_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file of Apache, or of a .htaccess file; ``<If...>`` sections count as sections."""
    within: list[Section] = []
    for number, line in _logical_lines(text):
        section = _SECTION.match(line)
        if section is None:
            name, *args = _words(line)
            yield Directive(name.lower(), tuple(args), file, number, tuple(within))
        elif not section[1]:
            within.append(Section(section[2].lower(), tuple(_words(section[3])), number))
        elif within:
            within.pop()


def directives_in(file: str | Path) -> Iterator[Directive]:
    """Yield the directives of a file; none where it cannot be read."""
    try:
        text = Path(file).read_text("utf-8", "surrogateescape")
    except OSError:
        return
    yield from apache_directives(text, os.fspath(file))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with content, each with its number; a backslash at the end joins a line with the next."""
    begun, number = "", 0
    for current, line in enumerate(text.split("\n"), 1):
        number = number if begun else current
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole, begun = (begun + line).strip(), ""
        if whole and not whole.startswith("#"):
            yield number, whole


def _words(line: str) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    try:
        return list(reader)
    except ValueError:  # an unclosed quotation mark, as patterns of mod_rewrite may have
        return line.split()


# ---- access rules


def bypassed_access_rules(installation: Installation) -> Iterator[Diagnostic]:
    """Yield the first rule of each directory that restricts a built file which nothing else protects."""
    rules: dict[tuple[str, str], Diagnostic] = {}
    for directive, folder in _restrictions(installation):
        below = f"/{folder}" if folder else ""
        if (directive.file, below) not in rules and _is_bypassed(installation, directive, below):
            rule = " ".join((directive.name.capitalize(), *directive.args))
            place = Location(directive.file, directive.line)
            rules[directive.file, below] = diagnose("setup-access", place, rule=rule, below=below or "/")
    yield from rules.values()


def _restrictions(installation: Installation) -> Iterator[tuple[Directive, str]]:
    """Yield restricting directives with their directory: its path in the docroot, "" for the docroot."""
    for directive in installation.setup.directives:
        section = next((section for section in directive.within if section.name == "directory" and section.args), None)
        if section is not None and is_restricting(directive):
            yield from ((directive, folder) for folder in _in_docroot(installation, section.args[0]))
    for file in sorted(installation.docroot.rglob(".htaccess")):
        folder = os.fspath(file.parent.relative_to(installation.docroot))
        for directive in directives_in(file):
            if is_restricting(directive):
                yield directive, "" if folder == "." else folder


def is_restricting(directive: Directive) -> bool:
    """Whether a directive refuses somebody."""
    return directive.name in ACCESS and tuple(arg.lower() for arg in directive.args) not in OPEN


def _in_docroot(installation: Installation, path: str) -> Iterator[str]:
    """Yield the path of a section's directory in the docroot; none where it is outside or above."""
    path = path.rstrip("/")
    for root in installation.docroots:
        if path == root or path.startswith(f"{root}/"):
            yield path[len(root) + 1 :]
            return


def _is_bypassed(installation: Installation, directive: Directive, below: str) -> bool:
    if _is_protected(installation, below):
        return False
    restricted = (path for path in installation.manifest.resources if f"/{path}".startswith(f"{below}/"))
    return any(_is_covered(path, directive.within) for path in restricted)


def _is_covered(path: str, within: Iterable[Section]) -> bool:
    """Whether a rule in <Files> and <FilesMatch> sections applies to a file."""
    name = os.path.basename(path)
    for section in within:
        if section.name == "files" and section.args and not fnmatch.fnmatchcase(name, section.args[-1]):
            return False
        if section.name == "filesmatch" and section.args and not _matches(section.args[-1], name):
            return False
    return True


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches; one that Python cannot read may match everything."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def _is_protected(installation: Installation, below: str) -> bool:
    """Whether serve.exclude contains a path, or a <Location> of the server restricts it."""
    excluded = any(below == path or below.startswith(f"{path}/") for path in installation.policy.serve.exclude)
    return excluded or any(
        is_restricting(directive) and _is_location_of(section, f"{installation.policy.prefix}{below}")
        for directive in installation.setup.directives
        for section in directive.within
    )


def _is_location_of(section: Section, url: str) -> bool:
    if section.name != "location" or not section.args:
        return False
    path = section.args[-1].rstrip("/")
    return url == path or url.startswith(f"{path}/")
