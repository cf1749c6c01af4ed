"""What the files of a static host, and the server's own, say of the answers for a site: header fields, and fallbacks.

Each host has a format of its own, and each format a reader here. All of them become rules: a pattern of URL paths, and
fields. Which of two rules with one field counts differs, and is documented for some hosts only: where the last one
does, it does here; otherwise values are joined, as several policies all hold. A rule for some requests only (``has``,
``<If>``) counts, and replaces no other. ``header_rules`` says what rules and fallbacks are.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.values import pattern
from adaptc.formats.directives import Directive, Section, access_directives, directives_with_includes
from adaptc.formats.policy import open_to_elements
from adaptc.site.crawled import types_of
from adaptc.site.header_rules import (
    _CHARSET,
    APACHE_CHARSETS,
    CHARSET,
    CONTENT_TYPE,
    CSP,
    HeaderRule,
    HostRules,
    addresses_of,
)
from adaptc.site.selection import NGINX_LOCATION, is_nginx, location_pattern, nginx_directives, with_ancestors
from adaptc.site.source_table import LoadedFiles

ACCESS_FILE = ".htaccess"


# ---- formats: each yields rules, and the addresses of fallbacks

Found = HeaderRule | str


def _fields(values: Mapping[str, Any]) -> tuple[tuple[str, str | None], ...]:
    """Return fields given as a table; a list has several values, an empty one removes the field."""
    pairs = ((name, each) for name, value in values.items() for each in (value if isinstance(value, list) else [value]))
    return tuple((name.strip().lower(), " ".join(str(value).split()) or None) for name, value in pairs)


def _listed(values: Any) -> dict[str, Any]:
    """Return fields given as a list of ``key`` and ``value``."""
    found: dict[str, list[Any]] = {}
    for each in _tables(values):
        found.setdefault(str(each.get("key", "")), []).append(each.get("value", ""))
    return found


def _tables(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _json(text: str) -> Any:
    """Return the value of JSON, which may have comments and commas at ends, as some hosts allow."""
    try:
        return json.loads(text)
    except ValueError:
        bare = _COMMENT.sub(lambda match: match["string"] or "", text)
        return json.loads(_LAST_COMMA.sub(lambda match: match["string"] or match["end"], bare))


_STRING = r'(?P<string>"(?:[^"\\]|\\.)*")'
_COMMENT = pattern(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = pattern(rf"{_STRING}|,\s*(?P<end>[\]}}])", re.DOTALL)


def splat_pattern(path: str) -> str:
    """Return the pattern of a path with ``*`` and ``:placeholders`` (Netlify, Cloudflare); a host does not count."""
    path = re.sub(r"^[a-z]+://[^/]*", "", path)
    parts = re.split(r"(\*|:[A-Za-z]\w*)", path)
    pattern = "".join(
        ".*" if part == "*" else "[^/]+" if number % 2 else re.escape(part) for number, part in enumerate(parts)
    )
    return re.sub(r"/\.\*$", "(?:/.*)?", pattern) + "/?"


def read_headers(text: str) -> Iterator[HeaderRule]:
    """``_headers``: a line with a path, and lines with fields; Cloudflare removes one by ``! Name``."""
    path, fields = "", list[tuple[str, str | None]]()
    for line in text.splitlines():
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if words.startswith("/") or re.match(r"[a-z]+://", words):
            if fields:
                yield HeaderRule(splat_pattern(path), tuple(fields))
            path, fields = words.split()[0], []
        elif words.startswith("!"):
            fields.append((words[1:].strip().lower(), None))
        elif ":" in words:
            name, _, value = words.partition(":")
            fields.append((name.strip().lower(), value.strip() or None))
    if fields:
        yield HeaderRule(splat_pattern(path), tuple(fields))


def _rewrite(source: object, destination: object) -> Iterator[str]:
    """Yield where a rewrite leads, unless it only gives a page another name in its directory: ``/about``."""
    address = str(destination or "")
    directory = str(source or "*").rpartition("/")[0]
    is_elsewhere = re.search(r"[^\w./-]", str(source or "*")) or directory != address.rpartition("/")[0]
    if address and is_elsewhere:
        yield address


def _read_redirects(text: str) -> Iterator[Found]:
    """``_redirects``: a path, where it leads, and a status; 200 sends another file for the same address."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        statuses = [word.rstrip("!") for word in words[2:]]
        if len(words) > 2 and {"200", "404"} & set(statuses):
            yield from _rewrite(words[0], words[1])


def _read_netlify(text: str) -> Iterator[Found]:
    values = tomllib.loads(text)
    for table in _tables(values.get("headers")):
        fields = table.get("values")
        if isinstance(fields, dict):
            yield HeaderRule(splat_pattern(str(table.get("for", "/*"))), _fields(fields))
    for table in _tables(values.get("redirects")):
        if str(table.get("status")) in ("200", "404"):
            yield from _rewrite(table.get("from"), table.get("to"))


def _read_vercel(text: str) -> Iterator[Found]:
    """``vercel.json``: sources of path-to-regexp, the last one counts; ``routes`` have regular expressions."""
    values = _json(text)
    for table in _tables(values.get("headers")):
        is_certain = not (table.get("has") or table.get("missing"))
        yield HeaderRule(_route(str(table.get("source", ""))), _fields(_listed(table.get("headers"))), is_certain)
    for table in _tables(values.get("routes")):
        headers = table.get("headers")
        if isinstance(headers, dict):
            yield HeaderRule(str(table.get("src", ".*")).strip("^$") or ".*", _fields(headers))
        yield from _rewrite(table.get("src"), table.get("dest"))
    rewrites = values.get("rewrites")
    for tables in rewrites.values() if isinstance(rewrites, dict) else [rewrites]:
        for table in _tables(tables):
            yield from _rewrite(table.get("source"), table.get("destination"))


def _route(source: str) -> str:
    """Return the pattern of a source as path-to-regexp has it: ``/a/:b*``, ``/:c(\\d+)``, ``/((?!api).*)``."""
    pattern, place = "", 0
    for match in _PARAMETER.finditer(source):
        start = match.start()
        pattern += re.sub(r"[.]", r"\\.", source[place:start])
        inner, times = match["inner"] or "[^/]+?", match["times"] or ""
        if times:
            before = "/" if pattern.endswith("/") else ""
            pattern = pattern.removesuffix("/")
            repeated = f"(?:{before}{inner})"
            pattern += f"(?:{before}(?:{inner})(?:/(?:{inner}))*)?" if times == "*" else f"{repeated}{times}"
            pattern += "(?:/(?:" + inner + "))*" if times == "+" else ""
        else:
            pattern += f"(?:{inner})"
        place = match.end()
    rest = source[place:]
    return pattern + (rest if "(" in rest else re.sub(r"[.]", r"\\.", rest)) + "/?"


_PARAMETER = pattern(r":\w+(?:\((?P<inner>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\))?(?P<times>[*+?])?")


def _read_static_web_apps(text: str) -> Iterator[Found]:
    """``staticwebapp.config.json``: global fields, which those of the first route that matches replace.

    Of all routes but the first it depends on those before whether that is so: their fields are added.
    """
    values = _json(text)
    headers = values.get("globalHeaders")
    if isinstance(headers, dict):
        yield HeaderRule(".*", _fields(headers))
    for number, table in enumerate(_tables(values.get("routes"))):
        fields = table.get("headers")
        if isinstance(fields, dict):
            is_first = number == 0 and not table.get("methods")
            yield HeaderRule(_wildcard(str(table.get("route", ""))), _fields(fields), replaces=is_first)
        yield from _rewrite(table.get("route"), table.get("rewrite"))
    types = values.get("mimeTypes")
    for extension, media_type in types.items() if isinstance(types, dict) else ():
        yield HeaderRule(f".*{re.escape(str(extension))}", ((CONTENT_TYPE, str(media_type)),))
    overrides = values.get("responseOverrides")
    for table in (values.get("navigationFallback"), *(overrides.values() if isinstance(overrides, dict) else ())):
        if isinstance(table, dict):
            yield str(table.get("rewrite", ""))


def _wildcard(route: str) -> str:
    """Return the pattern of ``/images/*.{png,jpg}``."""
    pattern = re.escape(route).replace(r"\*", ".*")
    return re.sub(r"\\\{([^{}]*)\\\}", lambda match: f"(?:{match[1].replace(',', '|')})", pattern) + "/?"


def _read_firebase(text: str) -> Iterator[Found]:
    """``firebase.json``: globs, or regular expressions of RE2; the last one counts."""
    hosting = _json(text).get("hosting")
    for site in hosting if isinstance(hosting, list) else [hosting]:
        for table in _tables(site.get("headers") if isinstance(site, dict) else None):
            pattern = f"(?:.*(?:{table['regex']}).*)" if "regex" in table else _glob(_source(table))
            yield HeaderRule(pattern, _fields(_listed(table.get("headers"))), replaces=True)
        for table in _tables(site.get("rewrites") if isinstance(site, dict) else None):
            yield from _rewrite(_source(table), table.get("destination"))


def _read_serve(text: str) -> Iterator[Found]:
    """``serve.json``: globs; the last one counts."""
    values = _json(text)
    for table in _tables(values.get("headers")):
        yield HeaderRule(_glob(_source(table)), _fields(_listed(table.get("headers"))), replaces=True)
    for table in _tables(values.get("rewrites")):
        yield from _rewrite(_source(table), table.get("destination"))


def _source(table: Mapping[str, Any]) -> str:
    return str(table.get("source", table.get("glob", "")))


_GLOB = pattern(r"/\*\*(?=/|$)|\*\*/?|\*|\?|\[[^\]/]+\]|[@!?*+]\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}|.", re.DOTALL)


def _glob(glob: str) -> str:
    """Return the pattern of a glob (minimatch, with extended patterns); one without a slash first gets it."""
    glob = glob if glob.startswith(("/", "**")) else f"/{glob}"
    pattern = "".join(map(_glob_part, _GLOB.findall(glob)))
    return pattern if pattern.startswith(("/", "(?:/", ".*")) else f"/?{pattern}"


def _glob_part(part: str) -> str:
    if part[:2] in ("@(", "?(", "*(", "+(", "!("):
        inner = "|".join("".join(map(_glob_part, _GLOB.findall(each))) for each in part[2:-1].split("|"))
        times = {"@": "", "?": "?", "*": "*", "+": "+", "!": ""}[part[0]]
        return f"(?!(?:{inner})$)[^/]*" if part[0] == "!" else f"(?:{inner}){times}"
    if part[0] == "{" and len(part) > 1:
        return "(?:" + "|".join("".join(map(_glob_part, _GLOB.findall(each))) for each in part[1:-1].split(",")) + ")"
    if part[0] == "[" and len(part) > 1:
        return "[^" + part[2:] if part[1] in "!^" else part
    known = {"/**": "(?:/.*)?", "**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return known.get(part) or re.escape(part)


def _read_worker(text: str) -> Iterator[Found]:
    """Scripts of service workers, and Angular's table: the pages that they answer with at any address."""
    return iter(_ANSWER.findall(text))


_ANSWER = pattern(r"""(?:\bmatch|createHandlerBoundToURL|"index"\s*:)\s*\(?\s*["'`]([^"'`\s]{1,300})["'`]""")


def _read_other(text: str) -> Iterator[Found]:
    """Files of hosts that are not understood: the pages that they name, and that they may forbid anything."""
    return iter((*_PAGE_NAME.findall(text), *_any_policy(text)))


def _any_policy(text: str) -> Iterator[Found]:
    if CSP in text.lower():
        yield HeaderRule(".*", ((CSP, "default-src 'none'"),))


_PAGE_NAME = pattern(r"(?<![\w./~-])[\w./~-]+\.html?\b")


def _read_wrangler(text: str) -> Iterator[Found]:
    if "single-page-application" in text:
        yield "/index.html"


# ---- servers


def _read_access_file(directory: str, text: str) -> Iterator[Found]:
    yield from apache_rules(access_directives(text, ACCESS_FILE), f"/{directory}/" if directory else "/")


def apache_rules(directives: Iterable[Directive], below: str) -> Iterator[Found]:
    """Yield what directives of Apache say for URL paths ``below`` one; sections may be open to requests of any kind."""
    for line in directives:
        if line.name == "header":
            words = [arg for arg in line.args if arg.lower() not in ("always", "onsuccess")]
            if len(words) > 1 and words[0].lower() in _SETTING:
                value = words[2] if len(words) > 2 else None
                name = words[1].rstrip(":").lower()
                if value:
                    yield HeaderRule(f"{re.escape(below)}.*", ((name, value),), name=_names(line.within))
        elif line.name in _CHARSETS and line.args:
            yield from _charset_rule(line, re.escape(below))
        elif line.name == "errordocument" and len(line.args) > 1:
            yield line.args[1]
        elif line.name in ("fallbackresource", "rewriterule") and line.args and not _REDIRECT.search(line.args[-1]):
            address = line.args[:2][-1].removeprefix("%{DOCUMENT_ROOT}")
            yield address if address.startswith("/") else below + address


_CHARSETS = dict(
    zip(("forcetype", "addcharset", "addtype", "adddefaultcharset"), APACHE_CHARSETS, strict=True),
    removecharset=APACHE_CHARSETS[1],
)


_REDIRECT = pattern(r"\[(?:.*,)?\s*R(?:edirect)?\b", re.IGNORECASE)  # of the flags of a RewriteRule


def _charset_rule(line: Directive, below: str) -> Iterator[HeaderRule]:
    """Yield what a directive of Apache says of the encoding of texts, by default or by their extensions."""
    label, extensions, names = line.args[0], line.args[1:], _names(line.within)
    if line.name.endswith("type"):
        match = _CHARSET.search(label)
        label = match[1] if match else ""
    elif line.name == "removecharset":
        label, extensions = "off", line.args
    if line.name in ("addcharset", "addtype", "removecharset"):
        names = rf"\.(?:{'|'.join(re.escape(each.lstrip('.')) for each in extensions)})(?:\.|$)"
    if label:
        value = {"off": None, "on": "iso-8859-1"}.get(label.lower(), label.lower())
        yield HeaderRule(f"{below}.*", ((_CHARSETS[line.name], value),), name=names)


_SETTING = ("set", "append", "add", "merge", "setifempty")


def _names(within: Iterable[Section]) -> str:
    """Return the pattern of names that the innermost section around a directive has, the empty one for all."""
    patterns = [""]
    for section in within:
        if section.name == "filesmatch" or (section.name == "files" and section.args[:1] == ("~",)):
            patterns.append(section.args[-1] if section.args else "")
        elif section.name == "files" and section.args:
            patterns.append("^" + re.escape(section.args[0]).replace(r"\*", ".*").replace(r"\?", ".") + "$")
    return patterns[-1]


def inherited_fields(file: Path | None, docroot: Path) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of the lines ``add_header`` that the server of a docroot has from nginx's block ``http``.

    Nothing where a configuration is not one of nginx, or where that server has lines of its own, which hide the others.
    Without a ``file`` that of this machine counts, if it has a virtual host for the docroot.
    """
    lines = _usual_lines(docroot) if file is None else list(nginx_directives(file)) if is_nginx(file) else []
    elsewhere = _other_hosts(lines, docroot)
    added = [line for line in lines if line.name == "add_header" and elsewhere.isdisjoint(line.within)]
    names = [[section.name for section in line.within] for line in added]
    if ["http", "server"] in names or ["server"] in names:
        return ()
    return tuple(line.args for line, within in zip(added, names, strict=True) if within == ["http"])


def _usual_lines(docroot: Path) -> list[Directive]:
    """Return the configuration of nginx on this machine; nothing if it has no virtual host for a docroot."""
    if not USUAL_NGINX.is_file():
        return []
    try:
        lines = list(nginx_directives(USUAL_NGINX))
    except OSError:  # not for everybody: the user may name it
        return []
    roots = [line.args[0] for line in lines if line.name == "root" and line.args and _is_host(line.within)]
    return lines if any(root.startswith("/") and _is_above(root, docroot) for root in roots) else []


def _other_hosts(lines: Iterable[Directive], docroot: Path) -> set[Section]:
    """Return the virtual hosts that are not those of a docroot."""
    roots = {line.within: line.args[0] for line in lines if line.name in ("documentroot", "root") and line.args}
    return {within[-1] for within, root in roots.items() if _is_host(within) and not _is_above(root, docroot)}


def _server_rules(file: Path, docroot: Path) -> Iterator[Found]:
    """Yield what a server's configuration says of a docroot: Apache's or nginx's; other virtual hosts do not count."""
    lines = list(nginx_directives(file) if is_nginx(file) else directives_with_includes(file))
    elsewhere = _other_hosts(lines, docroot)
    for line in lines:
        if elsewhere.isdisjoint(line.within):
            yield from _nginx_rules(line) if is_nginx(file) else _located_rules(line, docroot)


def _is_host(within: tuple[Section, ...]) -> bool:
    return bool(within) and within[-1].name in ("virtualhost", "server")


def _is_above(root: str, docroot: Path) -> bool:
    """Whether a directory is the docroot, or above it."""
    return Path(os.path.realpath(root)) in (Path(os.path.realpath(docroot)), *Path(os.path.realpath(docroot)).parents)


def _nginx_rules(line: Directive) -> Iterator[Found]:
    location = next((each for each in reversed(line.within) if each.name == NGINX_LOCATION), None)
    pattern = ".*" if location is None else f"(?:{location_pattern(location)}).*"
    if line.name == "add_header" and len(line.args) > 1:
        yield HeaderRule(pattern, ((line.args[0].lower(), line.args[1]),))
    elif line.name == "more_set_headers":
        pairs = (arg.partition(":") for arg in line.args if ":" in arg)
        yield HeaderRule(pattern, tuple((name.strip().lower(), value.strip()) for name, _, value in pairs))
    elif line.name == CHARSET and line.args:
        yield HeaderRule(pattern, ((CHARSET, None if line.args[0] == "off" else line.args[0].lower()),), replaces=True)
    elif line.name in ("error_page", "try_files", "rewrite"):
        yield from line.args[1:]


def _located_rules(line: Directive, docroot: Path) -> Iterator[Found]:
    location = next((each for each in line.within if each.name in ("location", "locationmatch")), None)
    directory = next((each for each in line.within if each.name == "directory" and each.args), None)
    below = "/"
    if directory is not None and not re.search(r"[*?\[~$]", directory.args[0]):
        inside = os.path.relpath(os.path.realpath(directory.args[0]), os.path.realpath(docroot))
        below = "/" if inside == "." else f"/{inside}/"
        if inside.startswith("..") and not _is_above(directory.args[0], docroot):
            return
        below = "/" if inside.startswith("..") else below
    for found in apache_rules([line], below):
        is_located = isinstance(found, HeaderRule) and location is not None
        yield replace(found, pattern=f"(?:{location_pattern(location)}).*") if is_located else found  # type: ignore[type-var, arg-type]


# ---- the files of a site

_NAMING_PAGES = (
    "app.yaml render.yaml routes.json static.json Staticfile web.config Caddyfile nginx.conf _worker.js "
    "functions/_middleware.js"
)
_READERS: Mapping[str, Callable[[str], Iterator[Found]]] = {
    "_headers": read_headers,
    "_redirects": _read_redirects,
    "netlify.toml": _read_netlify,
    "vercel.json": _read_vercel,
    "staticwebapp.config.json": _read_static_web_apps,
    "firebase.json": _read_firebase,
    "serve.json": _read_serve,
    "superstatic.json": _read_serve,
    "now.json": _read_vercel,
    **dict.fromkeys(("ngsw.json", "service-worker.js", "serviceworker.js", "sw.js"), _read_worker),
    **dict.fromkeys(_NAMING_PAGES.split(), _read_other),
    **dict.fromkeys(("wrangler.toml", "wrangler.json", "wrangler.jsonc"), _read_wrangler),
}
# The settings of hosts that nobody here knows: nobody else publishes such files
_SETTINGS = (".yml", ".yaml", ".toml", ".conf", ".config", ".ini")
# Files that lie next to the directory that is published, and name it
PUBLISHED: Mapping[str, Callable[[str], Any]] = {
    "netlify.toml": lambda text: tomllib.loads(text).get("build", {}).get("publish"),
    "vercel.json": lambda text: _json(text).get("outputDirectory"),
    "firebase.json": lambda text: _json(text).get("hosting", {}).get("public"),
    "serve.json": lambda text: _json(text).get("public"),
}
_STEPS = 3  # directories above the docroot
USUAL_NGINX = Path("/etc/nginx/nginx.conf")


def host_rules(config: Config, docroot: Path, paths: Iterable[str], *, is_exported: bool = True) -> HostRules:
    """Return what the hosts' files in and above a docroot, and the server's configuration, say of its ``paths``.

    With ``is_exported`` policies allow what an export will add to them (``site.csp_hashes``).
    """
    files: list[tuple[str, tuple[HeaderRule, ...]]] = []
    fallbacks: set[str] = set()
    known = paths if isinstance(paths, LoadedFiles) else set(paths)
    for name, found in _readings(config, docroot, known, is_open=is_exported and config.site.csp_hashes):
        rules = tuple(each for each in found if isinstance(each, HeaderRule) and each.fields)
        if rules:
            files.append((name, rules))
        fallbacks.update(_page(each, known, config.url_prefix) or "" for each in found if isinstance(each, str))
    return HostRules(tuple(files), frozenset(fallbacks - {""}), config.url_prefix)


def server_fields(file: Path | None, docroot: Path) -> tuple[tuple[str, str], ...]:
    """Return the fields that a server's configuration gives every answer for a docroot, none with variables."""
    found = list(_server_rules(file, docroot)) if file is not None and file.is_file() else []
    rules = [each for each in found if isinstance(each, HeaderRule) and _is_for_everything(each)]
    fields = [(name, value) for rule in rules for name, value in rule.fields]
    return tuple((name, value) for name, value in fields if value and not re.search(r"\$|%\{", value))


class HostTypes(dict[str, str]):
    """Media types by path: those of a mirror in a docroot, and what the files of hosts there give by ``Content-Type``.

    A rule for everything gives none: hosts do not send a style sheet as a page. Only ``get`` knows the types of rules.
    """

    def __init__(self, docroot: Path) -> None:
        super().__init__(types_of(docroot))
        found = [each for _, readings in _in_docroot(docroot) for each in readings if isinstance(each, HeaderRule)]
        self._rules = [rule for rule in found if CONTENT_TYPE in dict(rule.fields) and not _is_for_everything(rule)]

    @property
    def identity(self) -> str:
        """What decides the types, as a text."""
        return repr((sorted(self.items()), self._rules))

    def get(self, path: str, default: Any = None) -> Any:
        """Return the type of a file, ``None`` where its name says it."""
        own = super().get(path, default)
        if own is not None or not self._rules:
            return own
        addresses, name = addresses_of(path), path.rpartition("/")[2]
        types = [dict(rule.fields)[CONTENT_TYPE] for rule in self._rules if rule.matches(addresses, name)]
        given = (types[-1] or "").partition(";")[0].strip().lower() if types else ""
        return (media.JS if given.endswith(("javascript", "ecmascript")) else given) if "/" in given else None


def _is_for_everything(rule: HeaderRule) -> bool:
    return all(rule.matches((f"/{name}",), name) for name in ("-.html", "-.css"))


def _page(address: str, known: Container[str], prefix: str) -> str | None:
    """Return the page of the site that a fallback's address leads to."""
    path = re.split(r"[?#]", address)[0].removeprefix(prefix).strip("/")
    forms = (path, f"{path}.html", f"{path}/index.html".lstrip("/"))
    return next((form for form in forms if form in known and form.lower().endswith((".html", ".htm"))), None)


def _readings(
    config: Config, docroot: Path, known: LoadedFiles | set[str], *, is_open: bool
) -> Iterator[tuple[str, list[Found]]]:
    for name, file in outer_files(docroot):
        yield name, _reading(file, _READERS[name])
    for name, found in _in_docroot(docroot):
        yield name, list(map(_open_to_elements, found)) if is_open else found
    for directory in sorted(_directories_of_pages(known)):
        file = docroot / directory / ACCESS_FILE
        if file.is_file():
            yield (
                f"{directory}/{ACCESS_FILE}".lstrip("/"),
                _reading(file, partial(_read_access_file, directory)),
            )
    server = config.site.server_config
    if server is not None and server.is_file():
        yield server.name, list(_server_rules(server, docroot))


def _directories_of_pages(known: LoadedFiles | set[str]) -> set[str]:
    """Return the directories that may have access files for pages; where files were not all looked up, none has any."""
    if isinstance(known, LoadedFiles):
        return set()
    pages = (path.rpartition("/")[0] for path in known if path.lower().endswith((".html", ".htm")))
    return {place for directory in set(pages) for place in (*with_ancestors(directory), "")}


def _open_to_elements(found: Found) -> Found:
    """Return a rule whose policies allow what an export will allow by hashes."""
    if not isinstance(found, HeaderRule):
        return found
    fields = ((name, open_to_elements(value) if name == CSP and value else value) for name, value in found.fields)
    return replace(found, fields=tuple(fields))


def _in_docroot(docroot: Path) -> Iterator[tuple[str, list[Found]]]:
    present = sorted(os.listdir(docroot))
    known = (name for name in _READERS if name.partition("/")[0] in present)
    for name in (*known, *(name for name in present if name.endswith(_SETTINGS) and name not in _READERS)):
        if os.path.isfile(file := docroot / name):
            yield name, _reading(file, _READERS.get(name, _any_policy))


def _reading(file: Path, reader: Callable[[str], Iterator[Found]]) -> list[Found]:
    """Return what a file says. One that cannot be read may forbid anything, if it names the field for that."""
    text = ""
    try:
        text = file.read_text("utf-8-sig", "surrogateescape")
        return list(reader(text))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return list[Found](_any_policy(text))


def outer_files(docroot: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files above a docroot that name it as what is published."""
    root = Path(os.path.realpath(docroot))
    for folder, name in itertools.product(list(root.parents)[:_STEPS], PUBLISHED):
        if not os.path.isfile(os.path.join(folder, name)):
            continue
        try:
            where = PUBLISHED[name]((folder / name).read_text("utf-8-sig"))
        except (OSError, ValueError, TypeError, AttributeError):
            continue
        if isinstance(where, str) and Path(os.path.realpath(folder / where.strip("/"))) == root:
            yield name, folder / name
