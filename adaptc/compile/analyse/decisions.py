"""Decisions about the whole site, from the facts of all its files.

Where a shared style sheet or script should be: in a file of its own, or inline in every page that uses it. The cost
of delivery is that of Abdelzaher, Shin and Bhatti, U = aR + bW: ``a`` for a request, ``b`` for a kilobyte. With the
paper's figures (a = 0.83 ms, b = 33 us/kB) a request is worth 25 kB.

A visit is ``v`` pages. A page uses the asset with probability ``p`` (the share of the site's pages that embed it),
so a visit that needs the asset at all needs it on ``e = 1 + (v - 1) p`` pages. A share ``w`` of the visits comes
with a warm cache. For an asset of ``s`` kB as transferred:

    own file:  (1 - w) (a + b s)        one request in a cold visit, none in a warm one
    inline:    e b s                    the bytes again in each of those pages, no request

Where pages are encoded with dictionaries (RFC 9842), a share ``d`` of the browsers takes them. A dictionary holds what
a third of the pages has. So these browsers receive an inline asset twice at most in a cold visit, with the first page
and with the dictionary, and not at all in a warm one:

    inline:    ((1 - d) e + d (1 - w) min(e, 2)) b s

The lower cost decides; with equal costs the asset stays a file, which keeps pages small.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from posixpath import normpath

from adaptc.compile.analyse.decorations.evidence import SiteUsage
from adaptc.compile.analyse.demotions import Demotions, demotion_rows
from adaptc.compile.analyse.site_sums import SiteSums
from adaptc.core import media
from adaptc.core.digest import WHOLE_DIGITS, DigestsWritten, digest_parts
from adaptc.core.values import dataclass, field
from adaptc.site.header_rules import NO_HOST_RULES, HostRules
from adaptc.site.site import Source, paths_of_type

# The prefixes of dependencies on decisions; no path of a docroot begins with a slash.
# SOLE is on whether a single sheet loads a sheet, by an import; TWOFOLD on whether a page and a sheet do; EXCESS on
# whether a sheet keeps its imports; UNUSED on whether no file refers to a JPEG.
PLACEMENT, PIN, USAGE, SOLE, TWOFOLD = "/placement/", "/pin/", "/usage/", "/sole/", "/twofold/"
EXCESS, UNUSED = "/excess/", "/unused/"
# On which scripts the site has
SCRIPTS = "/scripts/"
# On the characters that the site shows
CHARACTERS = "/characters/"
# On the icons of scripts that the site shows
ICONS = "/icons/"
# On whether a file or directory exists and is not built
WITHHELD = "/withheld/"
# On what a browser saw of a page
EVIDENCE = "/evidence/"
# On how many files of the site a text lists, by what they can be checked by
LISTING = "/listing/"
# On the header fields with which hosts send pages
HOSTS = "/hosts/"


@dataclass(frozen=True, slots=True)
class Placement:
    """The decision for one asset and the sentence that explains it."""

    inline: bool
    reason: str


@dataclass(frozen=True, slots=True)
class EvidenceKey:
    """The key of what a browser saw of a page, in the cache.

    ``like`` are the pages that it was inferred from, in order; none where the browser looked at the page itself.
    """

    key: str
    like: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """How many files of the site a text lists: by digests that fix their bytes, and by versions (MD5) or lengths.

    ``is_versioned`` says that a script or JSON lists the file itself by its version, as for a service worker.
    """

    pinned: int = 0
    versions: int = 0
    is_versioned: bool = False


NO_LISTING = Listing()

NOT_SHARED = Placement(False, "it is used in a way that the cost model does not cover")


@dataclass(frozen=True)
class Decisions:
    """Decisions about the whole site.

    Where assets are placed, which files have their bytes fixed, and why (``pinned``), how images are used, which sheets
    are loaded by a single other sheet only, which by a page and another sheet (``twofold``), and which keep their
    imports, since those of all would be too much; and the ``unused`` JPEGs, to which no page, style sheet or SVG file
    refers.
    ``characters`` are those beyond ASCII that the files of the site write, those of icons only where pages have them;
    ``page_characters`` those that pages write.
    ``evidence`` is what a browser saw of pages, or of others like them.
    ``demotions`` are the passes that a proof in a browser drops.
    ``withheld`` are the files and directories that exist and are not built: nobody may tell what is in them.
    ``listings`` are what texts other than pages list of the site. ``hosts`` are the rules of the site's hosts.
    ``scripts`` are the scripts of the site, in order; ``icons`` the names of icons, drawn by scripts, that its pages,
    scripts and data write.
    """

    placements: Mapping[str, Placement]
    pinned: Mapping[str, str]
    usages: Mapping[str, SiteUsage] = field(default_factory=dict)
    sole: frozenset[str] = frozenset()
    twofold: frozenset[str] = frozenset()
    excess: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()
    evidence: Mapping[str, EvidenceKey] = field(default_factory=dict)
    demotions: Demotions = field(default_factory=dict)
    characters: str = ""
    page_characters: str = ""
    withheld: frozenset[str] = frozenset()
    listings: Mapping[str, Listing] = field(default_factory=dict)
    hosts: HostRules = NO_HOST_RULES
    scripts: tuple[str, ...] = ()
    icons: frozenset[str] = frozenset()


NO_DECISIONS = Decisions({}, {})
"""No decisions yet, for the stage that reads."""


# ---- the cost of delivery

KILOBYTE = 1000.0

# The share of pages that must have what a dictionary holds, for certain; some hold what fewer have
DICTIONARY_PAGES = 1 / 3


@dataclass(frozen=True, slots=True)
class DeliveryCost:
    """The model's parameters: ms a request, ms a kB, pages a visit (v), share of visits with a warm cache (w).

    ``dictionary_share`` are the browsers that take dictionaries (d), 0 where there are none.
    """

    request_ms: float
    kilobyte_ms: float
    pages_per_visit: float
    warm_share: float
    dictionary_share: float = 0.0

    def own_file(self, size: int) -> float:
        """Return ms for a visit that finds the asset of ``size`` transferred bytes in a file of its own."""
        return (1 - self.warm_share) * (self.request_ms + self.kilobyte_ms * size / KILOBYTE)

    def inline(self, size: int, share: float) -> float:
        """Return ms for a visit that finds the asset inline; ``share`` of the site's pages use it (0 to 1)."""
        expected_pages = 1 + (self.pages_per_visit - 1) * share
        if share >= DICTIONARY_PAGES:
            held = (1 - self.warm_share) * min(expected_pages, 2)
            expected_pages += self.dictionary_share * (held - expected_pages)
        return expected_pages * self.kilobyte_ms * size / KILOBYTE

    def crowd_limit(self) -> int:
        """Return the largest transfer size at which inline costs less in a visit of one page, as in a flash crowd.

        ``b s < (1 - w) (a + b s)``; the share of warm caches is what keeps a file out of the page then.
        """
        if not self.warm_share * self.kilobyte_ms:  # files are never cached, or bytes cost nothing
            return sys.maxsize
        limit = KILOBYTE * (1 - self.warm_share) * self.request_ms / (self.warm_share * self.kilobyte_ms)
        return int(min(limit, sys.maxsize))


@dataclass(frozen=True, slots=True)
class AssetUse:
    """How an asset is used: transferred bytes, number of pages that embed it."""

    size: int
    pages: int


def place_assets(uses: Mapping[str, AssetUse], pages: int, cost: DeliveryCost) -> dict[str, Placement]:
    """Decide for every asset by path; ``pages`` is the number of pages of the site."""
    return {path: _place(use, pages, cost) for path, use in uses.items()}


def _place(use: AssetUse, pages: int, cost: DeliveryCost) -> Placement:
    share = use.pages / max(pages, 1)
    own, inline = cost.own_file(use.size), cost.inline(use.size, share)
    figures = (
        f"{use.size} bytes used by {use.pages} of {pages} pages: {inline:.2f} ms a visit inline, {own:.2f} ms shared"
    )
    return Placement(inline < own, figures)


# ---- deciding


def decide(
    sums: SiteSums,
    sources: Mapping[str, Source],
    cost: DeliveryCost,
    largest_image: int,
    limits: Mapping[str, float] | None = None,
    digests: Callable[[], Iterable[tuple[str, str]]] = tuple,
) -> Decisions:
    """Decide where each shared asset lives and which are pinned. Images above ``largest_image`` bytes stay files.

    With the ``limits`` of the classifier the usages of images are decided, too. ``digests`` yields (path, digests) of
    every file, and is only called where a text writes any.
    """
    from adaptc.formats.css.imports import sheets_over_budget

    uses = {}
    for path, pages in sorted(sums.uses.items()):
        if not pages or path not in sources:  # it could not be read
            continue
        size = _size(path, sums, sources[path])
        if size is not None and (path in sums.transfer or size <= largest_image):
            uses[path] = AssetUse(size, pages)
    usages = {} if limits is None else _usages(sums, limits)
    imported = {path for targets in sums.imports.values() for path in targets if path in sources}
    sizes = {path: sources[path].size for path in imported}
    loaded = _counted(sums.loaded)
    excess = sheets_over_budget(sums.imports, sizes, loaded)
    placements = place_assets(uses, sums.pages, cost)
    pinned, listings = _pins(sums, sources, digests)
    unused, characters = _unused(sums, sources), _characters(sums)
    twofold = frozenset(path for path in loaded & imported if sources[path].media_type == media.CSS)
    shown = (usages, _sole(sums), twofold, excess, unused)
    return Decisions(
        placements,
        pinned,
        *shown,
        characters=characters,
        page_characters="".join(sorted(_counted(sums.page_characters))),
        listings=listings,
        scripts=tuple(sorted(paths_of_type(sources, media.JS))),
        icons=_counted(sums.icons_named),
    )


_INTEGRITY = "an integrity attribute fixes its bytes"


def _pins(
    sums: SiteSums, sources: Mapping[str, Source], digests: Callable[[], Iterable[tuple[str, str]]]
) -> tuple[dict[str, str], dict[str, Listing]]:
    """Return the files whose bytes are fixed, and why; and what each text other than pages lists.

    A shortened digest in the name of a file is a part of the name: tables of such names check nothing.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for (digits, place), count in sums.written.items():
        if count:
            places[digits].append(place)
    pinned = dict.fromkeys(_counted(sums.pinned), _INTEGRITY)
    by_digest, by_version = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    written = DigestsWritten(places)
    for path, digest in digests() if places else ():
        for algorithm, digits in written.matches(digest):
            is_name = len(digits) < WHOLE_DIGITS and digits in path.rpartition("/")[2].lower()
            if is_name or path not in sources or not sources[path].size:
                continue
            for place in sorted(places[digits], reverse=True):
                (by_version if algorithm == "md5" else by_digest)[place].add(path)
                if algorithm != "md5":
                    pinned.setdefault(path, f"its digest stands in {place or 'a page'}")
    lists = [place for place in by_version if place and sources[place].media_type in (media.JS, "application/json")]
    versioned = set[str]().union(*(by_version[place] for place in lists))
    for place, lengths in sums.lengths.items():
        by_version[place].update(path for pair in lengths for path in _of_length(place, *pair, sources))
    names = sorted((by_digest.keys() | by_version.keys() | versioned) - {""})
    listings = {
        name: Listing(len(by_digest[name]), len(by_version[name] - pinned.keys()), name in versioned) for name in names
    }
    return pinned, {name: listing for name, listing in listings.items() if listing != NO_LISTING}


def _of_length(place: str, address: str, size: int, sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the files that an address in the text ``place`` may lead to, if they have this size."""
    for path in {address.lstrip("/"), normpath(f"{place.rpartition('/')[0]}/{address}").lstrip("/")}:
        if path in sources and sources[path].size == size:
            yield path


def _characters(sums: SiteSums) -> str:
    from adaptc.formats.characters import used_icons

    rules = (rule for sheet in sums.icons.values() for rule in sheet)
    return "".join(sorted(_counted(sums.characters).union(used_icons(rules, _counted(sums.classes)))))


def _unused(sums: SiteSums, sources: Mapping[str, Source]) -> frozenset[str]:
    return frozenset(path for path in paths_of_type(sources, media.JPEG) if not sums.photographs[path])


def _counted(counter: Counter[str]) -> frozenset[str]:
    return frozenset(path for path, count in counter.items() if count)


def _sole(sums: SiteSums) -> frozenset[str]:
    """Return the sheets that a single sheet imports and no page loads by itself."""
    importers = Counter(target for targets in sums.imports.values() for target in set(targets))
    return frozenset(path for path, count in importers.items() if count == 1) - _counted(sums.loaded)


def _usages(sums: SiteSums, limits: Mapping[str, float]) -> dict[str, SiteUsage]:
    counts = sums.images.counts(lambda sheet: _closure(sheet, sums))
    usages = ((path, counts.usage(path, limits)) for path in counts.uses)
    return {path: usage for path, usage in usages if usage}


def _size(path: str, sums: SiteSums, source: Source) -> int | None:
    if path not in sums.transfer:
        return source.size if source.media_type.startswith("image/") else None
    return sum(sums.transfer[part] for part in _closure(path, sums))


def _closure(path: str, sums: SiteSums) -> set[str]:
    """Return a sheet or script with all that it imports."""
    closure, pending = {path}, [path]
    while pending:
        for imported in sums.imports.get(pending.pop(), ()):
            if imported in sums.transfer and imported not in closure:
                closure.add(imported)
                pending.append(imported)
    return closure


# A decision as a whole number, and the figures that explain it
Row = tuple[int, str]
_KEY_DIGITS = 15  # of a digest in hexadecimal: what SQLite holds as a whole number


def decision_rows(decisions: Decisions) -> dict[str, Row]:
    """Return decisions by dependency key: (the decision, the figures that explain it)."""
    placements = {
        PLACEMENT + path: (int(decision.inline), decision.reason) for path, decision in decisions.placements.items()
    }
    usages = {USAGE + path: (decision.value, "") for path, decision in decisions.usages.items()}
    pins = {PIN + path: (_number(reason), reason) for path, reason in decisions.pinned.items()}
    listings = {LISTING + path: (_number(str(listing)), "") for path, listing in decisions.listings.items()}
    soles = {SOLE + path: (1, "one style sheet alone imports it") for path in decisions.sole}
    twofold = {TWOFOLD + path: (1, "a page and another style sheet load it") for path in decisions.twofold}
    excess = {EXCESS + path: (1, "the imports of all sheets are too much") for path in decisions.excess}
    unused = {UNUSED + path: (1, "no file refers to it") for path in decisions.unused}
    seen = {EVIDENCE + path: _evidence_row(key) for path, key in decisions.evidence.items()}
    dropped = demotion_rows(decisions.demotions, _KEY_DIGITS)
    withheld = {WITHHELD + path: (1, "it exists, and is not built") for path in decisions.withheld}
    characters = (decisions.characters, decisions.page_characters)
    written = {CHARACTERS: (_number(repr(characters)), "")} if any(characters) else {}
    scripts = {SCRIPTS: (_number(repr(decisions.scripts)), "")} if decisions.scripts else {}
    icons = {ICONS: (_number(repr(sorted(decisions.icons))), "")} if decisions.icons else {}
    fixed = pins | listings | host_rows(decisions.hosts) | scripts | icons
    return placements | usages | fixed | soles | twofold | excess | unused | seen | dropped | written | withheld


def host_rows(hosts: HostRules) -> dict[str, Row]:
    """Return the decision on what hosts send with pages."""
    binding = hosts.binding()
    return {HOSTS: (_number(repr(binding)), "")} if binding else {}


def _number(text: str) -> int:
    return int(digest_parts(text)[:_KEY_DIGITS], 16)


def _evidence_row(evidence: EvidenceKey) -> Row:
    text = " ".join((evidence.key, json.dumps(evidence.like))) if evidence.like else evidence.key
    return int(evidence.key[:_KEY_DIGITS], 16), text


def evidence_of(rows: Mapping[str, Row]) -> dict[str, EvidenceKey]:
    """Return the keys of the evidence of pages in the decisions of a build."""
    keys = {}
    for row, (_, text) in rows.items():
        if row.startswith(EVIDENCE):
            key, _, like = text.partition(" ")
            keys[row.removeprefix(EVIDENCE)] = EvidenceKey(key, tuple(json.loads(like)) if like else ())
    return keys


def pinned_of(rows: Mapping[str, Row]) -> dict[str, str]:
    """Return the files whose bytes are fixed in the decisions of a build, and why."""
    return {row.removeprefix(PIN): reason for row, (_, reason) in rows.items() if row.startswith(PIN)}


def lists_of(rows: Mapping[str, Row]) -> list[str]:
    """Return the texts that list files of the site, and the files that are listed, in the decisions of a build."""
    return [row.removeprefix(LISTING) for row in rows if row.startswith(LISTING)]


def withheld_of(rows: Mapping[str, Row]) -> frozenset[str]:
    """Return the files and directories that are not built in the decisions of a build."""
    return frozenset(row.removeprefix(WITHHELD) for row in rows if row.startswith(WITHHELD))


def changed_decisions(before: Mapping[str, Row], now: Mapping[str, Row]) -> set[str]:
    """Return the keys of decisions that changed; other figures for the same decision do not count."""
    changed = {key for key in before.keys() & now.keys() if before[key][0] != now[key][0]}
    added_or_removed = before.keys() ^ now.keys()
    default = (0, "")
    return changed | {key for key in added_or_removed if (before.get(key) or now.get(key) or default)[0]}
