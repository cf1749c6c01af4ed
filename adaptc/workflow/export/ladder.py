"""``adaptc export --ladder``: the lower levels next to the exported one, and a service worker that picks one of them.

The site itself is the level of the export, and works without the worker. Pages of the other levels are published as
plain text, so that nobody finds a page twice, and the worker can tell a page from what a host sends in the place of a
missing one. Of the other files it asks at a level those whose names end as those of files that differ there; all of
these are published, so that it asks for none in vain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from adaptc.core import media
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import OWN_DIRECTORY
from adaptc.core.urls import is_at_or_below, quote_path

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.report.manifest import BuiltResource, Manifest
    from adaptc.workflow.export.host_rules import HostRules

# The script of pages, which is the service worker as well
SCRIPT = "adaptc-ladder.js"
LEVELS = f"{OWN_DIRECTORY}levels/"
_PAGES, _PAGE_SUFFIX = ("html", "htm"), ".txt"
# What the worker answers besides pages. Fonts are the same at each level that has them.
_KINDS = frozenset({media.CSS, media.JS, media.SVG, media.PNG, media.JPEG, media.GIF, media.WEBP, media.AVIF})


@dataclass(frozen=True, slots=True)
class Ladder:
    """The levels of an export by class of visitors; ``root`` is that of the site itself, for all others."""

    root: str
    by_class: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The levels next to the root, in the order of classes."""
        return tuple(dict.fromkeys(self.by_class.values()))


def read_ladder(config: Config, manifest: Manifest, root: str) -> Ladder:
    """Return the levels of each class: those of ``[serve]``, for poor visitors else the best one that is not the same.

    Raises ``UsageError`` where there is no level for poor visitors, or one that was not built.
    """
    from adaptc.workflow.configuration import known_levels

    serve, known = config.serve, known_levels(config)
    lower = [level.name for level in manifest.levels if level.number is not None and level.name in known]
    lower = [name for name in lower if known[name].promise != "same"]
    chosen = {
        "poor": serve.poor_level or next(iter(lower), None),
        "normal": serve.normal_level,
        "rich": serve.rich_level,
    }
    for level in filter(None, chosen.values()):
        manifest.require_level(level)
    by_class = {name: level for name, level in chosen.items() if level is not None and level != root}
    if "poor" not in by_class:
        raise UsageError(
            "--ladder: there is no level for visitors on slow lines; build one (adaptc build --level moderate), "
            "or name it as serve.poor_level"
        )
    return Ladder(root, by_class)


# ---- files


@dataclass(frozen=True, slots=True)
class Rung:
    """A file at a level of the ladder: its path in the export, and the path of what it stands for."""

    name: str
    resource: BuiltResource


def rungs(manifest: Manifest, ladder: Ladder, level: str, rules: HostRules, exclude: tuple[str, ...]) -> Iterator[Rung]:
    """Yield the files of a level that the worker may ask for: pages, and files of the ``kinds`` that differ.

    Paths are left out to which rules of the host apply, or for which a server sends originals only.
    """
    kinds = kinds_of(manifest, ladder, level)
    for path, resource in manifest.resources.items():
        if rules.applies_to(path) or is_at_or_below(f"/{path}", exclude):
            continue
        if resource.media_type == media.HTML and _extension(path) in _PAGES:
            yield Rung(f"{LEVELS}{level}/{path}{_PAGE_SUFFIX}", resource)
        elif resource.media_type in _KINDS and _extension(path) in kinds:
            yield Rung(f"{LEVELS}{level}/{path}", resource)


def kinds_of(manifest: Manifest, ladder: Ladder, level: str) -> list[str]:
    """Return the extensions of the style sheets, scripts and images of which any differs from the root's."""
    differing = {
        _extension(path)
        for path, resource in manifest.resources.items()
        if resource.media_type in _KINDS and _digest(resource, level) != _digest(resource, ladder.root)
    }
    return sorted(differing - {""})


def _twins(manifest: Manifest) -> list[str]:
    """Return the paths that may be a page without its extension, or a directory: hosts choose one or the other."""
    directories = {os.fspath(parent) for path in manifest.resources for parent in PurePosixPath(path).parents}
    stems = {path.rpartition(".")[0] for path in manifest.resources if _extension(path) in _PAGES}
    return sorted(map(quote_path, stems & directories))


def _digest(resource: BuiltResource, level: str) -> str | None:
    built = resource.at(level)
    return resource.sha256 if built is None else built.sha256


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


# ---- the script


def ladder_script(config: Config, manifest: Manifest, ladder: Ladder) -> bytes:
    """Return the script of pages and the service worker, for these levels. Raises ``UsageError`` for wrong settings."""
    from adaptc.config.schema import read_settings
    from adaptc.daemons.classify.settings import CHECKS, ClassifySettings

    rules = read_settings(ClassifySettings, CHECKS, config.daemons.below("classify"))
    settings = {
        "levels": dict(ladder.by_class),
        "kinds": {level: kinds_of(manifest, ladder, level) for level in ladder.names},
        "twins": _twins(manifest),
        "index": next(iter(config.site.index), "index.html"),
        "poor": [rules.poor_first, rules.poor_last],
        "rich": [rules.rich_first, rules.rich_last],
        "alpha": rules.alpha,
        "warmUp": rules.warm_up,
        "patience": rules.patience,
        "expire": rules.expire,
    }
    return _script("ladder.js", json.dumps(settings, separators=(",", ":")))


def withdrawn_script() -> bytes:
    """Return what removes the script and the service worker of an earlier export."""
    return _script("ladder-withdrawn.js", "{}")


def _script(name: str, settings: str) -> bytes:
    from adaptc.formats.script.minify import minify_script

    text = (resources.files("adaptc.templates") / name).read_text("utf-8").replace("SETTINGS", settings, 1)
    return (minify_script(text) or text).encode("ascii")
