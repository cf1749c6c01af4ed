"""JavaScript and JSON: minify, embed in a script element, and find out what a script depends on.

Nothing here runs a script or changes a name in it. For unknown constructs the result is ``None`` or the cautious
one, so that the original is kept.
"""

from __future__ import annotations

from adaptc.formats.script.embedding import escape_for_script_element, is_javascript_type, is_module_type
from adaptc.formats.script.minify import minify_json, minify_script

__all__ = [
    "escape_for_script_element",
    "is_javascript_type",
    "is_module_type",
    "minify_json",
    "minify_script",
]
