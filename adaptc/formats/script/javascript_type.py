"""Which script elements hold JavaScript (WHATWG HTML 4.12.1.1, "prepare the script element")."""

from __future__ import annotations

# WHATWG MIME Sniffing 4.6: JavaScript MIME type essences.
_ESSENCES = frozenset(
    [f"application/{name}" for name in ("ecmascript", "javascript", "x-ecmascript", "x-javascript")]
    + [f"text/{name}" for name in ("ecmascript", "javascript", "jscript", "livescript")]
    + [f"text/{name}" for name in ("x-ecmascript", "x-javascript")]
    + [f"text/javascript1.{version}" for version in range(6)]
)
_ASCII_SPACE = "\t\n\f\r "
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def is_javascript_type(type_attr: str | None, language_attr: str | None) -> bool:
    """Whether a script element with these attributes (``None``: absent) is a classic script.

    ``module`` is not, nor ``importmap``, ``speculationrules``, JSON or a template's type. ``type`` must match
    as a whole: a parameter (``text/javascript; charset=utf-8``) makes it a data block, as in browsers.
    """
    if type_attr is None:
        if not language_attr:
            return True
        return _lower(f"text/{language_attr}") in _ESSENCES
    return type_attr == "" or _lower(type_attr.strip(_ASCII_SPACE)) in _ESSENCES


def is_module_type(type_attr: str | None) -> bool:
    """Whether ``type`` says that the script element is a module script."""
    return type_attr is not None and _lower(type_attr.strip(_ASCII_SPACE)) == "module"


def _lower(text: str) -> str:
    return text.translate(_TO_LOWER)
