"""Facts of a source that are known before anything is built: its digest, references and sizes.

Facts depend on the file's content and, for missing targets, on which files exist. They are stored in the build's state,
and a file is read again only when one of the two changed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from adaptc.compile.analyse.styling import NO_STYLING, Styling
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import content_digests, digest_bytes, written_digests
from adaptc.core.model import EMBEDDED, Reference, Role
from adaptc.core.urls import Reach, Target, document_base
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.characters import NOTHING_WRITTEN, Writing, page_writing, sheet_writing, text_writing
from adaptc.site.site import PAGE_SUFFIX, Site


@dataclass(frozen=True, slots=True)
class Checks:
    """What others may check a file by, its ``digests``, and the digests and lengths of others that it writes.

    Digests are as ``adaptc.core.digest`` has them. ``lengths`` are pairs of an address as written, without a query, and
    a number of bytes, in the lists of scripts and JSON.
    """

    digests: str = ""
    written: tuple[str, ...] = ()
    lengths: tuple[tuple[str, int], ...] = ()


NO_CHECKS = Checks()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one source.

    ``embeds`` are the files that a browser loads by itself, each once, in order, without images that it passes over;
    ``pinned`` those of them whose bytes an ``integrity`` attribute fixes; ``targets`` every local URL path the source
    refers to, for a check when files come or go; ``transfer`` the estimated compressed size in bytes of a sheet or
    script. ``images`` are the image files that a page's markup or a sheet shows, each once, and ``first_image`` is the
    first of a page; ``photographs`` are the JPEGs that it refers to in any way, or names in a string. ``writing`` are
    the characters that a text writes. ``embeds`` of a page has the images of its own styles; ``styling`` is what
    decides which images of its sheets it loads. ``checks`` are what others may check the file by, and by what it may
    check others.
    """

    digest: str
    embeds: tuple[tuple[str, str], ...] = ()  # (role, path)
    pinned: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    transfer: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    images: tuple[str, ...] = ()
    first_image: str | None = None
    photographs: tuple[str, ...] = ()
    writing: Writing = NOTHING_WRITTEN
    styling: Styling = NO_STYLING
    checks: Checks = field(default_factory=lambda: NO_CHECKS)


def affected_targets(changed: Iterable[str], index_names: Iterable[str]) -> frozenset[str]:
    """Return the URL paths that may lead elsewhere when the files ``changed`` appeared or disappeared."""
    affected: set[str] = set()
    for path in changed:
        affected.update((path, path.removesuffix(PAGE_SUFFIX)))
        directory, _, name = path.rpartition("/")
        if name in index_names:
            affected.add(f"{directory}/" if directory else "")
        while directory:  # a directory that appeared or disappeared with the file answers differently, too
            affected.update((directory, directory + "/"))
            directory = directory.rpartition("/")[0]
    return frozenset(affected)


# zlib 6 is within 10 % of every coding's size on style sheets and scripts, at 50 MB/s: enough to compare costs.
_ESTIMATE_LEVEL = 6
_ESTIMATED = frozenset({media.CSS, media.JS})
# Links of these roles are not checked: they are requests of programs, or templates of URLs.
_UNCHECKED = frozenset({Role.META, Role.LAZY})


@dataclass(frozen=True, slots=True)
class _References:
    references: list[Reference]
    base: str
    pinned: tuple[str, ...] = ()
    passed_over: frozenset[Reference] = frozenset()
    writing: Writing = NOTHING_WRITTEN
    styling: Styling = NO_STYLING
    backgrounds: tuple[str, ...] = ()


def gather(path: str, content: bytes, media_type: str, site: Site) -> Facts:
    """Return the facts of one file of ``site``."""
    facts = _read(path, content, media_type, site)
    if media_type in _NAMING:
        facts = _with_named(facts, dict(_photographs_named(path, content, site)))
    return replace(facts, checks=checks_of(content, media_type, facts.digest))


def _with_named(facts: Facts, named: dict[str, str | None]) -> Facts:
    """Add the JPEGs that a text names, by URL path."""
    photographs = (*facts.photographs, *filter(None, named.values()))
    targets = tuple(dict.fromkeys((*facts.targets, *named)))
    return replace(facts, photographs=tuple(dict.fromkeys(photographs)), targets=targets)


# Slide shows get the addresses of their photographs from scripts, data and attributes
_PHOTOGRAPH = re.compile(rb"[\"'](?:[^\"'\s<>&]{0,200}[^\"'\s<>&/])?\.jpe?g(?=[\"'?#])", re.IGNORECASE)


def _photographs_named(path: str, content: bytes, site: Site) -> Iterator[tuple[str, str | None]]:
    """Yield where strings of a text that end like JPEGs lead, from its own place or the root, and the JPEG there."""
    bases = dict.fromkeys((site.address.url_of(path), site.address.url_of("")))
    for name in dict.fromkeys(match[0][1:] for match in _PHOTOGRAPH.finditer(content)):
        for target, file in (site.follow(base, name.decode("utf-8", "replace")) for base in bases):
            if target.reach is Reach.LOCAL:
                yield target.path, file if file is not None and _is_photograph(file, site) else None


def _read(path: str, content: bytes, media_type: str, site: Site) -> Facts:
    reader = _READERS.get(media_type)
    transfer = len(zlib.compress(content, _ESTIMATE_LEVEL)) if media_type in _ESTIMATED else 0
    if reader is None:
        writing = text_writing(content.decode("utf-8", "replace")) if _is_text(media_type) else NOTHING_WRITTEN
        return Facts(digest_bytes(content), transfer=transfer, writing=writing)
    references = reader(content, site.address.url_of(path))
    return _resolved(path, content, references, site, transfer)


def _resolved(path: str, content: bytes, parsed: _References, site: Site, transfer: int) -> Facts:
    known: dict[str, tuple[Target, str | None, str | None]] = {}
    embeds: dict[tuple[str, str], None] = {}
    targets: dict[str, None] = {}
    missing: list[Diagnostic] = []
    shown: list[tuple[Reference, str | None]] = []
    for reference in parsed.references:
        if reference.url not in known:
            known[reference.url] = _followed(parsed.base, reference.url, site)
        target, file, problem = known[reference.url]
        if target.reach is Reach.LOCAL:
            targets[target.path] = None
            if file is not None and reference.role in EMBEDDED and reference not in parsed.passed_over:
                embeds[reference.role.value, file] = None
        if reference.role in _SHOWING:
            shown.append((reference, file))
        if problem is not None and reference.role not in _UNCHECKED:
            place = Location(path, reference.line, reference.column)
            missing.append(diagnose(problem, place, where=reference.where, url=reference.url))
    pinned = (site.follow(parsed.base, url).path for url in parsed.pinned)
    backgrounds = (site.follow(parsed.base, url).path for url in parsed.backgrounds)
    embeds |= dict.fromkeys((Role.CSS_URL.value, file) for file in backgrounds if file is not None)
    idle = (site.follow(parsed.base, url).path for url in parsed.styling.idle)
    return Facts(
        digest_bytes(content),
        tuple(embeds),
        tuple(file for file in pinned if file is not None),
        tuple(targets),
        transfer,
        tuple(missing),
        tuple(dict.fromkeys(file for _, file in shown if file is not None and _is_image(file, site))),
        next((file for reference, file in shown if _is_in_markup(reference)), None),
        tuple(dict.fromkeys(file for _, file, _ in known.values() if file is not None and _is_photograph(file, site))),
        parsed.writing,
        replace(parsed.styling, idle=tuple(file for file in idle if file is not None)),
    )


# Roles by which an image may be shown; a LAZY image is loaded later, a PRELOAD or an ICON is not in the page
_SHOWING = frozenset({Role.IMAGE, Role.OBJECT, Role.LAZY, Role.CSS_URL})


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type.endswith(("json", "xml"))


def _is_image(file: str, site: Site) -> bool:
    return site.sources[file].media_type.startswith("image/")


def _is_photograph(file: str, site: Site) -> bool:
    return site.sources[file].media_type == media.JPEG


def _is_in_markup(reference: Reference) -> bool:
    return reference.role is Role.IMAGE and not reference.where.endswith(" background")


_PROBLEMS = {Reach.BAD: "bad-url", Reach.OUTSIDE: "outside-docroot"}


def _followed(base: str, url: str, site: Site) -> tuple[Target, str | None, str | None]:
    """Return where a URL leads, the file there, and the kind of diagnostic for a link to it, if any."""
    target, file = site.follow(base, url)
    if target.reach is not Reach.LOCAL:
        return target, None, _PROBLEMS.get(target.reach)
    is_answered = file is not None or site.leads_somewhere(target.path)
    return target, file, None if is_answered else "missing-target"


def _read_page(content: bytes, url: str) -> _References:
    parsed = _page_references(content)
    if parsed is None:
        return _References([], url)  # the build reports it, and does not rewrite such a page
    found, base = parsed
    return replace(found, base=document_base(url, base))


# Of 2,685 pages of Apache's manual 1,857 are symbolic links to others; they are read one after the other
@lru_cache(maxsize=1)
def _page_references(content: bytes) -> tuple[_References, str | None] | None:
    """Return the references of a page, to be resolved, and the ``href`` of ``<base>``; ``None`` if unreadable."""
    from adaptc.compile.analyse.loaded_backgrounds import own_backgrounds, page_styling
    from adaptc.formats.html import document, references

    try:
        page = document.read_page(content)
    except document.Irreversible:
        return None
    tree = document.parse(page.text)
    pinned = [
        element.attr("src") or element.attr("href") or ""
        for element in tree.iter_elements(("script", "link"))
        if element.attr("integrity") is not None
    ]
    found = list(references.references(tree))
    passed_over = frozenset(references.passed_over_references(tree))
    looks = page_writing(page.text, tree), page_styling(page.text, tree), tuple(own_backgrounds(page.text, tree))
    return _References(found, "", tuple(pinned), passed_over, *looks), references.base_href(tree)


def _read_sheet(content: bytes, url: str) -> _References:
    from adaptc.formats.css.references import css_references
    from adaptc.formats.css.sheet_text import decode_sheet

    sheet = decode_sheet(content, "utf-8")
    sheet_references = css_references(sheet.text)
    found = [Reference(item.role, item.url, "style sheet", item.line, item.column) for item in sheet_references]
    return _References(found, url, writing=sheet_writing(sheet.text))


def _read_svg(content: bytes, url: str) -> _References:
    from adaptc.formats.svg import svg_references

    return _References(list(svg_references(content)), url)


_READERS: dict[str, Callable[[bytes, str], _References]] = {
    media.HTML: _read_page,
    media.CSS: _read_sheet,
    media.SVG: _read_svg,
}


# ---- what checks a file

# A list of what a service worker or a loader fetches: {"url": "/app.js", "size": 1234}, {"app.wasm": 1234}
_LENGTH = re.compile(rb"(?:[sS]ize|[bB]ytes|[lL]ength)[\"']?\s*:\s*(\d{2,12})(?![\w.])")
_LENGTH_OF = re.compile(rb"[\"']([^\"'\s]{1,200}\.\w{1,12})[\"']\s*:\s*(\d{2,12})(?![\w.])")
_ADDRESS = re.compile(rb"[\"']([^\"'\s]{1,200})[\"']\s*(?!\s*:)")
_LISTING = frozenset({media.JS, "application/json"})
_NAMING = _LISTING | {media.HTML}
_ENTRY = 400  # bytes of an entry on either side of its length
# Texts have no zero byte, whatever their names say: "_headers", "i.png.sha256"
_START = 4096


def checks_of(content: bytes, media_type: str, digest: str) -> Checks:
    """Return the checks of a file, given its SHA-256."""
    is_text = b"\0" not in content[:_START] or content.startswith((b"\xff\xfe", b"\xfe\xff"))
    written = written_digests(content) if is_text else ()
    lengths = tuple(dict.fromkeys(_lengths(content))) if media_type in _LISTING else ()
    return Checks(content_digests(content, digest), written, lengths)


def _lengths(text: bytes) -> Iterator[tuple[str, int]]:
    for match in _LENGTH_OF.finditer(text):
        yield _address(match[1]), int(match[2])
    for match in _LENGTH.finditer(text):
        begin = text.rfind(b"{", max(0, match.start() - _ENTRY), match.start())
        end = text.find(b"}", match.end(), match.end() + _ENTRY)
        for address in _ADDRESS.findall(text[begin:end]) if begin >= 0 and end >= 0 else ():
            if b"." in address or b"/" in address:
                yield _address(address), int(match[1])


def _address(written: bytes) -> str:
    return re.split(r"[?#]", written.decode("utf-8", "replace").replace("\\/", "/"))[0]
