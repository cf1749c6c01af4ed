"""The settings of a build as a frozen ``Config``: what to build, with how much effort, what a byte and a request cost.

``docs/configuration.md`` explains each setting; ``adaptc.config.config_file`` reads them from ``adaptc.toml``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from adaptc.config.toml import TomlSource
from adaptc.core.diagnostics import Diagnostic, Severity, UsageError
from adaptc.core.values import dataclass, field, replace

if TYPE_CHECKING:
    from adaptc.core.model import Effort

# Of site.ignore_directives: every directive of Apache
ALL_DIRECTIVES = "all"


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """``[site]``: what the docroot holds and how its server treats it.

    ``base_url`` is the URL of the docroot (absolute references to it count as the site's own). ``exclude``
    holds globs: without ``/`` they match a file or directory name at any depth, else a path from the
    docroot. ``include`` holds globs of what is published although names, execute bits or modes say that it is no
    content. ``max_pixels`` bounds the decoded size of an image. ``csp`` is the Content-Security-Policy
    header that the server sends. With ``csp_hashes`` an export adds what levels write into pages to the policies in the
    docroot's files for hosts. ``server_config`` is the main file of Apache's configuration; files that the
    directives ``ignore_directives`` apply to are built all the same ("all": any directive).
    """

    base_url: str | None = None
    index: tuple[str, ...] = ("index.html", "index.htm", "index.xhtml")
    exclude: tuple[str, ...] = (".git", ".svn", ".hg", "CVS", ".DS_Store")
    include_hidden: bool = False
    include: tuple[str, ...] = ()
    max_file_bytes: int = 256 * 2**20
    max_pixels: int = 100_000_000
    csp: str | None = None
    csp_hashes: bool = False
    server_config: Path | None = None
    ignore_directives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """``[build]``: the levels to build, and with how much effort.

    ``jobs`` 0 means as many as the CPUs that this process may use. ``identity`` is ``complete`` (the ``id``
    tree of a level holds every file of the site) or ``changed`` (only those that differ from the docroot).
    ``remote_cache`` is the URL of a cache that machines share, which is not written with ``remote_cache_readonly``.
    ``scheduler`` is the address of a scheduler of Dask, whose workers build. A unit that would take more than
    ``unit_seconds`` of CPU time is left as it is.
    """

    levels: tuple[str, ...] = ("full", "lossless")
    effort: str = "default"
    jobs: int = 0
    cache: Path | None = None
    cache_size: int = 2 * 2**30
    remote_cache: str | None = None
    remote_cache_readonly: bool = False
    scheduler: str | None = None
    identity: str = "complete"
    unit_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class CodingsConfig:
    """``[codings]``: the content codings that are written, by directory name.

    ``effort`` is how hard to try, or "build": as hard as the rest of the build.
    With ``dictionaries`` pages are also encoded with a dictionary of their level (RFC 9842), and files with what they
    and the dictionary were ``versions_back`` versions ago.
    """

    gz: bool = True
    br: bool = True
    zst: bool = True
    effort: str = "build"
    dictionaries: bool = False
    versions_back: int = 1


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


# Milliseconds of a request and of a kilobyte by ``cost.preset``; None for ``cost.request_ms`` and ``cost.kilobyte_ms``,
# which are those of a server. Over HTTP/2 a visitor waits for requests together, and 0.9 kB take as long as one more of
# them (benchmarks/request_cost.py); over HTTP/1.1 it is 5.3 kB. Hosts that only send files speak HTTP/2 or 3.
_OVER_HTTP2 = (6.37, 6.89)
DELIVERY: dict[str, tuple[float, float] | None] = {"http1": None, "http2": _OVER_HTTP2, "static-host": _OVER_HTTP2}


@dataclass(frozen=True, slots=True)
class CostConfig:
    """``[cost]``: what a page view costs, p + aR + bW; aR + bW are of Abdelzaher, Shin and Bhatti, section 4.

    ``preset`` is a key of ``DELIVERY``: what a request and a kilobyte cost where a file moves into pages or stays one.
    ``profile`` is a file that ``adaptc calibrate`` wrote, whose p, a and b are taken for the three keys that follow.
    ``view_ms`` is p, milliseconds for the connection of a view: as much in proportion to a as on Apache 2.4
    (benchmarks/page_views.py). ``request_ms`` is a, milliseconds a request; ``kilobyte_ms`` is b, milliseconds a
    kilobyte. A visit reads ``pages_per_visit`` pages and ``warm_share`` of the visits find shared files in the
    browser's cache already. ``dictionary_share`` of the browsers takes dictionaries (RFC 9842): those made from
    Chromium had 75 % (StatCounter, February 2025: Chrome 66, Edge 5, Opera and Samsung 2 each), with old ones and
    Chrome on iOS, which do not. ``data_uri_budget`` bounds what images as data URIs add to a page, ``data_uri_max``
    one image; both in bytes.
    """

    preset: str = "http1"
    profile: Path | None = None
    view_ms: float = 0.75
    request_ms: float = 0.83
    kilobyte_ms: float = 0.033
    pages_per_visit: float = 3.0
    warm_share: float = 0.3
    dictionary_share: float = 0.7
    data_uri_budget: int = 8192
    data_uri_max: int = 2048

    @property
    def delivery(self) -> tuple[float, float]:
        """Milliseconds of a request and of a kilobyte, for what moves into pages."""
        return DELIVERY[self.preset] or (self.request_ms, self.kilobyte_ms)


# The servers that configuration can be written for: each is a module of its name in adaptc/serve/servers/
SERVERS = ("apache", "htaccess", "nginx", "caddy", "lighttpd", "varnish", "haproxy")
REVERSE_PROXIES = ("varnish", "haproxy")
ACTIONS = "actions"  # action tables, which are for any server
EMIT_TARGETS = (*SERVERS, ACTIONS)
CLASS_MAPS = ("dbm", "txt")
NGINX_CLASSES = ("markers", "geo")
FRESHNESS = ("watched", "strict")
# Who checks access to what is served from the trees: the server, for the original; or nobody
ACCESS = ("server", "trees")


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """``[serve]``: the server configuration that ``adaptc emit`` writes.

    ``emit`` names what ``build`` writes too. ``docroot``, ``output`` and ``state`` are paths on the server. ``prefix``
    is the URL path of the docroot without its final slash, None for that of ``site.base_url``. ``level`` is served when
    the flag is set and nothing says otherwise; None: the lowest of the ladder that keeps the words, without a flag the
    lowest that promises the same page. ``reverse_proxy`` is one of ``REVERSE_PROXIES``, which chooses for the origin
    servers, or None. ``ladder`` are the levels between which daemons choose, highest quality first, () for those with a
    number and then ``text``. ``status`` is the address and port of a status page of its own.
    With ``classes_need_flag`` classes act while the flag is set, else always. ``shared_seconds`` is how long shared
    caches may hold a degraded answer, 0 for never. ``purge`` are the caches that are told to forget
    (``adaptc.serve.purge``). ``nginx_page_rate`` is how many pages a second may cost as much as the original, 0 for any
    number. ``freshness`` is one of ``FRESHNESS``, ``access`` of ``ACCESS``.
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
    ladder: tuple[str, ...] = ()
    reverse_proxy: str | None = None
    buckets: bool = False
    reject: bool = False
    retry_after: int = 10
    shared_seconds: int = 0
    purge: tuple[str, ...] = ()
    freshness: str = "watched"
    access: str = "server"
    status: str | None = None
    classes: bool = False
    classes_need_flag: bool = True
    hints: bool = True
    critical_hints: bool = False
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
    nginx_page_rate: int = 0


# How encoded files are published: not at all, under names of their own, or in place of the file (by content coding)
PUBLISHED_ENCODINGS = ("none", "gzip", "br", "suffix", "parallel")


@dataclass(frozen=True, slots=True)
class PublishConfig:
    """``[publish]``: where and how ``adaptc publish`` stores one level of the site.

    ``level`` None means the only one that was built. ``encodings`` is one of ``PUBLISHED_ENCODINGS``. ``cache_control``
    are pairs of a pattern, as in ``site.exclude``, and a value of Cache-Control; the first that matches a path counts.
    """

    url: str | None = None
    level: str | None = None
    encodings: str = "none"
    cache_control: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DecorationsConfig:
    """``[decorations]``: corrections to the classifier of images.

    ``keep`` and ``drop`` hold patterns of URLs and, after ``##``, CSS selectors. ``rules`` is a file with tables of
    ``rules/decorations.toml``; ``filters`` are lists of filters in the syntax of ad blockers.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rules: Path | None = None
    filters: tuple[Path, ...] = ()


ALL_PAGES = "all"
# Pages that are proven where no number is given
PROVED_PAGES = 12


@dataclass(frozen=True, slots=True)
class BrowserConfig:
    """``[browser]``: which pages a browser looks at before they are built, and proves before they are published.

    ``pages`` is how many pages of each template (of those with the same sheets, scripts and frame), 0 for none, or
    ``ALL_PAGES``.
    ``prove`` is how many pages are proven at every level, 0 for none, or ``ALL_PAGES``.
    ``program`` is the name or path of a Chromium; empty means ``CHROME_PATH``, or the first that is on the PATH.
    """

    pages: int | str = 0
    prove: int | str = 0
    program: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a build, frozen; ``adaptc.load_config`` reads them from ``adaptc.toml``.

    Paths are absolute or relative to the working directory. ``docroot`` is the site as it is, ``output`` the directory
    that a build writes. ``site``, ``build``, ``codings``, ``select``, ``cost``, ``decorations``, ``browser``,
    ``serve`` and ``publish`` are the tables of these names (docs/configuration.md).

    ``levels`` are the ``[levels.NAME]`` tables as written, for ``adaptc.config.rulebook.load_levels``. ``diagnostics``
    are pairs of id and severity, None for "off". ``daemons`` are the ``[daemons.NAME]`` tables, which no build depends
    on, ``budgets`` the ``[budgets.LEVEL]`` tables, for ``adaptc.config.budgets``. ``file`` is the file that was read,
    if any, ``options`` are the settings by dotted key that the command line gave. ``has_levels`` says that either names
    the levels to build.

    >>> from dataclasses import replace
    >>> config = Config()
    >>> replace(config, build=replace(config.build, effort="max")).build.effort
    'max'
    """

    docroot: Path | None = None
    output: Path = Path("opt")
    site: SiteConfig = SiteConfig()
    build: BuildConfig = BuildConfig()
    codings: CodingsConfig = CodingsConfig()
    select: SelectConfig = SelectConfig()
    cost: CostConfig = CostConfig()
    decorations: DecorationsConfig = DecorationsConfig()
    browser: BrowserConfig = BrowserConfig()
    serve: ServeConfig = ServeConfig()
    publish: PublishConfig = PublishConfig()
    levels: TomlSource = field(default_factory=TomlSource)
    diagnostics: tuple[tuple[str, Severity | None], ...] = ()
    daemons: TomlSource = field(default_factory=TomlSource)
    budgets: TomlSource = field(default_factory=TomlSource)
    file: Path | None = None
    options: tuple[tuple[str, Any], ...] = ()
    has_levels: bool = False

    def existing_docroot(self) -> Path:
        """Return the docroot. Raises ``UsageError`` when it is not known or no directory."""
        if self.docroot is None:
            raise UsageError(
                "no docroot: name the published directory on the command line, or as docroot in adaptc.toml"
            )
        if not self.docroot.is_dir():
            raise UsageError(f"docroot {self.docroot} is not a directory")
        return self.docroot

    @property
    def coding_effort(self) -> Effort:
        """How hard to try when encoding."""
        asked = self.build.effort if self.codings.effort == "build" else self.codings.effort
        return cast("Effort", asked)

    @property
    def url_prefix(self) -> str:
        """The decoded URL path of the docroot without its final slash: ``serve.prefix``, else of ``site.base_url``."""
        if self.serve.prefix is not None:
            return self.serve.prefix
        return unquote(urlsplit(self.site.base_url or "").path, errors="surrogateescape").rstrip("/")


SECTIONS: dict[str, type] = {
    "site": SiteConfig,
    "build": BuildConfig,
    "codings": CodingsConfig,
    "select": SelectConfig,
    "cost": CostConfig,
    "decorations": DecorationsConfig,
    "browser": BrowserConfig,
    "serve": ServeConfig,
    "publish": PublishConfig,
}

# Below the output's private directory, which publishing leaves alone: sites that ``adaptc build URL`` crawled.
MIRRORS = ".adaptc/mirrors"


def with_severities(diagnostics: Iterable[Diagnostic], config: Config) -> Iterator[Diagnostic]:
    """Yield ``diagnostics`` with the severities that ``[diagnostics]`` asks for, without those that are off."""
    choices = dict(config.diagnostics)
    for diagnostic in diagnostics:
        severity = choices.get(diagnostic.id, diagnostic.severity)
        if severity is not None:
            yield diagnostic if severity is diagnostic.severity else replace(diagnostic, severity=severity)


# ---- the recipe

# Settings that cannot change a byte of the output: places, the number of workers, messages. The contents of rules and
# filters are in the recipes of the levels that use them; [select] acts through the popular pages that result.
_NO_RECIPE = {
    "build": ("jobs", "cache", "cache_size", "remote_cache", "remote_cache_readonly", "scheduler"),
    "decorations": ("rules", "filters"),
    "select": ("logs", "share", "format"),
    "browser": ("program",),
}
_NO_RECIPE_TABLES = ("serve", "publish")  # how the trees are served, not what is in them


def recipe_text(config: Config) -> str:
    """Return the settings that may change the output as canonical text (JSON, sorted), for digests.

    Equal settings give equal text, whatever the place of the file and the order of its keys. It has the ``[levels]``
    tables as they are written; ``rulebook.Level`` values hold the levels that result.
    """
    tables = (name for name in SECTIONS if name not in _NO_RECIPE_TABLES)
    recipe = {name: _fields(getattr(config, name), _NO_RECIPE.get(name, ())) for name in tables}
    return json.dumps({**recipe, "levels": config.levels.values}, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    return _fields(value) if dataclasses.is_dataclass(value) else str(value)


def _fields(section: Any, left_out: Iterable[str] = ()) -> dict[str, Any]:
    return {each.name: getattr(section, each.name) for each in dataclasses.fields(section) if each.name not in left_out}
