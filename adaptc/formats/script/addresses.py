"""Scripts that read or write the addresses of images.

In a page with such a script, images must not become data URIs:
``img.src.replace("small", "large")`` would get another address than the author's. ``touches_addresses`` is the wide
question; ``changes_images`` is narrower, for images that keep their ``src``: comparing, logging and preloading
addresses is harmless, and so are images that the script itself created. Where images are guarded neither is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from adaptc.core.values import pattern
from adaptc.formats.script.script import Script

_SOURCE = r"(?:src|srcset|currentSrc)"
# In ``Script.code``: an address of an image is written, removed or taken apart. frame.src = "javascript:",
# String("java" + name + ":") is that of none; core-js opens such a frame.
_CHANGES = pattern(
    rf'\.{_SOURCE}(?:\+?=(?!=|>|(?:String\()?"java(?:script:|"\+))|\.)|(?:[sg]etAttribute|removeA\w+|attr|prop)\("{_SOURCE}"'
    rf'|(?:attr|prop)\(\{{[^{{}}]*"?{_SOURCE}"?:|\["{_SOURCE}"\]'
)
# const s = document.createElement("script"), i = new Image: elements that the script creates
_CREATION = r'(?>(?:[\w$]++\.)*)(?:createElement\("?\w+"?\)|new Image\b(?!\.))'
_CREATED = pattern(rf"(?<![\w$])([\w$]++)={_CREATION}")
# Its address in the same run of statements, whatever the name means elsewhere
_JUST_CREATED = pattern(
    rf"((?:\b(?:var|let|const) |[;{{}}])([\w$]++)={_CREATION}(?:(?!(?<![\w$.])\2=(?!=))[^{{}}]){{0,400}}?(?<![\w$.])\2)"
    r"\.(?:src|href)\b"
)
_ASSIGNED = pattern(r"(?<![\w$.])([\w$]+)=(?!=|>)")
# $("<script>").attr(a).prop({src: b}), new Image(1, 1).src: elements without a name
_IMAGE_MADE = r"new Image(?:\([^()]*\))?"
_NEW = pattern(
    r'\("<\w+/?>"\)(?>(?:\.\w++\((?>(?:[^()]++|\([^()]*+\))*)\))*)'
    rf"|(?:{_IMAGE_MADE}|(?<![\w$])\({_IMAGE_MADE}\))\.src\b"
)


def changes_images(script: Script) -> bool:
    """Whether a script may change the addresses of images that it did not create. Errs on the side of yes."""
    code = script.code if script.lexes else "".join(script.code.split())
    return _CHANGES.search(code) is not None and _CHANGES.search(_NEW.sub("", _drop_created(code))) is not None


# Chromium 156 counts the pixels of the file here, and not those of an image whose source set says another density
_ARGUMENT = r"(?>(?:[^(),]|\((?>(?:[^()]|\([^()]{0,200}+\)){0,200})\)){0,200})"
_DRAWS_PARTS = pattern(
    rf"\bcreate(?:ImageBitmap|Pattern)\(|\bdrawImage(?:\.(?:apply|call)\(|\((?:\.\.\.|{_ARGUMENT},\.\.\.|(?:{_ARGUMENT},){{8}}))"
)


def draws_parts(script: Script) -> bool:
    """Whether a script may draw parts of images, whose places it counts in pixels of the file."""
    return _DRAWS_PARTS.search(script.code) is not None


def has_lazy_address(attributes: Mapping[str, Any]) -> bool:
    """Whether an image has a ``data-`` attribute that may be an address for a lazy loader."""
    values = (str(value) for name, value in attributes.items() if name.startswith("data-") and value)
    return any("/" in value or "." in value for value in values)


# img.src, img["src"], attr("src"), {src: a}, "[src]"; markup for new elements ("<img src=") affects no existing ones
_ASKS = pattern(rf'[.\["{{,]{_SOURCE}\b')


def touches_addresses(script: Script) -> bool:
    """Whether a script may read or write addresses of images that it did not create.

    The result errs on the side of yes: it is true for a library such as jQuery, which does so for its callers.
    """
    code = script.code
    return _ASKS.search(code) is not None and _ASKS.search(_NEW.sub("", _drop_created(code))) is not None


def _drop_created(code: str) -> str:
    """Remove ``name.src`` and ``name.href`` where every value of ``name``, or the one it has there, is created."""
    code = _JUST_CREATED.sub(r"\1 ", code)
    created, assigned = Counter(_CREATED.findall(code)), Counter(_ASSIGNED.findall(code))
    own = [name for name, count in created.items() if assigned[name] == count and not _is_parameter(code, name)]
    if not own:
        return code
    return re.sub(rf"(?<![\w$.])(?:{'|'.join(map(re.escape, own))})\.(?:src|href)\b", " ", code)


def _is_parameter(code: str, name: str) -> bool:
    """Whether a parameter has this name; it gets its value elsewhere."""
    own = re.escape(name)
    return re.search(rf"[(,]{own}(?:,[\w$,]*)?\)(?:=>|\{{)|(?<![\w$.]){own}=>", code) is not None
