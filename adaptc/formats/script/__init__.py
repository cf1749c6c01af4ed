"""JavaScript and JSON: minify, put into a script element, and find out what a script looks at.

Nothing here runs a script or changes a name in it. Where a construct is not understood, the answer is
``None`` or the cautious one, and the original stays.
"""

from __future__ import annotations

from adaptc.formats.script.addresses import touches_addresses
from adaptc.formats.script.element import escape_for_script_element, is_javascript_type, is_module_type
from adaptc.formats.script.introspection import introspection_reason, selects_other_scripts, writes_document
from adaptc.formats.script.minify import is_module, minify_json, minify_script

__all__ = [
    "escape_for_script_element",
    "introspection_reason",
    "is_javascript_type",
    "is_module",
    "is_module_type",
    "minify_json",
    "minify_script",
    "selects_other_scripts",
    "touches_addresses",
    "writes_document",
]
