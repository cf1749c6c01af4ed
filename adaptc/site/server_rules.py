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
from adaptc.site.rewrite_rules import Matcher, matches, redirected, rewritten

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
