"""Plugins for generators written in Python: the site that one has made is replaced by the same site at one level.

MkDocs has ``plugins: [adaptc]``, Sphinx ``extensions = ["adaptc.plugins"]``, Pelican ``PLUGINS = ["adaptc.plugins"]``.
Each calls ``adapt_in_place`` when the generator has ended, with a directory that is kept between builds. There the
generator's own files stay as they were, so that only what changed is built again, and nothing is adapted twice.
"""

from __future__ import annotations

import filecmp
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.plugins import BasePlugin

# Of hidden directories only this one is published (RFC 8615)
_WELL_KNOWN = ".well-known"
_LAST = 900  # after the generators' other extensions, the usual priority of which is 500


def adapt_in_place(site: Path, kept: Path, say: Callable[[str], object], settings: Mapping[str, Any]) -> None:
    """Replace the files of ``site``, which a generator has written, by those of a level, and ``say`` what that saves.

    ``kept`` is a directory of the plugin's own, which must not be published: it has the generator's files, the output
    of the build and its cache. ``settings`` are ``level``, ``base_url`` and ``browser``. Raises ``UsageError``,
    ``Busy`` and ``OSError`` as a build does; the site is then as the generator made it.
    """
    from adaptc.cli.site_options import with_base_url
    from adaptc.compile.engine.reporting import Silent
    from adaptc.workflow.api import build
    from adaptc.workflow.configuration import load_config, settings_for_hosts
    from adaptc.workflow.export.export import export_site

    own, adapted = kept / "site", kept / "adapted"
    _collect(site, own, adapted)
    overrides = {"docroot": own, "output": kept / "opt", "site.base_url": settings.get("base_url")}
    given = load_config(overrides=overrides)
    level, chosen = settings_for_hosts(given, settings.get("level"), browser=settings.get("browser"))
    config = with_base_url(load_config(overrides={**overrides, **chosen}))
    result = build(config, requires_pages=True)
    before = set(_files(adapted))
    export_site(config, level, adapted, "none", Silent())
    _publish(site, own, adapted, before)
    say(_sentence(result.figures.levels, level, result.report))


def restore(site: Path, kept: Path) -> None:
    """Put back what the generator wrote, where the last run replaced it: some read what they wrote before.

    Sphinx does so with its search index, and compares times of pages.
    """
    for name in _files(kept / "site"):
        own, adapted = kept / "site" / name, kept / "adapted" / name
        if (site / name).is_file() and adapted.is_file() and filecmp.cmp(site / name, adapted, shallow=False):
            _copy(own, site / name)


def _sentence(levels: tuple[Any, ...], level: str, report: Path) -> str:
    from adaptc.core.quantities import written_bytes, written_saving

    sizes = {each.level: each.transfer_per_page for each in levels}
    if level not in sizes or "full" not in sizes:
        return f"level {level}; see {report}"
    now, full = sizes[level], sizes["full"]
    return f"a page takes {written_bytes(now)}, not {written_bytes(full)} ({written_saving(now, full)}); see {report}"


def _collect(site: Path, own: Path, adapted: Path) -> None:
    """Bring ``own`` up to date with what the generator wrote, which is not what the last run put into the site."""
    found = set(_files(site))
    for name in found:
        is_ours = (adapted / name).is_file() and filecmp.cmp(site / name, adapted / name, shallow=False)
        if not is_ours:
            _copy(site / name, own / name)
    for name in set(_files(own)) - found:
        (own / name).unlink()


def _publish(site: Path, own: Path, adapted: Path, before: set[str]) -> None:
    """Put the export into the site, and remove what only the export before had, and source maps that it leaves out."""
    now, made = set(_files(adapted)), set(_files(own))
    for name in now:
        if not (site / name).is_file() or not filecmp.cmp(site / name, adapted / name, shallow=False):
            _copy(adapted / name, site / name)
    for name in (before - made | {name for name in made if name.endswith(".map")}) - now:
        (site / name).unlink(missing_ok=True)


def _files(root: Path) -> Iterator[str]:
    """Yield the names of files below a directory, without those in hidden directories, which no site publishes."""
    for directory, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith(".") or name == _WELL_KNOWN)
        yield from (os.path.relpath(os.path.join(directory, name), root) for name in sorted(names))


def _copy(source: Path, copy: Path) -> None:
    """Copy a file in one step, with its time."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    draft = copy.with_name(f".adaptc-{os.getpid()}")
    shutil.copy2(source, draft)
    os.replace(draft, copy)


def _adapt(site: Path, kept: Path, log: logging.Logger | Any, settings: Mapping[str, Any]) -> None:
    """Adapt a site; what cannot be done is a warning, and leaves the site as the generator made it."""
    from adaptc.core.diagnostics import Busy, UsageError

    log.info("adaptc: adapting the site, which takes minutes once, and later as long as what changed")
    try:
        adapt_in_place(site, kept, lambda sentence: log.info("adaptc: %s", sentence), settings)
    except (UsageError, Busy, OSError) as error:
        log.warning("adaptc: the site stays as it is: %s", error)


def _address(url: Any) -> str | None:
    is_address = isinstance(url, str) and url.lower().startswith(("http://", "https://"))
    return str(url).partition("#")[0].partition("?")[0] if is_address else None


# ---- MkDocs


def __getattr__(name: str) -> Any:
    """Make the plugin of MkDocs, which is not imported without it."""
    if name == "MkDocsPlugin":
        return _mkdocs_plugin()
    raise AttributeError(name)


def _mkdocs_plugin() -> type[BasePlugin[Any]]:
    from mkdocs.config import config_options
    from mkdocs.plugins import BasePlugin, event_priority

    class MkDocsPlugin(BasePlugin):  # type: ignore[type-arg, no-untyped-call]
        """``plugins: [adaptc]``, or ``- adaptc: {level: lossless}``. ``mkdocs serve`` is left alone."""

        config_scheme = (
            ("enabled", config_options.Type(bool, default=True)),
            ("level", config_options.Optional(config_options.Type(str))),
            ("cache", config_options.Type(str, default=".cache/adaptc")),
        )
        is_serving = False

        def on_startup(self, *, command: str, dirty: bool) -> None:  # noqa: ARG002
            """Note what MkDocs does."""
            self.is_serving = command == "serve"

        @event_priority(-100)
        def on_post_build(self, *, config: Any) -> None:
            """Adapt the site when all other plugins are done."""
            if self.is_serving or not self.config["enabled"]:
                return
            settings = {"level": self.config["level"], "base_url": _address(config.site_url)}
            _adapt(Path(config.site_dir), self._kept(config), logging.getLogger("mkdocs.plugins.adaptc"), settings)

        def on_pre_build(self, *, config: Any) -> None:
            """Put back what a build with ``--dirty`` leaves as it is."""
            restore(Path(config.site_dir), self._kept(config))

        def _kept(self, config: Any) -> Path:
            place = Path(config.config_file_path or "mkdocs.yml").absolute().parent
            return place / str(self.config["cache"])

    return MkDocsPlugin


# ---- Sphinx


def setup(app: Any) -> dict[str, Any]:
    """Register the extension: ``extensions = ["adaptc.plugins"]``, with ``adaptc_level`` and ``adaptc_enabled``."""
    from adaptc.core.version import VERSION

    app.add_config_value("adaptc_level", None, "", [str, type(None)])
    app.add_config_value("adaptc_enabled", True, "", [bool])
    app.connect("builder-inited", _sphinx_begins)
    app.connect("build-finished", _sphinx_finished, priority=_LAST)
    return {"version": VERSION, "parallel_read_safe": True, "parallel_write_safe": True}


def _sphinx_begins(app: Any) -> None:
    restore(Path(app.outdir), _kept_by_sphinx(app))


def _kept_by_sphinx(app: Any) -> Path:
    return Path(app.doctreedir) / f".adaptc-{app.builder.name}"  # made for what is kept between builds


def _sphinx_finished(app: Any, exception: Exception | None) -> None:
    from sphinx.util import logging as sphinx_logging

    if exception is not None or app.builder.format != "html" or not app.config.adaptc_enabled:
        return
    settings = {"level": app.config.adaptc_level, "base_url": _address(app.config.html_baseurl)}
    _adapt(Path(app.outdir), _kept_by_sphinx(app), sphinx_logging.getLogger(__name__), settings)


# ---- Pelican


def register() -> None:
    """Register the plugin: ``PLUGINS = ["adaptc.plugins"]``, with ``ADAPTC_LEVEL`` and ``ADAPTC_ENABLED``."""
    from pelican import signals

    signals.initialized.connect(_pelican_begins)
    signals.finalized.connect(_pelican_finished)


def _pelican_begins(pelican: Any) -> None:
    restore(Path(pelican.settings["OUTPUT_PATH"]), _kept_by_pelican(pelican.settings))


def _kept_by_pelican(settings: Mapping[str, Any]) -> Path:
    return Path(settings.get("CACHE_PATH") or "cache").absolute() / "adaptc"


def _pelican_finished(pelican: Any) -> None:
    settings = pelican.settings
    if not settings.get("ADAPTC_ENABLED", True):
        return
    chosen = {"level": settings.get("ADAPTC_LEVEL"), "base_url": _address(settings.get("SITEURL"))}
    _adapt(Path(settings["OUTPUT_PATH"]), _kept_by_pelican(settings), logging.getLogger(__name__), chosen)
