"""Scripts that read or write the addresses of images and style sheets.

Where a page has one, its images may not become data URIs, nor its links style elements:
``img.src.replace("small", "large")`` would meet another address than the author's.
"""

from __future__ import annotations

import re

from adaptc.formats.script.code_text import code_text
from adaptc.formats.script.introspection import looks_for_style_sheets

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

# name = document.createElement("script"), name = new Image
_MADE = re.compile(r'([\w$]+)=(?:[\w$]+\.)*(?:createElement\("\w+"\)|new Image\b(?!\.))')


def touches_sources(text: str) -> bool:
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
