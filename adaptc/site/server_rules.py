"""Rules of the site's own server that copies of its files would bypass.

A copy in a tree is another file in another directory: neither the ``.htaccess`` file nor the ``<Directory>`` section of
the original applies to it, so a password, a handler, a redirect or a header would be lost. Such files are not built.
Which files a directive applies to is decided from its own arguments; where they do not decide it, it applies to all.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adaptc.config.config import ALL_DIRECTIVES, SERVER_DIRECTIVES
from adaptc.core import media
from adaptc.core.diagnostics import Location
from adaptc.core.fs import ChangedWhileRead, Tree
from adaptc.formats.directives import Directive, Section, apache_directives

ACCESS_FILE = ".htaccess"
# The emitted rules for .htaccess, which concern only the trees
OWN_BLOCK = re.compile(r"^# adaptc: .*?^# adaptc: end$", re.MULTILINE | re.DOTALL)

_OPEN = {
    ("require", "all", "granted"), ("allow", "from", "all"), ("deny", "from", "none"), ("authtype", "none"),
}  # fmt: skip
_DENIES_BY_DEFAULT = ("allow,deny", "mutual-failure")  # of Order (mod_access_compat)
_NO_HANDLER = ("none", "default-handler", "default")
_PLAIN_FILTERS = frozenset({"deflate", "brotli_compress", "inflate"})


@dataclass(frozen=True, slots=True)
class ServerRule:
    """A directive, and the files below ``directory`` (a path in the docroot) that it applies to."""

    directive: Directive
    directory: str
    applies: Matcher

    def covers(self, path: str) -> bool:
        """Whether the directive applies to a file of the docroot."""
        below = below_directory(self.directory, path)
        return below is not None and _in_sections(path, self.directive.within) and self.applies(path)

    @property
    def text(self) -> str:
        """The directive as its administrators know it."""
        return " ".join((_NAMES[self.directive.name], *self.directive.args))

    @property
    def location(self) -> Location:
        """Where the directive is."""
        return Location(self.directive.file, self.directive.line)


class ServerRules:
    """The rules of a docroot: those of its .htaccess files, read as they are asked for, and ``configured`` ones.

    ``ignored`` are names of directives that do not count, ``all`` for every directive. ``prefix`` is the URL path of
    the docroot without its final slash.
    """

    def __init__(
        self, tree: Tree, ignored: Iterable[str] = (), prefix: str = "", configured: Sequence[ServerRule] = ()
    ) -> None:
        self._tree, self._prefix, self._configured = tree, prefix, configured
        self._ignored = frozenset(name.lower() for name in ignored)
        self._by_directory: dict[str, tuple[ServerRule, ...]] = {}
        self._above: dict[str, tuple[ServerRule, ...]] = {}

    def rule_for(self, path: str) -> ServerRule | None:
        """Return the first rule that applies to a file, from the docroot downward."""
        for rule in self._rules_above(path):
            if rule.covers(path) and not self._ignored & {ALL_DIRECTIVES, rule.directive.name}:
                return rule
        return None

    def _rules_above(self, path: str) -> tuple[ServerRule, ...]:
        """Return the rules that may apply to a file: those of its directory are the same for all files in it."""
        directory = path.rpartition("/")[0]
        rules = self._above.get(directory)
        if rules is None:
            found = (self._configured, *map(self._rules_of, directories_above(path)))
            rules = self._above[directory] = tuple(rule for each in found for rule in each)
        return rules

    def _rules_of(self, directory: str) -> tuple[ServerRule, ...]:
        if directory not in self._by_directory:
            self._by_directory[directory] = tuple(self._read(directory))
        return self._by_directory[directory]

    def _read(self, directory: str) -> Iterator[ServerRule]:
        file = f"{directory}/{ACCESS_FILE}" if directory else ACCESS_FILE
        try:
            content = self._tree.read(file)
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ChangedWhileRead):
            yield ServerRule(Directive("require", ("unreadable",), file, 1, ()), directory, always)
            return
        text = without_own_block(content.decode("utf-8", "surrogateescape"))
        yield from rules_of(list(apache_directives(text, file)), directory, self._prefix)


def without_own_block(text: str) -> str:
    """Return a .htaccess file without the rules that adaptc emitted; lines keep their numbers."""
    return OWN_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)


def rules_of(directives: Sequence[Directive], directory: str, prefix: str) -> Iterator[ServerRule]:
    """Yield the rules among the directives of a .htaccess file in ``directory``."""
    rewrites = rewritten(directives, directory, prefix)
    for directive in directives:
        matcher = _matcher(directive, prefix)
        if directive.name == "rewriterule":
            matcher = rewrites.get(directive)
        elif directive.name == "order" and not _is_opened(directive, directives):
            matcher = always
        if matcher is not None:
            yield ServerRule(directive, directory, matcher)


# ---- which files a directive applies to


def always(_path: str) -> bool:
    return True


def _access(directive: Directive, _prefix: str) -> Matcher | None:
    return None if (directive.name, *map(str.lower, directive.args)) in _OPEN else always


def _is_opened(order: Directive, directives: Sequence[Directive]) -> bool:
    """Whether ``Order`` lets everybody in, by itself or by ``Allow from all`` in the same section."""
    if "".join(order.args).lower() not in _DENIES_BY_DEFAULT:
        return True
    same = (line for line in directives if line.within == order.within)
    return any((line.name, *map(str.lower, line.args)) == ("allow", "from", "all") for line in same)


def _action(directive: Directive, _prefix: str) -> Matcher | None:
    """An action of a media type runs for files as they are; that of a handler needs the handler."""
    return always if directive.args and "/" in directive.args[0] else None


def _handler(directive: Directive, _prefix: str) -> Matcher | None:
    return None if directive.args and directive.args[0].lower() in _NO_HANDLER else always


def _handler_by_extension(directive: Directive, _prefix: str) -> Matcher | None:
    if not directive.args or directive.args[0].lower() in _NO_HANDLER:
        return None
    return _has_extension(directive.args[1:])


# Files of these types get another meaning by another type: a page as text/plain runs no script
_ACTIVE = frozenset({media.HTML, media.XHTML, media.SVG, media.CSS, media.JS})


def _type(directive: Directive, _prefix: str) -> Matcher | None:
    """PHP and server-side includes may be bound to a media type instead of a handler."""
    media_type, *extensions = directive.args or ("",)
    if not re.search(r"x-httpd|server-parsed", media_type):
        extensions = [extension for extension in extensions if _is_other_type(media_type, extension)]
    return _has_extension(extensions) if extensions else None


def _is_other_type(media_type: str, extension: str) -> bool:
    usual, given = media.by_name(f"x.{extension.lstrip('.')}"), media_type.partition(";")[0].strip().lower()
    is_script = usual == media.JS and given.endswith(("javascript", "ecmascript"))
    return usual in _ACTIVE and given != usual and not is_script


def _filter(directive: Directive, _prefix: str) -> Matcher | None:
    filters = directive.args[0].lower().split(";") if directive.args else []
    if all(name in _PLAIN_FILTERS for name in filters):
        return None
    return _has_extension(directive.args[1:]) if directive.name == "addoutputfilter" else always


def _header(directive: Directive, _prefix: str) -> Matcher | None:
    """Trees have none of the fields that the site removes."""
    actions = [arg.lower() for arg in directive.args if arg.lower() not in ("always", "onsuccess")]
    return None if actions[:1] in (["unset"], ["echo"]) else always


def _executable_pages(directive: Directive, _prefix: str) -> Matcher | None:
    return None if directive.args and directive.args[0].lower() == "off" else _has_extension((".html", ".htm"))


def _has_extension(extensions: Sequence[str]) -> Matcher:
    wanted = {extension.lstrip(".").lower() for extension in extensions}
    return lambda path: not wanted.isdisjoint(path.rpartition("/")[2].lower().split(".")[1:])


# ---- which files the redirects and rewrite rules may answer for (mod_alias, mod_rewrite)
#
# A condition that does not depend on the path alone, such as one on a header, may hold.

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


_MATCHERS: Mapping[str, Callable[[Directive, str], Matcher | None]] = {
    **dict.fromkeys(("require", "allow", "deny", "authtype", "authname"), _access),
    **dict.fromkeys(("sethandler", "forcetype"), _handler),
    **dict.fromkeys(("setoutputfilter", "addoutputfilter", "addoutputfilterbytype"), _filter),
    **dict.fromkeys(("redirect", "redirectmatch", "redirectpermanent", "redirecttemp"), redirected),
    "action": _action,
    "addhandler": _handler_by_extension,
    "addtype": _type,
    "xbithack": _executable_pages,
    "header": _header,
}
_NAMES = {name.lower(): name for name in SERVER_DIRECTIVES}


def _matcher(directive: Directive, prefix: str) -> Matcher | None:
    """Return which files a directive applies to; ``None`` where it concerns no copy."""
    make = _MATCHERS.get(directive.name)
    return make(directive, prefix) if make is not None else None


def _in_sections(path: str, within: Iterable[Section]) -> bool:
    """Whether a file is one of the ``<Files>`` and ``<FilesMatch>`` sections around a directive."""
    name = path.rpartition("/")[2]
    return all(_in_section(name, section) for section in within if section.args)


def _in_section(name: str, section: Section) -> bool:
    if section.name == "filesmatch" or (section.name == "files" and section.args[0] == "~"):
        return matches(section.args[-1], name)
    return section.name != "files" or fnmatch.fnmatchcase(name, section.args[-1])


def below_directory(directory: str, path: str) -> str | None:
    """Return ``path`` relative to ``directory``, or ``None`` where it is elsewhere."""
    if not directory or path == directory:
        return "" if path == directory else path
    return path[len(directory) + 1 :] if path.startswith(f"{directory}/") else None


def directories_above(path: str) -> list[str]:
    """Return the directories that contain a file, the docroot first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts) + 1)]
