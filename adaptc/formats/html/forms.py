"""Controls and forms: which work without scripts, as markup, and what controls open by script (WHATWG HTML, "forms").

A form stays when there is something to fill in or to press, and its action is no script; whether it can be submitted
without a button is up to the page. Without an action scripts alone hear one of choices, or a button that sends nothing.
Buttons that only scripts listen to go, and so do controls outside of any form.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from turbohtml import Document, Element

from adaptc.core.values import dataclass
from adaptc.formats.html.syntax import ascii_lower, attribute_markup, attributes_markup, text_markup
from adaptc.formats.html.visible_text import fold_space, icon_name, image_text, is_followable, is_hidden, is_icons

__all__ = [
    "Forms", "Request", "control_markup", "control_type", "find_forms", "form_attributes", "opens_natively",
    "option_markup", "pointed_at", "script_controls", "words_of_name", "works_without_script",
]  # fmt: skip

_CONTROLS = "input, select, textarea, button"
_IDLE = frozenset({"button", "hidden", "reset"})
_PRESSED = ("submit", "image")
_CHOICES = frozenset({"checkbox", "color", "radio", "range", "select"})
# Attributes by which browsers themselves open and close something (HTML, "popovers" and "invoker commands")
_OPENING = ("popovertarget", "commandfor")
_BUTTON_TYPES = frozenset({"button", "reset", "submit"})
_INPUT_TYPES = frozenset({
    "button", "checkbox", "color", "date", "datetime-local", "email", "file", "hidden", "image", "month", "number",
    "password", "radio", "range", "reset", "search", "submit", "tel", "text", "time", "url", "week",
})  # fmt: skip
_IN_TABLE = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_CONTROL_ATTRIBUTES = (
    "type", "name", "value", "checked", "disabled", "required", "readonly", "placeholder", "min", "max", "step",
    "pattern", "minlength", "maxlength", "size", "multiple", "accept", "autocomplete", "list", "rows", "cols", "wrap",
    "dirname", "inputmode", "form", "formaction", "formmethod", "formenctype", "formnovalidate", "aria-label", "lang",
    "dir", "title",
)  # fmt: skip
_FORM_ATTRIBUTES = ("action", "method", "enctype", "accept-charset", "name", "novalidate", "role", "lang", "dir")


# Method, action, and the names of what is sent
Request = tuple[str, str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms that work, and the controls that belong to each.

    ``owner`` is the form of a control. ``ids`` are the ids of forms with controls outside of them, which need one:
    parsers leave a form empty that starts between the rows of a table.
    """

    working: frozenset[Element]
    owner: dict[Element, Element]
    ids: dict[Element, str]

    def is_working(self, control: Element) -> bool:
        """Whether a control belongs to a form that works."""
        return self.owner.get(control) in self.working

    def has_effect(self, button: Element) -> bool:
        """Whether pressing a button does something without scripts: it sends or resets a form, or opens something."""
        return opens_natively(button) or (self.is_working(button) and works_without_script(button))

    def requests(self) -> dict[Element, Request]:
        """Return what each working form sends, in their order: method, action, names of controls, hidden values."""
        names: dict[Element, set[str]] = {form: set() for form in self.owner.values() if form in self.working}
        for control, form in self.owner.items():
            kind = control_type(control)
            if form in names and kind not in ("button", "reset") and (name := control.attr("name")):
                # an image sends the place that was pressed, and a button may send the same in its place
                value = f"={control.attr('value') or ''}" if kind == "hidden" else ""
                names[form].add(name.removesuffix(".x") + value)
        return {
            form: ((form.attr("method") or "get").lower(), form.attr("action") or "", frozenset(sent))
            for form, sent in names.items()
        }

    def repeats(self) -> list[Element]:
        """Return the forms that say and send what one before them does: a search above and in a menu of telephones."""
        first: dict[object, Element] = {}
        said = {form: (request, fold_space(form.text)) for form, request in self.requests().items()}
        return [form for form, key in said.items() if first.setdefault(key, form) is not form]

    def reference(self, control: Element) -> str:
        """Return what a control's ``form`` attribute must name, ``""`` where it is inside its form."""
        form = self.owner.get(control)
        return "" if form is None or form in control.ancestors else self.ids.get(form, "")


def find_forms(tree: Document) -> Forms:
    """Find the forms of a page."""
    forms = tree.select("form")
    if not forms:
        return Forms(frozenset(), {}, {})
    lineages = ((each, (each, *each.ancestors)) for each in tree.select(_CONTROLS))
    controls = [
        each for each, around in lineages if not any(isinstance(node, Element) and is_hidden(node) for node in around)
    ]
    owner = _owners(forms, controls)
    controls_of: dict[Element, list[Element]] = {form: [] for form in forms}
    for control, form in owner.items():
        controls_of[form].append(control)
    working = frozenset(form for form, its_controls in controls_of.items() if _is_working(form, its_controls))
    outside = dict.fromkeys(form for control, form in owner.items() if form not in control.ancestors)
    used = {element.attr("id") for element in tree.select("[id]")}
    free = (name for number in itertools.count(1) if (name := f"f{number}") not in used)
    return Forms(working, owner, {form: form.attr("id") or next(free) for form in outside})


def _owners(forms: list[Element], controls: list[Element]) -> dict[Element, Element]:
    named = {form.attr("id"): form for form in reversed(forms) if form.attr("id")}
    owner: dict[Element, Element] = {}
    for control in controls:
        form = named.get(control.attr("form")) if "form" in control.attrs else control.closest("form")
        if form is not None:
            owner[control] = form
    for form in forms:
        owner |= dict.fromkeys(_following_controls(form, owner), form)
    return {control: owner[control] for control in controls if control in owner}


def _following_controls(form: Element, owner: dict[Element, Element]) -> list[Element]:
    """Return the controls after a form that the parser closed at once, since it is between table rows."""
    parent = form.parent
    if len(form.children) or not isinstance(parent, Element) or parent.tag not in _IN_TABLE:
        return []
    controls: list[Element] = []
    table = parent.closest("table")
    for node in form.following:
        if isinstance(node, Element):
            if node.tag == "form" or table is None or table not in node.ancestors:
                break
            if node.tag in ("input", "select", "textarea", "button") and node not in owner:
                controls.append(node)
    return controls


def _is_working(form: Element, controls: list[Element]) -> bool:
    action = form.attr("action") or "?"  # ``#`` is the page itself, to which browsers send the form
    if is_hidden(form) or not (action.strip() == "#" or is_followable(action)):
        return False
    if form.attr("action"):
        return not _IDLE.issuperset(map(control_type, controls))
    sent = (each for each in controls if each.attr("name") or control_type(each) not in _PRESSED)
    return not (_IDLE | _CHOICES).issuperset(map(control_type, sent))


def works_without_script(control: Element) -> bool:
    """Whether a control may do anything in its form without scripts."""
    return control_type(control) != "button"


def opens_natively(control: Element) -> bool:
    """Whether browsers themselves open or close something when a control is pressed."""
    return any(name in control.attrs for name in _OPENING)


def control_type(control: Element) -> str:
    """Return the type of a control as browsers have it: an unknown one is the default of its element."""
    kind = ascii_lower(control.attr("type") or "")
    if control.tag == "button":
        return kind if kind in _BUTTON_TYPES else "submit"
    if control.tag == "input":
        return kind if kind in _INPUT_TYPES else "text"
    return control.tag


def form_attributes(form: Element) -> str:
    """Write the attributes of a form's start tag that matter without script and style."""
    return attributes_markup(form, _FORM_ATTRIBUTES)


def control_markup(control: Element, identity: str, reference: str) -> str:
    """Write a control; ``identity`` is its id attribute, ``reference`` the id of its form where it is outside of it."""
    tag = control.tag
    if tag == "input":
        return _input_markup(control, identity, reference)
    start = f"<{tag}{_control_attributes(control, identity, reference)}>"
    if tag == "textarea":
        return f"{start}\n{text_markup(control.text)}</textarea>" if control.text else start + "</textarea>"
    if tag == "select":
        return f"{start}{option_markup(control)}</select>"
    words = ("" if is_icons(control.text) else fold_space(control.text), *map(image_text, control.select("img")))
    others = (control.attr("aria-label"), control.attr("title"), control.attr("value"), icon_name(control), "OK")
    return f"{start}{text_markup(next(filter(None, (*words, *others))) or '')}</button>"


def _input_markup(control: Element, identity: str, reference: str) -> str:
    written = _control_attributes(control, identity, reference)
    if control_type(control) == "image":
        return _image_button(control, identity, reference)
    value = control.attr("value") if "value" in control.attrs else "Submit"
    if control_type(control) == "submit" and (not (value or "").strip() or is_icons(value or "")):  # a style draws it
        names = (*map(control.attr, ("aria-label", "title", "alt")), words_of_name(control.attr("name") or ""))
        return f"<button{written}>{text_markup(next(filter(None, names), 'OK'))}</button>"
    return f"<input{written}>"


_NAME_PARTS = re.compile(r"[A-Z]?[a-z]{3,}")
_KINDS_IN_NAMES = frozenset({"btn", "txt", "tbx", "ctl", "ddl", "chk", "cbx", "lbl", "frm", "input", "field", "form"})


def words_of_name(name: str) -> str:
    """Return the words of the name that programs have for a control: "Search" of ``ctl00$ctl02$btnSearch``."""
    parts = _NAME_PARTS.findall(re.split(r"[$:.\[]", name.rstrip("]"))[-1])
    return " ".join(part for part in parts if part.lower() not in _KINDS_IN_NAMES)


def _image_button(control: Element, identity: str, reference: str) -> str:
    """Write an image that sends its form as a button, which sends what the image does if it is pressed by a key."""
    written = _control_attributes(control, identity, reference)
    label = image_text(control) or control.attr("value") or "\u2192"
    for name in ("type", "name", "value"):
        own = attributes_markup(control, (name,))
        written = written.replace(own, "", 1) if own else written
    sent = f" {attribute_markup('name', control.attr('name') + '.x')} value=0" if control.attr("name") else ""  # type: ignore[operator]
    return f"<button{written}{sent}>{text_markup(label)}</button>"


def _control_attributes(control: Element, identity: str, reference: str) -> str:
    is_shown = control_type(control) != "hidden"
    unfilled = {name for name, value in control.attrs.items() if is_shown and "{{" in (value or "")}  # by a template
    names = tuple(name for name in _CONTROL_ATTRIBUTES if name not in unfilled and not (reference and name == "form"))
    form = f" {attribute_markup('form', reference)}" if reference else ""
    return identity + attributes_markup(control, names) + form


def option_markup(parent: Element) -> str:
    """Write the options of a select or datalist."""
    pieces: list[str] = []
    for child in parent.children:
        if isinstance(child, Element) and child.tag == "optgroup":
            attributes = attributes_markup(child, ("label", "disabled"))
            pieces.append(f"<optgroup{attributes}>{option_markup(child)}</optgroup>")
        elif isinstance(child, Element) and child.tag == "option":
            pieces.append(f"<option{_option_attributes(child)}>{text_markup(fold_space(child.text))}")
    return "".join(pieces)


def _option_attributes(option: Element) -> str:
    names = ("value", "selected", "disabled", "label")
    same = option.attr("value") == fold_space(option.text)
    return attributes_markup(option, names[1:] if same else names)


# ---- Controls that point at what scripts open or choose for them, by attributes of WAI-ARIA and of libraries

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
