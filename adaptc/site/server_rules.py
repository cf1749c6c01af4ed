"""Rules of the site's own server that copies of its files would bypass.

A copy in a tree is another file in another directory: neither the ``.htaccess`` file nor the ``<Directory>`` section of
the original applies to it, so a password, a handler or a redirect would be lost. Such files are not built. Directives
that are known to be harmless restrict nothing (``adaptc.site.access_directives``); all others do. Which files they
apply to is decided from their arguments and the sections around them; where these do not decide it, to all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from adaptc.config.config import ALL_DIRECTIVES
from adaptc.core.diagnostics import Location
from adaptc.core.fs import ChangedWhileRead, Tree
from adaptc.core.values import dataclass, pattern
from adaptc.formats.directives import (
    REFUSED,
    Directive,
    Section,
    access_directives,
    known_patterns,
    may_be_named,
    may_fail,
    may_match,
)
from adaptc.site.access_directives import (
    REQUIREMENTS,
    Effect,
    concerns_fields,
    effect_of,
    header_field,
    is_known_section,
    is_usual_type,
    may_stand,
    other_types,
    repetition,
)

ACCESS_FILE = ".htaccess"
# The emitted rules for .htaccess, which concern only the trees
OWN_BLOCK = pattern(r"^# adaptc: .*?^# adaptc: end$", re.MULTILINE | re.DOTALL)

_OPEN = {("require", "all", "granted"), ("allow", "from", "all"), ("deny", "from", "none"), ("satisfy", "any")}
_DENIES_BY_DEFAULT = ("allow,deny", "mutual-failure")  # of Order (mod_access_compat)
_NO_HANDLER = ("none", "default-handler", "default")
_PLAIN_FILTERS = frozenset({"deflate", "brotli_compress", "inflate"})

Matcher = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class ServerRule:
    """A directive, and the files below ``directory`` (a path in the docroot) that it applies to.

    One that ``is_harmless`` only alters fields of the answer. With ``is_unknown`` it is not known what Apache makes of
    it: it may refuse the whole file. ``conditions`` are those of a rewrite rule.
    """

    directive: Directive
    directory: str
    applies: Matcher
    is_harmless: bool = False
    is_unknown: bool = False
    conditions: tuple[Directive, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether the directive applies to a file of the docroot."""
        below = below_directory(self.directory, path)
        if below is None:
            return False
        return self.is_unknown or (_in_sections(path, self.directive.within) and self.applies(path))

    @property
    def text(self) -> str:
        """The directive as its administrators know it."""
        name, args = self.directive.name, self.directive.args
        return f"what Apache refuses ({args[0]})" if name == REFUSED else self.directive.text

    @property
    def is_removal(self) -> bool:
        """Whether the directive removes a field, which copies do not have, or only notes something for others."""
        if self.directive.name == "header":
            return header_field(self.directive.args)[0] == "unset"
        return concerns_fields(self.directive)

    @property
    def repetition(self) -> tuple[str, ...]:
        """The lines that do the same for copies."""
        return repetition(self.directive, self.conditions) if self.is_harmless else ()

    @property
    def location(self) -> Location:
        """Where the directive is."""
        return Location(self.directive.file, self.directive.line)


class ServerRules:
    """The rules of a docroot: those of its .htaccess files, read as they are asked for, and ``configured`` ones.

    ``ignored`` are names of directives that do not count, ``all`` for every directive. ``prefix`` is the URL path of
    the docroot without its final slash, ``names`` are those of access files (``AccessFileName``).
    """

    def __init__(
        self,
        tree: Tree,
        ignored: Iterable[str] = (),
        prefix: str = "",
        configured: Sequence[ServerRule] = (),
        names: Sequence[str] = (ACCESS_FILE,),
    ) -> None:
        self._tree, self._prefix, self._configured, self.names = tree, prefix, configured, names
        self._ignored = frozenset(name.lower() for name in ignored)
        self._by_directory: dict[str, tuple[ServerRule, ...]] = {}
        self._above: dict[str, tuple[tuple[ServerRule, ...], tuple[ServerRule, ...]]] = {}

    def rule_for(self, path: str) -> ServerRule | None:
        """Return the first rule that keeps a file from being built, from the docroot downward."""
        restricting, _ = self._rules_above(path)
        return next((rule for rule in restricting if rule.covers(path)), None)

    def has_file(self, directory: str) -> bool:
        """Whether a directory has a file of rules, or may have one."""
        return any(self._exists(f"{directory}/{name}" if directory else name) for name in self.names)

    def may_restrict(self, path: str) -> bool:
        """Whether rules may keep files in the directory of ``path`` from being built."""
        return bool(self._rules_above(path)[0])

    def altering(self, path: str) -> Iterator[ServerRule]:
        """Yield the rules of the directories above a file that change fields of answers only, the docroot's first."""
        return iter(self._rules_above(path)[1])

    def _is_ignored(self, rule: ServerRule) -> bool:
        return not self._ignored.isdisjoint({ALL_DIRECTIVES, rule.directive.name.strip("<>")})

    def _rules_above(self, path: str) -> tuple[tuple[ServerRule, ...], tuple[ServerRule, ...]]:
        """Return the rules that may apply to a file, restricting and harmless ones: the same for all in a directory."""
        directory = path.rpartition("/")[0]
        rules = self._above.get(directory)
        if rules is None:
            found = (self._configured, *map(self._rules_of, directories_above(path)))
            counted = [rule for each in found for rule in each if not self._is_ignored(rule)]
            harmless = tuple(rule for rule in counted if rule.is_harmless)
            rules = self._above[directory] = tuple(rule for rule in counted if not rule.is_harmless), harmless
        return rules

    def _rules_of(self, directory: str) -> tuple[ServerRule, ...]:
        if directory not in self._by_directory:
            self._by_directory[directory] = tuple(rule for name in self.names for rule in self._read(directory, name))
        return self._by_directory[directory]

    def _read(self, directory: str, name: str) -> Iterator[ServerRule]:
        file = f"{directory}/{name}" if directory else name
        try:
            content = self._tree.read(file)
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ChangedWhileRead):
            yield unreadable(file, directory)
            return
        yield from rules_in(content, file, directory, self._prefix, self._exists)

    def _exists(self, path: str) -> bool:
        try:
            return self._tree.status(path).kind != "directory"
        except OSError:
            return False


def unreadable(file: str, directory: str) -> ServerRule:
    """Return the rule of a file that cannot be read: Apache answers 403."""
    return ServerRule(Directive(REFUSED, ("it cannot be read",), file, 1, ()), directory, always, is_unknown=True)


def rules_in(
    content: bytes, file: str, directory: str, prefix: str, exists: Matcher | None = None
) -> Iterator[ServerRule]:
    """Yield the rules of the content of a .htaccess file in ``directory``."""
    text = without_own_block(content.decode("utf-8", "surrogateescape"))
    yield from rules_of(list(access_directives(text, file)), directory, prefix, exists or (lambda _path: True))


def without_own_block(text: str) -> str:
    """Return a .htaccess file without the rules that adaptc emitted; lines keep their numbers."""
    return OWN_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)


def rules_of(
    directives: Sequence[Directive], directory: str, prefix: str, exists: Matcher | None = None
) -> Iterator[ServerRule]:
    """Yield the rules among the directives of a .htaccess file in ``directory``.

    ``exists`` tells whether the docroot has a file.
    """
    rewrites = rewritten(directives, directory, prefix, exists or (lambda _path: True))
    filters = [line.args[0].lower() for line in directives if line.name == "filterdeclare" and line.args]
    for directive in directives:
        effect = _effect(directive, directives, filters)
        if effect is Effect.UNKNOWN:
            yield ServerRule(directive, directory, always, is_unknown=True)
        elif effect is Effect.ALTERS or (effect is Effect.NOTHING and concerns_fields(directive)):
            yield ServerRule(directive, directory, always, is_harmless=True)
        elif effect is Effect.RESTRICTS and directive.name == "rewriterule":
            if directive in rewrites:
                rule = rewrites[directive]
                same = rule.is_to_same_path
                yield ServerRule(directive, directory, rule.applies, is_harmless=same, conditions=rule.conditions)
        elif effect is Effect.RESTRICTS:
            matcher = _matcher(directive, directives, prefix)
            if matcher is not None:
                yield ServerRule(directive, directory, matcher)
            elif directive.name in ("addtype", "removetype") and not is_usual_type(directive):
                yield ServerRule(directive, directory, always, is_harmless=True)


def _effect(directive: Directive, directives: Sequence[Directive], filters: Sequence[str]) -> Effect:
    name = directive.name
    if name == REFUSED or not may_stand(name, directive.within):
        return Effect.UNKNOWN
    if name.startswith("<"):
        section = Section(name.strip("<>"), directive.args, directive.line)
        is_known = is_known_section(section) and _is_complete(section, directives)
        return Effect.NOTHING if is_known else Effect.UNKNOWN
    if name in _OWN_LANGUAGE:
        is_known = not any("${" in arg for arg in directive.args) and _OWN_LANGUAGE[name](directive)
        known = Effect.NOTHING if name == "rewritecond" else Effect.RESTRICTS
        return known if is_known else Effect.UNKNOWN
    if name == "require" and directive.args[:1] == ("not",):
        inner = [section.name for section in directive.within if section.name != "ifmodule"]
        return Effect.RESTRICTS if inner[-1:] == ["requireall"] else Effect.UNKNOWN
    return effect_of(directive, filters)


def _is_complete(section: Section, directives: Sequence[Directive]) -> bool:
    """Whether a section of requirements has one that can be met: Apache refuses others."""
    inner = [line for line in directives if line.name == "require" and section in line.within]
    return section.name not in REQUIREMENTS or any(line.args[:1] != ("not",) for line in inner)


# ---- which files a directive applies to


def always(_path: str) -> bool:
    return True


def _access(directive: Directive, directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    if directive.name == "order":
        return None if _is_opened(directive, directives) else always
    return None if (directive.name, *map(str.lower, directive.args)) in _OPEN else always


def _is_opened(order: Directive, directives: Sequence[Directive]) -> bool:
    """Whether ``Order`` lets everybody in, by itself or by ``Allow from all`` in the same section."""
    if "".join(order.args).lower() not in _DENIES_BY_DEFAULT:
        return True
    same = (line for line in directives if line.within == order.within)
    return any((line.name, *map(str.lower, line.args)) == ("allow", "from", "all") for line in same)


def _action(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    """An action of a media type runs for files as they are; that of a handler needs the handler."""
    return always if "/" in directive.args[0] else None


def _handler(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    return None if directive.args[0].lower() in _NO_HANDLER else always


def _by_extension(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    return None if directive.args[0].lower() in _NO_HANDLER else _has_extension(directive.args[1:])


def _type(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    """PHP and server-side includes may be bound to a media type instead of a handler."""
    extensions = other_types(directive)
    return _has_extension(extensions) if extensions else None


def _encoding(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    return _has_extension(directive.args if directive.name == "removeencoding" else directive.args[1:])


def _filter(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    if all(name in _PLAIN_FILTERS for name in directive.args[0].lower().split(";")):
        return None
    return _has_extension(directive.args[1:]) if directive.name == "addoutputfilter" else always


def _executable_pages(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    return None if directive.args[0].lower() == "off" else _has_extension((".html", ".htm"))


def _index_pages(directive: Directive, _directives: Sequence[Directive], _prefix: str) -> Matcher | None:
    """Another page than ``index.*`` is a directory's: then nobody links to that one by the directory's URL."""
    static = [name for name in directive.args if not name.endswith((".php", ".cgi", ".pl", ".shtml"))]
    if all("/" not in name for name in directive.args) and all(name.startswith("index.") for name in static[:1]):
        return None
    return lambda path: _INDEX.search(path) is not None


def _has_extension(extensions: Sequence[str]) -> Matcher:
    wanted = {extension.lstrip(".").lower() for extension in extensions}
    return lambda path: not wanted.isdisjoint(path.rpartition("/")[2].lower().split(".")[1:])


# ---- which files the redirects and rewrite rules may answer for (mod_alias, mod_rewrite)
#
# A condition that does not depend on the path alone, such as one on a header, may hold.

_INDEX = pattern(r"(?:^|/)index\.[^/]+$")
_STATUSES = ("permanent", "temp", "seeother", "gone")


def urls_of(path: str, prefix: str) -> Iterator[str]:
    """Yield the URL paths that a server answers with a file: its own, and its directory's where it is the index."""
    url = f"{prefix}/{path}"
    yield url
    if _INDEX.search(path):
        yield url[: url.rindex("/") + 1]


def _is_known_redirect(directive: Directive) -> bool:
    """Whether Apache accepts a ``Redirect`` or ``RedirectMatch``."""
    args = list(directive.args)
    status = args.pop(0).lower() if _has_status(directive) else "302"
    has_target = status in _STATUSES[:3] or status in ("301", "302", "303", "307", "308")
    if not has_target and not re.fullmatch(r"gone|40[0-9]|410|451|50[0-5]", status):
        return False
    if len(args) != 1 + has_target or not args[0]:
        return False
    target = args[1] if has_target else "/"
    is_place = re.fullmatch(r"(/|[a-z]+://)[^\s]*", target, re.IGNORECASE) is not None
    is_pattern = directive.name == "redirectmatch"
    return is_place and (known_patterns(args[:1]) if is_pattern else args[0].startswith("/"))


def _has_status(directive: Directive) -> bool:
    first = directive.args[:1]
    return directive.name in ("redirect", "redirectmatch") and any(
        arg.lower() in _STATUSES or arg.isdigit() for arg in first
    )


def _redirected(directive: Directive, _directives: Sequence[Directive], prefix: str) -> Matcher | None:
    args = directive.args[1:] if _has_status(directive) else directive.args
    if directive.name == "redirectmatch":
        return lambda path: any(may_match(args[0], url) for url in urls_of(path, prefix))
    place = re.sub("/+", "/", args[0])
    return lambda path: any(_is_at_or_below(url, place) for url in urls_of(path, prefix))


def _is_at_or_below(url: str, prefix: str) -> bool:
    return url.rstrip("/") == prefix.rstrip("/") or url.startswith(prefix.rstrip("/") + "/")


def rewritten(
    directives: Sequence[Directive], directory: str, prefix: str, exists: Matcher
) -> Mapping[Directive, Rewrite]:
    """Return each effective ``RewriteRule`` of a .htaccess file in ``directory``, with its conditions.

    A file without ``RewriteEngine`` has the state of the directories above it, which may be on.
    """
    if _is_switched_off(directives):
        return {}
    rules: dict[Directive, Rewrite] = {}
    conditions: list[Directive] = []
    for directive in directives:
        if directive.name == "rewritecond":
            conditions.append(directive)
        elif directive.name == "rewriterule":
            rule = Rewrite(directive, tuple(conditions), directory, prefix, exists)
            conditions = []
            if _is_known_rule(directive) and rule.has_effect:
                rules[directive] = rule
    return rules


def _is_switched_off(directives: Sequence[Directive]) -> bool:
    """Whether the rules of a file do not count: no switch says "on", and one outside of sections says "off"."""
    switches = [line for line in directives if line.name == "rewriteengine" and line.args]
    has_off = any(not line.within for line in switches)
    return has_off and all(line.args[0].lower() == "off" for line in switches)


# Flags by which a rule has an effect though it leaves the path as it is, and those that change only how rules go on
_EFFECTS = frozenset({
    "f", "forbidden", "g", "gone", "r", "redirect", "h", "handler", "t", "type", "p", "proxy", "co", "cookie",
})  # fmt: skip
_COURSE = frozenset({
    "c", "chain", "dpi", "discardpath", "e", "env", "end", "l", "last", "n", "next", "nc", "nocase", "ne", "noescape",
    "ns", "nosubreq", "pt", "passthrough", "qsa", "qsappend", "qsd", "qsdiscard", "qsl", "qslast", "s", "skip", "b",
})  # fmt: skip
_WITH_VALUE = frozenset({"h", "handler", "t", "type", "co", "cookie", "e", "env", "s", "skip"})
_CONDITION_FLAGS = frozenset({"nc", "nocase", "or", "ornext", "nv", "novary"})


def _flags(directive: Directive) -> list[str]:
    """Return the flags of a rule or condition, in small letters."""
    text = directive.args[2] if len(directive.args) > 2 else "[]"
    return [flag.strip(" ").lower() for flag in text[1:-1].split(",")] if text != "[]" else []


def _are_known_flags(directive: Directive, known: frozenset[str]) -> bool:
    text = directive.args[2] if len(directive.args) > 2 else "[]"
    if not re.fullmatch(r"\[[^\[\]]*\]", text):
        return False
    parts = [flag.partition("=") for flag in _flags(directive)]
    return all(
        name in known
        and (name not in _WITH_VALUE or bool(value))
        and (name not in ("r", "redirect") or re.fullmatch("permanent|temp|seeother|30[12378]|", value) is not None)
        and (name not in ("s", "skip") or value.isdigit())
        for name, _, value in parts
    )


def _is_known_rule(directive: Directive) -> bool:
    """Whether Apache accepts a ``RewriteRule``."""
    args = directive.args
    return 2 <= len(args) <= 3 and _are_known_flags(directive, _EFFECTS | _COURSE) and _is_known_pattern(args[0])


def _is_known_pattern(pattern: str) -> bool:
    return known_patterns([pattern.removeprefix("!")])


def _is_known_condition(directive: Directive) -> bool:
    """Whether Apache accepts a ``RewriteCond``."""
    args = directive.args
    if not 2 <= len(args) <= 3 or args[0].lower() == "expr" or not _are_known_flags(directive, _CONDITION_FLAGS):
        return False
    return _is_comparison(args[1]) or _is_known_pattern(args[1])


def _is_comparison(pattern: str) -> bool:
    pattern = pattern.removeprefix("!")
    return re.fullmatch(r"-[dfFhHlLsUx]|-(eq|ne|lt|gt|le|ge)\d+|[<>=]=?.*", pattern) is not None


_SCHEMES = pattern(r"%\{(https|request_scheme|server_port|http:(x-forwarded-(proto|ssl|port)|cf-visitor))\}", re.I)
_HOSTS = pattern(r"%\{(http_host|server_name|http:host)\}", re.I)
_SAME_PATH = pattern(
    r"(?:https?|%\{(?:ENV:PROTO|REQUEST_SCHEME)\})://(?:www\.)?"
    r"(?:%\{(?:HTTP_HOST|SERVER_NAME)\}|%[1-9]|[a-z\d][a-z\d.-]*(?::\d+)?)(?:/?%\{REQUEST_URI\}|/\$1)",
    re.IGNORECASE,
)
_WHOLE = pattern(r"\^?(\(\.\*\)|\.\*)\$?|\^")
_OF_REQUESTS = pattern(r"%\{(HTTP_HOST|SERVER_NAME|HTTP:Host|REQUEST_URI|SERVER_ADDR)\}", re.IGNORECASE)
_COURSE_OF_REDIRECT = frozenset({"l", "last", "end", "ne", "noescape", "nc", "nocase", "qsa", "qsappend", "e", "env"})


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A ``RewriteRule`` with the conditions before it."""

    directive: Directive
    conditions: tuple[Directive, ...]
    directory: str
    prefix: str
    exists: Matcher

    @property
    def has_effect(self) -> bool:
        """Whether the rule may answer with anything but the file that the URL names."""
        flags = {flag.partition("=")[0] for flag in _flags(self.directive)}
        return self.directive.args[1] != "-" or not flags.isdisjoint(_EFFECTS)

    @property
    def is_to_same_path(self) -> bool:
        """Whether the rule only redirects every path to the same one by HTTPS, or of another host."""
        pattern, target = self.directive.args[:2]
        flags = [flag.partition("=")[0] for flag in _flags(self.directive)]
        redirects = [flag for flag in flags if flag in ("r", "redirect")]
        is_for_all = _WHOLE.fullmatch(pattern) is not None and (
            "$1" not in target or not (self.directory or self.prefix or "(" not in pattern)
        )
        is_same = bool(redirects) and is_for_all and _SAME_PATH.fullmatch(target) is not None
        subjects = [condition.args[0] for condition in self.conditions if len(condition.args) > 1]
        texts = [arg for condition in self.conditions for arg in condition.args]
        return (
            is_same
            and _COURSE_OF_REDIRECT.issuperset(set(flags) - {"r", "redirect"})
            and any(_SCHEMES.search(subject) or _HOSTS.search(subject) for subject in subjects)
            and all(_OF_REQUESTS.fullmatch(subject) or not _SCHEMES.sub("", subject) for subject in subjects)
            and not any(re.search(r"[\s\"']", text) for text in texts)
            and all(section.name == "ifmodule" for section in self.directive.within)
        )

    def applies(self, path: str) -> bool:
        """Whether the rule may apply to a file of the docroot."""
        if any(section.name in ("files", "filesmatch", "if", "elseif", "else") for section in self.directive.within):
            return True  # the pattern sees another part of the path there
        own = f"{self.prefix}/{self.directory}/" if self.directory else f"{self.prefix}/"
        return any(
            _accepts(self.directive.args[0], url[len(own) :], _flags(self.directive)) and self._may_hold(url)
            for url in urls_of(path, self.prefix)
            if url.startswith(own)
        )

    def _may_hold(self, url: str) -> bool:
        """Whether the conditions may hold for an existing file; one that is joined by OR does not decide."""
        alternatives = any({"or", "ornext"} & set(_flags(line)) for line in self.conditions)
        return alternatives or all(self._may_one_hold(line, url) for line in self.conditions)

    def _may_one_hold(self, condition: Directive, url: str) -> bool:
        if not _is_known_condition(condition):
            return True
        subject, pattern = condition.args[0].lower(), condition.args[1]
        name = next((name for name in _FILE_NAMES if subject.startswith(name)), None)
        if subject == name and pattern in _DIRECTORY_TESTS:
            return _DIRECTORY_TESTS[pattern] == url.endswith("/")
        if name is not None and pattern in ("-f", "-s"):
            suffix = condition.args[0][len(name) :].replace("\\.", ".")
            is_literal = re.fullmatch(r"[\w.-]+", suffix, re.ASCII) is not None
            return not is_literal or self.exists(f"{url.removeprefix(self.prefix)[1:]}{suffix}")
        if subject in _PATH_NAMES and not _is_comparison(pattern):
            return _accepts(pattern, url, _flags(condition))
        return True


_FILE_NAMES = ("%{request_filename}", "%{script_filename}")
_DIRECTORY_TESTS = {"-d": True, "!-f": True, "!-s": True, "!-d": False, "-f": False, "-s": False}
_PATH_NAMES = ("%{request_uri}", "%{script_name}")


def _accepts(pattern: str, text: str, flags: Sequence[str]) -> bool:
    """Whether a pattern, or the negation after ``!``, may accept a text."""
    ignores_case = "nc" in flags or "nocase" in flags
    if pattern.startswith("!"):
        return may_fail(pattern[1:], text, ignores_case)
    return may_match(pattern, text, ignores_case)


_OWN_LANGUAGE: Mapping[str, Callable[[Directive], bool]] = {
    **dict.fromkeys(("redirect", "redirectmatch", "redirectpermanent", "redirecttemp"), _is_known_redirect),
    "rewriterule": _is_known_rule,
    "rewritecond": _is_known_condition,
}
_MATCHERS: Mapping[str, Callable[[Directive, Sequence[Directive], str], Matcher | None]] = {
    **dict.fromkeys(("require", "allow", "deny", "order"), _access),
    **dict.fromkeys(("sethandler", "forcetype"), _handler),
    **dict.fromkeys(("setoutputfilter", "addoutputfilter", "addoutputfilterbytype"), _filter),
    **dict.fromkeys(("redirect", "redirectmatch", "redirectpermanent", "redirecttemp"), _redirected),
    **dict.fromkeys(("addencoding", "removeencoding"), _encoding),
    **dict.fromkeys(("addtype", "removetype"), _type),
    "action": _action,
    "addhandler": _by_extension,
    "directoryindex": _index_pages,
    "xbithack": _executable_pages,
}


def _matcher(directive: Directive, directives: Sequence[Directive], prefix: str) -> Matcher | None:
    make = _MATCHERS.get(directive.name)
    return make(directive, directives, prefix) if make is not None else always


def _in_sections(path: str, within: Iterable[Section]) -> bool:
    """Whether a file is one of the ``<Files>`` and ``<FilesMatch>`` sections around a directive."""
    name = path.rpartition("/")[2]
    return all(_in_section(name, section) for section in within if section.args)


def _in_section(name: str, section: Section) -> bool:
    if section.name == "filesmatch" or (section.name == "files" and section.args[0] == "~"):
        return may_match(section.args[-1], name)
    return section.name != "files" or may_be_named(section.args[-1], name)


def below_directory(directory: str, path: str) -> str | None:
    """Return ``path`` relative to ``directory``, or ``None`` where it is elsewhere."""
    if not directory or path == directory:
        return "" if path == directory else path
    return path[len(directory) + 1 :] if path.startswith(f"{directory}/") else None


def directories_above(path: str) -> list[str]:
    """Return the directories that contain a file, the docroot first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts) + 1)]
