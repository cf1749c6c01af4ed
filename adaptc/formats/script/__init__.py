"""JavaScript and JSON: minify, embed in a script element, and find out what a script depends on.

Nothing here runs a script or changes a name in it. For unknown constructs the result is ``None`` or the cautious
one, so that the original is kept.
"""

from __future__ import annotations

from adaptc.formats.script.addresses import touches_addresses
from adaptc.formats.script.element import escape_for_script_element, is_javascript_type, is_module_type
from adaptc.formats.script.introspection import (
    introspection_reason,
    selects_other_scripts,
    self_inspection_reason,
    writes_document,
)
from adaptc.formats.script.minify import minify_json, minify_script

__all__ = [
    "escape_for_script_element",
    "introspection_reason",
    "is_javascript_type",
    "is_module_type",
    "minify_json",
    "minify_script",
    "selects_other_scripts",
    "self_inspection_reason",
    "touches_addresses",
    "writes_document",
]
