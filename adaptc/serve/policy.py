"""The policy of a server: which client gets which representation, as plain values that every template reads.

    flag -> class -> bucket -> level -> first existing candidate -> original

The flag is the mode switch of Gopshtein and Feitelson; classes are those of Krishnamurthy, Zhang, Wills and Vishwanath
(section 2); buckets are the fractions of clients of Abdelzaher, Shin and Bhatti (section 4), by a hash of the address.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from adaptc.compile.engine.dictionaries.records import dictionary_records
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.trees.output import TIMES
from adaptc.compile.pipeline import KNOWN_PASSES
from adaptc.config.config import Config, ServeConfig
from adaptc.config.rulebook import Level, load_levels
from adaptc.config.toml import nearest_or_all
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, dictionary_coding, dictionary_path, name_of_dictionary
from adaptc.core.urls import NOWHERE, is_at_or_below, quote_path
from adaptc.core.values import dataclass, field, replace
from adaptc.serve.capacity.rungs import ladder_names
from adaptc.site.apache_configuration import repeated_directives
from adaptc.site.host_files import inherited_fields

CLASSES = ("poor", "normal", "rich")
REJECT = "0"  # the level of Abdelzaher and Bhatti that answers with 503
OFF = "off"  # no level: the original
IDLE = "idle"  # the flag is not set, and the client's class alone counts
NO_ACTION = "none"  # a client that asked for something unknown
PRIVATE = "private, no-cache"  # Cache-Control of a degraded answer that no shared cache may hold
STALE_IF_ERROR = 86400  # seconds
# Fields with the labels of an answer, and what separates them: Fastly, Varnish; Cloudflare, CloudFront
LABELS = {"Surrogate-Key": " ", "Cache-Tag": ","}
# Paths that a label holds after the name of the site: Akamai takes no other characters, CloudFront 256, Fastly and
# Cloudflare 1,024. What has another path shares one label: no server below has a function that encodes or hashes it.
PAGES = {"path": r"/[A-Za-z0-9_.~/+-]{0,200}", "length": 201, "other": "~other"}
STATE_DIRECTORY = "run"
CONF_DIRECTORY = "serve"
# Copies of these do not exist; the rules name the paths only in case that some appear, so not all need be there.
MOST_UNBUILT = 100
_ORDINARY = re.compile(r"[\w.~@+=,/-]+", re.ASCII)


def _quoted(prefix: str) -> str:
    """Return a URL path as header fields have it, without characters that configurations give a meaning."""
    return quote_path(prefix).replace("$", "%24")


@dataclass(frozen=True, slots=True)
class Policy:
    """All that a template needs. Paths are absolute paths of the server's machine.

    ``name`` is an identifier, unique to a site; ``prefix`` the URL path of the docroot without its final slash.
    ``indexes`` are the names of index pages that the site uses, in the server's order.
    ``levels`` are the trees, highest quality first; ``degraded`` those that shared caches must not store; ``ladder``
    those between which daemons choose. ``level`` is the default. ``class_levels`` maps a class, and each word that a
    client may ask for, to the highest-quality level it gets. ``formats`` are the image formats that the trees have in
    addition to the images' own. ``unbuilt`` are URL paths below the prefix that were left out, since rules of the
    server apply to them. ``dictionaries`` are the names of dictionaries by level. ``version_levels`` are those whose
    style sheets and scripts may be dictionaries of their later versions. ``repeated`` are directories of the docroot
    with the lines of Apache that do for their copies what .htaccess files do for them: fields of answers, redirects to
    HTTPS. ``hidden_fields`` are the arguments of lines ``add_header`` of nginx's block ``http`` that the site's server
    has as long as it has none of its own.
    """

    name: str
    title: str
    prefix: str
    indexes: tuple[str, ...]
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
    unbuilt: tuple[str, ...] = ()
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    version_levels: tuple[str, ...] = ()
    repeated: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ladder: tuple[str, ...] = ()
    hidden_fields: tuple[tuple[str, ...], ...] = ()

    @property
    def uses_dictionaries(self) -> bool:
        """Whether answers depend on what a client holds."""
        return bool(self.dictionaries or self.version_levels)

    def version_use(self, pattern: str) -> str:
        """Return the field ``Use-As-Dictionary`` of a style sheet or script, for its later versions at ``pattern``.

        Destinations count more than patterns (RFC 9842, section 2.2.3): without them a browser with a service worker
        would send the dictionary of pages.
        """
        return f'match="{pattern}", match-dest=("style" "script" "")'

    @property
    def vary(self) -> str:
        """The request fields that decide which version of a page is sent."""
        return "Accept-Encoding, Available-Dictionary" if self.uses_dictionaries else "Accept-Encoding"

    def dictionary_file(self, level: str) -> str:
        """Return the path of a level's dictionary."""
        return f"{self.output}/{level}/{IDENTITY}/{dictionary_path(self.dictionaries[level])}"

    def coded_directory(self, level: str) -> str:
        """Return the directory of what is encoded with a level's dictionary."""
        return f"{self.output}/{level}/{dictionary_coding(self.dictionaries[level])}"

    def dictionary_link(self, name: str) -> str:
        """Return the field ``Link`` of pages that names a dictionary (RFC 9842, section 3)."""
        return f'<{_quoted(self.prefix)}/{dictionary_path(name)}>; rel="compression-dictionary"'

    @property
    def dictionary_use(self) -> str:
        """The field ``Use-As-Dictionary`` of dictionaries: they are for the site's pages (RFC 9842, section 2.1).

        The second destination is that of requests by scripts: Chromium 156 gives it to the navigations that a service
        worker passes on, and without it no page of a site with such a worker was encoded.
        """
        pattern = re.sub(r"([{}()*+?:\\])", r"\\\\\1", _quoted(self.prefix))
        return f'match="{pattern}/*", match-dest=("document" "")'

    @property
    def shared_fields(self) -> Mapping[str, str]:
        """The fields of a degraded answer that shared caches may hold, but for its label; empty where none may."""
        return shared_fields(self.serve.shared_seconds)

    @property
    def lifetimes(self) -> tuple[int, int]:
        """For how many seconds a shared answer is fresh, and for how many more it is sent while a cache asks."""
        return lifetimes(self.serve.shared_seconds)

    def for_origin(self) -> Policy:
        """Return the policy of the origin server of ``serve.reverse_proxy``: it sends the level that it is asked for.

        Without a wish it sends the original. It knows neither flag nor buckets: else the proxy would keep answers of
        before a switch for one after it.
        """
        serve = replace(
            self.serve,
            flag=False,
            buckets=False,
            reject=False,
            classes=True,
            hints=False,
            expose=True,
            nginx_file_cache=False,
            nginx_page_rate=0,
        )
        return replace(self, serve=serve, class_levels={name: name for name in self.levels})

    def label(self, level: str) -> str:
        """Return the label by which caches can be asked to forget what they hold of a level."""
        return f"{self.name}-{level}"

    @property
    def index(self) -> str:
        """The first name of a directory's index page."""
        return self.indexes[0]

    @property
    def excluded(self) -> tuple[str, ...]:
        """URL paths below the prefix at which only originals are served."""
        return tuple(dict.fromkeys((*self.serve.exclude, *self.unbuilt)))

    def excludes(self, path: str) -> bool:
        """Whether only the original is served at a URL path below the prefix."""
        return is_at_or_below(path, self.excluded)

    @property
    def flag(self) -> str:
        """The mode switch: adaptation is on while this file exists."""
        return f"{self.state}/opt.do"

    @property
    def is_strict(self) -> bool:
        """Whether the server compares the times of sources (``adaptc.compile.engine.trees.output``)."""
        return self.serve.freshness == "strict"

    @property
    def server_checks(self) -> bool:
        """Whether the server checks access for the original before it sends a file of the trees."""
        return self.serve.access == "server"

    @property
    def times(self) -> str:
        """Where the times of sources are."""
        return f"{self.output}/{TIMES}"

    @property
    def dollar(self) -> str:
        """The variable of a server's configuration that holds a dollar, "" when no path has one."""
        paths = self.output + self.state + "".join(self.indexes) + (self.docroot if self.is_strict else "")
        return f"{self.name}_dollar" if "$" in paths else ""

    @property
    def start(self) -> str:
        """The level of a bucket without an entry: with classes the first level, which is no limit, else the default."""
        return self.levels[0] if self.serve.classes else self.level

    @property
    def acts_without_flag(self) -> bool:
        """Whether the class of a client counts while the flag is not set."""
        return self.serve.flag and self.serve.classes and not self.serve.classes_need_flag

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
        """All known words of ``X-Server-Actions``; a coding alone means the default level."""
        return (*self.trees_asked, *self.codings)

    def tree(self, level: str, asked: str) -> str:
        """Return the level that a client of class ``asked`` in a bucket of level ``level`` gets."""
        if level == REJECT:
            return level
        if asked == NO_ACTION:
            return OFF
        if level == IDLE:
            return self.class_levels["poor"] if asked == "poor" and self.acts_without_flag else OFF
        if asked not in self.class_levels:
            return OFF if self.class_levels else level  # an origin server knows levels only
        return max(level, self.class_levels[asked], key=self.levels.index)

    def trees(self) -> Iterator[tuple[str, str, str]]:
        """Yield (level of the bucket, class, served level) where the class makes a difference."""
        for level in (*self.levels, *([IDLE] if self.acts_without_flag else [])):
            for asked in self.asked:
                served = self.tree(level, asked)
                if served != level:
                    yield level, asked, served

    def every_tree(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield (level of the bucket, word that the client asks for, class, served level) for all combinations."""
        for level in (*self.outcomes, *([IDLE] if self.acts_without_flag else [])):
            for asked in ("", NO_ACTION, *self.asked):
                for name in CLASSES:
                    yield level, asked, name, self.tree(level, asked or name)


def page_label(name: str, path: str) -> str:
    """Return the label of the answers at a decoded URL path, at all levels, of the site called ``name``."""
    return name + str(path if re.fullmatch(str(PAGES["path"]), path) else PAGES["other"])


def lifetimes(seconds: int) -> tuple[int, int]:
    """Return for how many of ``seconds`` a shared answer is fresh, and for how many more it is sent while a cache asks.

    What is left, a tenth, is for the way: an answer is decided some time before a cache has it.
    """
    return max(1, seconds // 2), seconds * 2 // 5


def shared_fields(seconds: int) -> dict[str, str]:
    """Return the fields of a degraded answer that shared caches may hold for ``seconds``, none for 0.

    Caches ask again after half of the time, in the background (RFC 5861): no reader waits, and in a crowd one request
    is made for all, where nginx else makes one for each reader of what is expired. Browsers ask each time: with
    ``must-revalidate``, which nginx and Varnish do not heed, Chromium and Firefox use nothing stale. Of the targeted
    fields (RFC 9213; Surrogate-Control of Edge Architecture) caches may go on for a day while the server does not
    answer.
    """
    if not seconds:
        return {}
    fresh, late = lifetimes(seconds)
    targeted = f"max-age={fresh}, stale-while-revalidate={late}, stale-if-error={STALE_IF_ERROR}"
    return {
        "Cache-Control": f"max-age=0, s-maxage={fresh}, stale-while-revalidate={late}, must-revalidate",
        "CDN-Cache-Control": targeted,
        "Surrogate-Control": targeted,
    }


# ---- the last build


@dataclass(frozen=True, slots=True)
class Built:
    """What the last build left in the trees: levels, codings and image formats, each in the order of preference.

    ``follow`` names for each coding those that a file without it may have, apart from ``IDENTITY``: a server must try
    them next. ``docroot`` is the absolute path of the source, ``unbuilt`` the URL paths in it that rules of the server
    apply to. ``names`` are those of all files, without their ``directories``, ``dictionaries`` those of dictionaries by
    level.
    """

    levels: frozenset[str]
    codings: tuple[str, ...]
    follow: Mapping[str, tuple[str, ...]]
    docroot: str
    formats: tuple[str, ...] = ()
    unbuilt: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    directories: frozenset[str] = frozenset()


def read_built(state: State) -> Built:
    """Return what the trees contain."""
    levels, combinations, names, directories = set[str](), set[frozenset[str]](), set[str](), set[str]()
    for result in state.results(notes=False):
        levels.add(result.level)
        directory, _, name = result.path.rpartition("/")
        names.add(name)
        directories.add(directory)
        combinations.add(frozenset(output.coding for output in result.outputs))
    present = frozenset[str]().union(*combinations)
    codings = tuple(coding for coding in CODINGS if coding in present)
    follow = {coding: _follow(coding, codings, combinations) for coding in codings}
    formats = tuple(name for name in FORMATS if name in present)
    unbuilt = tuple(f"/{path}" for path in state.meta("unbuilt") or () if _ORDINARY.fullmatch(path))[:MOST_UNBUILT]
    records = dictionary_records(state).items()
    dictionaries = {level: name_of_dictionary(record.path) for level, record in records if record.path is not None}
    docroot = state.meta("docroot") or ""
    found = (frozenset(names), dictionaries, frozenset(directories))
    return Built(frozenset(levels), codings, follow, docroot, formats, unbuilt, *found)


def _follow(coding: str, codings: tuple[str, ...], combinations: set[frozenset[str]]) -> tuple[str, ...]:
    without = frozenset[str]().union(*(names for names in combinations if coding not in names))
    return tuple(name for name in codings[codings.index(coding) + 1 :] if name in without)


# ---- the policy for it


def policy_of(state: State, config: Config) -> Policy:
    """Return the policy of ``config`` for the build that ``state`` describes. Raises ``UsageError``."""
    return make_policy(config, read_built(state), load_levels(config.levels, KNOWN_PASSES))


def make_policy(config: Config, built: Built, levels: Mapping[str, Level]) -> Policy:
    """Return the policy of ``config`` for what was built. ``levels`` are all known levels, highest quality
    first.

    Raises ``UsageError`` for a level that was not built, or a name or path that cannot be served.
    """
    serve = config.serve
    names = tuple(name for name in levels if name in built.levels)
    _refuse(config, names)
    prefix = config.url_prefix
    title = title_of(config, built.docroot)
    output = os.path.abspath(serve.output or config.output)
    faithful = tuple(name for name in names if levels[name].promise == "same")
    same = tuple(name for name in faithful if levels[name].number is not None)
    ladder = _ladder(serve, {name: levels[name].number for name in names})
    # Without a flag it is for all and always; with one it is for the worst day.
    kept = tuple(name for name in ladder if levels[name].promise == "words") if serve.flag else ()
    level = serve.level or (kept or same or names)[-1]
    return Policy(
        identifier(title),
        title,
        prefix,
        _indexes(config, built),
        os.path.abspath(serve.docroot) if serve.docroot else built.docroot,
        output,
        os.path.abspath(serve.state) if serve.state else f"{output}/{STATE_DIRECTORY}",
        names,
        tuple(name for name in names if name not in faithful),
        level,
        built.codings,
        built.follow,
        _class_levels(serve, names, level, (same or names)[-1], built.codings),
        serve,
        built.formats,
        built.unbuilt,
        built.dictionaries,
        faithful if config.codings.dictionaries and config.codings.versions_back else (),
        repeated_directives(config, Path(built.docroot), built.directories) if built.docroot else (),
        ladder,
        inherited_fields(config.site.server_config, Path(built.docroot)),
    )


def _ladder(serve: ServeConfig, numbers: Mapping[str, int | None]) -> tuple[str, ...]:
    """Return the levels between which daemons choose: as configured, in the order of quality, else all."""
    chosen = tuple(name for name in numbers if name in serve.ladder) if serve.ladder else ladder_names(numbers)
    return chosen or tuple(numbers)


def identifier(title: str) -> str:
    """Return a name for variables and maps: ``ad_my_site_3f2a9c``; the digits distinguish titles with equal letters.

    It has 24 characters at most: PCRE allows 32 for the groups that are named after it.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:14]
    if slug == title:
        return f"ad_{slug}"
    digits = hashlib.sha256(os.fsencode(title)).hexdigest()[:6]
    return f"ad_{slug}_{digits}" if slug else f"ad_{digits}"


def title_of(config: Config, docroot: str) -> str:
    """Return ``serve.name``, else the host of the site; one that was made up names no site."""
    host = urlsplit(config.site.base_url or "").hostname
    host = None if host == urlsplit(NOWHERE).hostname else host
    return config.serve.name or host or Path(docroot).name or "site"


def _indexes(config: Config, built: Built) -> tuple[str, ...]:
    """Return the names of index pages that the site uses, in the server's order."""
    used = tuple(name for name in config.site.index if name in built.names)
    return used or config.site.index[:1] or ("index.html",)


def _class_levels(
    serve: ServeConfig, levels: tuple[str, ...], level: str, same: str, codings: tuple[str, ...]
) -> dict[str, str]:
    """Return the highest-quality level of each class and of each word that a client may ask for.

    With buckets the load is the business of their controller, and only poor clients get less than the same page.
    """
    if not serve.classes:
        return {}
    usual = serve.level or (same if serve.buckets else level)
    classes = {
        "poor": serve.poor_level or level,
        "normal": serve.normal_level or usual,
        "rich": serve.rich_level or usual,
    }
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
    unknown = [name for name in serve.ladder if name not in names]
    problems = [f"serve.ladder: the last build holds no level {name}{nearest_or_all(name, names)}" for name in unknown]
    problems += [
        f"{key}: the last build holds no level {name}{nearest_or_all(name, names)}"
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
