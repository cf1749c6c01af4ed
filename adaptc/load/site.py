"""The site of a configuration, for commands that look at it without building."""

from __future__ import annotations

from adaptc.config import Config
from adaptc.diagnostics import UsageError
from adaptc.fs import DiskTree, Tree
from adaptc.load.directory import Selection, load_directory
from adaptc.site import Site, Source
from adaptc.urls import SiteAddress


def load_site(config: Config) -> tuple[Tree, Site]:
    """Return the docroot and the files in it, unread. Raises ``UsageError`` when there is no such directory."""
    if config.docroot is None or not config.docroot.is_dir():
        raise UsageError(f"there is no directory {config.docroot}" if config.docroot else "name the DOCROOT")
    tree = DiskTree(config.docroot)
    loaded = load_directory(tree, Selection(config.site.exclude, config.site.include_hidden))
    sources = {
        path: Source("", found.size, found.media_type, found.alias_of) for path, found in loaded.resources.items()
    }
    return tree, Site.of(sources, SiteAddress(config.site.base_url), config.site.index)
