"""The options of a crawl and of its connections, by wget's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from adaptc.core.values import dataclass, field
from adaptc.core.version import VERSION
from adaptc.crawl.names import NameOptions
from adaptc.crawl.scope import ScopeOptions

USER_AGENT = f"adaptc/{VERSION}"
# wget 1.21's: a connection may take as long as the system lets it, a silent server 15 minutes
READ_TIMEOUT = 900.0
RETRIED = frozenset({429, 503})  # statuses that ask to try again later; the user may add others


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Options of connections and requests. Times are seconds, ``limit_rate`` bytes a second; 0 means none.

    ``auth`` gives (user, password) by origin: those of the start URLs. ``headers`` replace ours of the same name.
    """

    user_agent: str = USER_AGENT
    headers: tuple[str, ...] = ()
    referer: str | None = None
    connections: int = 8
    all_connections: int = 32
    tries: int = 3
    retry_wait: float = 10.0
    retry_on: frozenset[int] = RETRIED
    retry_refused: bool = False
    connect_timeout: float = 60.0
    read_timeout: float = READ_TIMEOUT
    wait: float = 0.0
    random_wait: bool = False
    limit_rate: int = 0
    max_redirect: int = 20
    auth: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    auth_no_challenge: bool = False
    netrc: bool = True
    cookies: bool = True
    load_cookies: Path | None = None
    save_cookies: Path | None = None
    keep_session_cookies: bool = False
    proxy: str | None = None
    no_proxy: str | None = None
    use_proxy: bool = True
    proxy_user: str | None = None
    proxy_password: str | None = None
    check_certificate: bool = True
    ca_certificate: Path | None = None
    ca_directory: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    family: int = 0  # 4, 6, or 0 for both
    bind_address: str | None = None
    compression: bool = True
    keep_alive: bool = True
    ignore_length: bool = False

    @property
    def agent(self) -> str:
        """The product token of the User-Agent that requests have: a field of the user's own replaces the option."""
        fields = (line.partition(":") for line in self.headers)
        own = (value.strip() for name, _, value in fields if name.lower() == "user-agent")
        return product_token(next(own, self.user_agent))


def product_token(user_agent: str) -> str:
    """Return the product of a User-Agent in lower case, by which robots.txt and meta robots name a crawler.

    It ends at the first character that a token does not have (RFC 9309, section 2.2.1, and digits, which are common).
    """
    match = re.match(r"[A-Za-z0-9_-]*", user_agent)
    return match[0].lower() if match is not None else ""


@dataclass(frozen=True, slots=True)
class PurgeBound:
    """How many files one crawl may remove: ``number``, or else a ``share`` of the mirror's files, at least one file."""

    share: float = 0.1
    number: int | None = None

    def allowed(self, held: int) -> int:
        """Return how many files of a mirror of ``held`` files may be removed."""
        return max(1, int(held * self.share)) if self.number is None else self.number

    def __str__(self) -> str:
        return f"{self.share * 100:g}%" if self.number is None else str(self.number)


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """What happens to files that exist already, and to those that the site no longer links to."""

    timestamping: bool = False
    no_clobber: bool = False
    continue_partial: bool = False
    use_server_timestamps: bool = True
    purge: bool = False
    purge_most: PurgeBound = field(default_factory=PurgeBound)
    delete_after: bool = False


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What is recorded. ``warc`` is the name of the WARC file without its extension."""

    warc: Path | None = None
    warc_cdx: bool = False
    warc_compression: bool = True
    warc_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """A crawl: the URLs to begin with, where files go, and every option.

    ``as_served`` makes the mirror a docroot that a server can serve: only links that would not find their file
    there are converted, and an encoding that only a header field declares is written into the file. ``robots`` includes
    what pages and fields say of all their links; ``obey_nofollow`` adds single links (``rel=nofollow``).
    ``content_on_error`` keeps the bodies of errors.
    """

    urls: tuple[str, ...]
    output: Path
    scope: ScopeOptions = field(default_factory=ScopeOptions)
    names: NameOptions = field(default_factory=NameOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    update: UpdateOptions = field(default_factory=UpdateOptions)
    records: RecordOptions = field(default_factory=RecordOptions)
    robots: bool = True
    obey_nofollow: bool = False
    sitemaps: bool = True
    spider: bool = False
    convert_links: bool = False
    as_served: bool = False
    content_on_error: bool = False
    backup_converted: bool = False
