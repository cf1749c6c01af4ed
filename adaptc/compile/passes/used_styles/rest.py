"""The rest of a page's sheets: it stays in their files until the page has a name that a browser never saw in it.

A rule cannot apply before the page has all names (of classes, ids, attributes, elements) that its selector requires.
Where a browser looked at a page with scripts, the rules go into the page all of whose names it had at some time. Each
other rule lacks a name. A script (``wait.js``) waits for one of these in what other scripts insert and change, and then
links the whole sheets after the rules in the page. They repeat those in their order, so that the cascade is that of the
original. So what a browser did not see costs a request when it happens, and no rule.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.passes.used_styles.page_styles import PageStyle
from adaptc.formats.css.prune import Nodes, rule_tree
from adaptc.formats.css.selectors import name_selector, required_names
from adaptc.formats.script.minify import minify_script

__all__ = ["EVERYTHING", "MARK", "Rest", "find_rest", "names_seen"]

# The attribute of style elements after which links may come
MARK = "data-used"
_MARKS = ".#["
_BREAKING = frozenset(" \t\n\r\f")
# Characters that must be saved: fewer are not worth the chance of another request
_FEWEST_SAVED = 2048


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Container[str] = _Everything()
"""The names that scripts may bring in of which nothing is known."""


def names_seen(evidence: PageEvidence) -> frozenset[str]:
    """Return the names that the elements of a page had at any time, at any width."""
    return frozenset[str]().union(*(width.names for width in evidence.widths))


@dataclass(frozen=True, slots=True)
class Rest:
    """What waits of the sheets: the names that were seen, by the places of sheets, and those that are waited for."""

    narrower: Mapping[int, Container[str]]
    names: tuple[str, ...]

    def cost(self) -> int:
        """Return how many characters waiting takes, and must save to be worth it."""
        return _FEWEST_SAVED + len(self.script([]))

    def script(self, runs: Sequence[Sequence[PageStyle]]) -> str:
        """Return the script that waits for one of the names, to link the files of each run after its style element."""
        bare = sorted({name.lstrip(_MARKS) for name in self.names})
        groups = [
            [[style.element.attr("href"), style.media] for style in run if style.path is not None] for run in runs
        ]
        attributes = sorted({name[1:] for name in self.names if name[0] == "["})
        values = {"NAMES": " ".join(bare), "ATTRIBUTES": attributes, "GROUPS": groups, "MARK": MARK}
        return _PLACE.sub(lambda match: _literal(values[match[0]]), _template())


def find_rest(
    styles: Sequence[PageStyle], matches: Callable[[str], bool], seen: Container[str], may_come: Container[str]
) -> Rest | None:
    """Return what waits of the sheets that are files; ``None`` if nothing does.

    ``matches`` tells whether the markup has a match of a selector, ``seen`` are the names that a browser saw, and
    ``may_come`` those that scripts may bring in: what requires a name of neither never applies. Of the names that a
    rule lacks, that one is waited for which most rules lack.
    """

    @cache
    def may_have(name: str) -> bool:
        return name.lstrip(_MARKS) in seen or matches(name_selector(name))

    places = [place for place, style in enumerate(styles) if style.path is not None and style.text]
    trees = [rule_tree(styles[place].text or "") for place in places]
    lacks = [lacking for tree in trees for lacking in _lacking(tree.nodes, may_have, may_come)]
    counts = Counter(name for lacking in lacks for name in lacking)
    names = {max(lacking, key=lambda name: (counts[name], name)) for lacking in lacks}
    if not names or any(not _BREAKING.isdisjoint(name) for name in names):
        return None
    return Rest(dict.fromkeys(places, seen), tuple(sorted(names)))


def _lacking(nodes: Nodes, may_have: Callable[[str], bool], may_come: Container[str]) -> Iterator[list[str]]:
    """Yield the names that each selector lacks that may match late, of rules that are not in the page."""
    for node in nodes.all:
        lacks = [[name for name in required_names(each) if not may_have(name)] for each in node.selectors]
        if all(lacks):
            yield from (lacking for lacking in lacks if all(name.lstrip(_MARKS) in may_come for name in lacking))
        yield from _lacking(node.nodes, may_have, may_come)


_PLACE = re.compile(r"\b(?:NAMES|ATTRIBUTES|GROUPS|MARK)\b")


def _literal(value: object) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _template() -> str:
    source = files(__package__).joinpath("wait.js").read_text("utf-8")
    return minify_script(source) or source
