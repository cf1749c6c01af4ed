"""Controls that point at what scripts open or choose for them, by attributes of WAI-ARIA and of libraries."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Document, Element

from adaptc.formats.html.forms import opens_natively

__all__ = ["pointed_at", "script_controls"]

# Attributes by which a control names what it opens: WAI-ARIA, Bootstrap 2 to 5, MDB, UIkit, Flowbite, Foundation
_POINTERS = (
    "aria-controls", "data-target", "data-bs-target", "data-mdb-target", "data-collapse-toggle", "data-modal-toggle",
    "data-dropdown-toggle", "data-toggle-target", "data-open", "data-tab", "data-w-tab", "uk-toggle",
)  # fmt: skip
_TOGGLES = ("data-toggle", "data-bs-toggle", "data-mdb-toggle")
_POINTING = ",".join(f"[{name}]" for name in (*_POINTERS, *_TOGGLES)) + ",[role=tab],[uk-tab],[uk-switcher]"


def script_controls(tree: Document) -> list[Element]:
    """Return the elements that open or choose something by script."""
    return [each for each in tree.select(_POINTING) if not opens_natively(each)]


def pointed_at(control: Element) -> Iterator[str]:
    """Yield the ids that a control points at."""
    named = [control.attr(name) or "" for name in _POINTERS]
    if any(name in control.attrs for name in _TOGGLES) or (control.attr("role") or "").lower() == "tab":
        named.append(control.attr("href") or "")
    for value in named:
        yield from (word.lstrip("#") for word in value.replace(",", " ").split() if word != "#")
