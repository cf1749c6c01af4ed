"""Scripts that read or write the addresses of images and style sheets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adaptc.formats.script.code_text import code_text
from adaptc.formats.script.introspection import looks_for_style_sheets

_SOURCE = r"(?:src|srcset|currentSrc)"
_TAKES_APART = r"(?:replace|replaceAll|split|substr|substring|slice|match|indexOf|lastIndexOf|search|endsWith|includes)"
# In code as ``code_text`` writes it
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
# const s = document.createElement("script"), i = new Image: what they load is their own
_MADE = re.compile(r'([\w$]+)=(?:[\w$]+\.)*(?:createElement\("\w+"\)|new Image\b(?!\.))')
# The same with the address in the statements that follow, where a name may also be that of a parameter elsewhere, as
# minifiers have it
_NO_OTHER = r"(?:(?!(?<![\w$.])\1=(?!=))[^{}]){0,200}?"
_MADE_HERE = re.compile(rf"{_MADE.pattern}(?=[;,(]){_NO_OTHER}(?<![\w$.])\1\.{_SOURCE}\b")
# jQuery's own way to load a script
_NEW_SCRIPT = re.compile(r'\("<script>"\)\.(?:attr|prop)\(\{[^{}]*\}\)')
# new Image().src = "count.gif"
_PRELOADED = re.compile(rf"(?:(?<![\w$)\]])\(new Image(?:\(\))?\)|new Image\([\d,]*\))\.{_SOURCE}=")
# image.src = image.dataset.src, image.setAttribute("src", image.getAttribute("data-src")), $(this).attr("src", ...)
_OWN_DATA = r'\1\.(?:dataset\.[\w$]+|getAttribute\("data-[\w-]+"\)|data\("[\w-]+"\)|attr\("data-[\w-]+"\))(?=[;,)}]|$)'
_LAZY = re.compile(
    rf'(?<![\w$.)])([\w$]+|[\w$]+\([\w$]+\))\.(?:{_SOURCE}=|(?:setAttribute|attr|prop)\("{_SOURCE}",){_OWN_DATA}'
)


def changes_images(text: str) -> bool:
    """Whether a script may write or take apart addresses of images that it did not make; it errs on the side of yes.

    Images for which ``has_lazy_address`` holds are not meant: these may change all the same.
    """
    code = code_text(text)
    for harmless in (_MADE_HERE, _NEW_SCRIPT, _PRELOADED, _LAZY):
        code = harmless.sub(" ", code)
    if not _CHANGES.search(code):
        return False
    for name in sorted({made[1] for made in _MADE.finditer(code)}):
        code = _without(code, name)
    return _CHANGES.search(code) is not None


def _without(code: str, name: str) -> str:
    """Remove ``name.src`` where every value that ``name`` gets is an element made there."""
    mine = rf"(?<![\w$.]){re.escape(name)}"
    given = len(re.findall(rf"{mine}=(?!=|>)", code))
    made = sum(found[1] == name for found in _MADE.finditer(code))
    parameter = re.search(rf"[(,]{re.escape(name)}(?:,[\w$,]*)?\)(?:=>|\{{)|{mine}=>", code)
    return code if parameter or given != made else re.sub(rf"{mine}\.{_SOURCE}\b", " ", code)


def lazy_loads_images(text: str) -> bool:
    """Whether a script gives images the addresses that stand in their ``data-`` attributes."""
    return _LAZY.search(code_text(text)) is not None


def has_lazy_address(attributes: Mapping[str, Any]) -> bool:
    """Whether an image has a ``data-`` attribute with what may be an address for a script to put in place."""
    given = (str(value) for name, value in attributes.items() if name.startswith("data-") and value)
    return any("/" in value or "." in value for value in given)


_IMAGE = r"(?:src|srcset|currentSrc|poster|imagesrcset|backgroundImage|background-image|listStyleImage)"

# Of href only writing counts, and selecting by a style sheet's name: scripts read it of anchors, and
# links are read after they were looked for. Markup for new elements ("<img src=") touches no old ones.
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

# Going to another page.
_HARMLESS = re.compile(r'\blocation(?:\.href\b|\["href"\])')


def touches_addresses(text: str) -> bool:
    """Whether a script may read or write addresses of images or style sheets that it did not make itself.

    It errs on the side of yes: a library such as jQuery does what its callers say, and counts as touching.
    """
    if looks_for_style_sheets(text):
        return True
    code = _HARMLESS.sub(" ", code_text(text))
    if not _TOUCHES.search(code):
        return False
    for name in sorted({made[1] for made in _MADE.finditer(code)}):
        code = _without_own(code, name)
    return _TOUCHES.search(code) is not None


def _without_own(code: str, name: str) -> str:
    """Remove ``name.src`` and ``name.href`` if every value that ``name`` gets is an element made there.

    A parameter of that name is a value from elsewhere.
    """
    mine = rf"(?<![\w$.]){re.escape(name)}"
    given = len(re.findall(rf"{mine}=(?!=|>)", code))
    made = sum(found[1] == name for found in _MADE.finditer(code))
    parameter = re.search(rf"[(,]{re.escape(name)}(?:,[\w$,]*)?\)(?:=>|\{{)|{mine}=>", code)
    return code if parameter or given != made else re.sub(rf"{mine}\.(?:src|href)\b", " ", code)
