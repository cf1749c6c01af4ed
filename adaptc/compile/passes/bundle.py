"""bundle: a page that carries its files (Krishnamurthy et al. 2003, "bundle"), and the same as a sidecar file."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.inlining import ALL, INLINED, data_uri
from adaptc.compile.page.sheets import sheet_text
from adaptc.compile.passes.inline_images import inline_images
from adaptc.compile.passes.inline_scripts import inline_scripts
from adaptc.compile.passes.inline_styles import inline_styles
from adaptc.compile.view import Options, Sidecar, View
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.model import EMBEDDED, Action, Role
from adaptc.core.urls import document_base, quote_path
from adaptc.core.values import dataclass, replace
from adaptc.formats.css.references import CssReference, css_references, rewrite_urls
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.edit import Editor, EditRefused
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.references import base_href, references

if TYPE_CHECKING:
    from turbohtml import Document, Element

NAME = "bundle"
SUFFIX = ".bundle"
# Bytes that a file may cost more because the page uses it several times
_REPEATED = 65536
_ICONS = frozenset({"icon", "apple-touch-icon"})


def bundle_page(text: str, page: PageContext, view: View, options: Options) -> tuple[str | None, Report]:
    """Return the page with its sheets, scripts, images and fonts in it, under the conditions of level lossless.

    A page stays as it is if its files together are larger than the option ``limit`` (bytes).
    """
    files = page_files(parse(text), page.base, view)
    excess = _excess(page.path, files, view, options)
    if excess is not None:
        return None, Report(diagnostics=[excess])
    report = Report()
    for edit in (_inline_code, _inline_images):
        editor = Editor(text)
        edit_report = edit(editor, page, view, options)
        try:
            text = editor.apply().text
        except EditRefused as refused:
            report.actions.append(Action(NAME, KEPT, "the page", str(refused)))
        else:
            report.actions += [replace(action, pass_name=NAME) for action in edit_report.actions]
    return text, report


def bundle_sidecar(path: str, content: bytes, view: View, options: Options) -> Sidecar:
    """Return the source of a page and all files that it loads, in one MHTML file next to it: ``page.html.bundle``."""
    name = path + SUFFIX
    base = view.url_of(path)
    if view.follow(base, quote_path(name.rpartition("/")[2])).path is not None:
        return Sidecar(name, MEDIA_TYPE, None, (diagnose("bundle-name-taken", Location(path), name=name),))
    try:
        tree = parse(read_page(content).text)
    except Irreversible:
        return Sidecar(name, MEDIA_TYPE, None)  # reported for the page itself
    files = [each for each in page_files(tree, document_base(base, base_href(tree)), view) if each != path]
    excess = _excess(path, files, view, options)
    if excess is not None:
        return Sidecar(name, MEDIA_TYPE, None)  # reported for the page itself
    parts = [Part(view.url_of(each), view.media_type(each), _content(each, view)) for each in files]
    return Sidecar(name, MEDIA_TYPE, write_mhtml([Part(base, media.HTML, content), *parts]))


def _content(path: str, view: View) -> bytes:
    return view.read(path) if view.media_type(path) == media.HTML else view.artifact(path)


def _excess(path: str, files: Sequence[str], view: View, options: Options) -> Diagnostic | None:
    size = sum(len(_content(each, view)) for each in files)
    if size <= options["limit"]:
        return None
    return diagnose("bundle-too-large", Location(path), size=size, limit=options["limit"])


def _inline_code(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Put sheets and scripts into the page."""
    reports = [edit(editor, page, view, {"readers": ALL}) for edit in (inline_styles, inline_scripts)]
    return Report([action for report in reports for action in report.actions])


def _inline_images(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Make data URIs of images, and of what the style elements and attributes of the page load."""
    if page.has_policy:
        return Report()
    limit = options["limit"]
    image_options = {"readers": ALL, "budget": 2 * limit, "largest": limit, "repeated": _REPEATED}
    report = inline_images(editor, page, view, image_options)
    _Sheets(editor, page, view, report).run()
    _icons(editor, page, view, report)
    return report


def _icons(editor: Editor, page: PageContext, view: View, report: Report) -> None:
    for link in editor.tree.iter_elements("link"):
        uri = _uri_of(link.attr("href") or "", page, view)
        if not _ICONS.isdisjoint(rel_tokens(link)) and uri and "integrity" not in link.attrs:
            editor.set_attribute(link, "href", uri)
            report.actions.append(Action(NAME, "inlined", link.attr("href") or "", INLINED))


def _uri_of(url: str, page: PageContext, view: View) -> str | None:
    """Return the data URI of the file that a URL of the page leads to; a fragment chooses a part of it."""
    destination = view.follow(page.base, url) if url else None
    if destination is None or destination.path is None or "#" in destination.target.suffix:
        return None
    return data_uri(view.artifact(destination.path), view.media_type(destination.path))


class _Sheets:
    """What the style elements and attributes of one page load."""

    def __init__(self, editor: Editor, page: PageContext, view: View, report: Report) -> None:
        self.editor, self.page, self.view, self.report = editor, page, view, report
        elements = editor.tree.select("style, [style*='(']")
        self.elements = [each for each in elements if not is_isolated(each, editor.text)]
        self.uses = Counter(
            reference.url
            for element in self.elements
            for reference in css_references(_css(element), declarations=element.tag != "style")
        )

    def run(self) -> None:
        """Edit the page."""
        for element in self.elements:
            text = _css(element)
            moved = rewrite_urls(text, self._uri, declarations=element.tag != "style")
            if moved == text:
                continue
            if element.tag == "style":
                self.editor.set_raw_text(element, moved)
            else:
                self.editor.set_attribute(element, "style", moved)

    def _uri(self, reference: CssReference) -> str | None:
        uri = None if reference.role is Role.IMPORT else _uri_of(reference.url, self.page, self.view)
        if uri is None:
            return None
        is_large = (self.uses[reference.url] - 1) * len(uri) > _REPEATED
        reason = f"it is used {self.uses[reference.url]} times" if is_large else INLINED
        self.report.actions.append(Action(NAME, KEPT if is_large else "inlined", reference.url, reason))
        return None if is_large else uri


def _css(element: Element) -> str:
    """Return the text of a style element, or the declarations of a style attribute."""
    return element.text if element.tag == "style" else element.attr("style") or ""


_LOADED = EMBEDDED - {Role.PRELOAD} | {Role.CSS_URL, Role.FONT}  # what a hint names is loaded by another reference


def page_files(tree: Document, base: str, view: View) -> tuple[str, ...]:
    """Return the paths of what a page with this document base URL loads, in the order of the references.

    What a sheet loads comes after it, with all its fonts and backgrounds, needed or not.
    """
    paths: dict[str, None] = {}
    waiting = [(base, reference.url) for reference in references(tree) if reference.role in _LOADED][::-1]
    while waiting:
        path = view.follow(*waiting.pop()).path
        if path is None or path in paths:
            continue
        paths[path] = None
        if view.media_type(path) == media.CSS:
            waiting += reversed([(view.url_of(path), url) for url in _of_sheet(path, view)])
    return tuple(paths)


def _of_sheet(path: str, view: View) -> Iterator[str]:
    return (reference.url for reference in css_references(sheet_text(view.artifact(path))))


# ---- a page and its files in one file: MHTML (RFC 2557), ``multipart/related``, ``Content-Location`` for each part

# Equal parts give equal bytes: there is no date, and the boundary is a digest of the parts
MEDIA_TYPE = "multipart/related"
_LINE = b"\r\n"
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Part:
    """A file at an absolute URL (ASCII)."""

    location: str
    media_type: str
    content: bytes


def write_mhtml(parts: Sequence[Part]) -> bytes:
    """Return the parts as one message; the first is the page, the others are its files.

    A part is quoted-printable if that is shorter than base64; text then still compresses well. Both restore every byte.
    """
    boundary = _boundary(parts)
    kind = f'Content-Type: {MEDIA_TYPE};\r\n\ttype="{parts[0].media_type}";\r\n\tboundary="{boundary}"\r\n'
    head = f"MIME-Version: 1.0\r\n{kind}"
    mark = b"--" + boundary.encode("ascii")
    pieces = [head.encode("ascii") + _LINE]
    for part in parts:
        pieces += [mark, _LINE, _encode_part(part), _LINE]
    return b"".join([*pieces, mark, b"--", _LINE])


def _boundary(parts: Sequence[Part]) -> str:
    digest = digest_parts(*(digest_parts(part.location, digest_bytes(part.content)) for part in parts))
    # "=_" occurs neither in quoted-printable nor in base64 (RFC 2045, section 6.7).
    return f"----=_{digest[:_DIGITS]}"


def _encode_part(part: Part) -> bytes:
    bodies = {"quoted-printable": _quoted_printable(part.content), "base64": _base64(part.content)}
    encoding, body = min(bodies.items(), key=lambda item: len(item[1]))
    head = (
        f"Content-Type: {part.media_type}\r\nContent-Transfer-Encoding: {encoding}\r\n"
        f"Content-Location: {part.location}\r\n\r\n"
    )
    return head.encode("ascii") + body


def _quoted_printable(content: bytes) -> bytes:
    # Newlines of the content become =0A, so that all those of the result are soft breaks.
    return binascii.b2a_qp(content, istext=False).replace(b"\n", _LINE)


def _base64(content: bytes) -> bytes:
    return base64.encodebytes(content).replace(b"\n", _LINE)
