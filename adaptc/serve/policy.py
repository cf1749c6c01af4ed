"""The policy of a server: which representation goes to whom, as plain values that every template reads.

    flag -> class -> bucket -> level -> first candidate that is there -> original

The flag is the mode switch of Gopshtein and Feitelson; classes are those of Krishnamurthy, Zhang, Wills and Vishwanath
(section 2); buckets are the fractions of clients of Abdelzaher, Shin and Bhatti (section 4), by a hash of the address.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from adaptc.compile.engine.output import TIMES
from adaptc.config.config import Config, ServeConfig
from adaptc.config.rulebook import Level
from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError
from adaptc.serve.built import Built

CLASSES = ("poor", "normal", "rich")
REJECT = "0"  # the level of Abdelzaher and Bhatti that answers 503
OFF = "off"  # no level: the original
NO_ACTION = "none"  # a client that asked for nothing that there is
STATE_DIRECTORY = "run"
CONF_DIRECTORY = "serve"


@dataclass(frozen=True, slots=True)
class Policy:
    """All that a template needs. Paths are absolute and those of the server's machine.

    ``name`` is an identifier, unique a site; ``prefix`` the URL path of the docroot without its final slash. ``levels``
    are the trees, dearest first; ``degraded`` those that shared caches must not keep. ``level`` is served when nothing
    says otherwise. ``class_levels`` holds, for a class or for what a client may ask for, the dearest level it gets.
    ``formats`` are the image formats that the trees have beside the images' own.
    """

    name: str
    title: str
    prefix: str
    index: str
    docroot: str
    output: str
    state: str
    levels: tuple[str, ...]
    degraded: tuple[str, ...]
    level: str
    codings: tuple[str, ...]
    follow: Mapping[str, tuple[str, ...]]
    class_levels: Mapping[str, str]
    serve: ServeConfig
    formats: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The mode switch: adaptation is on while this file exists."""
        return f"{self.state}/opt.do"

    @property
    def is_strict(self) -> bool:
        """Whether the server compares times of sources (``adaptc.compile.engine.output``)."""
        return self.serve.freshness == "strict"

    @property
    def times(self) -> str:
        """Where the times of sources are."""
        return f"{self.output}/{TIMES}"

    @property
    def dollar(self) -> str:
        """The variable of a server's configuration that holds a dollar, "" when no path has one."""
        paths = self.output + self.state + self.index + (self.docroot if self.is_strict else "")
        return f"{self.name}_dollar" if "$" in paths else ""

    @property
    def start(self) -> str:
        """The level of a bucket of which nothing is known: with classes no limit, else the one level."""
        return self.levels[0] if self.serve.classes else self.level

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The level names that a bucket may have."""
        return (*self.levels, REJECT) if self.serve.reject else self.levels

    @property
    def trees_asked(self) -> tuple[str, ...]:
        """The words of ``X-Server-Actions`` that choose a tree: classes and levels."""
        return (*CLASSES, *self.levels)

    @property
    def asked(self) -> tuple[str, ...]:
        """All words of ``X-Server-Actions`` that are known; a coding alone means the level of everybody."""
        return (*self.trees_asked, *self.codings)

    def tree(self, level: str, asked: str) -> str:
        """Return the level that is served when a bucket says ``level`` to a client of class ``asked``."""
        if level == REJECT:
            return level
        if asked == NO_ACTION:
            return OFF
        if asked not in self.class_levels:
            return level
        return max(level, self.class_levels[asked], key=self.levels.index)

    def trees(self) -> Iterator[tuple[str, str, str]]:
        """Yield (level of the bucket, class, level that is served) where the class makes a difference."""
        for level in self.levels:
            for asked in self.asked:
                served = self.tree(level, asked)
                if served != level:
                    yield level, asked, served

    def every_tree(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield (level of the bucket, what the client asks for, class, level that is served) for all there may be."""
        for level in self.outcomes:
            for asked in ("", NO_ACTION, *self.asked):
                for name in CLASSES:
                    yield level, asked, name, self.tree(level, asked or name)


def make_policy(config: Config, built: Built, levels: Mapping[str, Level]) -> Policy:
    """Return the policy of ``config`` for what was built. ``levels`` are all levels that are known, dearest first.

    Raises ``UsageError`` for a level that was not built, or a name or path that cannot be served.
    """
    serve = config.serve
    names = tuple(name for name in levels if name in built.levels)
    _refuse(config, names)
    prefix = _prefix(config)
    title = serve.name or _title(config, built)
    output = os.path.abspath(serve.output or config.output)
    same = tuple(name for name in names if levels[name].promise == "same" and levels[name].number is not None)
    level = serve.level or (same or names)[-1]
    return Policy(
        identifier(title),
        title,
        prefix,
        config.site.index[0] if config.site.index else "index.html",
        os.path.abspath(serve.docroot) if serve.docroot else built.docroot,
        output,
        os.path.abspath(serve.state) if serve.state else f"{output}/{STATE_DIRECTORY}",
        names,
        tuple(name for name in names if levels[name].promise != "same"),
        level,
        built.codings,
        built.follow,
        _class_levels(serve, names, level, built.codings),
        serve,
        built.formats,
    )


def identifier(title: str) -> str:
    """Return a name for variables and maps: ``ad_my_site_3f2a9c``; the digits keep apart what looks the same.

    It has 24 characters at most: PCRE allows 32 for the groups that are named after it.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:14]
    if slug == title:
        return f"ad_{slug}"
    digits = hashlib.sha256(os.fsencode(title)).hexdigest()[:6]
    return f"ad_{slug}_{digits}" if slug else f"ad_{digits}"


def _title(config: Config, built: Built) -> str:
    return urlsplit(config.site.base_url or "").hostname or Path(built.docroot).name or "site"


def _prefix(config: Config) -> str:
    if config.serve.prefix is not None:
        return config.serve.prefix
    return unquote(urlsplit(config.site.base_url or "").path, errors="surrogateescape").rstrip("/")


def _class_levels(serve: ServeConfig, levels: tuple[str, ...], level: str, codings: tuple[str, ...]) -> dict[str, str]:
    """Return the dearest level of each class and of each word that a client may ask for."""
    if not serve.classes:
        return {}
    given = {"poor": serve.poor_level, "normal": serve.normal_level, "rich": serve.rich_level}
    classes = {name: chosen or level for name, chosen in given.items()}
    return classes | {name: name for name in levels} | dict.fromkeys(codings, level)


def _refuse(config: Config, names: tuple[str, ...]) -> None:
    serve = config.serve
    if not names:
        raise UsageError(f"the last build in {config.output} holds no level")
    wanted = {
        "serve.level": serve.level,
        "serve.poor_level": serve.poor_level,
        "serve.normal_level": serve.normal_level,
        "serve.rich_level": serve.rich_level,
    }
    problems = [
        f"{key}: the last build holds no level {name}{nearest(name, names)}"
        for key, name in wanted.items()
        if name is not None and name not in names
    ]
    problems += [
        f"the level {name} has the name of a directory that adaptc emit writes; give it another name"
        for name in names
        if name in (STATE_DIRECTORY, CONF_DIRECTORY, TIMES)
    ]
    if not serve.htaccess_trees:
        problems.append("serve.htaccess_trees: the trees need a path of their own below the docroot")
    if problems:
        raise UsageError("\n".join(problems))
