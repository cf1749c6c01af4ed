"""What workers do for dictionaries: search one for a level, and encode files with them. Results are in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.analyse.dictionary_search import DICTIONARY_EFFORT, Found, SampledPage, search
from adaptc.compile.engine.cache.derived import Encoder
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.dictionaries.versions import EarlierContents, Version, coding_of
from adaptc.compile.engine.state.results import Extra, Output
from adaptc.core import media
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import (
    DICTIONARY_TOKEN,
    IDENTITY,
    Effort,
    dictionary_coding,
    dictionary_path,
    name_of_dictionary,
)
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.formats.codings import CodingError, recipe
from adaptc.formats.dictionary import MOST_BYTES, DictionaryCodec, name_of

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import DeliveryCost


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file of a level: the digest of its content, its bytes as sent without a dictionary, and its views (or 1).

    ``coded`` is what the tree has of dictionaries, ``dictionary`` the path of the one that the unit needs in the tree.
    """

    level: str
    path: str
    digest: str
    sent: int
    weight: int = 1
    coded: tuple[Output, ...] = ()
    dictionary: str | None = None


@dataclass(frozen=True, slots=True)
class LevelSample:
    """Some pages of a level, and the digest of the dictionary that it has now."""

    level: str
    pages: tuple[BuiltFile, ...]
    last: str | None


@dataclass(frozen=True, slots=True)
class LevelDictionary:
    """The dictionary of a level: its file in the tree, ``None`` where none pays, and why that is so, in words."""

    level: str
    file: Extra | None
    reason: str

    @property
    def identity(self) -> Output | None:
        """The dictionary itself, without a content coding."""
        return None if self.file is None else self.file.outputs[0]

    @property
    def coding(self) -> str | None:
        """The directory of the level's tree for pages that are encoded with the dictionary."""
        return None if self.file is None else dictionary_coding(name_of_dictionary(self.file.path))

    @property
    def version(self) -> Version | None:
        """What browsers hold of it."""
        identity = self.identity
        return None if identity is None else Version(identity.digest, IDENTITY, identity.key)

    @property
    def sent(self) -> int:
        """The bytes of the dictionary in the best coding."""
        return min([output.size for output in self.file.outputs], default=0) if self.file else 0


@dataclass(frozen=True, slots=True)
class FileToEncode:
    """A file, and the contents to encode it with, each by itself."""

    file: BuiltFile
    dictionaries: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class DictionaryWork:
    """What workers need to know."""

    docroot: Path
    cache: Path
    earlier: Path
    codings: tuple[str, ...]
    effort: Effort
    cost: DeliveryCost

    @property
    def store(self) -> Store:
        """The cache."""
        return Store(self.cache)

    def content(self, page: BuiltFile) -> bytes | None:
        """Return the content of a file, from the cache or the docroot; ``None`` if it is in neither, or too large."""
        content = self.store.content(page.digest)
        if content is None:
            try:
                content = DiskTree(self.docroot).read(page.path)
            except (OSError, ChangedWhileRead):
                return None
        is_same = len(content) <= MOST_BYTES and digest_bytes(content) == page.digest
        return content if is_same else None

    def describe(self, level: str, found: Found) -> LevelDictionary:
        """Return the dictionary that was found, stored with its encodings."""
        if found.dictionary is None:
            return LevelDictionary(level, None, _refusal(found))
        # a text as far as codings are concerned; browsers that take dictionaries take Brotli
        others = Encoder(self.store, tuple(name for name in self.codings if name != "br"), self.effort)
        best = Encoder(self.store, tuple(name for name in self.codings if name == "br"), DICTIONARY_EFFORT)
        outputs = (
            *others.outputs(found.dictionary, media.HTML, identity=True),
            *best.outputs(found.dictionary, media.HTML, identity=False),
        )
        path = dictionary_path(name_of(found.dictionary))
        return LevelDictionary(level, Extra(path, media.BINARY, outputs), "")


def _refusal(found: Found) -> str:
    if found.visit is None:
        return "its pages are too few, or have too little in common"
    visit, pages = found.visit, f"first visits of {found.visit.cost.pages_per_visit:g} pages"
    saving, loss = 1 - visit.first / visit.without, visit.loss / visit.without
    if saving > 0:
        return f"with the best one {pages} would save {saving:.1%}, but lose {loss:.1%} in those that take more bytes"
    return f"{pages} would take {-saving:.1%} more bytes with the best one"


def search_batch(work: DictionaryWork, samples: tuple[LevelSample, ...]) -> Iterator[LevelDictionary]:
    """Yield the dictionary of each level."""
    for sample in samples:
        last = work.store.content(sample.last) if sample.last else None
        read = ((page, work.content(page)) for page in sample.pages)
        pages = [SampledPage(content, page.sent, page.weight) for page, content in read if content]
        found = search(pages, last, work.cost, work.effort) if len(pages) > 1 else Found(None, None)
        yield work.describe(sample.level, found)


def encode_batch(
    work: DictionaryWork, units: tuple[FileToEncode, ...]
) -> Iterator[tuple[BuiltFile, tuple[Output, ...]]]:
    """Yield each file with its encodings that are smaller than what is sent without them."""
    for unit in units:
        content = work.content(unit.file)
        encodings = (_encode(work, unit.file, content, version) for version in unit.dictionaries) if content else ()
        yield unit.file, tuple(output for output in encodings if output is not None)


def _encode(work: DictionaryWork, file: BuiltFile, content: bytes, version: Version) -> Output | None:
    codec = _codec(work.cache, work.earlier, version, work.effort)
    if codec is None:  # another build that shares the cache removed it
        return None
    parts = ("encode", recipe("zst", work.effort), VERSION, DICTIONARY_TOKEN, work.effort, version.digest, file.digest)
    key = digest_parts(*parts)
    encoded = work.store.read(key)
    if encoded is None or not _encodes(codec, encoded, content):
        encoded = codec.encode(content)
        work.store.put(encoded, key)
    if len(encoded) >= file.sent:
        return None
    return Output(coding_of(version), key, digest_bytes(encoded), len(encoded))


def _encodes(codec: DictionaryCodec, encoded: bytes, content: bytes) -> bool:
    try:
        return codec.decode(encoded, len(content)) == content
    except CodingError:
        return False


@lru_cache(maxsize=4)
def _codec(cache: Path, earlier: Path, version: Version, effort: Effort) -> DictionaryCodec | None:
    dictionary = Store(cache).content(version.digest)
    if dictionary is None:
        dictionary = EarlierContents(earlier).content(version, MOST_BYTES)
    return None if dictionary is None else DictionaryCodec(dictionary, effort)
