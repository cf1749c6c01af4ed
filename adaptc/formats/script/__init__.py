"""JavaScript and JSON: minify, put into a script element, and find out what a script looks at.

Nothing here runs a script or changes a name in it. Where a construct is not understood, the answer is
``None`` or the cautious one, and the original stays.
"""

from __future__ import annotations

from adaptc.formats.script.addresses import touches_sources
from adaptc.formats.script.element import for_script_element, is_javascript_type, is_module_type
from adaptc.formats.script.introspection import introspects, selects_other_scripts, writes_document
from adaptc.formats.script.minify import is_module, minify_json, minify_script

__all__ = [
    "for_script_element",
    "introspects",
    "is_javascript_type",
    "is_module",
    "is_module_type",
    "minify_json",
    "minify_script",
    "selects_other_scripts",
    "touches_sources",
    "writes_document",
]
