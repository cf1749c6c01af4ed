"""The sums of the facts of all files in the state: a build adds those that it read, and takes away those before."""

from __future__ import annotations

from collections.abc import Mapping

from adaptc.compile.analyse.facts import Facts
from adaptc.compile.analyse.site_sums import SiteSums, sum_up
from adaptc.compile.engine.state import State
from adaptc.core.model import Resource

_KEY = "sums"


class RunningSums:
    """The sums of the facts in ``state``, while a build replaces those of some files.

    The state forgets its sums when facts change (``touched.TABLES``); ``finish`` stores the new ones.
    """

    def __init__(self, state: State, before: Mapping[str, tuple[Resource, str]]) -> None:
        self.state, self.before = state, before
        last = state.meta(_KEY)
        self._sums = None if last is None else SiteSums.unpack(last)

    def set_facts(self, resource: Resource, facts: Facts) -> None:
        """Store the facts of a file in the state, in place of those before."""
        self._remove(resource.path)
        if self._sums is not None:
            self._sums.add(resource.path, facts, resource.media_type)
        self.state.set_facts(resource.path, facts)

    def forget_source(self, path: str) -> None:
        """Remove a file and its facts from the state."""
        self._remove(path)
        self.state.forget_source(path)

    def _remove(self, path: str) -> None:
        if self._sums is not None:
            for _, facts in self.state.facts(path):
                self._sums.remove(path, facts, self.before[path][0].media_type)

    def finish(self, resources: Mapping[str, Resource]) -> SiteSums:
        """Return the sums of all files, and store them."""
        if self._sums is None:
            self._sums = sum_up(self.state.facts(), lambda path: resources[path].media_type)
        if self.state.meta(_KEY) is None:
            self.state.set_meta(_KEY, self._sums.pack())
        return self._sums
