"""Content-Security-Policy (CSP Level 3) as far as it decides what a page may hold and load.

Several policies all hold: those of header fields, of which one may have several with commas between them, and those of
the markup. What is not known to be allowed is not.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from adaptc.core.values import dataclass

NONE = "'none'"
_ALGORITHMS = ("sha256", "sha384", "sha512")
# Directives by what is loaded or run, each with those that hold in its place where it is missing (section 6.8.3)
_FALLBACKS = {
    "style": ("style-src-elem", "style-src", "default-src"),
    "style-attribute": ("style-src-attr", "style-src", "default-src"),
    "script": ("script-src-elem", "script-src", "default-src"),
    "image": ("img-src", "default-src"),
    "font": ("font-src", "default-src"),
}
# Directives that forbid nothing of what levels write, and those above; others may, such as "sandbox"
_HARMLESS = frozenset({
    "base-uri", "block-all-mixed-content", "child-src", "connect-src", "form-action", "frame-ancestors", "frame-src",
    "manifest-src", "media-src", "object-src", "prefetch-src", "report-to", "report-uri", "script-src-attr",
    "upgrade-insecure-requests", "worker-src",
}).union(*_FALLBACKS.values())  # fmt: skip
_NAME = re.compile(r"[a-z0-9-]+")
_UNUSUAL = re.compile(r"'(?:nonce-|sha(?:256|384|512)-)|'strict-dynamic'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Policy:
    """The policies of a page, each as the sources of its directives by their names in small letters."""

    policies: tuple[Mapping[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Policy:
        """Read policies as header fields have them."""
        return cls(tuple(policy for text in texts for policy in _parsed(text)))

    def __bool__(self) -> bool:
        return bool(self.policies)

    @property
    def is_open(self) -> bool:
        """Whether everything is allowed that a level may write: code and styles in the page, data URIs, own files."""
        kinds = ("style", "style-attribute", "script")
        return (
            all(policy.keys() <= _HARMLESS for policy in self.policies)
            and all(self._all_allow_inline(kind, "", None) for kind in kinds)
            and all(self._all_have("data:", kind) for kind in ("image", "font", "script"))
            and all(self.allows_own(kind) for kind in ("style", "script", "image", "font"))
        )

    def allows_inlining(self, kind: str, nonce: str | None) -> bool:
        """Whether a file of the site is allowed for style or script elements, and any text in its place.

        A file that browsers do not load, since no policy names the site, would apply once it is in the page.
        """
        return all(
            sources is None
            or f"'nonce-{nonce}'" in sources
            or (_is_open_to_self(sources) and _allows_inline(sources, "", nonce))
            for sources in self._sources(kind)
        )

    def allows_style(self, text: str, nonce: str | None = None) -> bool:
        """Whether a style element of this text, with this nonce, applies."""
        return self._all_allow_inline("style", text, nonce)

    def allows_script(self, text: str, nonce: str | None = None) -> bool:
        """Whether a script element of this text, with this nonce, runs."""
        return self._all_allow_inline("script", text, nonce)

    def allows_data(self, kind: str) -> bool:
        """Whether data URIs are allowed for a ``kind``: script, image, font."""
        return self._all_have("data:", kind)

    def allows_blob(self) -> bool:
        """Whether scripts may come from ``blob:`` URLs, which scripts of the page make."""
        return self._all_have("blob:", "script")

    def allows_own(self, kind: str) -> bool:
        """Whether any file of the site is allowed for a ``kind``: style, script, image, font."""
        return all(
            sources is None or (_is_open_to_self(sources) and "'strict-dynamic'" not in sources)
            for sources in self._sources(kind)
        )

    def _sources(self, kind: str) -> list[tuple[str, ...] | None]:
        """Return the sources for a kind by each policy, ``None`` where it says nothing of that."""
        names = _FALLBACKS[kind]
        return [next((policy[name] for name in names if name in policy), None) for policy in self.policies]

    def _all_allow_inline(self, kind: str, text: str, nonce: str | None) -> bool:
        return all(sources is None or _allows_inline(sources, text, nonce) for sources in self._sources(kind))

    def _all_have(self, source: str, kind: str) -> bool:
        return all(sources is None or source in map(str.lower, sources) for sources in self._sources(kind))


def _is_open_to_self(sources: tuple[str, ...]) -> bool:
    return not {"*", "'self'", "https:"}.isdisjoint(map(str.lower, sources))


def _allows_inline(sources: tuple[str, ...], text: str, nonce: str | None) -> bool:
    """Whether an element is allowed by its nonce or hash, or all are (section 6.7.3.3)."""
    if nonce and f"'nonce-{nonce}'" in sources:
        return True
    if any(source.lower().startswith("'sha") for source in sources) and not text_hashes(text).isdisjoint(
        map(_normalized, sources)
    ):
        return True
    is_unusual = any(map(_UNUSUAL.match, sources))
    return "'unsafe-inline'" in map(str.lower, sources) and not is_unusual


def _normalized(source: str) -> str:
    """Return a hash source with the letters of base64, others as they are."""
    algorithm, dash, digest = source.strip("'").partition("-")
    is_hash = algorithm.lower() in _ALGORITHMS and dash
    return f"{algorithm.lower()}-{digest.replace('-', '+').replace('_', '/')}" if is_hash else source


@lru_cache(maxsize=256)
def text_hashes(text: str) -> frozenset[str]:
    """Return the hashes by which a policy may allow an element of this text, without quotes."""
    content = text.encode("utf-8", "replace")
    digests = ((name, hashlib.new(name, content).digest()) for name in _ALGORITHMS)
    return frozenset(f"{name}-{base64.b64encode(digest).decode('ascii')}" for name, digest in digests)


# ---- policies that allow more elements

_ELEMENTS = ("style", "script")


def allowing(text: str, kind: str, hashes: Iterable[str]) -> str:
    """Return policies with hashes for elements of a ``kind``, style or script, in the directive that counts."""
    return _edited(text, kind, lambda sources: [*sources, *(f"'{each}'" for each in sorted(hashes))], own=False)


def open_to_elements(text: str) -> str:
    """Return policies that allow every element which hashes could allow: those with nonces stay as they are."""
    for kind in _ELEMENTS:
        text = _edited(text, kind, _open, own=True)
    return text


def _open(sources: list[str]) -> list[str]:
    if any(source.lower().startswith("'nonce-") or source.lower() == "'strict-dynamic'" for source in sources):
        return sources
    return [*(source for source in sources if not _UNUSUAL.match(source)), "'unsafe-inline'"]


def _edited(text: str, kind: str, edit: Callable[[list[str]], list[str]], *, own: bool) -> str:
    """Return policies with other sources for a kind: with ``own`` in the directive for elements alone."""
    policies = []
    for part in text.split(","):
        directives: dict[str, list[str]] = {}
        for directive in filter(None, map(str.split, part.split(";"))):
            directives.setdefault(directive[0].lower(), directive[1:])
        first, second, _ = names = _FALLBACKS[kind]
        governing = next((name for name in names if name in directives), None)
        if governing is not None:
            sources = [source for source in directives[governing] if source.lower() != NONE]
            place = first if own else second if governing not in (first, second) else governing
            directives[place] = edit(sources)
        policies.append("; ".join(" ".join((name, *sources)) for name, sources in directives.items()))
    return ", ".join(policies)


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """Return the policies of a field. A directive that is named again does not count (section 2.2.1).

    What is no name of a directive is a variable of a server, such as ``$csp``, which may forbid anything.
    """
    policies = []
    for part in text.split(","):
        directives: dict[str, tuple[str, ...]] = {}
        for directive in part.split(";"):
            name, *sources = directive.split() or [""]
            directives.setdefault(name.lower(), () if [*map(str.lower, sources)] == [NONE] else tuple(sources))
        directives.pop("", None)
        if directives:
            policies.append(directives if all(map(_NAME.fullmatch, directives)) else {"default-src": ()})
    return tuple(policies)
