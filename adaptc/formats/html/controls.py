"""Forms that work without script, and their controls as markup (WHATWG HTML, "forms").

A form stays when there is something to fill in or to press, and its action is no script; whether it can be submitted
without a button is the page's affair. Buttons that only scripts listen to go, and so do controls outside of any form.
"""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Document, Element

from adaptc.formats.html.labels import folded, image_words, is_followed
from adaptc.formats.html.landmarks import is_hidden
from adaptc.formats.html.quoting import attribute_markup, text_markup

__all__ = ["Forms", "attributes", "control_markup", "find_forms", "form_attributes", "option_markup"]

_CONTROLS = "input, select, textarea, button"
_IDLE = frozenset({"button", "hidden", "menu", "reset"})
_IN_TABLE = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_CONTROL_ATTRIBUTES = (
    "type", "name", "value", "checked", "disabled", "required", "readonly", "placeholder", "min", "max", "step",
    "pattern", "minlength", "maxlength", "size", "multiple", "accept", "autocomplete", "list", "rows", "cols", "wrap",
    "dirname", "inputmode", "form", "formaction", "formmethod", "formenctype", "formnovalidate", "aria-label", "lang",
    "dir", "title",
)  # fmt: skip
_FORM_ATTRIBUTES = ("action", "method", "enctype", "accept-charset", "name", "novalidate", "role", "lang", "dir")


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms that work, and the controls that belong to each.

    ``named`` gives the id that a form needs, because a control outside of it belongs to it: parsers leave a form
    empty that starts between the rows of a table.
    """

    working: frozenset[Element]
    owner: dict[Element, Element]
    named: dict[Element, str]

    def is_working(self, control: Element) -> bool:
        """Whether a control belongs to a form that works."""
        return self.owner.get(control) in self.working

    def reference(self, control: Element) -> str:
        """Return what a control's ``form`` attribute must say, ``""`` where it stands in its form."""
        form = self.owner.get(control)
        return "" if form is None or form in control.ancestors else self.named.get(form, "")


def find_forms(tree: Document) -> Forms:
    """Find the forms of a page."""
    forms = tree.select("form")
    if not forms:
        return Forms(frozenset(), {}, {})
    controls = [each for each in tree.select(_CONTROLS) if not any(map(_is_gone, (each, *each.ancestors)))]
    owner = _owners(forms, controls)
    working = frozenset(form for form in forms if _works(form, [c for c, f in owner.items() if f is form]))
    outside = dict.fromkeys(form for control, form in owner.items() if form not in control.ancestors)
    taken = {element.attr("id") for element in tree.select("[id]")}
    free = (name for number in range(1, 10_000) if (name := f"f{number}") not in taken)
    return Forms(working, owner, {form: form.attr("id") or next(free) for form in outside})


def form_attributes(form: Element) -> str:
    """Write the attributes of a form's start tag that matter without script and style."""
    return attributes(form, _FORM_ATTRIBUTES)


def control_markup(control: Element, identity: str, reference: str) -> str:
    """Write a control; ``identity`` is its id attribute, ``reference`` the id of the form it belongs to from afar."""
    tag = control.tag
    if tag == "input":
        return _input(control, identity, reference)
    start = f"<{tag}{_attributes(control, identity, reference)}>"
    if tag == "textarea":
        return f"{start}\n{text_markup(control.text)}</textarea>" if control.text else start + "</textarea>"
    if tag == "select":
        return f"{start}{option_markup(control)}</select>"
    label = folded(control.text) or next(filter(None, map(image_words, control.select("img"))), "")
    return f"{start}{text_markup(label or control.attr('aria-label') or control.attr('value') or 'OK')}</button>"


def option_markup(parent: Element) -> str:
    """Write the options of a select or datalist."""
    pieces: list[str] = []
    for child in parent.children:
        if isinstance(child, Element) and child.tag == "optgroup":
            pieces.append(f"<optgroup{attributes(child, ('label', 'disabled'))}>{option_markup(child)}</optgroup>")
        elif isinstance(child, Element) and child.tag == "option":
            pieces.append(f"<option{_option_attributes(child)}>{text_markup(folded(child.text))}")
    return "".join(pieces)


def attributes(element: Element, names: tuple[str, ...]) -> str:
    """Write those of an element's attributes, each with a space before it."""
    attrs = element.attrs
    return "".join(" " + attribute_markup(name, element.attr(name)) for name in names if name in attrs)


def is_shown_control(control: Element) -> bool:
    """Whether a control does anything without script."""
    return _kind(control) not in ("button", "menu")


def _option_attributes(option: Element) -> str:
    names = ("value", "selected", "disabled", "label")
    same = option.attr("value") == folded(option.text)
    return attributes(option, names[1:] if same else names)


def _input(control: Element, identity: str, reference: str) -> str:
    written = _attributes(control, identity, reference)
    if _kind(control) == "image" and (words := image_words(control)):
        written += " " + attribute_markup("alt", words)
    return f"<input{written}>"


def _attributes(control: Element, identity: str, reference: str) -> str:
    names = _CONTROL_ATTRIBUTES if not reference else tuple(n for n in _CONTROL_ATTRIBUTES if n != "form")
    return identity + attributes(control, names) + (f" {attribute_markup('form', reference)}" if reference else "")


def _kind(control: Element) -> str:
    default = {"input": "text", "button": "submit"}.get(control.tag, control.tag)
    return (control.attr("type") or default).strip().lower()


def _is_gone(node: object) -> bool:
    return isinstance(node, Element) and is_hidden(node)


def _owners(forms: list[Element], controls: list[Element]) -> dict[Element, Element]:
    named = {form.attr("id"): form for form in reversed(forms) if form.attr("id")}
    owner: dict[Element, Element] = {}
    for control in controls:
        form = named.get(control.attr("form")) if "form" in control.attrs else control.closest("form")
        if form is not None:
            owner[control] = form
    for form in forms:
        owner |= dict.fromkeys(_behind(form, owner), form)
    return {control: owner[control] for control in controls if control in owner}


def _behind(form: Element, owner: dict[Element, Element]) -> list[Element]:
    """Return the controls behind a form that the parser closed at once, since it stands between table rows."""
    parent = form.parent
    if len(form.children) or not isinstance(parent, Element) or parent.tag not in _IN_TABLE:
        return []
    found: list[Element] = []
    table = parent.closest("table")
    for node in form.following:
        if isinstance(node, Element):
            if node.tag == "form" or table is None or table not in node.ancestors:
                break
            if node.tag in ("input", "select", "textarea", "button") and node not in owner:
                found.append(node)
    return found


def _works(form: Element, controls: list[Element]) -> bool:
    if is_hidden(form) or not is_followed(form.attr("action") or "?"):
        return False
    return not _IDLE.issuperset(map(_kind, controls))
