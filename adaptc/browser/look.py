"""Looking at a page: it is loaded at each of ``WIDTHS``, and what is seen becomes evidence.

Menus are opened, and elements hovered and focused, as visitors may do without leaving the page. Then no script runs:
what lies over the text is seen on the markup, and on what its scripts left of it.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import HEIGHTS, WIDTHS, ImageSeen, PageEvidence, WidthEvidence
from adaptc.browser.script_coverage import (
    RanParts,
    ScriptCoverage,
    count_functions,
    parts_that_ran,
    script_coverage,
)
from adaptc.browser.tab import RESTLESS, BrowserError, Load, Tab, script
from adaptc.browser.written import YEAR_SEEN, find_written, join_views, write_content, write_frame
from adaptc.core.media import HTML
from adaptc.core.urls import host_and_path, join
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.html.document import Irreversible, encode_page, parse_bare, read_page
from adaptc.formats.html.edit import Editor, EditRefused

# What libraries make of the clock that freeze.js shows: names that no other load has
_TIME = re.compile(r"1700000\d{6}")

_RESULT = "() => globalThis.adaptc.result()"

T = TypeVar("T")

PathOf = Callable[[str], str | None]
"""Returns the file of the docroot that a URL leads to."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of a page: its evidence, its markup after scripts, and the URLs that it asked for.

    ``written`` is what of the markup is the same at all widths, if the page may have that in its own.
    ``scripts`` say how much of its script files ran; no pass asks for it. ``is_sure`` says that another look would see
    the same: nothing is missing for lack of time.
    """

    evidence: PageEvidence
    document: bytes | None
    urls: frozenset[str]
    scripts: tuple[ScriptCoverage, ...] = ()
    is_sure: bool = True
    written: bytes | None = None

    def evidence_with(self, document: str | None, written: str | None) -> PageEvidence:
        """Return the evidence with the digests of the documents."""
        return replace(self.evidence, document=document, written=written)


class NotSeen(Exception):
    """A page that cannot be looked at, and the URLs that it asked for.

    ``is_final`` says that it would go the same way again: it does not depend on time or memory.
    """

    def __init__(self, reason: str, urls: Iterable[str] = (), *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.urls, self.is_final = frozenset(urls), is_final


async def look_at(
    browser: Chromium, server: Server, url: str, path_of: PathOf, home: str, *, compares: bool = True
) -> Look:
    """Look at a page; ``home`` is the site's first URL. Raises ``NotSeen``, and ``BrowserError`` where it ended.

    Only with ``compares`` the evidence says whether the page shows the same without its scripts. Else it is loaded
    without them only where a router may have shown another page.
    """
    phone, laptop = WIDTHS
    found, urls = await _visit(
        browser, server, laptop, lambda tab: _in_one_tab(browser, tab, server, url, path_of, compares)
    )
    views, shown, written = found
    if len(views) == 1:
        narrow, others = await _visit(browser, server, phone, lambda tab: _views(tab, server, url, path_of))
        views, urls = [*narrow, *views], urls | others
    view, widths = views[-1], tuple(view.evidence for view in views)
    is_same = compares and shown is not None and _shows_same(shown, view.shown)
    evidence = PageEvidence(widths, None, is_same, view.loaded, None, view.hinted)
    scripts = script_coverage(view.scripts for view in views)
    if shown is None:
        is_sure = view.document is None or (view.is_own and not compares)
        return Look(evidence, view.document, urls, scripts, is_sure=is_sure)
    urls |= await _refuse_lost(browser, server, url, home, _words(view.shown), _words(shown))
    return Look(evidence, view.document, urls, scripts, written=written)


async def _in_one_tab(
    browser: Chromium, tab: Tab, server: Server, url: str, path_of: PathOf, compares: bool
) -> tuple[list[_View], str | None, bytes | None]:
    """Return the views of a page in a tab as wide as a laptop, and what it shows without its scripts, if that is asked.

    The third is what may be written into it (``_written``). One tab serves for all: opening another takes as long as
    loading a small page. Where the page was not seen without its scripts, nothing is known of the tab, and the view
    of a phone is missing.
    """
    views = await _views(tab, server, url, path_of, also=WIDTHS[0])
    view, bare = views[-1], None
    if len(views) == len(WIDTHS):
        return views, None, None
    if view.document is not None and (compares or not view.is_own):
        bare = await _bare(browser, tab, server, url)
        if bare is None:
            return views, None, None
    elif view.document is not None:
        tab.serve(lambda _: _EMPTY, runs_scripts=False)  # its scripts end, so that they store nothing more
        await tab.open(url)
    await tab.forget()
    tab.serve(server)
    await tab.resize(WIDTHS[0], HEIGHTS[WIDTHS[0]])
    views = [*await _views(tab, server, url, path_of), *views]
    differs = compares and bare is not None and not _shows_same(bare, view.shown)
    return views, bare, await _written(browser, tab, server, url, views) if differs else None


# An address that no site has; words that make a page, and the share of them that two pages have in common to be alike
_NOWHERE, _FEWEST_WORDS, _ALIKE = "no-such-page-here-1700000000", 5, 0.8
_WORD = re.compile(r"[^\W\d_]{3,}")
_EMPTY = Answer(b"", HTML)
# The attribute by which scripts would find what is written
_MARK = "data-later"


async def _refuse_lost(
    browser: Chromium, server: Server, url: str, home: str, shown: frozenset[str], own: frozenset[str]
) -> frozenset[str]:
    """Refuse what a client-side router shows where it knows no page: ``NotSeen``. Return the URLs that were asked for.

    The page shows the words ``shown`` with its scripts, and its markup has the words ``own``. Where scripts wrote most
    of what is shown, the page is opened under an address that there is not: a router that does not know the real one
    shows the same there. So does a page without a router, but it loses no word of its own, and the first page shows it.
    """
    has_own, common = len(own) >= _FEWEST_WORDS, len(own & shown)
    is_own = 2 * common >= (len(own) if has_own else len(shown)) or (url == home and not has_own)
    if is_own or len(shown - own) < _FEWEST_WORDS:
        return frozenset()
    lost, urls = await _shown_at(browser, server, url, join(url, _NOWHERE) or url)
    if not _are_alike(shown, lost):
        return urls
    if not has_own and server(home) is not None:
        first, others = await _shown_at(browser, server, home, home)
        urls |= others
        if _are_alike(shown, first):
            return urls
    raise NotSeen("its scripts show what they show at an address that there is not", urls, is_final=True)


async def _shown_at(browser: Chromium, server: Server, url: str, address: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that the page of ``url`` shows under another address, and the URLs that were asked for."""

    def answer(asked: str) -> Answer | None:
        return server(url if asked == address else asked)

    async def words(tab: Tab) -> frozenset[str]:
        async with asyncio.timeout(tab.patience):
            await tab.load(address)
            return _words(str(await tab.run(script("show"))))

    return await _visit(browser, answer, WIDTHS[-1], words)


def _words(shown: str) -> frozenset[str]:
    return frozenset(_WORD.findall(shown))


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)


async def _bare(browser: Chromium, tab: Tab, server: Server, url: str) -> str | None:
    """Return what a page shows without its scripts (``show.js``), as far as that can be seen.

    One of Material for MkDocs has what stands in for its bundle at level ``unhydrated`` (``material.js``).
    What scripts stored in the tab does not matter without them.
    """
    try:
        async with asyncio.timeout(tab.patience):
            tab.serve(without_scripts(server), runs_scripts=False)
            await tab.load(url)
            if await tab.run(script("material")):
                await tab.scroll()
            return str(await tab.run(script("show")))
    except (BrowserError, TimeoutError):
        if not browser.is_running:
            raise BrowserError("it ended") from None
        return None


_BOX = re.compile(r"-?\d+(?: -?\d+){3}")


def _shows_same(one: str, other: str) -> bool:
    """Whether two pages show the same (``show.js``); texts that scripts wrote in parts may be a pixel wider."""
    lines, others = one.split("\n"), other.split("\n")
    return len(lines) == len(others) and all(
        line == its or (_BOX.fullmatch(line) and _BOX.fullmatch(its) and _is_near(line, its))
        for line, its in zip(lines, others, strict=True)
    )


def _is_near(box: str, other: str) -> bool:
    return all(abs(int(one) - int(two)) <= 1 for one, two in zip(box.split(), other.split(), strict=True))


async def _written(browser: Chromium, tab: Tab, server: Server, url: str, views: Sequence[_View]) -> bytes | None:
    """Return what scripts leave of a page at each width, if its markup can have that, and shows the same then."""
    documents = [parse_bare(view.document.decode()) for view in views if view.document is not None]
    if len(documents) < len(WIDTHS) or not all(view.is_answered for view in views):
        return None
    other, after = documents
    join_views(after, other)
    joined, sent = after.html.encode("utf-8", "replace"), server(url)
    page = None if sent is None else _with_written(sent.body, joined)
    if sent is None or page is None:
        return None

    def answer(asked: str) -> Answer | None:
        return replace(sent, body=page) if asked == url else server(asked)

    for view in views:
        await tab.resize(view.evidence.width, HEIGHTS[view.evidence.width])
        bare = await _bare(browser, tab, answer, url)
        if bare is None or not _shows_same(bare, view.shown):
            return None
    return joined


def _with_written(content: bytes, joined: bytes) -> bytes | None:
    """Return a page with what scripts write into it, ``None`` if it cannot have that."""
    try:
        page = read_page(content)
        editor = Editor(page.text)
        written = find_written(editor.tree, parse_bare(joined.decode()))
        if written is None:
            return None
        write_content(editor, written, _MARK, YEAR_SEEN)
        write_frame(editor, written, _MARK)
        return encode_page(page, editor.apply().text)
    except (Irreversible, EditRefused):
        return None


async def _visit(
    browser: Chromium, server: Server, width: int, look: Callable[[Tab], Awaitable[T]]
) -> tuple[T, frozenset[str]]:
    """Open a page in a tab; return what ``look`` sees, and the URLs that were asked for. Raises as ``look_at``.

    What happens in pages is noted from their start.
    """
    async with browser.tab(server, width, HEIGHTS[width], is_drawn=False) as tab:
        try:
            await tab.send("Page.enable")
            source = {"source": script("observe"), "worldName": "adaptc"}
            await tab.send("Page.addScriptToEvaluateOnNewDocument", source)
            await count_functions(tab)
            tab.hold_images()
            seen = await look(tab)
        except (BrowserError, TimeoutError) as error:
            if not browser.is_running:
                raise BrowserError("it ended") from None
            raise NotSeen(str(error) or RESTLESS, tab.urls) from None
        return seen, frozenset(tab.urls)


@dataclass(frozen=True, slots=True)
class _View:
    """A page at one width, its markup after scripts, what it shows (``show.js``), and what ran of its scripts.

    ``loaded`` are the scripts and data that it loaded by itself, by path; ``is_answered`` says that the site had an
    answer to each request for them. ``hinted`` are the files that it fetched early, as for the next page. ``is_own``
    says that no router shows another page: at least half of the words of its markup are shown, or hardly any.
    """

    evidence: WidthEvidence
    document: bytes | None
    shown: str
    scripts: Mapping[str, RanParts] = field(default_factory=dict)
    loaded: tuple[str, ...] = ()
    is_answered: bool = False
    hinted: tuple[str, ...] = ()
    is_own: bool = True


async def _views(tab: Tab, server: Server, url: str, path_of: PathOf, also: int | None = None) -> list[_View]:
    """Return the page at the width of the tab, and in front of it at the width ``also`` if that needs no other load."""
    async with asyncio.timeout(tab.patience):
        return await _patient_views(tab, server, url, path_of, also)


async def _patient_views(tab: Tab, server: Server, url: str, path_of: PathOf, also: int | None) -> list[_View]:
    await _load(tab, url)
    document = await tab.run(script("document"))
    sent = server(url) if document is not None else None
    markup = None if sent is None else base64.b64encode(sent.body).decode()
    own = _words(str(await tab.run(script("look"), {"markup": markup})))
    shown = str(await tab.run(script("show")))
    asked = _asked(tab.seen.loads, path_of, b"" if sent is None else sent.body)
    if also is not None and document is None and await tab.run(script("resizable")):
        return [_View(evidence, None, shown) for evidence in await _at_both_widths(tab, also, path_of)]
    await interact(tab, has_scripts=document is not None)
    evidence = _evidence(tab.width, await tab.run(_RESULT), tab.seen.loads, path_of)
    if document is None:
        return [_View(evidence, None, shown)]
    words = _words(shown)
    is_own = len(words) < _FEWEST_WORDS or (len(own) >= _FEWEST_WORDS and 2 * len(own & words) >= len(own))
    ran = await parts_that_ran(tab, path_of)
    return [_View(evidence, document.encode("utf-8", "replace"), shown, ran, *asked, is_own)]


# Playwright's names of what scripts ask for, and of what hints do
_ASKED, _HINTED = frozenset({"script", "fetch", "xhr", "eventsource", "websocket"}), frozenset({"other"})


def _asked(loads: Iterable[Load], path_of: PathOf, markup: bytes) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Return which scripts and data were loaded, whether each had an answer, and which files were fetched early.

    Scripts of hosts that the markup names are left out of the second: they run at each level, as its hydration waits.
    """
    found = [(load, path_of(load.url)) for load in loads if load.kind in _ASKED | _HINTED]
    asked = [(load, path) for load, path in found if load.kind in _ASKED]
    loaded = {path for load, path in asked if load.status == 200 and path is not None}
    hinted = {path for load, path in found if load.kind in _HINTED and path is not None}
    missed = [load for load, path in asked if load.status != 200 or path is None]
    is_answered = all(load.kind == "script" and host_and_path(load.url)[0].encode() in markup for load in missed)
    return tuple(sorted(loaded)), is_answered, tuple(sorted(hinted))


async def _at_both_widths(tab: Tab, also: int, path_of: PathOf) -> list[WidthEvidence]:
    """Look at the page, which has no scripts and was looked at, at the width ``also`` as well; interact at both."""
    width, first = tab.width, len(tab.seen.loads)
    await tab.run("() => { globalThis.adaptc.first = globalThis.adaptc.result }")
    await tab.resize(also, HEIGHTS[also])
    await tab.settle()
    await tab.run(script("look"), {"markup": None})
    await interact(tab, has_scripts=False)
    narrow = await tab.run(_RESULT)
    await tab.resize(width, HEIGHTS[width])
    wide = await tab.run("() => globalThis.adaptc.first()")
    # a background that only one of the widths has would not be loaded at the other one
    before, after = tab.seen.loads[:first], tab.seen.loads[first:]
    narrow_loads = [*_other_than(wide, before, path_of), *after]
    wide_loads = [*before, *_other_than(narrow, after, path_of)]
    return [_evidence(also, narrow, narrow_loads, path_of), _evidence(width, wide, wide_loads, path_of)]


def _other_than(found: Mapping[str, Any], loads: Iterable[Load], path_of: PathOf) -> list[Load]:
    """Return the loads of files that were found in no image."""
    paths = {path_of(image["url"]) for image in found["images"]}
    return [load for load in loads if path_of(load.url) not in paths]


async def _load(tab: Tab, url: str) -> None:
    """Load the page. Raises ``NotSeen``."""
    await tab.load(url)
    if tab.seen.departure is not None:
        raise NotSeen(f"it goes to {tab.seen.departure}", tab.urls, is_final=True)
    if tab.seen.is_late:
        raise NotSeen(RESTLESS, tab.urls)


def _evidence(width: int, found: Mapping[str, Any], loads: Iterable[Load], path_of: PathOf) -> WidthEvidence:
    names = (name for name in found["names"] if not _TIME.search(name))
    return WidthEvidence(width, _images(found["images"], loads, path_of), frozenset(names))


def _images(found: list[dict[str, Any]], loads: Iterable[Load], path_of: PathOf) -> tuple[ImageSeen, ...]:
    """Return the images by path; those that were loaded and are in no box have the size 0."""
    images: dict[str, ImageSeen] = {}
    for image in found:
        path = path_of(image["url"])
        if path is not None:
            images[path] = _joined(images.get(path), _image(path, image))
    for load in loads:
        path = path_of(load.url) if load.kind == "image" and load.status == 200 else None
        if path is not None and path not in images:
            images[path] = ImageSeen(path, 0, 0)
    return tuple(images[path] for path in sorted(images))


def _image(path: str, image: dict[str, Any]) -> ImageSeen:
    flags = (image["isFirst"], image["isBackground"], image["isByScript"], image["isChanged"], image["isHeld"])
    return ImageSeen(path, image["width"], image["height"], *flags)


def _joined(known: ImageSeen | None, image: ImageSeen) -> ImageSeen:
    """Return what two URLs of the same file show of it."""
    if known is None:
        return image
    largest = max(known, image, key=lambda one: one.width * one.height)
    return ImageSeen(
        image.path,
        largest.width,
        largest.height,
        known.is_first or image.is_first,
        known.is_background or image.is_background,
        known.is_by_script or image.is_by_script,
        known.is_changed or image.is_changed,
        known.is_held and image.is_held,
    )


# ---- what a visitor may do with a page, without leaving it

_STATES = ("hover", "focus", "focus-within", "focus-visible")
# Selectors of elements that show something while they are hovered, and such elements
_MOST_SELECTORS, _MOST_ELEMENTS = 40, 80
# Seconds, on an idle machine, for what is asked for in the meantime
_IDLE = 4.0


async def interact(tab: Tab, *, has_scripts: bool) -> None:
    """Interact with a page that ``look.js`` saw. Raises ``BrowserError``.

    Scripts get the events, and style sheets the states; all elements that show something while they are hovered are in
    that state at the same time from here on.
    """
    await tab.run(script("interact"), {"hasScripts": has_scripts, "pace": tab.pace})
    await tab.idle(_IDLE)
    selectors = await tab.run(script("hovering"))
    if not selectors:
        return
    for domain in ("DOM", "CSS"):
        await tab.send(f"{domain}.enable")
    root = (await tab.send("DOM.getDocument", {"depth": 0}))["root"]["nodeId"]
    found = await asyncio.gather(*(_elements(tab, root, selector) for selector in selectors[:_MOST_SELECTORS]))
    elements = dict.fromkeys(chain.from_iterable(found))
    states = ({"nodeId": element, "forcedPseudoClasses": _STATES} for element in islice(elements, _MOST_ELEMENTS))
    await asyncio.gather(*(tab.send("CSS.forcePseudoState", state) for state in states))


async def _elements(tab: Tab, root: int, selector: str) -> list[int]:
    try:
        reply = await tab.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})
    except BrowserError:  # one that only sheets may have
        return []
    return [int(node) for node in reply["nodeIds"]]


# ---- a page on which no script runs

_POLICY = "Content-Security-Policy"


def without_scripts(server: Server) -> Server:
    """Return a server that forbids pages their scripts."""

    def answer(asked: str) -> Answer | None:
        found = server(asked)
        if found is None:
            return None
        headers = dict(found.headers)
        policies = filter(None, (headers.get(_POLICY), "script-src 'none'"))
        return replace(found, headers=tuple({**headers, _POLICY: ", ".join(policies)}.items()))

    return answer
