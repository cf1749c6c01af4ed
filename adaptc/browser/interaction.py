"""Doing what a visitor may do with a page, without leaving it: menus are opened, elements hovered and focused."""

from __future__ import annotations

import asyncio
from itertools import chain, islice

from adaptc.browser.tab import BrowserError, Tab, script

_STATES = ("hover", "focus", "focus-within", "focus-visible")
# Selectors of elements that show something while they are hovered, and such elements
_MOST_SELECTORS, _MOST_ELEMENTS = 40, 80
# Seconds, on an idle machine, for what is asked for in the meantime
_IDLE = 4.0


async def interact(tab: Tab, *, has_scripts: bool) -> None:
    """Interact with a page that ``look.js`` saw. Raises ``BrowserError``.

    Scripts get the events, and style sheets the states; all elements that show something while they are hovered are in
    that state at the same time from here on.
    """
    await tab.run(script("interact"), {"hasScripts": has_scripts, "pace": tab.pace})
    await tab.idle(_IDLE)
    selectors = await tab.run(script("hovering"))
    if not selectors:
        return
    for domain in ("DOM", "CSS"):
        await tab.send(f"{domain}.enable")
    root = (await tab.send("DOM.getDocument", {"depth": 0}))["root"]["nodeId"]
    found = await asyncio.gather(*(_elements(tab, root, selector) for selector in selectors[:_MOST_SELECTORS]))
    elements = dict.fromkeys(chain.from_iterable(found))
    states = ({"nodeId": element, "forcedPseudoClasses": _STATES} for element in islice(elements, _MOST_ELEMENTS))
    await asyncio.gather(*(tab.send("CSS.forcePseudoState", state) for state in states))


async def _elements(tab: Tab, root: int, selector: str) -> list[int]:
    try:
        reply = await tab.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})
    except BrowserError:  # one that only sheets may have
        return []
    return [int(node) for node in reply["nodeIds"]]
