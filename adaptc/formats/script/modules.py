"""Module scripts: whether one needs no other module and none needs it."""

from __future__ import annotations

from adaptc.formats.script.script import Script

__all__ = ["is_self_contained"]

_WORDS = frozenset({"import", "export"})


def is_self_contained(script: Script) -> bool:
    """Whether a module imports and exports nothing and does not ask for its address; ``False`` if it does not lex.

    ``import`` and ``export`` are reserved words: elsewhere they are names of properties, after a point or before a
    colon.
    """
    return script.lexes and not any(_is_declaration(script, place) for place in script.places(_WORDS))


def _is_declaration(script: Script, place: int) -> bool:
    tokens = script.tokens
    is_property = place > 0 and tokens[place - 1] in (".", "?.")
    return not is_property and place + 1 < len(tokens) and tokens[place + 1] != ":"
