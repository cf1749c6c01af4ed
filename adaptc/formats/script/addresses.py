"""Scripts that read or write the addresses of images and style sheets.

In a page with such a script, images must not become data URIs, nor links style elements:
``img.src.replace("small", "large")`` would get another address than the author's. ``touches_addresses`` is the wide
question; ``changes_images`` is narrower, for pages in which an image keeps its ``src`` and gets a ``srcset``: a script
that writes ``src`` then has no effect, and one that makes "large.jpg" of "small.jpg" gets another name. Comparing,
logging and preloading addresses is harmless, and so are images that the script itself created.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adaptc.formats.script.code_text import code_text
from adaptc.formats.script.introspection import looks_for_style_sheets

_SOURCE = r"(?:src|srcset|currentSrc)"
_TAKES_APART = r"(?:replace|replaceAll|split|substr|substring|slice|match|indexOf|lastIndexOf|search|endsWith|includes)"
# Patterns are for ``code_text``.
_CHANGES = re.compile(
    "|".join([
        rf"\.{_SOURCE}(?:\+=|=(?![=>]))",
        rf'(?:setAttribute|attr|prop)\("{_SOURCE}",',
        rf'(?:attr|prop)\(\{{[^{{}}]*"?{_SOURCE}"?:',
        rf'removeA(?:ttribute|ttr)\("{_SOURCE}"',
        rf"\.{_SOURCE}\.{_TAKES_APART}\(",
        rf'(?:getAttribute|attr|prop)\("{_SOURCE}"\)\.{_TAKES_APART}\(',
        rf'\["{_SOURCE}"\](?:=(?![=>])|\.{_TAKES_APART}\()',
    ])
)  # fmt: skip
# const s = document.createElement("script"), i = new Image: elements that the script creates
_CREATED = re.compile(r'([\w$]+)=(?:[\w$]+\.)*(?:createElement\("\w+"\)|new Image\b(?!\.))')
# The same with the address in the statements that follow; elsewhere, minified code may use the name for a parameter.
_NO_OTHER = r"(?:(?!(?<![\w$.])\1=(?!=))[^{}]){0,200}?"
_CREATED_WITH_ADDRESS = re.compile(rf"{_CREATED.pattern}(?=[;,(]){_NO_OTHER}(?<![\w$.])\1\.{_SOURCE}\b")
# Loading a script with jQuery
_NEW_SCRIPT = re.compile(r'\("<script>"\)\.(?:attr|prop)\(\{[^{}]*\}\)')
# new Image().src = "count.gif"
_PRELOADED = re.compile(rf"(?:(?<![\w$)\]])\(new Image(?:\(\))?\)|new Image\([\d,]*\))\.{_SOURCE}=")
# image.src = image.dataset.src, image.setAttribute("src", image.getAttribute("data-src")), $(this).attr("src", ...)
_OWN_DATA = r'\1\.(?:dataset\.[\w$]+|getAttribute\("data-[\w-]+"\)|data\("[\w-]+"\)|attr\("data-[\w-]+"\))(?=[;,)}]|$)'
_LAZY = re.compile(
    rf'(?<![\w$.)])([\w$]+|[\w$]+\([\w$]+\))\.(?:{_SOURCE}=|(?:setAttribute|attr|prop)\("{_SOURCE}",){_OWN_DATA}'
)


def changes_images(text: str) -> bool:
    """Whether a script may write or take apart addresses of images that it did not create.

    The result errs on the side of yes. It does not include images with ``has_lazy_address``, which may change anyway.
    """
    code = code_text(text)
    for harmless in (_CREATED_WITH_ADDRESS, _NEW_SCRIPT, _PRELOADED, _LAZY):
        code = harmless.sub(" ", code)
    if not _CHANGES.search(code):
        return False
    for name in sorted({match[1] for match in _CREATED.finditer(code)}):
        code = _drop_created(code, name, _SOURCE)
    return _CHANGES.search(code) is not None


def lazy_loads_images(text: str) -> bool:
    """Whether a script sets the addresses of images from their ``data-`` attributes."""
    return _LAZY.search(code_text(text)) is not None


def has_lazy_address(attributes: Mapping[str, Any]) -> bool:
    """Whether an image has a ``data-`` attribute that may be an address for a lazy loader."""
    values = (str(value) for name, value in attributes.items() if name.startswith("data-") and value)
    return any("/" in value or "." in value for value in values)


_IMAGE = r"(?:src|srcset|currentSrc|poster|imagesrcset|backgroundImage|background-image|listStyleImage)"

# Of href only writing counts, and selecting by a style sheet's name: scripts read the href of anchors, and
# ``looks_for_style_sheets`` covers links. Markup for new elements ("<img src=") affects no existing ones.
_TOUCHES = re.compile(
    "|".join([
        rf"\.{_IMAGE}\b",
        rf'"{_IMAGE}"(?!:)',
        rf"\[{_IMAGE}\b",
        r'[{,]"?(?:src|srcset|poster)"?:',
        r"\.href=(?!=)",
        r'"href",',
        r'[{,]"?href"?:(?!"#)',
        r'"href"\]=(?!=)',
        r"\[href[^\]]*\.css",
    ])
)  # fmt: skip

# Navigation to another page
_NAVIGATION = re.compile(r'\blocation(?:\.href\b|\["href"\])')


def touches_addresses(text: str) -> bool:
    """Whether a script may read or write addresses of images or style sheets that it did not create.

    The result errs on the side of yes: it is true for a library such as jQuery, which does so for its callers.
    """
    if looks_for_style_sheets(text):
        return True
    code = _NAVIGATION.sub(" ", code_text(text))
    if not _TOUCHES.search(code):
        return False
    for name in sorted({match[1] for match in _CREATED.finditer(code)}):
        code = _drop_created(code, name, "(?:src|href)")
    return _TOUCHES.search(code) is not None


def _drop_created(code: str, name: str, attribute: str) -> str:
    """Remove ``name.attribute`` (a pattern) if every value of ``name`` is an element created there.

    A parameter called ``name`` gets its value elsewhere.
    """
    own = rf"(?<![\w$.]){re.escape(name)}"
    assignments = len(re.findall(rf"{own}=(?!=|>)", code))
    created = sum(match[1] == name for match in _CREATED.finditer(code))
    parameter = re.search(rf"[(,]{re.escape(name)}(?:,[\w$,]*)?\)(?:=>|\{{)|{own}=>", code)
    return code if parameter or assignments != created else re.sub(rf"{own}\.{attribute}\b", " ", code)
