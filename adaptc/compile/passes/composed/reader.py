"""A page is read into a model of what it says, from which it is written anew.

Everything a visitor can read stays, in order: the main content first where one stands out, then what stands around
it. The frame is read apart: the site, menus, breadcrumb, pagination, foot. What has no place comes at the end: links
and controls of regions that are written otherwise, or not at all. An extractor of articles would make pages shorter,
but loses those that are no articles: of the sites at hand the one of turbohtml found nothing on a third of the pages,
and only a part on another third.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from turbohtml import Document, Element, Node, Text

from adaptc.compile.passes.composed import blocks, phrases, writer
from adaptc.compile.passes.composed.flow import HEADING_TAGS, LONGEST_PIECE, Flow, IdQueue, joined
from adaptc.compile.passes.composed.frame import Frame, hrefs_of, is_foot, is_head, link_of, read_frame, related_pages
from adaptc.compile.passes.composed.layout import Layout, accents
from adaptc.compile.passes.composed.phrases import host_of
from adaptc.compile.passes.composed.pictures import LOGO, NO_PICTURES, Pictures
from adaptc.compile.passes.composed.story import find_hero, find_story
from adaptc.compile.passes.composed.witnesses import (
    LOGO_WORD,
    Statements,
    named_site,
    page_title,
    read_statements,
    title_parts,
    without_site,
)
from adaptc.compile.passes.composed.writer import Group, Page, Site
from adaptc.core.facts import BoundedCache
from adaptc.core.values import dataclass, replace
from adaptc.formats.html.cards import find_cards
from adaptc.formats.html.document import parse
from adaptc.formats.html.forms import control_type, find_forms
from adaptc.formats.html.idle import skip_links
from adaptc.formats.html.landmarks import (
    Landmarks,
    NavigationLink,
    SiteIdentity,
    content_links,
    find_landmarks,
    find_site,
    inner_navigation,
    is_called_navigation,
    navigation_links,
)
from adaptc.formats.html.syntax import attribute_markup, class_words, text_markup
from adaptc.formats.html.visible_text import (
    content_length,
    content_texts,
    fold_space,
    is_followable,
    link_label,
    link_name,
)

__all__ = ["ComposedPage", "Settings", "compose"]

_WRITERS = {**phrases.WRITERS, **blocks.WRITERS}
_STYLE = "/*style*/"  # until the rules are known
_XML_SUFFIXES = (".xhtml", ".xht", ".xml")
_LEFT_OUT = ("img", "script", "style", "link", "iframe", "video", "audio", "object", "embed", "svg", "canvas")
_OPEN_LINKS = 8  # links of a menu that is not folded
# Elements in each other. Real pages reach 40; five calls a level are far from the 1,000 that Python allows.
_DEEPEST = 120
_SHORTEST_LEAD = 100  # characters of the first paragraph of an article
_LONGEST_SEARCH = 600  # characters
_HOME = re.compile(r"(?:https?://[^/]+)?/?(?:\.{1,2}/)*(?:index\.\w+)?")
_BACK = frozenset({"arrow", "back", "chevron", "prev", "previous"})  # classes of a link to the page above
_FOR_READERS = frozenset({"sr", "screen", "visually", "assistive"})  # classes of words that only screen readers say
_NO_TARGET = re.compile(r"\s*(?:mailto:|tel:|https?:/*)?\s*")
_PARTS = ("footer", "div", "section", "table", "td", "tr", "p", "ul", "center", "aside", "header")  # head and foot
_LONGEST_FOOT = 0.4  # of the page's text
_ANY_TAG = re.compile(r"""<(/?)([a-z][a-z0-9]*)((?>(?:[^<>"']|"[^"]*"|'[^']*')*))>""")
_HEADINGS = re.compile(r"<h[1-6][^>]*>(.*?)</h")
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"\A[\d.]+\s+")  # of a chapter
_CONTROL = re.compile(r"<(?:input|select|textarea|button)\b")
_SEARCH = "input[type=search i], input[name=q i], input[name=s i], input[name*=search i], input[name*=query i]"

# A page -> the texts of its style sheets, in order
SheetsOf = Callable[[Document], Sequence[str]]
# A page -> the links of menus that its scripts would write
MenusOf = Callable[[Document], Sequence[NavigationLink]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site may choose: the texts of its own template and sheet, its accent colour, the line at the top.

    ``notice`` is "off", "on" or a text; ``full`` is the address of the full page, with ``{path}`` for that of the page.
    """

    template: str = ""
    style: str = ""
    accent: str = ""
    notice: str = "off"
    full: str = ""


@dataclass(frozen=True, slots=True)
class ComposedPage:
    """The text of a composed page, and what was left out of it: (element, count)."""

    text: str
    left_out: tuple[tuple[str, int], ...]


def compose(
    text: str,
    *,
    url_path: str,
    tree: Document | None = None,
    title_of: phrases.TitleOf = lambda _: "",
    sheets_of: SheetsOf = lambda _: (),
    menus_of: MenusOf = lambda _: (),
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    pictures: Pictures = NO_PICTURES,
) -> ComposedPage | str:
    """Compose the page at ``url_path`` anew; a string is the reason why it cannot be. Raises ``BadTemplate``.

    ``tree`` is what ``text`` was parsed to, and is changed.
    ``title_of`` returns the title of the page to which a URL leads, or ``""``: it names a link without a name.
    ``sheets_of`` returns the style sheets of the page: they say what never shows, and where words are apart.
    ``menus_of`` returns the links of menus that scripts write.
    ``pictures`` writes the images that the page may have.

    The result is declared in the encoding of the source. Characters beyond ASCII that the source does not hold are
    written as references: where the source declares no encoding, that may not be what it seems.
    """
    if url_path.lower().endswith(_XML_SUFFIXES):
        return "it is served as XML, whose markup is stricter"
    tree = parse(text) if tree is None else tree
    if _depth(tree) > _DEEPEST:
        return f"its elements are nested more than {_DEEPEST} levels deep"
    if tree.select_one("frameset frame[src]") is not None:
        return "its content is in frames"
    asked: dict[str, str] = {}

    def title(url: str) -> str:
        return asked.setdefault(url, title_of(url))

    phrases.name_links(tree, title)
    key = (text, url_path, settings, tuple(sheets_of(tree)), tuple(menus_of(tree)))
    if pictures is not NO_PICTURES:
        return _compose(tree, key, title, pictures)
    titles, page = _composed.get(key) or ({}, None)
    if page is None or any(title_of(url) != known for url, known in titles.items()):
        page = _compose(tree, key, title, pictures)
        _composed.put(key, (asked, page), 2 * len(text))
    return page


# Pages without pictures are the same at level text as at the one above. Characters that a worker keeps
_Key = tuple[str, str, Settings, tuple[str, ...], tuple[NavigationLink, ...]]
_composed = BoundedCache[_Key, tuple[dict[str, str], "ComposedPage | str"]](16 << 20)


def _compose(tree: Document, key: _Key, title_of: phrases.TitleOf, pictures: Pictures) -> ComposedPage | str:
    text, url_path, settings, sheets, menus = key
    layout = Layout(tree, sheets, text)
    page = _Reader(tree, text, layout, title_of, pictures, menus, url_path.rpartition("/")[2]).page()
    if page is None:
        return "it shows no text without its scripts"
    page = replace(page, notice=writer.notice_for(settings.notice, settings.full, url_path, page.words))
    # the rules that a page needs are known once it is written
    written = writer.render(replace(page, style=_STYLE), settings.template)
    style = writer.style_for(written, accents(tree, layout, settings.accent), settings.style)
    written = writer.reference_new_characters(written, text).replace(_STYLE, style)
    left_out = Counter(element.tag for element in tree.iter_elements(_LEFT_OUT))
    return ComposedPage(written, tuple(sorted(left_out.items())))


def _depth(tree: Document) -> int:
    """Return the depth of the deepest element."""
    level, deepest = list(tree.children), 0
    while level := [child for node in level if isinstance(node, Element) for child in node.children]:
        deepest += 1
    return deepest


class _Reader:
    """Reads one page."""

    def __init__(
        self,
        tree: Document,
        text: str,
        layout: Layout,
        title_of: phrases.TitleOf,
        pictures: Pictures,
        menus: Sequence[NavigationLink],
        name: str,
    ) -> None:
        self.tree, self.text, self.layout, self.pictures, self.menus = tree, text, layout, pictures, menus
        self.name = name
        _show_defaults(tree)
        self.landmarks, self.forms, self.cards = find_landmarks(tree), find_forms(tree), find_cards(tree)
        self.repeated_forms = self.forms.repeats()
        self.called_main = self.landmarks.main
        self.statements = read_statements(tree)
        self.skipping = {each for body in tree.select("body") for each in skip_links(body)}
        self.linked = writer.linked_ids(text, self.skipping)
        self.story = find_story(tree, self.landmarks, self.statements, page_title(tree))
        self.landmarks = _sorted_navigation(Landmarks(self.story.main, self.landmarks.navigation))
        found, host = find_site(tree), _own_host(tree)
        if found.brand is None or not _is_of(host, found.home):
            home = _find_home(tree, self.landmarks, self.statements, host)
            found = home or (found if _is_first_of_page(tree, found.brand) else SiteIdentity("", "", None))
        if self.story.site is not None:
            found = found._replace(name=fold_space(self.story.site.text))
        self.site = named_site(found, self.statements, title_of, title_parts(page_title(tree)))
        self.flow = self._flow()

    def _flow(self) -> Flow:
        brand, name = self.site.brand, self.site.name
        # the name says all that the link to the home does, which may be a picture
        is_named = (
            brand is not None and bool(name) and (LOGO_WORD.sub("", link_name(brand)) == name or not brand.text.strip())
        )
        left_out = [*self.landmarks.navigation, *filter(None, [self.story.site])]
        left_out += [*self.cards.repeats, *self.repeated_forms, *self.skipping]
        left_out += [brand] if brand is not None and (is_named or self.story.site is not None) else []
        ids, hidden = IdQueue(self.linked, self.tree, self._is_in_story), self.layout.messages()
        return Flow(self.tree, self.forms, ids, left_out, _WRITERS, self.layout, hidden, self.cards, self.pictures)

    def _is_in_story(self, element: Element) -> bool:
        main, around = self.story.main, {element, *element.ancestors}
        return main is None or (main in around and around.isdisjoint(self.story.asides))

    def page(self) -> Page | None:
        """Return the model of the page, ``None`` if there is nothing to read or to fill in."""
        body = self.tree.select_one("body")
        if body is None:
            return None
        logo = self._logo()
        unseen = self._leave_out_unseen()
        self.flow.hrefs.update(filter(None, (each.attr("href") for each in self.skipping)))
        feet, heads = self._called(body, is_foot), self._called(body, is_head)
        main = self._main()
        search = self._search(body)
        heads = [each for each in heads if each.select_one("a[href], form, img, svg, nav") is not None]
        heads = [each for each in heads if each not in (*self.flow.left_out, *find_hero(body, self.landmarks.main))]
        self.flow.left_out.update([*feet, *heads])
        asides = [each for each in self.story.asides if each not in self.landmarks.navigation]
        around = "".join(map(self._released, asides)) + self.flow.write(body.children)
        head = "".join(self._released(each) for each in heads)
        footer = "".join(self._released(foot) for foot in feet)
        frame = self._frame(feet, unseen)
        rest = head + self._forms_left() + self.flow.ids.write_anchors()
        if self.landmarks.main is None:
            main, around = around, ""
        if not _is_usable(main + around + rest + footer):
            main = writer.refresh_link(self.tree)
            return self._model(main) if main else None
        page = self._model(main, search, around + rest, footer, frame)
        return replace(page, site=replace(page.site, logo=logo if page.site.name else ""))

    def _logo(self) -> str:
        """Return the picture of the link that shows the site, with the words beside it."""
        brand = self.site.brand
        if brand is None or not self.site.name:
            return ""
        texts = ((text.data.split(), text.parent) for text in content_texts(brand))
        beside = " ".join(word for words, parent in texts if self._is_seen(parent) for word in words)
        shown = (each for each in brand.select("img") if not self.layout.is_hidden_somewhere(each))
        role = replace(LOGO, has_words=False) if beside else LOGO
        logo = next(filter(None, (self.pictures(each, role) for each in shown)), "")
        return f"{logo} {text_markup(beside)}" if logo and beside else logo

    def _is_seen(self, node: Node | None) -> bool:
        is_read_only = isinstance(node, Element) and not _FOR_READERS.isdisjoint(class_words(node))
        return isinstance(node, Element) and not is_read_only and not self.layout.is_hidden_somewhere(node)

    def _released(self, element: Element) -> str:
        self.flow.left_out.discard(element)
        return self.flow.write([element])

    def _main(self) -> str:
        """Return the main content, with the heading above it; ``""`` where none stands out."""
        main = self.landmarks.main
        if main is None:
            return ""
        lead = [each for each in self.story.lead if each not in self.flow.left_out]
        self.flow.left_out.update(self.story.asides)
        inner = self.flow.write([*lead, main]) + self.flow.ids.write_anchors()
        self.flow.left_out.update([*lead, main])
        return inner

    # ---- around the main content

    def _leave_out_unseen(self) -> list[Element]:
        """Leave out what is hidden around the main content: closed baskets, menus of telephones, dialogues."""
        main = self.called_main
        if main is None:
            return []
        apart = {main, *main.ancestors}
        unseen = [each for each in self.layout.unseen() if not self._is_opened_by_link(each)]
        unseen = [each for each in (*unseen, *self.layout.consent_bars()) if each not in apart]
        unseen = [each for each in unseen if main not in each.ancestors]
        self.flow.left_out.update(unseen)
        return unseen

    def _is_opened_by_link(self, element: Element) -> bool:
        """Whether a link of the page leads to an element, or into it: a dialogue, conditions of sale."""
        named = (each.attr("id") for each in (element, *element.select("[id]")))
        return not self.linked.isdisjoint(filter(None, named))

    def _called(self, body: Element, is_called: Callable[[Element], bool]) -> list[Element]:
        """Return the outermost elements that are called the head or the foot of the page, around its main content."""
        main, most = self.landmarks.main, _LONGEST_FOOT * content_length(body)
        apart = {body, *((main, *main.ancestors) if main is not None else ())}
        inside = ("article", "main", "blockquote", "section")
        found: list[Element] = []
        for element in body.iter_elements(_PARTS):
            if element in apart or not is_called(element):
                continue
            around = [each for each in element.ancestors if isinstance(each, Element)]
            if main in around or any(each in found or each.tag in inside for each in around):
                continue
            if content_length(element) <= most and element.select_one("h1") is None:
                found.append(element)
        return found

    def _search(self, body: Element) -> str:
        """Return the form of the page's search, if it is not in the main content."""
        main = self.landmarks.main
        for control in body.select(_SEARCH):
            form = self.forms.owner.get(control)
            if form is None or main is None or form not in self.forms.working or main in form.ancestors:
                continue
            if form not in self.flow.left_out and content_length(form) <= _LONGEST_SEARCH:
                self.flow.left_out.update(form.select("h2, h3, h4, h5, h6"))  # "Search form", for screen readers
                markup = self.flow.write([form])
                self.flow.left_out.add(form)
                return markup
        return ""

    def _frame(self, feet: list[Element], unseen: list[Element]) -> Frame:
        """Return the links of the frame; those in what is left out come last."""
        known = {self.site.home if self.site.name else None, *(each.attr("href") for each in self.skipping)}
        related = related_pages(self.tree)
        frame = read_frame(self.landmarks.navigation, filter(None, known), feet, related, self.name)
        written = [link for link in self.menus if link.href not in frame.hrefs]
        if written:
            frame.menu.append(Group("", tuple(map(link_of, written))))
            frame.hrefs.update(link.href for link in written)
        elsewhere = frame.hrefs | self.flow.hrefs
        regions = (each for each in unseen if not elsewhere.issuperset(hrefs_of(each)))
        rest = read_frame(regions, elsewhere, (), related, self.name)
        apart = Group("", (*rest.breadcrumb, *rest.pagination))  # hidden, and called so: a folded list of pages
        frame.menu += [*rest.menu, *rest.contents, *rest.foot, *([apart] if apart.links else [])]
        frame.hrefs |= rest.hrefs
        wanted = [*navigation_links(self.landmarks), *self._links_left()]
        lost = [link for link in wanted if link.href not in frame.hrefs and link.href not in self.flow.hrefs]
        if lost:
            links = dict.fromkeys(map(link_of, lost))
            frame.foot.append(Group("", tuple(links)))
        return frame

    def _links_left(self) -> Iterator[NavigationLink]:
        """Yield the links that no part has: those that scripts show in a menu, and those that only a style draws."""
        seen, asking = set(self.flow.hrefs), set(self.layout.consent_bars())
        left = [each for each in self.tree.select("a[href]") if each.attr("href") not in seen]
        has_fragments = any((link.attr("href") or "").startswith("#") for link in left)
        in_content = set(content_links(self.tree, self.landmarks)) if has_fragments else ()
        for link in left:
            href = link.attr("href") or ""
            is_within = href.startswith("#") and href not in in_content
            if href in seen or is_within or not is_followable(href) or _NO_TARGET.fullmatch(href):
                continue
            if link.closest("template, noscript") is None and asking.isdisjoint(link.ancestors):
                seen.add(href)
                names = (fold_space(link.text), link_label(link), host_of(href), href)
                yield NavigationLink(href, next(name for name in names if any(map(str.isalnum, name)) or name == href))

    def _forms_left(self) -> str:
        """Return the forms and controls that are in no part that was written."""
        pieces: list[str] = []
        wanted = self.forms.working.difference(self.repeated_forms)
        for form in self.tree.select("form"):
            if form in wanted and form not in self.flow.written:
                self.flow.left_out.discard(form)
                pieces.append(self.flow.write([form]))
        for control, form in self.forms.owner.items():
            if form in wanted and control not in self.flow.written and control_type(control) != "reset":
                pieces.append(self.flow.write([control]))
        return "".join(pieces)

    # ---- the model

    def _model(
        self, main: str, search: str = "", around: str = "", footer: str = "", frame: Frame | None = None
    ) -> Page:
        frame = Frame() if frame is None else frame
        language = writer.page_language(self.tree)
        words = writer.words_for(language)
        site = self._site(main)
        main = ("" if site.is_heading else self._missing_heading(main)) + _REPEATED.sub(r"\1", main)
        name = f"<h1>{site.name}</h1>"
        if site.name and main.startswith(name):  # which stands above it
            site, main = replace(site, is_heading=True), main.removeprefix(name)
        links = sum(len(group.links) for group in frame.menu)
        page = Page(
            writer.page_start(self.tree, self.text, language), writer.head_markup(self.tree, self.text, main, around),
            "", writer.body_tag(self.tree, self.linked),
            site, writer.notice_for("off", "", "", words), {name: text_markup(word) for name, word in words.items()},
            menu=tuple(frame.menu), is_long=links > _OPEN_LINKS or len(frame.menu) > 1, search=search,
            breadcrumb=tuple(frame.breadcrumb), contents=tuple(frame.contents),
            pagination=tuple(frame.pagination), footer_links=tuple(frame.foot),
        )  # fmt: skip
        rank = [site.is_heading]
        main = _with_steps(_with_byline(_close_ranks(main, rank)))
        return replace(page, main=main, rest=_close_ranks(around, rank), footer=_close_ranks(footer, rank))

    def _site(self, main: str) -> Site:
        name = text_markup(self.site.name)
        if not name:
            return Site()
        link = f" {attribute_markup('href', self.site.home)}" if self.site.home else ""
        title = page_title(self.tree).casefold()
        is_heading = "<h1" not in main and title in (self.site.name.casefold(), "") and "<h2" in main
        return Site(name, link, is_heading)

    def _missing_heading(self, main: str) -> str:
        """Return the title as a heading for a page that has none."""
        title = self.statements.title or page_title(self.tree)
        title = text_markup(without_site(title, self.site.name) or title)
        whole = text_markup(page_title(self.tree))
        match = _HEADINGS.search(main)
        heading = fold_space(_TAG.sub("", match[1])) if match else ""
        said = {heading, _NUMBER.sub("", heading)} - {""}
        has_heading = "<h1" in main or not said.isdisjoint((title, *title_parts(whole)))
        return f"<h1>{title}</h1>" if title and not has_heading else ""


def _show_defaults(tree: Document) -> None:
    """Show one of the phrases of which a script would show one: a key's name on the visitor's system."""
    for first in tree.select("span[hidden]:first-child"):
        around = first.parent
        each = [each for each in around.children if isinstance(each, Element)] if isinstance(around, Element) else []
        is_whole = isinstance(around, Element) and around.text.strip() == "".join(one.text for one in each).strip()
        if len(each) > 1 and is_whole and all("hidden" in one.attrs and one.tag == "span" for one in each):
            del each[-1].attrs["hidden"]


def _find_home(tree: Document, landmarks: Landmarks, statements: Statements, host: str) -> SiteIdentity | None:
    """Return the link above the main content that says what the page's title says of the site, or leads home."""
    names = {statements.site.casefold(), *(part.casefold() for part in title_parts(page_title(tree))[1:])} - {""}
    inside = {landmarks.main} if landmarks.main is not None else set()
    for link in tree.select("a[href]"):
        if link.closest("blockquote, cite, figure") is not None:
            continue
        name = link_name(link)
        is_first = _HOME.fullmatch(link.attr("href") or "") and link.closest("nav, ul, ol") is None and len(name) > 3
        is_first = is_first and _BACK.isdisjoint(class_words(link)) and host_of(link.attr("href") or "") in ("", host)
        is_apart = link.closest("form") is None and not _is_in_sentence(link)
        if (name.casefold() in names or is_first) and is_apart and inside.isdisjoint(link.ancestors):
            return SiteIdentity(name, link.attr("href") or "", link)
        if link.closest("main, article, h2, h3, p") is not None:
            return None
    return None


def _is_in_sentence(link: Element) -> bool:
    """Whether there are words right before or after a link: "a part of (<a>The Bay</a>)"."""
    siblings = [*link.previous_siblings, *link.next_siblings]
    return any(isinstance(each, Text) and any(map(str.isalnum, each.data)) for each in siblings)


def _is_first_of_page(tree: Document, brand: Element | None) -> bool:
    """Whether a brand stands above the content: what is called so below a heading is somebody else's."""
    first = next((each for each in tree.iter_elements(("a", "h1", "main")) if each == brand or each.tag != "a"), None)
    return first in (brand, None)


def _own_host(tree: Document) -> str:
    """Return the host of a page: of its canonical address, or of most of its links; ``""`` if these name none."""
    canonical = tree.select_one("link[rel=canonical i][href]")
    if canonical is not None and (host := host_of(canonical.attr("href") or "")):
        return host
    hrefs = (each.attr("href") or "" for each in tree.select("a[href]"))
    hosts = Counter(host_of(href) for href in hrefs if is_followable(href) and not href.startswith("#"))
    return max(hosts, key=hosts.__getitem__, default="")


def _is_of(host: str, url: str) -> bool:
    """Whether a URL is of a host, or of another of its domain."""
    other = host_of(url)
    return other in ("", host) or other.split(".")[-2:] == host.split(".")[-2:]


def _sorted_navigation(landmarks: Landmarks) -> Landmarks:
    """Return the landmarks with menus that are in the main content, and without lists of links in the foot.

    A list in the foot that is not called a menu belongs to the heading above it.
    """
    inner = inner_navigation(landmarks.main) if landmarks.main is not None else []
    outer = [each for each in landmarks.navigation if not _is_list_of_foot(each)]
    return Landmarks(landmarks.main, (*outer, *inner))


def _is_list_of_foot(region: Element) -> bool:
    if region.tag not in ("ul", "ol") or is_called_navigation(region):
        return False
    return any(isinstance(each, Element) and is_foot(each) for each in region.ancestors)


def _is_usable(markup: str) -> bool:
    """Whether there is anything to read or to fill in, and not anchors alone."""
    return bool(_TAG.sub("", markup).strip()) or _CONTROL.search(markup) is not None


_BYLINE = re.compile(r"(</h1>)((?:<p>(?:(?!</?p\b).)*</p>)+)")


def _with_byline(markup: str) -> str:
    """Return content with the short paragraphs below its title in one line: who wrote it, when, where."""
    match = _BYLINE.search(markup)
    if match is None:
        return markup
    paragraphs = match[2].split("</p>")[:-1]
    count = next((place for place, each in enumerate(paragraphs) if len(_TAG.sub("", each)) > LONGEST_PIECE), None)
    if not count or len(_TAG.sub("", paragraphs[count])) < _SHORTEST_LEAD:
        return markup
    short = [f"{each}</p>" for each in paragraphs[:count]]
    rest = "".join(f"{each}</p>" for each in paragraphs[len(short) :])
    return f"{markup[: match.end(1)]}{''.join(joined(short))}{rest}{markup[match.end() :]}"


# A title below the link of its picture, which is called as it is
_REPEATED = re.compile(r"(<a [^<>]*>([^<>]{1,200})</a>(?:</p>)?)<p>\2</p>")

_STEP = re.compile(r"<p>(\d{1,2}\.?)</p><p>(?=\w|<a )")


def _with_steps(markup: str) -> str:
    """Return content with numbers that stand alone before the steps that they count."""
    numbers = [int(each[1].rstrip(".")) for each in _STEP.finditer(markup)]
    is_count = len(numbers) > 1 and numbers == list(range(1, len(numbers) + 1))
    return _STEP.sub(r"<p>\1 ", markup) if is_count else markup


def _close_ranks(markup: str, has_title: list[bool]) -> str:
    """Return content with one first heading and no skipped rank (WCAG techniques G141 and H42).

    ``has_title`` says whether a first heading was written before, and is updated.
    """
    ranks: list[tuple[int, int]] = []
    is_coming = "<h1" in markup

    def written(match: re.Match[str]) -> str:
        if match[2] not in HEADING_TAGS:
            return match[0]
        if not match[1]:
            ranks.append((int(match[2][1]), _rank(int(match[2][1]))))
        return f"<{match[1]}h{ranks[-1][1]}{match[3]}>"

    def _rank(rank: int) -> int:
        while ranks and ranks[-1][0] >= rank:
            ranks.pop()
        if not has_title[0] and (rank == 1 or not is_coming):
            has_title[0] = True
            return 1
        return min(6, ranks[-1][1] + 1) if ranks else 2

    return _ANY_TAG.sub(written, markup)
