"""Everything that the user asked of a crawl."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from adaptc.crawl.names import NameOptions
from adaptc.crawl.network import NetworkOptions
from adaptc.crawl.scope import ScopeOptions


@dataclass(frozen=True, slots=True)
class AgainOptions:
    """What happens to files that are there already, and to those that are no longer met."""

    timestamping: bool = False
    no_clobber: bool = False
    continue_partial: bool = False
    use_server_timestamps: bool = True
    purge: bool = False
    delete_after: bool = False


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What is written down. ``warc`` is the name of the WARC file without its extension."""

    warc: Path | None = None
    warc_cdx: bool = False
    warc_compression: bool = True
    warc_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """A crawl: the URLs to begin with, where files go, and every option.

    ``as_served`` makes the mirror a docroot that may stand in the place of the server: only those links are converted
    that would not find their file there, and an encoding that only a header field tells is written into the file.
    """

    urls: tuple[str, ...]
    output: Path
    scope: ScopeOptions = field(default_factory=ScopeOptions)
    names: NameOptions = field(default_factory=NameOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    again: AgainOptions = field(default_factory=AgainOptions)
    records: RecordOptions = field(default_factory=RecordOptions)
    robots: bool = True
    sitemaps: bool = True
    spider: bool = False
    convert_links: bool = False
    as_served: bool = False
    backup_converted: bool = False
