"""Which rules of style sheets applied to something while a page was open."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from adaptc.browser.tab import BrowserError, Tab


class RuleCoverage:
    """The rules of ``tab`` that were used, from before it is loaded."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab

    @classmethod
    async def started(cls, tab: Tab) -> RuleCoverage:
        """Start to note rules."""
        await tab.send("DOM.enable")
        await tab.send("CSS.enable")
        await tab.send("CSS.startRuleUsageTracking")
        return cls(tab)

    async def selectors(self) -> frozenset[str]:
        """Return the selector lists of the rules that were used, as the sheets have them, and stop."""
        reply = await self.tab.send("CSS.stopRuleUsageTracking")
        used: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for rule in reply["ruleUsage"]:
            if rule["used"]:
                used[rule["styleSheetId"]].append(rule)
        found: set[str] = set()
        for sheet, rules in used.items():
            text = await self._text(sheet)
            if text == _SETTLING:
                continue
            units = text.encode("utf-16-le", "surrogatepass")
            found.update(_selectors(units, int(rule["startOffset"]), int(rule["endOffset"])) for rule in rules)
        return frozenset(found - {""})

    async def _text(self, sheet: str) -> str:
        try:
            return str((await self.tab.send("CSS.getStyleSheetText", {"styleSheetId": sheet}))["text"])
        except BrowserError:  # the page removed it
            return ""


# The sheet that settle.js adds
_SETTLING = "*,::before,::after{caret-color:transparent!important;transition:none!important}"
# Of "@media (width > 1px) { ... }" the browser says where "(width" is
_AT_RULE = re.compile(r"@[\w-]+\s*\Z")
_LONGEST_NAME = 32


def _selectors(units: bytes, start: int, end: int) -> str:
    """Return the selector list of a rule, empty for an at-rule; offsets count UTF-16 code units."""
    before, rule = _text(units, max(0, start - _LONGEST_NAME), start), _text(units, start, end)
    return "" if _AT_RULE.search(before) else rule.partition("{")[0].strip()


def _text(units: bytes, start: int, end: int) -> str:
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")
