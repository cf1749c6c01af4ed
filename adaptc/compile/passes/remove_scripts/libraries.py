"""Rules for what libraries show or hide by script: drop-downs of Bootstrap and UIkit, carousels, slides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

DROP_DOWN_MENUS = ".dropdown-menu"
_DROPDOWNS = "[data-toggle=dropdown],[data-bs-toggle=dropdown],[data-mdb-toggle=dropdown]"
_DROPDOWN_RULE = (
    ":hover>.dropdown-menu,:focus-within>.dropdown-menu{display:block!important;visibility:visible!important;"
    "opacity:1!important;transform:none!important;pointer-events:auto!important}"
)
# Slides are next to each other, to be scrolled by hand.
_CAROUSEL_RULE = (
    ".carousel-inner{display:flex!important;overflow-x:auto!important;scroll-snap-type:x mandatory}"
    ".carousel-inner>*{display:block!important;flex:0 0 100%;margin-right:0!important;scroll-snap-align:start;"
    "position:relative!important;left:0!important;transform:none!important;opacity:1!important}"
)
# UIkit hides these by a class that its script sets.
_UIKIT = "[uk-dropdown],[uk-drop],.uk-navbar-dropdown"
_UIKIT_RULE = (
    ":is([uk-dropdown],[uk-drop],.uk-navbar-dropdown){display:none!important;position:absolute!important;z-index:1020}"
    ":is(:hover,:focus-within)>.uk-navbar-dropdown,:is(:hover,:focus)+:is([uk-dropdown],[uk-drop]),"
    ":is([uk-dropdown],[uk-drop]):is(:hover,:focus-within){display:block!important}"
)
# The slides of reveal.js are one above the other, as in print; its script would set the class with the background.
_SLIDES = ".reveal>.slides>section"
_SLIDES_RULE = (
    "html,body{height:auto!important;overflow:auto!important}.reveal{background:var(--r-background-color)}"
    ".reveal,.reveal>.slides,.reveal .slides section{display:block!important;position:static!important;"
    "width:auto!important;height:auto!important;margin:0!important;overflow:visible!important;transform:none!important;"
    "opacity:1!important;visibility:visible!important;perspective:none!important;pointer-events:auto!important}"
    ".reveal .slides section:not(:has(>section)){padding:2em 1em!important}"
    ".reveal .fragment{opacity:1!important;visibility:visible!important;transform:none!important}"
)
_RULES = (
    (_SLIDES, _SLIDES_RULE),
    (_UIKIT, _UIKIT_RULE),
    (_DROPDOWNS, _DROPDOWN_RULE),
    (".carousel-inner", _CAROUSEL_RULE),
)


def library_rules(editor: Editor) -> tuple[str, list[Element]]:
    """Return the rules that a page needs, and the controls that open its drop-downs."""
    openers = editor.tree.select(f"{_DROPDOWNS},.uk-button:has(+[uk-dropdown],+[uk-drop])")
    for opener in openers:
        editor.set_attribute(opener, "tabindex", "0")  # a focus opens the menu: on a telephone nothing hovers
    rules = (rule for selector, rule in _RULES if editor.tree.select_one(selector) is not None)
    return "".join(rules), openers
