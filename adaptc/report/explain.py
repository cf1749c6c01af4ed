"""Explains what the last build did to a file at each level, and why (``adaptc explain``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from adaptc.compile.analyse.decisions import PIN, PLACEMENT, evidence_of
from adaptc.compile.engine.evidence.scripts_seen import ScriptSeen, scripts_seen
from adaptc.compile.engine.loading import last_traffic
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, last_build
from adaptc.compile.pipeline import KNOWN_PASSES
from adaptc.config.config import Config
from adaptc.config.rulebook import load_levels
from adaptc.config.toml import nearest, nearest_or_all
from adaptc.core.diagnostics import Diagnostic, UsageError, printable
from adaptc.core.media import HTML
from adaptc.core.urls import Reach, SiteAddress
from adaptc.core.values import dataclass
from adaptc.site.site import Site, Source
from adaptc.site.source_table import as_sources


@dataclass(frozen=True, slots=True)
class Explanation:
    """A file of the last build: its source, the decisions about it, and its results, of the best level first.

    ``seen`` is how much of a script ran where a browser looked.
    """

    path: str
    media_type: str
    size: int
    alias_of: str | None
    used_by: int
    decisions: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    levels: tuple[UnitResult, ...]
    seen: ScriptSeen | None = None


def explain(config: Config, name: str, levels: Collection[str] = ()) -> Explanation:
    """Return the explanation of ``name``, a path of the docroot or a URL of the site, at ``levels``, by default all.

    Raises ``UsageError`` when it or a level was not built, and when there is no build in ``config.output``.
    """
    with last_build(config.output) as state:
        built = state.levels()
        missing = [
            f"level {level} was not built{nearest_or_all(level, built)}" for level in levels if level not in built
        ]
        if missing:
            raise UsageError("\n".join(missing))
        return _explained(state, config, name, levels or built)


def _explained(state: State, config: Config, name: str, levels: Collection[str]) -> Explanation:
    sources = as_sources(state.resources().values())
    path = _path_of(config, name, sources)
    if path is None:
        raise UsageError(f"{name} is not in the last build{nearest(name, sources)}")
    source, known = sources[path], [*load_levels(config.levels, KNOWN_PASSES)]
    results = [result for result in state.results(path) if result.level in levels]
    return Explanation(
        path,
        source.media_type,
        source.size,
        source.alias_of,
        sum(any(target == path for _, target in facts.embeds) for _, facts in state.facts()),
        (*_decisions(state, path), *_popularity(state, path, source.media_type), *_looks(state, path, source)),
        next((facts.diagnostics for source, facts in state.facts() if source == path), ()),
        tuple(sorted(results, key=lambda result: known.index(result.level) if result.level in known else len(known))),
        scripts_seen(state).get(path),
    )


def _path_of(config: Config, name: str, sources: dict[str, Source]) -> str | None:
    if name in sources:
        return name
    address = SiteAddress(config.site.base_url)
    site = Site.of(sources, address, config.site.index)
    target = address.resolve(address.base, name)
    return site.find(target.path) if target.reach is Reach.LOCAL else None


def _popularity(state: State, path: str, media_type: str) -> Iterator[str]:
    traffic = last_traffic(state)
    if traffic is None or media_type != HTML or not traffic.hits:
        return
    views = f"{traffic.hits.get(path, 0):,} of {traffic.views:,} page views"
    if path in traffic.popular:
        yield f"a popular page: {views}"
    else:
        yield f"not a popular page, so that degraded levels leave it out: {views}"


def _looks(state: State, path: str, source: Source) -> Iterator[str]:
    known = evidence_of(state.decisions())
    if not known or source.media_type != HTML or source.alias_of is not None:
        return
    if path not in known:
        yield "no browser looked at it, and nothing is inferred from other pages"
    elif like := known[path].like:
        yield f"no browser looked at it: it is built by what held on {', '.join(map(printable, like))}"
    else:
        yield "a browser looked at it"


def _decisions(state: State, path: str) -> list[str]:
    known = state.decisions()
    sentences = []
    if PLACEMENT + path in known:
        inline, figures = known[PLACEMENT + path]
        sentences.append(f"{'inlined where it can be' if inline else 'kept as a file of its own'}: {figures}")
    if PIN + path in known:
        sentences.append(f"kept byte for byte: {known[PIN + path][1]}")
    return sentences
