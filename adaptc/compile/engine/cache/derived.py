"""Work that depends on content alone is done once, and its result is stored in the cache.

That is the encodings of files, smaller copies of images, and evidence of what images look like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.analyse.decorations.evidence import ImageEvidence, image_evidence
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.state.results import Output
from adaptc.compile.view import WOFF2, DerivedFile, Options, Settings
from adaptc.core import media
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.facts import BoundedCache, FactKind, pack_facts, unpack_facts
from adaptc.core.imports import code_digest, reachable_libraries
from adaptc.core.libraries import identify
from adaptc.core.model import IDENTITY, OWN_DIRECTORY, Effort
from adaptc.core.version import VERSION
from adaptc.formats import codings
from adaptc.site.site import Source

if TYPE_CHECKING:
    from adaptc.compile.page.page_harm import Remember
    from adaptc.formats.image.halve import ImageCopy

# Stored where a coding does not make content smaller; unlike an empty, truncated file this is no stream of any coding
_NO_GAIN = b"-"


class Encoder:
    """Encodes content in the codings of these ``names``."""

    def __init__(self, store: Store, names: tuple[str, ...], effort: Effort) -> None:
        self.store, self.codings, self.effort = store, names, effort

    def outputs(self, content: bytes, media_type: str, *, identity: bool) -> Iterator[Output]:
        """Yield the outputs of content: with ``identity`` the content itself, and its encodings."""
        digest = digest_bytes(content)
        if identity:
            yield Output(IDENTITY, self.store.put(content, digest), digest, len(content))
        yield from self.encodings(content, media_type, digest)

    def encodings(self, content: bytes, media_type: str, digest: str | None = None) -> Iterator[Output]:
        """Yield the encodings that are smaller than the content."""
        if not media.is_compressible(media_type):
            return
        digest = digest or digest_bytes(content)
        for coding in self.codings:
            recipe = codings.recipe(coding, self.effort)
            key = digest_parts("encode", recipe, VERSION, coding, self.effort, digest)
            encoded = self._encoded(key, content, coding)
            if encoded is not None:
                yield Output(coding, key, digest_bytes(encoded), len(encoded))

    def _encoded(self, key: str, content: bytes, coding: str) -> bytes | None:
        """Return the encoded content, from the cache if possible; ``None`` when it is not smaller."""
        encoded = self.store.read(key)
        if encoded is not None and encoded != _NO_GAIN and not _encodes(encoded, content, coding):
            encoded = None
        if encoded is None:
            encoded = codings.encode_if_smaller(content, coding, self.effort) or _NO_GAIN
            self.store.put(encoded, key)
        return None if encoded == _NO_GAIN else encoded


def _encodes(encoded: bytes, content: bytes, coding: str) -> bool:
    try:
        return codings.decode(encoded, coding, len(content)) == content
    except codings.CodingError:
        return False


# The modules that make copies, and that which measures images
_COPIERS, _FONTS = "adaptc.formats.image.copiers", "adaptc.formats.font"
_EVIDENCE = "adaptc.compile.analyse.decorations.evidence"

# Digits of the digest in a file's name: 64 bits, enough for the images of any site
_DIGITS = 16


class ImageCopier:
    """Makes smaller copies of images and fonts, or finds them in the store by content, kind and options."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._known: dict[str, DerivedFile | str] = {}

    def copy(self, digest: str, read: Callable[[], bytes], kind: str, options: Options) -> DerivedFile | str:
        """Return the copy of the image with this ``digest``, which ``read`` gives, or why there is none."""
        from adaptc.formats.image.copiers import COPIERS_VERSION

        chosen = {**options, "effort": self.settings.effort, "limit_pixels": self.settings.limit_pixels}
        libraries = _libraries_of(_FONTS if kind == WOFF2 else _COPIERS)
        key = digest_parts("derive", str(COPIERS_VERSION), libraries, kind, repr(sorted(chosen.items())), digest)
        copy = self._known.get(key)
        if copy is None:
            copy = self._known[key] = self._stored(key) or self._make_copy(key, read(), kind, chosen)
        return copy

    def content(self, copy: DerivedFile) -> bytes:
        """Return the bytes of a copy. Raises ``ObjectGone`` where another build removed it from the cache."""
        content = self.store.content(copy.digest)
        if content is None:
            self._known.clear()
            raise ObjectGone(copy.path)
        return content

    def _stored(self, key: str) -> DerivedFile | str | None:
        record = self.store.record(key)
        if not isinstance(record, dict):
            return record if isinstance(record, str) else None
        file = DerivedFile(**record)
        return file if self.store.content(file.digest) is not None else None

    def _make_copy(self, key: str, content: bytes, kind: str, options: Mapping[str, Any]) -> DerivedFile | str:
        if kind == WOFF2:
            return self._make_font(key, content, options)
        from adaptc.formats.image.copiers import COPIERS
        from adaptc.formats.image.probe import Refusal

        image = COPIERS[kind](content, **options)
        if isinstance(image, Refusal):
            self.store.put_record(key, image.reason)
            return image.reason
        file = describe_copy(image)
        self.store.put(image.content, file.digest)
        self.store.put_record(key, asdict(file))
        return file

    def _make_font(self, key: str, content: bytes, options: Options) -> DerivedFile | str:
        from adaptc.formats.font import font_in_sheet, woff2_file, woff2_font, woff2_subset

        embedded, characters = options.get("embedded"), options.get("characters")
        source = content if embedded is None else font_in_sheet(content, embedded) or b""
        whole = woff2_font if embedded is None else woff2_file
        every, wanted = options.get("features") is not False, frozenset(map(ord, characters or ""))
        font = whole(source) if characters is None else woff2_subset(source, wanted, every_feature=every)
        if font is None:
            reason = "it is no font that can be WOFF2 and the same"
            self.store.put_record(key, reason)
            return reason
        digest = self.store.put(font)
        file = DerivedFile(f"{OWN_DIRECTORY}{digest[:_DIGITS]}.woff2", "font/woff2", digest, len(font), 0, 0, 0, 0)
        self.store.put_record(key, asdict(file))
        return file


@cache
def _libraries_of(module: str) -> str:
    return identify(reachable_libraries(module))


def remember_in(store: Store) -> Remember:
    """Return what remembers comparisons of images in a store, for ``adaptc.compile.page.page_harm``."""

    def remember(names: tuple[str, ...], find: Callable[[], Any]) -> Any:
        from adaptc.formats.image.copiers import COPIERS_VERSION

        key = digest_parts("compare", VERSION, str(COPIERS_VERSION), _libraries_of(_COPIERS), *names)
        try:
            (found,) = store.record(key)
        except (TypeError, ValueError):
            found = find()
            store.put_record(key, [found])
        return found

    return remember


def describe_copy(image: ImageCopy) -> DerivedFile:
    """Return the description of a copy that passes see."""
    digest = digest_bytes(image.content)
    return DerivedFile(
        f"{OWN_DIRECTORY}{digest[:_DIGITS]}.{image.extension}",
        image.media_type,
        digest,
        len(image.content),
        image.width,
        image.height,
        image.natural_width,
        image.natural_height,
        image.likeness,
    )


# Incremented whenever the same content gives other evidence
_EVIDENCE_VERSION = "1"
# Evidence that a worker remembers: the icons and backgrounds of a site are on many of its pages
_KNOWN = 4096


class EvidenceStore:
    """Measures images, or finds their evidence in the store."""

    def __init__(self, store: Store, limit_pixels: int) -> None:
        self.store, self.limit_pixels = store, limit_pixels
        self._known: dict[str, ImageEvidence] = {}

    def of(self, source: Source, read: Callable[[], bytes]) -> ImageEvidence:
        """Return the evidence of the file ``source``, whose content ``read`` gives."""
        recipe = (_EVIDENCE_VERSION, _libraries_of(_EVIDENCE), str(self.limit_pixels))
        key = digest_parts("evidence", *recipe, source.media_type, source.digest)
        evidence = self._known.get(key)
        if evidence is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            evidence = self._known[key] = self._stored(key) or self._measure(key, source, read)
        return evidence

    def _stored(self, key: str) -> ImageEvidence | None:
        record = self.store.record(key)
        return _unpack(record) if isinstance(record, dict) else None

    def _measure(self, key: str, source: Source, read: Callable[[], bytes]) -> ImageEvidence:
        evidence = image_evidence(read(), source.media_type, self.limit_pixels)
        self.store.put_record(key, asdict(evidence))
        return evidence


def _unpack(record: dict[str, Any]) -> ImageEvidence | None:
    """Return the evidence of a record; ``None`` if it is of another version, or damaged."""
    try:
        evidence = ImageEvidence(**record)
    except TypeError:
        return None
    colour = record["colour"]
    return replace(evidence, colour=None if colour is None else tuple(colour))


F = TypeVar("F")

# Facts of shorter texts, as event handlers, take less time to find than to read: 0.1 ms
_SMALLEST = 1024
# The bytes of texts whose facts a worker remembers, and at least how many each counts for
_REMEMBERED, _LEAST = 16 << 20, 512


class FactStore:
    """Finds facts of texts, or knows them from before."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: BoundedCache[str, tuple[object]] = BoundedCache(_REMEMBERED)

    def of(self, kind: FactKind[F], content: str | bytes) -> F:
        """Return the facts of a text. The digest is that of its bytes in UTF-8."""
        source = content.encode("utf-8", "replace") if isinstance(content, str) else content
        key = digest_parts("facts", kind.name, code_digest(kind.find.__module__), source)
        known = self._known.get(key)
        if known is None:
            known = (kind.of(source) if len(source) < _SMALLEST else self._stored(key, kind, source),)
            self._known.put(key, known, max(len(source), _LEAST))
        return cast(F, known[0])

    def _stored(self, key: str, kind: FactKind[F], source: bytes) -> F:
        """Return facts from the cache, and store them there where it has none, or damaged ones."""
        try:
            (packed,) = self.store.record(key)
            return unpack_facts(packed, kind.none)
        except (TypeError, ValueError):
            facts = kind.of(source)
            self.store.put_record(key, [pack_facts(facts)])
            return facts


# Levels of the same page are built in sequence
_KNOWN_PAGES = 16
# Raised when the record has other fields
_PAGE_EVIDENCE_VERSION = "4"


class PageEvidenceStore:
    """Reads and writes the evidence of pages."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.read = lru_cache(_KNOWN_PAGES)(self._read)

    def put(self, evidence: PageEvidence) -> str:
        """Store the evidence of a page and return its key."""
        record = evidence.as_record()
        key = digest_parts("page-evidence", _PAGE_EVIDENCE_VERSION, json.dumps(record, sort_keys=True))
        self.store.put_record(key, record)
        return key

    def has(self, key: str) -> bool:
        """Whether there is evidence under ``key``."""
        return self.store.record(key) is not None

    def document(self, digest: str) -> bytes:
        """Return the markup of a page after its scripts. Raises ``ObjectGone``."""
        markup = self.store.content(digest)
        if markup is None:
            raise ObjectGone
        return markup

    def _read(self, key: str) -> PageEvidence:
        """Return the evidence under ``key``. Raises ``ObjectGone``."""
        record: Any = self.store.record(key)
        if record is None:
            raise ObjectGone
        return PageEvidence.of_record(record)
