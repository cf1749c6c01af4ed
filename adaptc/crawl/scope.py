"""Which links are followed: wget's options, HTTrack's filters, and bounds against traps.

Every rule is checked before a request is made, except those on type and size, which only the response tells.
A decision carries its reason: ``--explain`` and the log print it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adaptc.core.values import dataclass, field
from adaptc.crawl.filters import (
    Filter,
    Ruling,
    has_html_suffix,
    has_repeats,
    in_directory,
    in_domain,
    judge,
    last_match,
    matches_name,
    repeats_grow,
)
from adaptc.crawl.weburl import Parts, parts_of

INFINITE = 1 << 30
_REMEMBERED = 20_000  # directories


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """What the user asked for, by wget's names.

    ``max_filesize``, ``quota`` and ``max_pages`` are ``None`` where there is no bound; sizes are bytes. So are
    ``max_total``, decoded bytes of all files, and ``max_time``, seconds, which end a crawl that nobody bounded.
    ``max_repeats``
    is how often one name may stand in a path in a row or in turns, where following makes it more; ``max_url`` the
    characters of a URL: what traps exceed.
    """

    level: int = INFINITE
    page_requisites: bool = False
    no_parent: bool = False
    span_hosts: bool = False
    relative: bool = False
    domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    include_directories: tuple[str, ...] = ()
    exclude_directories: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    accept_regex: re.Pattern[str] | None = None
    reject_regex: re.Pattern[str] | None = None
    ignore_case: bool = False
    follow_tags: frozenset[str] = frozenset()
    ignore_tags: frozenset[str] = frozenset()
    https_only: bool = False
    filters: tuple[Filter, ...] = ()
    max_filesize: int | None = None
    quota: int | None = None
    max_pages: int | None = None
    max_total: int | None = 10 * 10**9
    max_time: float | None = 24 * 3600.0
    max_url: int = 2000
    max_repeats: int = 4
    strip_query: frozenset[str] = field(default=frozenset())

    @property
    def by_tag(self) -> bool:
        """Whether the decision on a link depends on its element."""
        return bool(self.follow_tags or self.ignore_tags)


class Candidate(NamedTuple):
    """A link to decide on. ``depth`` is that of what it leads to; ``tag`` its element, ``""`` if none.

    ``is_relative`` says that it was written without a scheme and host. ``page`` is the URL of the file that holds it.
    """

    url: str
    depth: int
    requisite: bool
    tag: str = ""
    is_relative: bool = True
    nofollow: str = ""
    page: str = ""


class Refusal(NamedTuple):
    """Why a link is not followed. ``rule`` is the option or the standard, stable between versions."""

    rule: str
    reason: str


TOO_LARGE, REPEATS = "max-filesize", "max-repeats"


def too_large(limit: int) -> Refusal:
    """Return the refusal of a file of more than ``limit`` bytes."""
    return Refusal(TOO_LARGE, f"is larger than --max-filesize {limit}")


@dataclass(frozen=True, slots=True)
class Start:
    """A URL that the user named: its host is in scope, its directory bounds ``--no-parent``."""

    host: str
    directory: str


class Scope:
    """The rules of one crawl. ``starts`` are the URLs that the user named."""

    def __init__(self, options: ScopeOptions, starts: tuple[str, ...]) -> None:
        self.options = options
        self.starts = tuple({Start(parts.host, parts.directory) for parts in map(parts_of, starts)})
        self.hosts = frozenset(start.host for start in self.starts)
        self._places: dict[tuple[str, str, str, bool], Refusal | None] = {}

    def add_host(self, url: str) -> None:
        """Add the host of ``url`` to the scope: a start URL was redirected there."""
        parts = parts_of(url)
        self.starts = (*self.starts, Start(parts.host, parts.directory))
        self.hosts |= {parts.host}
        self._places.clear()

    def refusal(self, link: Candidate) -> Refusal | None:
        """Return why ``link`` is not followed, ``None`` when it is. Nothing but the options decides here."""
        refused = self._tag(link) or self._depth(link)
        if refused is not None:
            return refused
        ruling = judge(self.options.filters, link.url) if self.options.filters else Ruling.SILENT
        if ruling is Ruling.REJECT:
            return Refusal("filter", f"filter {last_match(self.options.filters, link.url)} rejects it")
        return self._trap(link) if ruling is Ruling.ACCEPT else self._by_url(link)

    def response_refusal(self, url: str, media_type: str, size: int | None) -> Refusal | None:
        """Return why a response is not wanted, once its head is there."""
        if self.options.filters and judge(self.options.filters, url, media_type, size) is Ruling.REJECT:
            return Refusal("filter", f"a filter rejects it by its type or size ({media_type}, {size} bytes)")
        limit = self.options.max_filesize
        return too_large(limit) if limit is not None and size is not None and size > limit else None

    # ---- rules on the link

    def _tag(self, link: Candidate) -> Refusal | None:
        options = self.options
        if link.tag and link.tag in options.ignore_tags:
            return Refusal("ignore-tags", f"--ignore-tags names <{link.tag}>")
        if link.tag and options.follow_tags and link.tag not in options.follow_tags:
            return Refusal("follow-tags", f"--follow-tags does not name <{link.tag}>")
        if options.relative and not link.is_relative:
            return Refusal("relative", "--relative: it is written as an absolute URL")
        if link.nofollow and not link.requisite:
            return Refusal("nofollow", link.nofollow)
        return None

    def _depth(self, link: Candidate) -> Refusal | None:
        options = self.options
        if link.depth <= options.level or (options.page_requisites and link.requisite):
            return None
        return Refusal("level", f"is deeper than --level {options.level}")

    # ---- rules on the URL

    def _by_url(self, link: Candidate) -> Refusal | None:
        parts = parts_of(link.url)
        return self._place(parts, link) or self._name(parts, link) or self._regex(link.url) or self._trap(link)

    def _place(self, parts: Parts, link: Candidate) -> Refusal | None:
        """Ask the rules on scheme, host and directory, once for each directory: a site has many files in one."""
        key = (parts.scheme, parts.host, parts.directory, link.requisite)
        if key not in self._places:
            if len(self._places) >= _REMEMBERED:
                self._places.clear()
            self._places[key] = self._scheme(parts) or self._host(parts) or self._directory(parts, link)
        return self._places[key]

    def _scheme(self, parts: Parts) -> Refusal | None:
        if self.options.https_only and parts.scheme != "https":
            return Refusal("https-only", "--https-only: it is http")
        return None

    def _host(self, parts: Parts) -> Refusal | None:
        options = self.options
        if any(in_domain(parts.host, domain) for domain in options.exclude_domains):
            return Refusal("exclude-domains", f"--exclude-domains names {parts.host}")
        if options.domains and not any(in_domain(parts.host, domain) for domain in options.domains):
            return Refusal("domains", f"--domains does not name {parts.host}")
        if not options.span_hosts and parts.host not in self.hosts:
            return Refusal("span-hosts", f"leads to another host, {parts.host}")
        return None

    def _directory(self, parts: Parts, link: Candidate) -> Refusal | None:
        options = self.options
        if options.no_parent and not (options.page_requisites and link.requisite) and self._is_above(parts):
            return Refusal("no-parent", "--no-parent: it is not below the directory of a start URL")
        directory = parts.directory
        if options.include_directories and not any(
            in_directory(directory, pattern) for pattern in options.include_directories
        ):
            return Refusal("include-directories", f"--include-directories does not name {directory}")
        if any(in_directory(directory, pattern) for pattern in options.exclude_directories):
            return Refusal("exclude-directories", f"--exclude-directories names {directory}")
        return None

    def _is_above(self, parts: Parts) -> bool:
        same_host = [start for start in self.starts if start.host == parts.host]
        return bool(same_host) and not any(parts.path.startswith(start.directory) for start in same_host)

    def _name(self, parts: Parts, link: Candidate) -> Refusal | None:
        if not (self.options.accept or self.options.reject):
            return None
        if not parts.file or (has_html_suffix(parts.file) and self._leads_on(link)):
            return None
        return self.name_refusal(parts.file)

    def _leads_on(self, link: Candidate) -> bool:
        """Whether a page is needed for its links though its name is not asked for (wget, recur.c)."""
        return link.depth < self.options.level or self.options.page_requisites

    def name_refusal(self, name: str) -> Refusal | None:
        """Return why a file of this name is not kept, by ``--accept`` and ``--reject``."""
        accept, reject, fold = self.options.accept, self.options.reject, self.options.ignore_case
        if accept and not any(matches_name(name, pattern, fold) for pattern in accept):
            return Refusal("accept", f"--accept does not name {name}")
        if reject and any(matches_name(name, pattern, fold) for pattern in reject):
            return Refusal("reject", f"--reject names {name}")
        return None

    def _regex(self, url: str) -> Refusal | None:
        options = self.options
        if options.accept_regex is not None and not options.accept_regex.search(url):
            return Refusal("accept-regex", "does not match --accept-regex")
        if options.reject_regex is not None and options.reject_regex.search(url):
            return Refusal("reject-regex", "matches --reject-regex")
        return None

    def _trap(self, link: Candidate) -> Refusal | None:
        options = self.options
        if len(link.url) > options.max_url:
            return Refusal("max-url-length", f"is {len(link.url)} characters long, --max-url-length {options.max_url}")
        path = parts_of(link.url).path
        if has_repeats(path, options.max_repeats) and link.page and repeats_grow(parts_of(link.page).path, path):
            reason = (
                f"repeats its directories more than {options.max_repeats} times, and more often than the page with it"
            )
            return Refusal(REPEATS, reason)
        return None
