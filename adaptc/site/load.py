"""The site as its server finds files in it, for what looks at no content."""

from __future__ import annotations

from collections.abc import Mapping

from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import DiskTree, Tree
from adaptc.core.model import Resource
from adaptc.core.urls import SiteAddress
from adaptc.site.directory import Selection, load_directory
from adaptc.site.mirror import types_of
from adaptc.site.site import Site, Source


def load_site(config: Config) -> tuple[Tree, Site]:
    """Return the docroot and the files in it, unread. Raises ``UsageError`` when there is no such directory."""
    if config.docroot is None or not config.docroot.is_dir():
        raise UsageError(f"there is no directory {config.docroot}" if config.docroot else "name the DOCROOT")
    tree = DiskTree(config.docroot)
    loaded = load_directory(tree, Selection(config.site.exclude, config.site.include_hidden), types_of(config.docroot))
    return tree, site_of(config, loaded.resources)


def site_of(config: Config, resources: Mapping[str, Resource]) -> Site:
    """Return the site of loaded resources, without digests."""
    sources = {path: Source("", one.size, one.media_type, one.alias_of) for path, one in resources.items()}
    return Site.of(sources, SiteAddress(config.site.base_url), config.site.index)
