"""References that a level's passes wrote and that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext
from adaptc.compile.view import DerivingView
from adaptc.core.urls import Reach, Target, document_base
from adaptc.formats.html.references import base_href, references

if TYPE_CHECKING:
    from turbohtml import Document

__all__ = ["new_dead_references"]

_SHOWN = 3  # references that the sentence names


def new_dead_references(before: Document, after: Document, page: PageContext, view: DerivingView) -> list[str]:
    """Say which references of ``after`` lead to no file of the site, where ``before`` has none to the same place."""
    written = set(_urls(before))
    is_same_base = base_href(before) == base_href(after)
    base = page.base if is_same_base else document_base(view.url_of(page.path), base_href(after))
    suspects = [url for url in dict.fromkeys(_urls(after)) if not (is_same_base and url in written)]
    dead = {url: target for url in suspects if (target := _missing(url, base, view)) is not None}
    if not dead:
        return []
    known = {view.follow(page.base, url).target.path for url in written}
    new = [url for url, target in dead.items() if target.path not in known]
    shown = ", ".join(new[:_SHOWN]) + (", ..." if len(new) > _SHOWN else "")
    return [f"references lead nowhere: {shown}"] if new else []


def _urls(tree: Document) -> Iterator[str]:
    return (reference.url for reference in references(tree))


def _missing(url: str, base: str, view: DerivingView) -> Target | None:
    """Return the target of a reference to a file that is not there; what adaptc derives is published with the page."""
    found = view.follow(base, url)
    is_missing = found.target.reach is Reach.LOCAL and found.path is None
    return found.target if is_missing and found.target.path not in view.derived else None
