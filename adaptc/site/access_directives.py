"""The directives of Apache's .htaccess files by what they mean for a copy of a file: an allowlist.

Harmless ones leave who may have a file, and what is in it, as they are. Others keep files from being built, those that
are not known included. Each is known with the arguments that Apache accepts: where it would refuse one, it refuses the
whole file, and answers 500 for everything below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum

from adaptc.core import media
from adaptc.core.values import pattern
from adaptc.formats.directives import Directive, Section, known_patterns, pattern_of


class Effect(Enum):
    """What a directive means for a copy: nothing, other header fields than the original's, or that there is none.

    ``UNKNOWN`` is what Apache may refuse to read, or may do anything with.
    """

    NOTHING = 1
    ALTERS = 2
    RESTRICTS = 3
    UNKNOWN = 4


# A blank separates arguments; inside of one it is \x20.
_ONOFF = "(on|off)"
_EXTENSIONS = r"[\w.+~-]+( [\w.+~-]+)*"
_TIME = (
    r"([AM]\d{1,9}|(access|now|modification)(\x20plus)?"
    r"(\x20+\d{1,9}\x20+(year|month|week|day|hour|minute|second)s?)+)"
)
_CONDITION = r"(env=!?[\w.-]+|expr=.+|early)"
_VALUE = r"([^%\n]|%%|%[tDlib]|%\{[^}\n]+\}[es])+"
_FIELD = r"[\w-]+:?"
_HEADER = rf"((always|onsuccess) )?((set|append|add|merge|setifempty) {_FIELD} {_VALUE}|unset {_FIELD})( {_CONDITION})?"
_CODES = r"(40\d|41[0-7]|42[1-6]|428|429|431|451|50[0-8]|510|511)"
_KEYWORDS = (
    r"[+-]?(DescriptionWidth|FancyIndexing|FoldersFirst|HTMLTable|IconsAreLinks|IgnoreCase|IgnoreClient|NameWidth"
    r"|ScanHTMLTitles|SuppressColumnSorting|SuppressDescription|SuppressHTMLPreamble|SuppressIcon|SuppressLastModified"
    r"|SuppressRules|SuppressSize|TrackModified|VersionSort|XHTML|UseOldDateFormat|ShowForbidden)"
)
_ENVIRONMENT = r"!?[\w./-]+(=[^\n]*)?"

_HARMLESS: Mapping[str, str] = {
    "acceptpathinfo": "(on|off|default)",
    **dict.fromkeys(("addalt", "addaltbyencoding", "addaltbytype", "adddescription"), r".+ .+"),
    **dict.fromkeys(("addicon", "addiconbyencoding", "addiconbytype"), r"[^()\n]+( [^()\n]+)+"),
    "authname": ".+",
    "authtype": "none",
    **dict.fromkeys(("defaulticon", "headername", "readmename", "indexstylesheet"), ".+"),
    "directoryslash": _ONOFF,
    "enablemmap": _ONOFF,
    "enablesendfile": _ONOFF,
    "errordocument": rf"{_CODES} .+",
    "filterchain": r"[\w+=@!-]+( [\w+=@!-]+)*",
    "fallbackresource": r"(/[^\s?#]*|disabled)",
    "fileetag": r"(none|all|(inode|mtime|size)( (inode|mtime|size))*|[+-](inode|mtime|size)( [+-](inode|mtime|size))*)",
    "forcelanguagepriority": "(none|prefer|fallback)( (prefer|fallback))?",
    "indexignore": ".+( .+)*",
    "indexignorereset": _ONOFF,
    "indexoptions": rf"{_KEYWORDS}( {_KEYWORDS})*",
    "indexorderdefault": "(ascending|descending) (name|date|size|description)",
    "languagepriority": r"[\w-]+( [\w-]+)*",
    "limitrequestbody": r"\d{1,9}",
    "limitxmlrequestbody": r"\d{1,9}",
    "passenv": r"\w+( \w+)*",
    "unsetenv": r"\w+( \w+)*",
    "setenv": r"[\w.-]+( .*)?",
    **dict.fromkeys(("removehandler", "removeoutputfilter", "removecharset", "removelanguage"), _EXTENSIONS),
    "requestheader": _HEADER,
    "rewritebase": r"/[^\s]*",
    "rewriteengine": _ONOFF,
    "serversignature": "(on|off|email)",
    "setinputfilter": "deflate",
    "usecanonicalname": "(on|off|dns)",
}
_ALTERING: Mapping[str, str] = {
    "addcharset": rf"[\w.:-]+ {_EXTENSIONS}",
    "adddefaultcharset": r"[\w.:-]+",
    "addlanguage": rf"[\w-]+ {_EXTENSIONS}",
    "contentdigest": _ONOFF,
    "defaultlanguage": r"[\w-]+",
    "defaulttype": r"[\w.+/-]+",
    "expiresactive": _ONOFF,
    "expiresbytype": rf"[\w.+*-]+/[\w.+*-]+ {_TIME}",
    "expiresdefault": _TIME,
}
_NUMBER = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_ADDRESS = rf"{_NUMBER}(\.{_NUMBER}){{0,2}}|{_NUMBER}(\.{_NUMBER}){{3}}(/(3[0-2]|[12]?\d))?"
_HOST = rf"(all|env=!?[\w-]+|{_ADDRESS}|\.?[a-z][a-z\d-]*(\.[a-z\d-]+)*\.?)"
_PROVIDER = (
    rf"(all (granted|denied)|valid-user|local|user .+( .+)*|ip ({_ADDRESS})( ({_ADDRESS}))*|env !?\w+"
    r"|host \.?[a-z][a-z\d-]*(\.[a-z\d-]+)*|method (GET|POST|PUT|DELETE|OPTIONS)( (GET|POST|PUT|DELETE|OPTIONS))*)"
)
# What restricts the files in the sections around it, or those that its arguments say (``adaptc.site.server_rules``)
_RESTRICTING: Mapping[str, str] = {
    "action": r"\S+ /\S*( virtual)?",
    "addencoding": rf"[\w-]+ {_EXTENSIONS}",
    "addhandler": rf"\S+ {_EXTENSIONS}",
    "addoutputfilter": rf"[\w;-]+ {_EXTENSIONS}",
    "addoutputfilterbytype": r"[\w;-]+( [\w.+*-]+/[\w.+*-]+)+",
    "addtype": rf".+ {_EXTENSIONS}",
    "allow": rf"from( {_HOST})+",
    "authbasicprovider": "file",
    "authgroupfile": ".+",
    "authtype": "(basic|digest|form)",
    "authuserfile": ".+",
    "deny": rf"from( {_HOST})+",
    "directoryindex": r".+( .+)*",
    "forcetype": ".+",
    "order": "(deny,allow|allow,deny|mutual-failure)",
    "removeencoding": _EXTENSIONS,
    "removetype": _EXTENSIONS,
    "require": rf"(not )?{_PROVIDER}",
    "satisfy": "(any|all)",
    "sethandler": r"[\w./-]+",
    "setoutputfilter": r"[\w;-]+",
    "sslrequiressl": "",
    "xbithack": "(on|off|full)",
}


_BY_EFFECT = ((Effect.NOTHING, _HARMLESS), (Effect.ALTERS, _ALTERING), (Effect.RESTRICTS, _RESTRICTING))
# Of modules that servers often lack: Apache refuses them then
_OF_RARE_MODULES = frozenset({"action", "authgroupfile", "sslrequiressl", "xbithack"})
# Directives of other modules, where a section asks whether the module is there
_GUARDED = {
    re.compile(r"modpagespeed\w*"): re.compile(r"pagespeed"),
    re.compile(r"php_(value|flag)"): re.compile(r"php"),
    re.compile(r"cachelookup"): re.compile(r"litespeed"),
    re.compile(r"check(spelling|caseonly)"): re.compile(r"speling"),
}


def effect_of(directive: Directive, filters: Sequence[str] = ()) -> Effect:
    """Return what a directive means for copies of the files that it applies to, by its name and arguments.

    ``filters`` are the names that the file declares for filters that compress (``FilterDeclare``).
    """
    name, args = directive.name, directive.args
    if any("${" in text for text in (name, *args)) or not _has_what_it_needs(directive, filters):
        return Effect.UNKNOWN
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(args)
    text = "\n".join(args)
    for effect, patterns in _BY_EFFECT:
        if name in patterns and _is_as(patterns[name], text):
            return effect
    is_guarded = any(
        names.fullmatch(name) and any(_asks(section, module) for section in directive.within)
        for names, module in _GUARDED.items()
    )
    return Effect.NOTHING if is_guarded else Effect.UNKNOWN


def _is_as(pattern: str, text: str) -> bool:
    """Whether arguments, which line ends separate, match; compiled at first use, since most sites have few of these."""
    return re.fullmatch(pattern.replace(" ", "\n"), text, re.IGNORECASE | re.ASCII) is not None


def _has_what_it_needs(directive: Directive, filters: Sequence[str]) -> bool:
    """Whether the file asks for a rare module, and declares the filters that a directive names."""
    if directive.name in _OF_RARE_MODULES:
        return any(_asks(section, re.compile("")) for section in directive.within)
    named = {"filterchain": directive.args, "filterprotocol": directive.args[:1]}.get(directive.name, ())
    return all(name.lstrip("+=-@!").lower() in filters for name in named)


def _asks(section: Section, module: re.Pattern[str]) -> bool:
    name = "".join(section.args[:1]).lower()
    return section.name == "ifmodule" and name[:1] not in ("", "!") and module.search(name) is not None


def _known(condition: bool, effect: Effect = Effect.NOTHING) -> Effect:
    return effect if condition else Effect.UNKNOWN


# ---- directives whose arguments have a language of their own

_OPTIONS = frozenset(
    {"-indexes", "+indexes", "-multiviews", "+followsymlinks", "+symlinksifownermatch", "-execcgi", "-includes"}
    | {"-includesnoexec"}
)
_WHOLE_OPTIONS = frozenset({"indexes", "multiviews", "followsymlinks", "symlinksifownermatch"})


def _options(args: Sequence[str]) -> Effect:
    given = {arg.lower() for arg in args}
    is_whole = "followsymlinks" in given and given <= _WHOLE_OPTIONS
    return _known(bool(given) and (given <= _OPTIONS or is_whole))


# Fields that say what a body is, where another is, or who may have it
_ESSENTIAL = pattern(
    r"(content-(encoding|type|length|range|location)|transfer-encoding|location|refresh|status|set-cookie"
    r"|www-authenticate|authorization|x-sendfile|x-accel-.*|upgrade|connection|trailer|date|accept-ranges):?",
    re.IGNORECASE,
)


def header_field(args: Sequence[str]) -> tuple[str, str]:
    """Return the action and the field of a ``Header``, in small letters."""
    action, field = [arg.lower() for arg in args if arg.lower() not in ("always", "onsuccess")][:2]
    return action, field.rstrip(":")


def _header(args: Sequence[str]) -> Effect:
    words = [arg.lower() for arg in args if arg.lower() not in ("always", "onsuccess")]
    if words[:1] in (["edit"], ["edit*"]):  # of a field that is there
        is_known = len(words) == 4 and known_patterns([words[2]]) and re.fullmatch(_FIELD, words[1]) is not None
        return _known(is_known and "%" not in words[3], Effect.ALTERS)
    conditions = [arg[5:] for arg in args[2:] if arg.lower().startswith("expr=")]
    if not _is_as(_HEADER, "\n".join(args)) or not all(map(known_expression, conditions)):
        return Effect.UNKNOWN
    action, field = header_field(args)
    if action == "unset":
        return Effect.NOTHING
    return Effect.RESTRICTS if _ESSENTIAL.fullmatch(field) else Effect.ALTERS


def _request_header(args: Sequence[str]) -> Effect:
    return Effect.UNKNOWN if _header(args) is Effect.UNKNOWN else Effect.NOTHING


def _browser(args: Sequence[str]) -> Effect:
    return _known(len(args) > 1 and known_patterns(args[:1]) and _are_variables(args[1:]))


def _set_env_if(args: Sequence[str]) -> Effect:
    return _known(len(args) > 2 and known_patterns(args[:2]) and _are_variables(args[2:]))


def _set_env_if_expr(args: Sequence[str]) -> Effect:
    return _known(len(args) > 1 and known_expression(args[0]) and _are_variables(args[1:]))


def _are_variables(args: Sequence[str]) -> bool:
    return all(re.fullmatch(_ENVIRONMENT, arg, re.ASCII) for arg in args)


_DECLARED = pattern(r"[\w-]+(\n(RESOURCE|CONTENT_SET))?", re.ASCII)
_PROTOCOL = pattern(r"[\w-]+(\n(DEFLATE|BROTLI_COMPRESS))?\n(change=(yes|no|1:1)|byteranges=no|proxy=no|;)+")


def _filter_provider(args: Sequence[str]) -> Effect:
    is_plain = len(args) == 3 and args[1].upper() in ("DEFLATE", "BROTLI_COMPRESS")
    return _known(is_plain and known_expression(args[2]))


_JUDGES = {
    "options": _options,
    "header": _header,
    "requestheader": _request_header,
    **dict.fromkeys(("browsermatch", "browsermatchnocase"), _browser),
    **dict.fromkeys(("setenvif", "setenvifnocase"), _set_env_if),
    "setenvifexpr": _set_env_if_expr,
    "filterdeclare": lambda args: _known(_DECLARED.fullmatch("\n".join(args)) is not None),
    "filterprotocol": lambda args: _known(_PROTOCOL.fullmatch("\n".join(args)) is not None),
    "filterprovider": _filter_provider,
}

_VARIABLES = (
    r"(HTTPS|HTTP_(HOST|COOKIE|USER_AGENT|REFERER|ACCEPT|FORWARDED)|REQUEST_(URI|METHOD|SCHEME|FILENAME|STATUS)"
    r"|CONTENT_TYPE|QUERY_STRING|REMOTE_(ADDR|HOST|USER)|SERVER_(NAME|PORT|PROTOCOL)|(HTTP|ENV|REQ|RESP|REQENV):[\w-]+)"
)
_OPERAND = rf"(%\{{{_VARIABLES}\}}|'[^'%\\\n]*'|\d+)"
_REGEX = r"(?:m#([^#\n]*)#i?|m?/([^/\n]*)/i?)"
_COMPARISON = r"(?:[!=]?=|-eq|-ne|-lt|-gt|-le|-ge)"
_TERM = rf"!?\s*(-[nz]\s+{_OPERAND}|{_OPERAND}\s*{_COMPARISON}\s*{_OPERAND}|{_OPERAND}\s*[!=]~\s*{_REGEX})"
_EXPRESSION = rf"\s*{_TERM}(\s*(&&|\|\|)\s*{_TERM})*\s*"


def known_expression(text: str) -> bool:
    """Whether Apache can read an expression (``<If>``, ``expr=``): the usual comparisons of variables."""
    if not re.fullmatch(_EXPRESSION, text, re.IGNORECASE | re.ASCII):
        return False
    return known_patterns(one or other for one, other in re.findall(_REGEX, text, re.IGNORECASE) if one or other)


# ---- sections

_CONDITIONAL = {
    "ifmodule": re.compile(r"!?[\w.-]+"),
    "ifdefine": re.compile(r"!?[\w.-]+"),
    "ifversion": re.compile(r"(!?(=|==|>|>=|<|<=)\n)?\d+(\.\d+){0,2}"),
    "iffile": re.compile(r"!?[\w./-]+"),
    "ifdirective": re.compile(r"!?\w+"),
    "ifsection": re.compile(r"!?\w+"),
    "else": re.compile(""),
    "limit": re.compile(r"(GET|POST|PUT|DELETE|OPTIONS|PATCH)(\n(GET|POST|PUT|DELETE|OPTIONS|PATCH))*"),
    "limitexcept": re.compile(r"(GET|POST|PUT|DELETE|OPTIONS|PATCH)(\n(GET|POST|PUT|DELETE|OPTIONS|PATCH))*"),
    "requireall": re.compile(""),
    "requireany": re.compile(""),
}
_ACCESS = ("require", "order", "allow", "deny", "satisfy")
REQUIREMENTS = ("requireall", "requireany")


def is_known_section(section: Section) -> bool:
    """Whether Apache accepts a section in a .htaccess file, and it is known which files and requests it is for."""
    args = section.args
    if any("${" in arg for arg in args):
        return False
    if section.name in ("if", "elseif"):
        return len(args) == 1 and known_expression(args[0])
    if section.name in ("files", "filesmatch"):
        return _is_known_name(section)
    pattern = _CONDITIONAL.get(section.name)
    return pattern is not None and pattern.fullmatch("\n".join(args)) is not None


def _is_known_name(section: Section) -> bool:
    if section.name == "filesmatch" or section.args[:1] == ("~",):
        rest = section.args[1:] if section.args[:1] == ("~",) else section.args
        return len(rest) == 1 and pattern_of(rest[0]) is not None
    return len(section.args) == 1 and re.search(r"[/]|\.\.", section.args[0]) is None and bool(section.args[0])


def may_stand(name: str, within: Sequence[Section]) -> bool:
    """Whether Apache accepts a directive, or a section such as ``<files>``, in these sections."""
    inner = [section.name for section in within if section.name not in _CONDITIONAL or section.name == "else"]
    limits = {section.name for section in within} & {"limit", "limitexcept"}
    requirements = {section.name for section in within} & set(REQUIREMENTS)
    is_requirement = name == "require" or name.strip("<>") in REQUIREMENTS
    if requirements and not (is_requirement or name == "<ifmodule>"):
        return False
    if limits and not (is_requirement or name in _ACCESS or name == "<ifmodule>"):
        return False
    return not (name in ("<files>", "<filesmatch>", "<if>", "<elseif>", "<else>") and inner)


# ---- media types

# Files of these types get another meaning by another type: a page as text/plain runs no script
_ACTIVE = frozenset({media.HTML, media.XHTML, media.SVG, media.CSS, media.JS})


def other_types(directive: Directive) -> list[str]:
    """Return the extensions for which an ``AddType`` or ``RemoveType`` gives another meaning to files."""
    if directive.name == "removetype":
        return [extension for extension in directive.args if _usual(extension) in _ACTIVE]
    media_type, *extensions = directive.args
    if re.search(r"x-httpd|server-parsed", media_type):
        return extensions
    return [extension for extension in extensions if _is_other(media_type, extension)]


def is_usual_type(directive: Directive) -> bool:
    """Whether servers send these files with this type anyway."""
    given, *extensions = directive.args
    return directive.name == "addtype" and all(_usual(extension) in (given.lower(), None) for extension in extensions)


def _usual(extension: str) -> str | None:
    return media.by_name(f"x.{extension.lstrip('.')}")


def _is_other(media_type: str, extension: str) -> bool:
    usual, given = _usual(extension), media_type.partition(";")[0].strip().lower()
    is_script = usual == media.JS and given.endswith(("javascript", "ecmascript"))
    is_active = usual in _ACTIVE or given in _ACTIVE
    return is_active and given != usual and not is_script


# ---- what is repeated for copies

# Fields that the emitted configuration sets for copies itself
_OWN_FIELDS = frozenset({
    "cache-control", "expires", "etag", "last-modified", "content-encoding", "vary", "link", "use-as-dictionary",
    "x-adapt", "accept-ch", "critical-ch", "retry-after", "x-class",
})  # fmt: skip
_ENVIRONMENTS = ("setenvif", "setenvifnocase", "setenvifexpr", "browsermatch", "browsermatchnocase")
_REPEATED = (
    *("adddefaultcharset", "addcharset", "addlanguage", "defaultlanguage", "addtype", "removetype"),
    *_ENVIRONMENTS,
)
_WRAPPERS = ("ifmodule", "ifdefine", "ifversion", "if", "files", "filesmatch")


def concerns_fields(directive: Directive) -> bool:
    """Whether a directive without an effect of its own belongs to those that alter fields."""
    return directive.name in (*_ENVIRONMENTS, "header")


def repetition(directive: Directive, conditions: Sequence[Directive] = ()) -> tuple[str, ...]:
    """Return the lines that do for copies what a directive does for originals; none where there are none.

    They are for a ``<Directory>`` section. A ``RewriteRule``, with its ``conditions``, redirects to the same path.
    """
    if any(section.name not in _WRAPPERS for section in directive.within) or not _is_repeated(directive):
        return ()
    lines = tuple(map(_line, (*conditions, directive)))
    if directive.name == "rewriterule":
        lines = ("RewriteEngine On", *(line.removesuffix(" ") for line in lines))
    for section in reversed(directive.within):
        name = _SECTION_NAMES.get(section.name, section.name.title())
        lines = (" ".join((f"<{name}", *map(_quoted, section.args))) + ">", *lines, f"</{name}>")
    return lines


_SECTION_NAMES = {"ifmodule": "IfModule", "ifdefine": "IfDefine", "ifversion": "IfVersion", "filesmatch": "FilesMatch"}


def _is_repeated(directive: Directive) -> bool:
    if directive.name == "header":
        action, field = header_field(directive.args)
        return field not in _OWN_FIELDS or (field == "vary" and action in ("append", "merge", "add"))
    return directive.name == "rewriterule" or directive.name in _REPEATED


def _line(directive: Directive) -> str:
    if directive.name == "rewritecond":
        return " ".join(("RewriteCond", *directive.args))
    if directive.name == "rewriterule":
        target = directive.args[1].replace("/$1", "%{REQUEST_URI}")
        target = re.sub(r"%\{ENV:PROTO\}", "%{REQUEST_SCHEME}", target, flags=re.IGNORECASE)
        return " ".join(("RewriteRule ^", target, *directive.args[2:]))
    return " ".join((directive.written, *map(_quoted, directive.args)))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
