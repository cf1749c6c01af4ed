"""``adaptc.toml`` as a frozen ``Config``: what to build, how hard to try, what a byte and a request cost.

``FIELDS`` is the one list of keys; ``docs/configuration.md`` explains each (a test holds the two together)
and the defaults are those of the dataclasses. All mistakes of a file are told at once, each with its line.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adaptc.config.toml import KeyPath, TomlSource, nearest, nested, read_toml, shown
from adaptc.core.diagnostics import KINDS, Diagnostic, Severity, UsageError

FILE_NAME = "adaptc.toml"
EFFORTS = ("fast", "default", "max")


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """``[site]``: what the docroot holds and how its server treats it.

    ``base_url`` is the URL of the docroot (absolute references to it count as the site's own). ``exclude``
    holds globs: without ``/`` they match a file or directory name at any depth, else a path from the
    docroot. ``max_pixels`` bounds the decoded size of an image. ``csp`` is the Content-Security-Policy
    header that the server sends.
    """

    base_url: str | None = None
    index: tuple[str, ...] = ("index.html", "index.htm", "index.xhtml")
    exclude: tuple[str, ...] = (".git", ".svn", ".hg", "CVS", ".DS_Store")
    include_hidden: bool = False
    max_file_bytes: int = 256 * 2**20
    max_pixels: int = 100_000_000
    csp: str | None = None


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """``[build]``: which levels, with how much effort.

    ``jobs`` 0 means as many as the CPUs that this process may use. ``identity`` is ``complete`` (the ``id``
    tree of a level holds every file of the site) or ``changed`` (only those that differ from the docroot).
    """

    levels: tuple[str, ...] = ("full", "lossless")
    effort: str = "default"
    jobs: int = 0
    cache: Path | None = None
    cache_size: int = 2 * 2**30
    identity: str = "complete"


@dataclass(frozen=True, slots=True)
class CodingsConfig:
    """``[codings]``: the content codings that are written, by directory name."""

    gz: bool = True
    br: bool = True
    zst: bool = True


@dataclass(frozen=True, slots=True)
class SelectConfig:
    """``[select]``: the pages that degraded levels are built for (Krishnamurthy and others, WWW2003).

    ``logs`` are access logs, or shell patterns of them; without any, every page counts as popular. The popular pages
    are those that make up ``share`` of the page views. ``format`` is what
    ``adaptc.formats.accesslog.parser.compile_format`` takes.
    """

    logs: tuple[str, ...] = ()
    share: float = 0.7
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class CostConfig:
    """``[cost]``: what a page costs, U = aR + bW (Abdelzaher, Shin and Bhatti, section 4).

    ``request_ms`` is a, milliseconds a request; ``kilobyte_ms`` is b, milliseconds a kilobyte. A visit reads
    ``pages_per_visit`` pages and ``warm_share`` of the visits find shared files in the browser's cache
    already. ``data_uri_budget`` bounds what images as data URIs add to a page, ``data_uri_max`` one image;
    both in bytes.
    """

    request_ms: float = 0.83
    kilobyte_ms: float = 0.033
    pages_per_visit: float = 3.0
    warm_share: float = 0.3
    data_uri_budget: int = 8192
    data_uri_max: int = 2048


SERVERS = ("apache", "htaccess", "nginx", "caddy", "lighttpd", "actions")
CLASS_MAPS = ("dbm", "txt")
NGINX_CLASSES = ("markers", "geo")
FRESHNESS = ("watched", "strict")


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """``[serve]``: what the server's configuration shall do, for ``adaptc emit``.

    ``emit`` names what ``build`` writes too. ``docroot``, ``output`` and ``state`` are paths on the server. ``prefix``
    is the URL path of the docroot without its final slash, None for that of ``site.base_url``. ``level`` is served when
    the flag is set and nothing says otherwise, None for the cheapest one that promises the same page. ``freshness`` is
    one of ``FRESHNESS``.
    """

    emit: tuple[str, ...] = ()
    name: str | None = None
    prefix: str | None = None
    docroot: Path | None = None
    output: Path | None = None
    state: Path | None = None
    templates: Path | None = None
    flag: bool = True
    level: str | None = None
    buckets: bool = False
    reject: bool = False
    retry_after: int = 10
    freshness: str = "watched"
    classes: bool = False
    hints: bool = True
    poor_level: str | None = None
    normal_level: str | None = None
    rich_level: str | None = None
    class_map: str = "dbm"
    expose: bool = True
    exclude: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    client_header: str = "X-Forwarded-For"
    htaccess_trees: str = "/.adaptc-trees"
    nginx_location: bool = True
    nginx_headers: Path | None = None
    nginx_classes: str = "markers"
    nginx_file_cache: bool = True


@dataclass(frozen=True, slots=True)
class DecorationsConfig:
    """``[decorations]``: what the user knows better than the classifier of images.

    ``keep`` and ``drop`` hold patterns of URLs and, behind ``##``, CSS selectors. ``rules`` is a file with tables of
    ``rules/decorations.toml``; ``filters`` are lists of filters as ad blockers take them.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rules: Path | None = None
    filters: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a build. Paths are absolute or relative to the working directory.

    ``levels`` are the ``[levels.NAME]`` tables as written, for ``adaptc.config.rulebook.load_levels``.
    ``diagnostics`` are pairs of id and severity, None for "off". ``daemons`` are the ``[daemons.NAME]`` tables, which
    no build depends on; each daemon reads its own. ``budgets`` are the ``[budgets.LEVEL]`` tables, for
    ``adaptc.workflow.check.budgets``. ``file`` is where the settings were read.
    """

    docroot: Path | None = None
    output: Path = Path("opt")
    site: SiteConfig = SiteConfig()
    build: BuildConfig = BuildConfig()
    codings: CodingsConfig = CodingsConfig()
    select: SelectConfig = SelectConfig()
    cost: CostConfig = CostConfig()
    decorations: DecorationsConfig = DecorationsConfig()
    serve: ServeConfig = ServeConfig()
    levels: TomlSource = field(default_factory=TomlSource)
    diagnostics: tuple[tuple[str, Severity | None], ...] = ()
    daemons: TomlSource = field(default_factory=TomlSource)
    budgets: TomlSource = field(default_factory=TomlSource)
    file: Path | None = None


SECTIONS: dict[str, type] = {
    "site": SiteConfig,
    "build": BuildConfig,
    "codings": CodingsConfig,
    "select": SelectConfig,
    "cost": CostConfig,
    "decorations": DecorationsConfig,
    "serve": ServeConfig,
}


class _UnfitError(Exception):
    """A value does not fit its key; the text says what would: "true or false"."""


# A check takes the value as TOML gave it and the directory of the file, and returns the value of the field.
Check = Callable[[Any, Path], Any]


def _kind(expected: type, wanted: str) -> Check:
    def check(value: Any, _base: Path) -> Any:
        if type(value) is not expected:
            raise _UnfitError(wanted)
        return value

    return check


def _one_of(*choices: str) -> Check:
    def check(value: Any, _base: Path) -> Any:
        if value not in choices:
            raise _UnfitError(f"one of {', '.join(choices)}")
        return value

    return check


def _whole(least: int) -> Check:
    def check(value: Any, _base: Path) -> int:
        if type(value) is not int or value < least:
            raise _UnfitError(f"a whole number of at least {least}")
        return value

    return check


def _number(least: float, most: float = float("inf")) -> Check:
    wanted = f"a number from {least:g} to {most:g}" if most < float("inf") else f"a number of at least {least:g}"

    def check(value: Any, _base: Path) -> float:
        # "not (in range)" and not "out of range": nan, which TOML has, is neither.
        if type(value) not in (int, float) or not least <= value <= most or value == float("inf"):
            raise _UnfitError(wanted)
        return float(value)

    return check


def _path(value: Any, base: Path) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise _UnfitError("a path")
    return base / Path(value).expanduser()


def _texts(value: Any, _base: Path) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item for item in value):
        raise _UnfitError('a list of texts, such as ["a", "b"]')
    return tuple(value)


def _paths(value: Any, base: Path) -> tuple[Path, ...]:
    if isinstance(value, tuple) and all(isinstance(item, Path) for item in value):
        return value
    return tuple(_path(item, base) for item in _texts(value, base))


def _logs(value: Any, base: Path) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) and item not in ("", "-") for item in value
    ):
        raise _UnfitError('a list of files or shell patterns, such as ["logs/access.log*"]')
    return tuple(str(_path(item, base)) for item in value)


def _log_format(value: Any, base: Path) -> str:
    from adaptc.formats.accesslog.parser import compile_format

    try:
        parser = compile_format(_text(value, base))
    except UsageError as wrong:
        raise _UnfitError(f"a log format that can be read ({wrong})") from None
    if parser.lacks("target", "status"):
        raise _UnfitError("a log format with the request and its status, by which page views are counted")
    return parser.format


def _names(value: Any, base: Path) -> tuple[str, ...]:
    names = _texts(value, base)
    if any("/" in name for name in names):
        raise _UnfitError("a list of file names, without /")
    return names


def _levels(value: Any, base: Path) -> tuple[str, ...]:
    names = _texts(value, base)
    if not names or len(set(names)) < len(names):
        raise _UnfitError("a list of level names, each once")
    return names


def _base_url(value: Any, _base: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", value):
        raise _UnfitError("an http or https URL without query and fragment, such as https://example.org/")
    return value if value.count("/") > 2 else f"{value}/"


def _servers(value: Any, base: Path) -> tuple[str, ...]:
    names = _texts(value, base)
    if any(name not in SERVERS for name in names):
        raise _UnfitError(f"a list of {', '.join(SERVERS)}")
    return names


def _url_path(value: Any, _base: Path) -> str:
    """A URL path, decoded, without its final slash: "" is the whole host."""
    if not isinstance(value, str) or not re.fullmatch(r"(/[^/?#\x00-\x1f\x7f]+)*/?", value):
        raise _UnfitError('a URL path, such as "/docs"')
    return value.rstrip("/")


def _url_paths(value: Any, base: Path) -> tuple[str, ...]:
    return tuple(_url_path(item, base) for item in _texts(value, base))


def _networks(value: Any, base: Path) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_network(item, strict=False)) for item in _texts(value, base))
    except ValueError:
        raise _UnfitError('a list of addresses or networks, such as ["10.0.0.0/8", "2001:db8::1"]') from None


def _header_name(value: Any, _base: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9-]+", value):
        raise _UnfitError("the name of a header field, such as X-Forwarded-For")
    return value


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def bytes_of(value: Any) -> int | None:
    """Return the bytes that a setting says: a whole number, or a text with a unit; ``None`` for anything else.

    500MB is 500,000,000, 2GiB is 2,147,483,648.
    """
    if type(value) is int and value >= 0:
        return value
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    unit: int = (1024 if found[3] else 1000) ** " kmgt".index(found[2].lower() or " ")
    return round(float(found[1]) * unit)


def _size(value: Any, _base: Path) -> int:
    found = bytes_of(value)
    if found is None:
        raise _UnfitError('a size: a number of bytes, or a text such as "500MB" or "2GiB"')
    return found


_flag = _kind(bool, "true or false")
_text = _kind(str, "a text")

FIELDS: dict[str, Check] = {
    "docroot": _path,
    "output": _path,
    "site.base_url": _base_url,
    "site.index": _names,
    "site.exclude": _texts,
    "site.include_hidden": _flag,
    "site.max_file_bytes": _size,
    "site.max_pixels": _whole(1),
    "site.csp": _text,
    "build.levels": _levels,
    "build.effort": _one_of(*EFFORTS),
    "build.jobs": _whole(0),
    "build.cache": _path,
    "build.cache_size": _size,
    "build.identity": _one_of("complete", "changed"),
    **{f"codings.{field.name}": _flag for field in dataclasses.fields(CodingsConfig)},
    "select.logs": _logs,
    "select.share": _number(0.01, 1),
    "select.format": _log_format,
    "cost.request_ms": _number(0),
    "cost.kilobyte_ms": _number(0),
    "cost.pages_per_visit": _number(1),
    "cost.warm_share": _number(0, 1),
    "cost.data_uri_budget": _size,
    "cost.data_uri_max": _size,
    "decorations.keep": _texts,
    "decorations.drop": _texts,
    "decorations.rules": _path,
    "decorations.filters": _paths,
    "serve.emit": _servers,
    "serve.name": _text,
    "serve.prefix": _url_path,
    "serve.docroot": _path,
    "serve.output": _path,
    "serve.state": _path,
    "serve.templates": _path,
    "serve.flag": _flag,
    "serve.level": _text,
    "serve.buckets": _flag,
    "serve.reject": _flag,
    "serve.retry_after": _whole(0),
    "serve.freshness": _one_of(*FRESHNESS),
    "serve.classes": _flag,
    "serve.hints": _flag,
    "serve.poor_level": _text,
    "serve.normal_level": _text,
    "serve.rich_level": _text,
    "serve.class_map": _one_of(*CLASS_MAPS),
    "serve.expose": _flag,
    "serve.exclude": _url_paths,
    "serve.trusted_proxies": _networks,
    "serve.client_header": _header_name,
    "serve.htaccess_trees": _url_path,
    "serve.nginx_location": _flag,
    "serve.nginx_headers": _path,
    "serve.nginx_classes": _one_of(*NGINX_CLASSES),
    "serve.nginx_file_cache": _flag,
}

# Tables whose keys are names that FIELDS cannot list: of levels, of diagnostics, of the daemons, and of levels again.
OPEN_TABLES = ("levels", "diagnostics", "daemons", "budgets")


def load_config(path: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read ``path``, or ``adaptc.toml`` of the working directory if there is one, or take the defaults.

    ``overrides`` are settings of the command line by dotted key (``{"build.effort": "max"}``); they win,
    None means "not given", and relative paths in them are those of the working directory. Raises
    ``UsageError`` that names every mistake, one a line.
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    source, base = _read(path)
    line = TomlSource("command line", nested(given))
    problems = [*_settings_problems(source, base), *_settings_problems(line, Path())]
    if problems:
        raise UsageError("\n".join(problems))
    file = base / Path(source.name).name if source.name else None
    config = _merge(Config(file=file), source, base)
    config = _merge(config, line, Path())
    _refuse_overlap(config)
    return config


def _read(path: Path | None) -> tuple[TomlSource, Path]:
    """Return the file's source and the directory that its paths start from."""
    if path is None and not Path(FILE_NAME).exists():
        return TomlSource(), Path()
    found = path or Path(FILE_NAME)
    return read_toml(found), found.parent


def _settings_problems(source: TomlSource, base: Path) -> Iterator[str]:
    for place, value in _settings(source.values):
        problem = _problem(place, value, base)
        if problem:
            yield source.complaint(place, problem)
    for name in OPEN_TABLES:
        if not isinstance(source.values.get(name, {}), Mapping):
            yield source.complaint((name,), f"{name} must be a table, not {shown(source.values[name])}")
    yield from _diagnostics_problems(source)


def _settings(values: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield each setting of the file with its place, but for the open tables."""
    for name, value in values.items():
        if name in OPEN_TABLES:
            continue
        if name in SECTIONS and isinstance(value, Mapping):
            yield from (((name, key), inner) for key, inner in value.items())
        else:
            yield (name,), value


def _problem(place: KeyPath, value: Any, base: Path) -> str | None:
    key = ".".join(map(str, place))
    if key in SECTIONS:
        return f"{key} must be a table, not {shown(value)}"
    if key not in FIELDS:
        return f"unknown key {key}{_nearest_key(key)}"
    try:
        FIELDS[key](value, base)
    except _UnfitError as wanted:
        return f"{key} must be {wanted}, not {shown(value)}"
    return None


def _nearest_key(key: str) -> str:
    """Suggest a key: the same name in another table first, then one that is spelt alike."""
    leaf = key.rpartition(".")[2]
    same_leaf = [known for known in FIELDS if known.rpartition(".")[2] == leaf]
    if same_leaf:
        return f", did you mean {same_leaf[0]}?"
    return nearest(key, [*FIELDS, *SECTIONS, *OPEN_TABLES])


def _merge(config: Config, source: TomlSource, base: Path) -> Config:
    """Return ``config`` with the settings of ``source``, which were checked before, over it."""
    changes: dict[str, dict[str, Any]] = {}
    for place, value in _settings(source.values):
        key = ".".join(map(str, place))
        table, _, name = key.rpartition(".")
        changes.setdefault(table, {})[name] = FIELDS[key](value, base)
    fields = changes.pop("", {})
    fields |= {table: replace(getattr(config, table), **inner) for table, inner in changes.items()}
    if "levels" in source.values:
        fields["levels"] = source.below("levels")
    if "diagnostics" in source.values:
        fields["diagnostics"] = _choices(source)
    for name in ("daemons", "budgets"):
        if name in source.values:
            fields[name] = source.below(name)
    return replace(config, **fields)


# Below the output's private directory, which publishing leaves alone: what ``adaptc build URL`` has crawled.
MIRRORS = ".adaptc/mirrors"


def _refuse_overlap(config: Config) -> None:
    """Publishing prunes what has no source, so a docroot inside the output would be deleted."""
    if config.docroot is None:
        return
    docroot, output = config.docroot.resolve(), config.output.resolve()
    if docroot.is_relative_to(output) and not docroot.is_relative_to(output / MIRRORS):
        raise UsageError(f"output {config.output} holds the docroot {config.docroot}: choose another output")


# ---- [diagnostics]

_CHOICES: dict[str, Severity | None] = {**{severity.value: severity for severity in Severity}, "off": None}


def _diagnostics_problems(source: TomlSource) -> Iterator[str]:
    for kind, choice in source.below("diagnostics").values.items():
        problem = _choice_problem(kind, choice)
        if problem:
            yield source.complaint(("diagnostics", kind), problem)


def _choice_problem(kind: str, choice: Any) -> str | None:
    if kind not in KINDS:
        return f"unknown diagnostic {kind}{nearest(kind, KINDS)}"
    if not isinstance(choice, str) or choice not in _CHOICES:
        return f"diagnostics.{kind} must be one of {', '.join(_CHOICES)}, not {shown(choice)}"
    if KINDS[kind].severity is Severity.ERROR and _CHOICES[choice] is not Severity.ERROR:
        return f"diagnostics.{kind} is an error, and errors cannot be silenced"
    return None


def _choices(source: TomlSource) -> tuple[tuple[str, Severity | None], ...]:
    return tuple((kind, _CHOICES[choice]) for kind, choice in source.below("diagnostics").values.items())


def relevelled(found: Iterable[Diagnostic], config: Config) -> Iterator[Diagnostic]:
    """Yield ``found`` with the severities that ``[diagnostics]`` asks for, without those that are off."""
    choices = dict(config.diagnostics)
    for diagnostic in found:
        severity = choices.get(diagnostic.id, diagnostic.severity)
        if severity is not None:
            yield diagnostic if severity is diagnostic.severity else replace(diagnostic, severity=severity)


# ---- the recipe

# What cannot change a byte of the output: where things are, how many work at it, what is printed. What rules and
# filters say is in the recipes of the levels that ask; of [select] the traffic counts that comes of it.
_NO_RECIPE = {
    "build": ("jobs", "cache", "cache_size"),
    "decorations": ("rules", "filters"),
    "select": ("logs", "share", "format"),
}
_NO_RECIPE_TABLES = ("serve",)  # how the trees are served, not what is in them


def recipe_text(config: Config) -> str:
    """Return the settings that may change the output as canonical text (JSON, sorted), for digests.

    Equal settings give equal text, wherever the file lies and in whatever order it says them. The
    ``[levels]`` tables stand in it as written: the levels that come of them are in ``rulebook.Level``
    values.
    """
    tables = [name for name in SECTIONS if name not in _NO_RECIPE_TABLES]
    recipe = {name: _recipe_table(name, getattr(config, name)) for name in tables}
    return json.dumps({**recipe, "levels": config.levels.values}, sort_keys=True, separators=(",", ":"), default=str)


def _recipe_table(name: str, section: Any) -> dict[str, Any]:
    left_out = _NO_RECIPE.get(name, ())
    return {key: value for key, value in dataclasses.asdict(section).items() if key not in left_out}
