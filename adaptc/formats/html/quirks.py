"""Quirks mode (WHATWG HTML, "the initial insertion mode")."""

from __future__ import annotations

from turbohtml import Doctype, Document

from adaptc.formats.html.serialise import is_forced_quirks

_PUBLIC_IDS = frozenset({"-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html"})
_SYSTEM_IDS = frozenset({"http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd"})
_PUBLIC_STARTS = (
    "+//silmaril//dtd html pro v0r11 19970101//", "-//as//dtd html 3.0 aswedit + extensions//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//", "-//ietf//dtd html 2.0 level 1//",
    "-//ietf//dtd html 2.0 level 2//", "-//ietf//dtd html 2.0 strict level 1//",
    "-//ietf//dtd html 2.0 strict level 2//", "-//ietf//dtd html 2.0 strict//", "-//ietf//dtd html 2.0//",
    "-//ietf//dtd html 2.1e//", "-//ietf//dtd html 3.0//", "-//ietf//dtd html 3.2 final//",
    "-//ietf//dtd html 3.2//", "-//ietf//dtd html 3//", "-//ietf//dtd html level 0//",
    "-//ietf//dtd html level 1//", "-//ietf//dtd html level 2//", "-//ietf//dtd html level 3//",
    "-//ietf//dtd html strict level 0//", "-//ietf//dtd html strict level 1//",
    "-//ietf//dtd html strict level 2//", "-//ietf//dtd html strict level 3//", "-//ietf//dtd html strict//",
    "-//ietf//dtd html//", "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer 2.0 html strict//", "-//microsoft//dtd internet explorer 2.0 html//",
    "-//microsoft//dtd internet explorer 2.0 tables//",
    "-//microsoft//dtd internet explorer 3.0 html strict//", "-//microsoft//dtd internet explorer 3.0 html//",
    "-//microsoft//dtd internet explorer 3.0 tables//", "-//netscape comm. corp.//dtd html//",
    "-//netscape comm. corp.//dtd strict html//", "-//o'reilly and associates//dtd html 2.0//",
    "-//o'reilly and associates//dtd html extended 1.0//",
    "-//o'reilly and associates//dtd html extended relaxed 1.0//",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
    "-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
    "-//spyglass//dtd html 2.0 extended//", "-//sun microsystems corp.//dtd hotjava html//",
    "-//sun microsystems corp.//dtd hotjava strict html//", "-//w3c//dtd html 3 1995-03-24//",
    "-//w3c//dtd html 3.2 draft//", "-//w3c//dtd html 3.2 final//", "-//w3c//dtd html 3.2//",
    "-//w3c//dtd html 3.2s draft//", "-//w3c//dtd html 4.0 frameset//", "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental 19960712//", "-//w3c//dtd html experimental 970421//",
    "-//w3c//dtd w3 html//", "-//w3o//dtd w3 html 3.0//", "-//webtechs//dtd mozilla html 2.0//",
    "-//webtechs//dtd mozilla html//",
)  # fmt: skip
# Quirks without a system id, limited quirks with one.
_TRANSITIONAL = ("-//w3c//dtd html 4.01 frameset//", "-//w3c//dtd html 4.01 transitional//")
_LIMITED = ("-//w3c//dtd xhtml 1.0 frameset//", "-//w3c//dtd xhtml 1.0 transitional//")


def is_quirks(tree: Document, source: str | None = None) -> bool:
    """Whether browsers show the page in quirks mode.

    ``source`` is the page's text: a malformed doctype forces quirks mode without leaving a trace in the tree.
    """
    doctype = doctype_of(tree)
    if doctype is None or doctype.name.lower() != "html":
        return True
    if source is not None and is_forced_quirks(source):
        return True
    public, system = (doctype.public_id or "").lower(), doctype.system_id
    if public in _PUBLIC_IDS or public.startswith(_PUBLIC_STARTS):
        return True
    return (system or "").lower() in _SYSTEM_IDS or (system is None and public.startswith(_TRANSITIONAL))


def is_limited_quirks(tree: Document) -> bool:
    """Whether browsers show the page in limited-quirks mode (line heights of table cells)."""
    doctype = doctype_of(tree)
    if doctype is None or is_quirks(tree):
        return False
    return (doctype.public_id or "").lower().startswith(_LIMITED + _TRANSITIONAL)


def doctype_of(tree: Document) -> Doctype | None:
    """Return the doctype node, or ``None``."""
    return next((node for node in tree.children if isinstance(node, Doctype)), None)
