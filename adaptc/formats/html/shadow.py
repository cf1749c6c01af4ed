"""Declarative shadow roots (WHATWG HTML, ``<template shadowrootmode>``), which a parser keeps apart from the page."""

from __future__ import annotations

import re

__all__ = ["open_shadow_roots"]

_TAG = re.compile(r"""<(?P<end>/?)template\b(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)


def open_shadow_roots(text: str) -> str:
    """Return the page's text with the content of each shadow root in a ``<div>``, in front of its host's own content.

    That is for those who read the text: style sheets of a shadow root would apply to the whole page.
    """
    if "shadowrootmode" not in text:
        return text
    opened: list[bool] = []

    def replace(tag: re.Match[str]) -> str:
        if not tag["end"]:
            opened.append("shadowrootmode" in tag["attributes"].lower())
            return "<div>" if opened[-1] else tag[0]
        return "</div>" if opened and opened.pop() else tag[0]

    return _TAG.sub(replace, text)
