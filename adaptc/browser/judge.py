"""Judges whether a level keeps what it promises of a page, by what a browser shows of both.

What the original does not keep itself from one load to the next is not asked of a level. Rules are functions in a
table, by what is promised (``PROMISED``): every pixel, the picture but for details, the layout, or the content.

A ``PageView`` is what a page shows at one width: the value that is compared.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any
from urllib.parse import unquote

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import HEIGHTS
from adaptc.browser.pictures import coarse_difference, is_uniform, pixel_difference
from adaptc.browser.tab import RESTLESS, BrowserError, Load, Seen, Tab, script
from adaptc.config.rulebook import Level
from adaptc.core.digest import digest_parts
from adaptc.core.quantities import written_plural
from adaptc.core.values import dataclass, field, fields, replace

# The icon that a browser asks for by itself, and now and then after the page was drawn
_ICON = "/favicon.ico"


# ---- what a page shows at one width


@dataclass(frozen=True, slots=True)
class PageView:
    """A page that was loaded, scrolled through and made still.

    ``picture`` is the whole page as a PNG. ``texts`` are the first characters of every element with text and where
    they begin, ``images`` the boxes of images (left, top, width, height), in CSS pixels. ``missing`` are images of the
    site that could not be shown, ``fonts`` the families of fonts that could not be loaded, ``replaced`` counts U+FFFD.
    ``names`` are ids and anchors, ``links`` the targets of links, ``fields`` the controls of forms (tag, type, name).

    ``seen``, ``seen_links``, ``seen_fields`` and ``seen_images`` are the text, links, controls and images that a reader
    sees; ``reading`` is the text but for the labels of buttons and keys, of which ``labelled`` have one, without keys
    outside the text, as in the field of a search. ``content`` and the like are those of the content, without
    navigation. ``covered`` are those of ``samples`` pieces of the content that lie under something else.

    ``faults`` are those of its looks (``looks.js``), kind and element, of a page that is written without scripts and
    sheets of others.

    ``awake`` is what the page shows once scripts ran that wait for a visitor, ``None`` where none do. ``is_waiting``
    says of a page on which a robot acts that some still wait.

    ``answers`` has the digest of the answer for each URL that was asked for. ``requests`` and ``size`` are the number
    of requests and the bytes of their answers, but for icons of the page: no file of these is loaded without a window,
    and ``icons`` are the characters of those that are in the page.
    """

    mode: str
    text: str
    width: int
    height: int
    texts: tuple[tuple[str, float, float], ...] = ()
    images: tuple[tuple[float, float, float, float], ...] = ()
    missing: tuple[str, ...] = ()
    fonts: tuple[str, ...] = ()
    replaced: int = 0
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    icons: int = 0
    forms: int = 0
    fields: tuple[str, ...] = ()
    seen: str = ""
    seen_links: tuple[str, ...] = ()
    seen_fields: tuple[str, ...] = ()
    reading: str = ""
    labelled: int = 0
    seen_images: tuple[tuple[float, float, float, float], ...] = ()
    content: str = ""
    content_links: tuple[str, ...] = ()
    content_fields: tuple[str, ...] = ()
    samples: int = 0
    covered: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    errors: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    departure: str | None = None
    requests: int = 0
    size: int = 0
    picture: bytes = b""
    awake: PageView | None = None
    is_waiting: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)


async def view_page(browser: Chromium, server: Server, url: str, width: int) -> PageView:
    """Load a page in a tab of its own and return what it shows. Raises ``BrowserError``."""
    recorder = Recorder(server)
    async with browser.tab(recorder, width, HEIGHTS[width]) as tab:
        try:
            async with asyncio.timeout(tab.patience):
                await tab.load(url)
                # a picture gives the window another size for a moment, in which the page may choose other images
                view = _view(await tab.run(script("collect")), tab.seen)
                picture = await tab.picture()
                faults = await _faults(tab)
                awake = _view(await tab.run(script("collect")), tab.seen) if await tab.wake() else None
        except TimeoutError:
            raise BrowserError(RESTLESS) from None
    return replace(view, faults=faults, picture=picture, awake=awake, answers=recorder.digests)


def _view(record: Mapping[str, Any], seen: Seen) -> PageView:
    loads, values = _with_counts(seen.loads), values_of(record)
    return PageView(
        **values,
        errors=tuple(seen.errors),
        failed=tuple(sorted({load.url for load in loads if load.status >= 400})),
        departure=seen.departure,
        requests=len(loads),
        size=sum(load.size for load in loads) - values["icons"],
    )


async def _faults(tab: Tab) -> tuple[tuple[str, str], ...]:
    """Return what is wrong with the looks of a page, in light colours and in dark ones."""
    found = await tab.run(script("looks"))
    if found is None:
        return ()
    await tab.send("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    dark = await tab.run(script("looks"), "faint")
    pairs = [*found, *([kind, f"{place}, in dark colours"] for kind, place in dark or ())]
    return tuple(dict.fromkeys((kind, place) for kind, place in pairs))


def values_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``collect.js`` or ``robot.js`` found, by the names of fields."""
    names = {_camel(each.name): each.name for each in fields(PageView)}
    return {names[key]: _frozen(value) for key, value in record.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _with_counts(loads: list[Load]) -> list[Load]:
    """Return the loads that count: not the icon, and each URL once: a browser's cache has what a page fetched ahead."""
    counted: dict[str, Load] = {}
    for load in loads:
        if not load.url.endswith(_ICON):
            counted.setdefault(load.url, load)
    return list(counted.values())


# ---- what was answered


class Recorder:
    """A server that remembers the digests of its answers."""

    def __init__(self, server: Server) -> None:
        self._server, self.digests = server, dict[str, str]()

    def __call__(self, url: str) -> Answer | None:
        answer = self._server(url)
        self.digests[url] = answer_digest(answer)
        return answer


def answer_digest(answer: Answer | None) -> str:
    """Return the digest of all that a browser may get, whatever it accepts; that of no answer is empty."""
    if answer is None:
        return ""
    headers = (f"{name}: {value}" for name, value in answer.headers)
    alternates = (part for alternate in answer.alternates for part in alternate)
    return digest_parts(answer.body, answer.media_type, str(answer.status), *headers, *alternates)


# What levels are held to: the promise "same"; the same where images are encoded again with a measured loss; "words" on
# the ladder; "words" next to the ladder, where levels leave out what gives a page its layout (halfobject, baseonly);
# "article", where pages are written anew
PIXELS, LIKENESS, LAYOUT, CONTENT, EDITION = "pixels", "likeness", "layout", "content", "edition"

# ---- the judgement

# The share of words, links and controls of the content that must be there
LEAST_KEPT = 0.95
# CSS pixels by which a box may move
_TOLERANCE = 1.0
# The share of the content that may be covered, beyond that of the original
_MOST_COVERED = 0.1
# A page may be larger by its digests and names: a share of its bytes, and bytes
_MORE_SHARE, _MORE_BYTES = 1.001, 64
# A window's height in CSS pixels, in which a page shows something
_WINDOW = 800

Views = Sequence[PageView]
# Takes the loads of the original and that of the level; says what differs, or nothing
Rule = Callable[[Views, PageView], str | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """A promise that is broken: its name in ``PROMISED``, and what was seen, as a phrase."""

    kind: str
    message: str


def promised_by(level: Level) -> str:
    """Return what a level is held to: ``PIXELS``, ``LIKENESS``, ``LAYOUT``, ``CONTENT`` or ``EDITION``."""
    if level.promise == "same":
        targets = {dict(use.options).get("target", "exact") for use in level.passes}
        return PIXELS if targets <= {"exact"} else LIKENESS
    if level.promise == "article":
        return EDITION
    return LAYOUT if level.number is not None else CONTENT


def differences(originals: Views, view: PageView, promised: str) -> tuple[Difference, ...]:
    """Return what a level does not keep of a page; ``originals`` are loads of the original, one or more."""
    rules = PROMISED[promised]
    if view.awake is None:
        return tuple(_broken(rules, originals, view))
    found = {each.kind: each for each in _broken(_AWAKE, originals, view.awake)}
    asleep = {each.kind: each for each in _broken({**rules, **ASLEEP}, originals, view)}
    return tuple((found | asleep).values())


def _broken(rules: Mapping[str, Rule], originals: Views, view: PageView) -> Iterator[Difference]:
    found = ((kind, rule(originals, view)) for kind, rule in rules.items())
    yield from (Difference(kind, message) for kind, message in found if message is not None)


# ---- what every level keeps


def _errors(originals: Views, view: PageView) -> str | None:
    known = reduce(or_, (Counter(map(_normal, each.errors)) for each in originals))
    added = Counter(map(_normal, view.errors)) - known
    sample = next((error for error in view.errors if _normal(error) in added), "")
    return f"{written_plural(added.total(), 'error')} more in the console: {sample}" if added else None


_URL = re.compile(r"(?:https?|blob|data|file):[^\s'\"<>)]+")
_FILE = re.compile(r"(?<![\w./~%-])[\w./~%-]+\.(?:js|css|html?|mjs)\b(\?\S*)?")
_DIGITS = re.compile(r"\d+")


def _normal(error: str) -> str:
    """Return an error without what a rewritten page says otherwise: addresses, names of files, lines."""
    return _DIGITS.sub("#", _FILE.sub("FILE", _URL.sub("URL", error)))


def _failed(originals: Views, view: PageView) -> str | None:
    added = _added((each.failed for each in originals), view.failed)
    return f"{written_plural(len(added), 'request')} more without an answer: {added[0]}" if added else None


def _missing(originals: Views, view: PageView) -> str | None:
    more = len(view.missing) - max(len(each.missing) for each in originals)
    added = _added((each.missing for each in originals), view.missing) or view.missing
    return f"{written_plural(more, 'image')} more not shown: {added[0]}" if more > 0 else None


def _fonts(originals: Views, view: PageView) -> str | None:
    more = len(view.fonts) - max(len(each.fonts) for each in originals)
    return f"{written_plural(more, 'font')} more not loaded: {view.fonts[-1]}" if more > 0 else None


def _encoding(originals: Views, view: PageView) -> str | None:
    more = view.replaced - max(each.replaced for each in originals)
    return f"{written_plural(more, 'character')} more could not be decoded" if more > 0 else None


def _mode(originals: Views, view: PageView) -> str | None:
    before = originals[0].mode
    return f"the document mode is {view.mode}, not {before}" if view.mode != before else None


def _departure(originals: Views, view: PageView) -> str | None:
    if view.departure is None or any(each.departure for each in originals):
        return None
    return f"it leaves for {view.departure}"


def _weight(originals: Views, view: PageView) -> str | None:
    requests, size = max(each.requests for each in originals), max(each.size for each in originals)
    if view.requests > requests:
        return f"{view.requests:,} requests, not {requests:,}"
    if view.size > size * _MORE_SHARE + _MORE_BYTES:
        return f"{view.size:,} bytes, not {size:,}"
    return None


# ---- the layout


def _text(originals: Views, view: PageView) -> str | None:
    return _changed_text([each.text for each in originals], view.text)


def _changed_text(texts: Sequence[str], text: str) -> str | None:
    if len(set(texts)) > 1 or text in texts:
        return None
    before, now = Counter(texts[0].split()), Counter(text.split())
    changes = [*(f"without “{word}”" for word in before - now), *(f"with “{word}”" for word in now - before)]
    return f"another text: {', '.join(changes[:3]) or 'the same words in another order'}"


def _layout(originals: Views, view: PageView) -> str | None:
    if any(_moved(originals[0], other) for other in originals[1:]):
        return None
    return next((moved for each in originals if (moved := _moved(each, view)) is not None), None)


def _moved(before: PageView, now: PageView) -> str | None:
    """Say which text or image stands elsewhere."""
    if abs(before.height - now.height) > _TOLERANCE or before.width != now.width:
        return f"the page has {now.width} x {now.height} pixels, not {before.width} x {before.height}"
    places, known = _numbered(now.texts), _numbered(before.texts)
    for name in filter(places.__contains__, known):
        (left, top), (x, y) = known[name], places[name]
        if max(abs(left - x), abs(top - y)) > _TOLERANCE:
            return f"“{name[0]}” is at {x:g}, {y:g}, not {left:g}, {top:g}"
    if len(before.images) == len(now.images):
        for number, (box, other) in enumerate(zip(before.images, now.images, strict=True), 1):
            if max(abs(a - b) for a, b in zip(box, other, strict=True)) > _TOLERANCE:
                return f"image {number} is at {_written(other)}, not {_written(box)}"
    return None


def _numbered(texts: Iterable[tuple[str, float, float]]) -> dict[tuple[str, int], tuple[float, float]]:
    """Return the places of texts; equal ones are numbered."""
    counts: Counter[str] = Counter()
    places = {}
    for text, left, top in texts:
        counts[text] += 1
        places[text, counts[text]] = (left, top)
    return places


def _written(box: tuple[float, float, float, float]) -> str:
    left, top, width, height = box
    return f"{left:g}, {top:g} ({width:g} x {height:g})"


def _links(originals: Views, view: PageView) -> str | None:
    return _lost("link", (each.links for each in originals), view.links)


def _names(originals: Views, view: PageView) -> str | None:
    return _lost("id or anchor", (list(dict.fromkeys(each.names)) for each in originals), view.names)


def _fields(originals: Views, view: PageView) -> str | None:
    if view.forms < min(each.forms for each in originals):
        return f"{view.forms} forms, not {originals[0].forms}"
    return _lost("control", (each.fields for each in originals), view.fields)


def _lost(noun: str, before: Iterable[Iterable[str]], now: Iterable[str]) -> str | None:
    """Say what all loads of the original have and the level has not."""
    lost = reduce(and_, map(Counter, before)) - Counter(now)
    return f"{lost.total():,} fewer: {noun} {next(iter(lost))}" if lost else None


# ---- the content


# Letters and digits: code that is highlighted has an element for each name and sign, and none between words
_WORD = re.compile(r"\w+")


def _words(originals: Views, view: PageView) -> str | None:
    common = reduce(and_, (_counted(each.content) for each in originals))
    return _too_few("word", common, _counted(view.seen))


def _counted(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _content_links(originals: Views, view: PageView) -> str | None:
    # a target counts once: an image and a title that lead to the same page may become one link
    common = reduce(and_, (Counter(dict.fromkeys(each.content_links, 1)) for each in originals))
    return _too_few("link", common, Counter(view.seen_links))


def _content_fields(originals: Views, view: PageView) -> str | None:
    common = reduce(and_, (Counter(each.content_fields) for each in originals))
    return _too_few("control", common, Counter(view.seen_fields))


def _too_few(noun: str, before: Counter[str], now: Counter[str]) -> str | None:
    kept = before & now
    if kept.total() >= LEAST_KEPT * before.total():
        return None
    lost = before - now
    share = 100 * kept.total() / before.total()
    return f"{share:.0f} % of {written_plural(before.total(), noun)}: without “{next(iter(lost))}”"


def _covered(originals: Views, view: PageView) -> str | None:
    # a text that the original does not have, as that of an image that is left out, may be covered
    covered = [text for text in view.covered if any(text in each.content for each in originals)]
    before = max(len(each.covered) / each.samples if each.samples else 0.0 for each in originals)
    if len(covered) <= (before + _MOST_COVERED) * view.samples:
        return None
    return f"{len(covered)} of {view.samples} texts of the content are covered: “{covered[0]}”"


def _blank(originals: Views, view: PageView) -> str | None:
    if not is_uniform(view.picture, _WINDOW) or any(is_uniform(each.picture, _WINDOW) for each in originals):
        return None
    return "it is blank"


# What a first glance finds, by the kinds of ``looks.js``
_SEEN_FAULTS = {
    "overlap": "texts lie over each other",
    "faint": "a text has a contrast under 3",
    "narrow": "a column is narrower than eight letters",
    "joined": "words run together",
    "edge": "text begins at the edge of the window",
    "empty": "more than half of the first screen is empty",
    "wide": "the page is wider than the window",
    "tiny": "a picture of a card has less than 48 pixels",
    "repeated": "a link says the same as the one before",
    "reference": "a style sheet shows a character reference",
    "sign": "a sign of an icon font stands there without its font",
    "strewn": "nine paragraphs of a word or two follow each other",
}


def _looks(originals: Views, view: PageView) -> str | None:
    if any(each.text == view.text for each in originals):
        return None  # it is not written anew
    return "; ".join(f"{_SEEN_FAULTS[kind]}: {place}" for kind, place in view.faults) or None


def _pixels(originals: Views, view: PageView) -> str | None:
    difference = pixel_difference([each.picture for each in originals], view.picture)
    if difference is None:
        return None
    return f"{100 * difference.share:.2g} % of the pixels differ, from {difference.top} pixels below the top"


def _likeness(originals: Views, view: PageView) -> str | None:
    difference = coarse_difference([each.picture for each in originals], view.picture)
    if difference is None:
        return None
    return f"{100 * difference.share:.2g} % of the page looks different, from {difference.top} pixels below the top"


# ---- pages whose scripts wait for a visitor: before they run a page has all that can be seen, after they ran the rest


def _seen_layout(originals: Views, view: PageView) -> str | None:
    return _layout([_with_seen_images(each) for each in originals], _with_seen_images(view))


def _with_seen_images(view: PageView) -> PageView:
    return replace(view, images=view.seen_images)


def _seen_text(originals: Views, view: PageView) -> str | None:
    """Labels may say later which theme a visitor chose, and keys what they are on his keyboard.

    A hint outside the text that names a key ("Ctrl K" in the field of a search) may be missing until then: which it is
    only scripts know.
    """
    least = min(each.labelled for each in originals)
    if view.labelled < least and _text(originals, view):
        return f"{view.labelled} buttons and keys with a text, not {least}"
    return _changed_text([each.reading for each in originals], view.reading)


def _seen_links(originals: Views, view: PageView) -> str | None:
    return _lost("link", (each.seen_links for each in originals), view.seen_links)


def _seen_fields(originals: Views, view: PageView) -> str | None:
    return _lost("control", (each.seen_fields for each in originals), view.seen_fields)


def _linked_names(originals: Views, view: PageView) -> str | None:
    """Names that links of the page lead to, which are followed without its scripts."""
    linked = {unquote(link.partition("#")[2]) for link in view.links}
    kept = (list(dict.fromkeys(name for name in each.names if name in linked)) for each in originals)
    return _lost("id or anchor", kept, view.names)


def _added(before: Iterable[Iterable[str]], now: Iterable[str]) -> list[str]:
    return sorted(set(now).difference(*before))


_ALWAYS: dict[str, Rule] = {
    "errors": _errors,
    "failed": _failed,
    "missing": _missing,
    "fonts": _fonts,
    "encoding": _encoding,
    "departure": _departure,
    "weight": _weight,
    "blank": _blank,
}
_LAYOUT: dict[str, Rule] = {
    **_ALWAYS, "mode": _mode, "text": _text, "layout": _layout, "links": _links, "controls": _fields, "names": _names,
    "covered": _covered,
}  # fmt: skip
ASLEEP: dict[str, Rule] = {
    "text": _seen_text, "layout": _seen_layout, "links": _seen_links, "controls": _seen_fields, "names": _linked_names,
}  # fmt: skip
_AWAKE: dict[str, Rule] = {kind: rule for kind, rule in _LAYOUT.items() if kind not in ("weight", "blank")}
_CONTENT: dict[str, Rule] = {
    **_ALWAYS, "words": _words, "links": _content_links, "controls": _content_fields, "covered": _covered,
}  # fmt: skip
PROMISED: dict[str, dict[str, Rule]] = {
    PIXELS: {**_LAYOUT, "pixels": _pixels},
    LIKENESS: {**_LAYOUT, "likeness": _likeness},
    LAYOUT: _LAYOUT,
    CONTENT: _CONTENT,
    EDITION: {**_CONTENT, "looks": _looks},
}
