"""Which files of a docroot the redirects and rewrite rules of its server may answer for (mod_alias, mod_rewrite).

A condition that does not depend on the path alone, such as one on a header, may hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adaptc.formats.directives import Directive

Matcher = Callable[[str], bool]

_INDEX = re.compile(r"index\.[^/]+$")
_STATUSES = ("permanent", "temp", "seeother", "gone")
# Flags by which a rule has an effect though it leaves the path as it is
_EFFECTS = frozenset({"f", "forbidden", "g", "gone", "r", "redirect", "h", "handler", "t", "type", "p", "proxy"})
_FILE_NAMES = ("%{request_filename}", "%{script_filename}")
_DIRECTORY_TESTS = {"-d": True, "!-f": True, "!-s": True, "!-d": False, "-f": False, "-s": False}
_PATH_NAMES = ("%{request_uri}", "%{script_name}")


def urls_of(path: str, prefix: str) -> Iterator[str]:
    """Yield the URL paths that a server answers with a file: its own, and its directory's where it is the index."""
    url = f"{prefix}/{path}"
    yield url
    if _INDEX.search(path):
        yield url[: url.rindex("/") + 1]


def redirected(directive: Directive, prefix: str) -> Matcher | None:
    """Return which files a ``Redirect`` or ``RedirectMatch`` applies to."""
    args = list(directive.args)
    if args and directive.name in ("redirect", "redirectmatch") and (args[0].lower() in _STATUSES or args[0].isdigit()):
        del args[0]
    if not args:
        return None
    if directive.name == "redirectmatch":
        return lambda path: any(matches(args[0], url) for url in urls_of(path, prefix))
    if not args[0].startswith("/"):  # in a section: of everything there
        return lambda _path: True
    return lambda path: any(_is_at_or_below(url, args[0]) for url in urls_of(path, prefix))


def _is_at_or_below(url: str, prefix: str) -> bool:
    return url == prefix or url.startswith(prefix.rstrip("/") + "/")


def rewritten(directives: Sequence[Directive], directory: str, prefix: str) -> Mapping[Directive, Matcher]:
    """Return which files each effective ``RewriteRule`` of a .htaccess file in ``directory`` applies to.

    A file without ``RewriteEngine`` has the state of the directories above it, which may be on.
    """
    switches = [line.args[0].lower() for line in directives if line.name == "rewriteengine" and line.args]
    if switches[-1:] == ["off"]:
        return {}
    rules: dict[Directive, Matcher] = {}
    conditions: list[Directive] = []
    for directive in directives:
        if directive.name == "rewritecond":
            conditions.append(directive)
        elif directive.name == "rewriterule":
            rule = _Rewrite(directive, tuple(conditions), directory, prefix)
            conditions = []
            if rule.has_effect:
                rules[directive] = rule.applies
    return rules


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """A ``RewriteRule`` with the conditions before it."""

    directive: Directive
    conditions: tuple[Directive, ...]
    directory: str
    prefix: str

    @property
    def has_effect(self) -> bool:
        """Whether the rule may answer with anything but the file that the URL names."""
        args = self.directive.args
        if len(args) < 2:
            return False
        flags = args[2].strip("[]").lower().split(",") if len(args) > 2 else []
        return args[1] != "-" or any(flag.strip().partition("=")[0] in _EFFECTS for flag in flags)

    def applies(self, path: str) -> bool:
        """Whether the rule may apply to a file of the docroot."""
        own = f"{self.prefix}/{self.directory}/" if self.directory else f"{self.prefix}/"
        return any(
            _accepts(self.directive.args[0], url[len(own) :], self._flags) and self._may_hold(url)
            for url in urls_of(path, self.prefix)
            if url.startswith(own)
        )

    @property
    def _flags(self) -> str:
        return self.directive.args[2] if len(self.directive.args) > 2 else ""

    def _may_hold(self, url: str) -> bool:
        """Whether the conditions may hold for an existing file; one that is joined by OR does not decide."""
        alternatives = any(re.search(r"\bor\b|\bornext\b", _flags_of(line), re.IGNORECASE) for line in self.conditions)
        return alternatives or all(_may_hold(line, url) for line in self.conditions)


def _flags_of(condition: Directive) -> str:
    return condition.args[2] if len(condition.args) > 2 else ""


def _may_hold(condition: Directive, url: str) -> bool:
    if len(condition.args) < 2:
        return True
    subject, pattern = condition.args[0].lower(), condition.args[1]
    if subject in _FILE_NAMES and pattern in _DIRECTORY_TESTS:
        return _DIRECTORY_TESTS[pattern] == url.endswith("/")
    if subject in _PATH_NAMES and pattern.lstrip("!")[:1] not in ("-", "<", ">", "="):
        return _accepts(pattern, url, _flags_of(condition))
    return True


def _accepts(pattern: str, text: str, flags: str) -> bool:
    """Whether a pattern, or the negation after ``!``, may accept a text."""
    ignores_case = re.search(r"\bnc\b", flags, re.IGNORECASE) is not None
    if not pattern.startswith("!"):
        return matches(pattern, text, ignores_case)
    return not _is_regex(pattern[1:]) or not matches(pattern[1:], text, ignores_case)


def matches(pattern: str, text: str, ignores_case: bool = False) -> bool:
    """Whether a pattern of Apache (PCRE) matches; one that Python cannot read may match everything."""
    return not _is_regex(pattern) or re.search(pattern, text, re.IGNORECASE if ignores_case else 0) is not None


def _is_regex(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
