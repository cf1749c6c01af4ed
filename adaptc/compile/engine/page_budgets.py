"""Smaller budgets for data URIs: for pages that would be larger than at the level above with those of their level."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from adaptc.compile.pipeline import Step
from adaptc.core.model import Action

__all__ = ["smaller_budgets", "with_budget"]

_PASS = "half-images"

# Bytes of the data URIs of smaller images in a page. In base64 they take a third more of clients that accept no content
# coding, which is more than some copies save: without this, such pages would keep all requests of the level above.
_SMALLER_BUDGETS = (32768, 8192, 0)


def smaller_budgets(actions: Iterable[Action]) -> tuple[int, ...]:
    """Return the budgets to try for a page with these actions: none where it shows no smaller images."""
    has_copies = any(action.pass_name == _PASS and action.verb == "halved" for action in actions)
    return _SMALLER_BUDGETS if has_copies else ()


def with_budget(steps: tuple[Step[Any], ...], budget: int | None) -> tuple[Step[Any], ...]:
    """Return the steps with at most this ``budget`` for data URIs of smaller images; ``None`` is the level's own."""
    return steps if budget is None else tuple(_limited(step, budget) for step in steps)


def _limited(step: Step[Any], budget: int) -> Step[Any]:
    if step.name != _PASS:
        return step
    return dataclasses.replace(step, options={**step.options, "budget": min(budget, step.options.get("budget", 0))})
