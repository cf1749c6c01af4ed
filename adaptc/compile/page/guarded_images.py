"""Images that show another file than the one that ``src`` names, until a script gives them an address.

On a page with scripts nothing needs to be known of them. The ``src`` stays as the author wrote it, for whoever reads it
or takes it apart, and so do the element and its size; a source set shows the copy, the placeholder or the data URI.
``GUARD`` gives way: once an image has another ``src``, also one that was changed as text or while the image was in no
document, the new address is its source set, and a source set of a script's own stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, is_isolated
from adaptc.formats.css.selectors import static_selectors
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import split_tokens
from adaptc.formats.script.inert import are_inert
from adaptc.formats.script.lookups import Handles, union_of

if TYPE_CHECKING:
    from turbohtml import Document, Element

BY_ADDRESS = "a style sheet selects images by their addresses"
"""A reason for an action."""
MARK = "data-half"
"""The attribute of guarded images: a checksum of their ``src``, nothing once they gave way."""

# Without a source set Chromium 156 keeps the density of the one before. What the parser adds needs no look.
GUARD = (
    "(d=>{let f=e=>{let a=e.getAttribute?.('data-half');"
    "if(a!=null&&a!=[...e.getAttribute('src')||''].reduce((h,c)=>(h*31+c.codePointAt())%9999991,7))"
    "{e.dataset.half='';e.removeAttribute('sizes');e.style.aspectRatio='';"
    "e.srcset=e.src.replace(/ /g,'%20')}},"
    "g=e=>e.querySelectorAll?.('[data-half]').forEach(f),"
    "o=new MutationObserver(r=>{r.map(m=>m.attributeName=='srcset'&&delete m.target.dataset.half);"
    "r.map(m=>{f(m.target);m.addedNodes.forEach(e=>{f(e);g(e)})});o.takeRecords()}),"
    "w=childList=>o.observe(d,{subtree:true,childList,attributeFilter:['src','srcset']});"
    "w();addEventListener('DOMContentLoaded',()=>{g(d);o.takeRecords();w(true)})})(document);"
)
# An image that cannot be shown: ``GUARD`` takes another checksum for another address
_FALLBACK = (
    ";document.addEventListener('error',({target:t})=>"
    "t.dataset?.half&&(t.dataset.half='0',t.setAttribute('src',t.getAttribute('src'))),true);"
)
# For scripts that ask for it: what is shown is what the author wrote
_SHOWN = "currentSrc"
_ANSWER = (
    "(h=>{let c=Object.getOwnPropertyDescriptor(h,'currentSrc');Object.defineProperty(h,'currentSrc',"
    "{...c,get(){return IS_OURS?this.src:c.get.call(this)}})})(HTMLImageElement.prototype)"
)
_IS_OURS = "IS_OURS"


class GuardedImages:
    """Shows other files as images of one page."""

    def __init__(self, editor: Editor, page: PageContext) -> None:
        self.editor, self.page = editor, page
        self.is_needed = page.has_scripts and not _are_inert(page)
        """Whether a script of the page may look at its images."""
        self._has_shown = False

    def show(self, image: Element, srcset: str, sizes: str | None = None) -> None:
        """Show a source set, in the size of the original; an image of several files has no guard, as ``src`` is none.

        ``finish`` must follow.
        """
        is_alone = "srcset" not in image.attrs
        self.editor.set_attribute(image, "srcset", srcset)
        if sizes is not None:
            self.editor.set_attribute(image, "sizes", sizes)
        if is_alone:
            self.editor.set_attribute(image, MARK, checksum(image.attr("src") or ""))
            self._has_shown = True

    def finish(self, *, falls_back: bool = False) -> None:
        """Write the script, before the others, where an image needs it and the page does not have it.

        With ``falls_back`` an image whose copy cannot be shown shows the file of its ``src``. The script goes into the
        head: in the body it would be a sibling that selectors and scripts count.
        """
        if self._has_shown:
            answer = _ANSWER.replace(_IS_OURS, "this.dataset.half!=null") if _may_ask(self.page) else ""
            _insert_before_others(self.editor, GUARD, answer + _FALLBACK * falls_back)


def answer_as_written(editor: Editor, page: PageContext, is_ours: str) -> None:
    """Have scripts that ask for what an image shows get its ``src``, where the JavaScript ``is_ours`` is true of it."""
    if _may_ask(page):
        _insert_before_others(editor, _ANSWER.replace(_IS_OURS, is_ours))


def _may_ask(page: PageContext) -> bool:
    return bool(page.unseen_scripts) or any(_SHOWN in _text(script) for script in page.scripts)


_MAKES_IMAGES = re.compile(r"\bnew\s+(?:window\.)?Image\b|createElement\(\s*[\"'`]img\b", re.IGNORECASE)


def makes_images(page: PageContext) -> bool:
    """Whether a script of the site makes images, which may load the addresses of others as well as their copies."""
    return any(map(_makes_images, page.scripts))


@lru_cache(maxsize=256)
def _makes_images(script: str | bytes) -> bool:
    return _MAKES_IMAGES.search(_text(script)) is not None


def _insert_before_others(editor: Editor, code: str, more: str = "") -> None:
    """Insert a script into the head, before the others, where the page does not have it."""
    scripts = [each for each in editor.tree.iter_elements("script") if not is_isolated(each, editor.text)]
    if any(each.text.startswith(code) for each in scripts):
        return
    head, markup = editor.tree.select_one("head"), f"<script>{code}{more}</script>"
    first = next((each for each in scripts if any(above is head for above in each.ancestors)), None)
    if first is not None:
        editor.insert_before(first, markup)
    elif head is not None:
        editor.append(head, markup)


# ---- lazy images, for scripts whose text nobody saw: one that asks whether an image is loaded, or how large it is, has
# it loaded, and gets its own size meanwhile

_DEFERRED = "data-deferred"
_LOADED_WHEN_ASKED = (
    "(p=>{let w=(k,n)=>{let c=Object.getOwnPropertyDescriptor(p,k),a='get'in c?'get':'value';Object.defineProperty(p,k,"
    "{...c,[a](){let m=this.getAttribute('data-deferred');m&&(this.loading='eager');"
    "let r=c[a].call(this);return m&&n>=0&&!r?+m.split('x')[n]:r}})};"
    "w('complete');w('decode');w('naturalWidth',0);w('naturalHeight',1)})(HTMLImageElement.prototype)"
)


def defer_images(editor: Editor, images: Mapping[Element, tuple[int, int]], page: PageContext) -> None:
    """Make images lazy; the values are their own sizes."""
    for image, (width, height) in images.items():
        editor.set_attribute(image, "loading", "lazy")
        editor.set_attribute(image, "decoding", "async")
        if page.unseen_scripts:
            editor.set_attribute(image, _DEFERRED, f"{width}x{height}")
    if images and page.unseen_scripts:
        _insert_before_others(editor, _LOADED_WHEN_ASKED)


def _are_inert(page: PageContext) -> bool:
    return not page.unseen_scripts and are_inert([facts.inertness for facts in page.scripts.values()])


def checksum(address: str) -> str:
    """Return what ``GUARD`` computes of an address."""
    return str(reduce(lambda total, letter: (total * 31 + ord(letter)) % 9999991, address, 7))


# ---- Images that a known library loads late: it copies ``data-src`` to ``src``, and ``data-srcset`` to ``srcset``
# Of lazysizes, lozad and vanilla-lazyload that is known. Others, which copy the address alone, leave no way to say
# the size of a smaller copy.

# What the text of each library holds
_MARKS = (
    ("lazySizesConfig", 'srcsetAttr:"data-srcset"'),
    ("lozad", 'getAttribute("data-srcset")'),
    ('data_src:"src"', 'data_srcset:"srcset"'),
)
_LARGEST = 40_000  # characters of a library: a larger file has other code as well
_SPACE = re.compile(r"\s+")
_READS = re.compile(r"""data-src\b|\bdataset\.src\b|\bdata\(\s*["']src["']""")
_OTHER = frozenset({"srcset", "sizes", "data-srcset", "data-sizes"})


def has_lazy_loader(page: PageContext) -> bool:
    """Whether a page has such a library, and no other script reads ``data-src``."""
    others = [script for script in page.scripts if not _is_loader(script)]
    return len(others) < len(page.scripts) and not any(map(_reads_source, others))


def lazy_source(image: Element) -> str | None:
    """Return the address that the library gives an image, ``None`` if there is a choice of others."""
    return None if not _OTHER.isdisjoint(image.attrs) else image.attr("data-src")


@lru_cache(maxsize=256)
def _is_loader(script: str | bytes) -> bool:
    if len(script) > _LARGEST:
        return False
    code = _SPACE.sub("", _text(script)).replace("'", '"')
    return any(all(mark in code for mark in marks) for marks in _MARKS)


@lru_cache(maxsize=256)
def _reads_source(script: str | bytes) -> bool:
    return _READS.search(_text(script)) is not None


def _text(script: str | bytes) -> str:
    return script if isinstance(script, str) else script.decode("utf-8", "replace")


# ---- The images that scripts may take hold of, where one of them changes addresses, for passes without a guard

# Classes that scripts give to one element after the other
_STATE_CLASS = re.compile(
    r"\.(?:in|on|hover|(?:is|has|js)-[\w-]+|[\w-]*(?:active|current|focus|open|select|selected|show|visible))(?![\w-])"
)


def stateless(selector: str) -> str:
    """Return a selector that takes classes of states (``active``, ``open``) for set on every element."""
    return _STATE_CLASS.sub(":not(no-such-element)", selector)


class NamedImages:
    """The images of one page that a script names, or an element around them, if one changes addresses of images.

    With ``by_any`` every script counts as one that does.
    """

    def __init__(self, tree: Document, page: PageContext, *, by_any: bool = False) -> None:
        self.tree = tree
        self.elements: set[Element] = set()
        self.handles = Handles()
        # scripts that look for links by their address (a[href="#top"]) do not size what is in them
        self._common = {"id", "class", "src", "alt"} | ({"href"} if by_any else set())
        if by_any or page.changes_images():
            self.handles = union_of([facts.handles for facts in page.scripts.values()])
            self._select(self.handles.selectors)
            handled = (element for element in tree.select("*") if any(name.startswith("on") for name in element.attrs))
            self.elements.update(element for each in handled for element in (each, *each.find_all("img")))

    def includes(self, image: Element) -> bool:
        """Whether a script may take hold of an image, or of the ``<picture>`` around it."""
        if image in self.elements or image.parent in self.elements:
            return True
        return any(map(self._is_named, (image, *image.ancestors)))

    def _select(self, selectors: Iterable[str]) -> None:
        for selector in sorted(selectors):
            for static in static_selectors(selector) or ("img",):
                self.elements.update(self.tree.select(stateless(static)))

    def _is_named(self, element: object) -> bool:
        """Whether a selector names an element; those for the whole page, or its main part, say nothing of an image."""
        attributes, names = getattr(element, "attrs", None), self.handles
        if (
            not attributes
            or getattr(element, "tag", "") in ("html", "body", "main")
            or attributes.get("role") == "main"
        ):
            return False
        return (
            names.may_be_id(attributes.get("id"))
            or str(attributes.get("name")) in names.ids
            or not names.classes.isdisjoint(_class_names(attributes.get("class")))
            or any(name in names.attributes for name in attributes if name not in self._common)
        )


def _class_names(value: object) -> Iterator[str]:
    yield from (
        split_tokens(value) if isinstance(value, str) else map(str, value) if isinstance(value, (list, tuple)) else ()
    )
