"""What passes ask of a script, found once and kept as one value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise

from adaptc.core.facts import FactKind
from adaptc.core.urls import NOWHERE, host_and_path, unquote_path
from adaptc.core.values import dataclass, field, pattern
from adaptc.formats.script.addresses import changes_images, draws_parts, touches_addresses
from adaptc.formats.script.inert import Inertness, find_inertness
from adaptc.formats.script.introspection import (
    introspection_reasons,
    is_chunk,
    looks_for_style_sheets,
    reads_text,
    selects_other_scripts,
    writes_document,
)
from adaptc.formats.script.lexer import Kind
from adaptc.formats.script.lookups import Handles, file_selectors, find_handles, lookup_names, names_of_script
from adaptc.formats.script.script import Script, string_content

__all__ = ["SCRIPT", "ScriptFacts", "is_self_contained", "script_facts"]


@dataclass(frozen=True, slots=True, eq=False)
class ScriptFacts:
    """The facts of one script, each as the function of ``adaptc.formats.script`` that finds it says.

    ``files`` are the strings that are addresses of scripts, JSON and markup, ``addresses`` the words with a point in
    its strings (hosts, names of files), and URLs with a host without their scheme (``//example.org/a.js``); ``quoted``
    are the words in quotes or after ``#``, by which it may name elements.
    """

    introspection: str | None = None
    self_inspection: str | None = None
    is_excused: bool = False
    reads_text: bool = False
    selects_others: bool = False
    writes_document: bool = False
    writes_base: bool = False
    looks_for_sheets: bool = False
    touches_addresses: bool = False
    reads_backgrounds: bool = False
    is_self_contained: bool = False
    inertness: Inertness = field(default_factory=Inertness)
    changes_images: bool = False
    draws_parts: bool = False
    names: frozenset[str] = frozenset()
    handles: Handles = field(default_factory=Handles)
    files: frozenset[str] = frozenset()
    file_selectors: frozenset[str] = frozenset()
    lookups: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    quoted: frozenset[str] = frozenset()
    is_chunk: bool = False

    def names_address(self, name: str) -> bool:
        """Whether the script writes out the name of a host or file."""
        return all(any(part in address for address in self.addresses) for part in _parts_of(name)[0])

    def names_file(self, path: str, root: str = NOWHERE) -> bool:
        """Whether the script writes out the name of a file, or composes it of parts, as loaders of chunks do.

        Such a loader has the digests of the names in a table (``{12: "4f5a9c01"}``), or the end of all of them
        (``number + ".chunk.js"``). A whole URL names a file of another host, unless its host is that of ``root``, the
        URL of the docroot; of a site without a known host it is the file's if the path is the same.
        """
        name = path.rpartition("/")[2]
        parts, digests = _parts_of(name)
        return (
            all(
                any(part in address and _may_lead_to(address, path, root) for address in self.addresses)
                for part in parts
            )
            or not self.quoted.isdisjoint(digests)
            or any(name.endswith(ending) for ending in self.addresses if ending[0] == "." and "." in ending[1:])
        )

    @property
    def is_loader(self) -> bool:
        """Whether the script composes names of scripts: it has the end of one, as ``.js`` or ``-chunk.js``."""
        return any(word[0] in ".-~" and word.endswith(".js") for word in self.quoted)

    def loads_chunk(self, path: str) -> bool:
        """Whether the script is a loader that has the digest in the name of a script."""
        return self.is_loader and not self.quoted.isdisjoint(_parts_of(path.rpartition("/")[2])[1])


def script_facts(text: str) -> ScriptFacts:
    """Return the facts of a script."""
    script = Script(text)
    return ScriptFacts(
        *introspection_reasons(script),
        reads_text(script),
        selects_other_scripts(script),
        writes_document(script),
        any(
            "createHTMLDocument(" not in text[max(0, m.start() - _NEAR) : m.start()]
            for m in _WRITES_BASE.finditer(text)
        ),
        looks_for_style_sheets(script),
        touches_addresses(script),
        _reads_backgrounds(script),
        is_self_contained(script),
        find_inertness(script),
        changes_images(script),
        draws_parts(script),
        names_of_script(script),
        find_handles(script),
        frozenset(filter(_FILE.fullmatch, script.strings())),
        file_selectors(script),
        lookup_names(script),
        frozenset(_addresses(_written(script))),
        frozenset(chain.from_iterable(map(_filled, _QUOTED.findall(text)))),
        is_chunk(script),
    )


SCRIPT = FactKind("script", script_facts, ScriptFacts())

# Where a script writes the base, nobody knows what addresses lead to; that of another document, which jQuery makes to
# parse markup in, is none of the page
_NEAR = 300  # characters
_WRITES_BASE = pattern(r"""<base\b|createElement\(\s*["'`]base["'`]""", re.IGNORECASE)

# style.backgroundImage = "...", css("background-image", "..."), {backgroundImage: "..."}, "background-image:url(...)"
_BACKGROUND = pattern(r"background-?[iI]mage")
_SETS_BACKGROUND = pattern(
    r"\.backgroundImage=(?!=)|background-image:"
    r'|(?:css|setProperty)\("background-?[iI]mage",(?!function\b)|[{,]"?background-?[iI]mage"?:(?!function\b)'
)


def _reads_backgrounds(script: Script) -> bool:
    """Whether a script may ask which image an element has as its background; to give it another one is harmless."""
    return len(_BACKGROUND.findall(script.code)) > len(_SETS_BACKGROUND.findall(script.code))


_FILE = pattern(r"[^<>\s{}]{1,300}\.(?:[cm]?js|json|html?)(?:[?#]\S*)?", re.IGNORECASE)
_RUN = pattern(r"[\w.~%+@-]+")
# A URL with its host, as far as the path is written; in a string with JSON its slashes may be escaped
_URL = pattern(
    r"(?:\bhttps?:|(?<![\w.~%+@:/-]))//((?>(?:[\w-]++\.)+)[^\W\d_][\w-]++)(?::\d++)?(/[\w.~%+@:!*/-]*+)?(?![\w.@:])",
    re.IGNORECASE,
)
# "app", 'app', `app`, #app; one may begin where another ends
_QUOTED = pattern(r"""(["'`])(?=([^"'`\s]{1,99})\1)|#([\w-]+)""")


# Parts of the name of a chunk: "12.4f5a9c01.chunk.js", "about-BhX5jokk.js", "main~ab12cd34.js"
_PARTS = pattern(r"[.~]|-(?=[\w-]+\.[a-z]+\Z)")
_SHORTEST = 6  # characters of a digest


@lru_cache(maxsize=4096)  # every script of a page is asked for each file
def _parts_of(name: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the addresses in a name, and the digests in one of a file."""
    return tuple(_addresses((name,))), frozenset(filter(_is_digest, _PARTS.split(name)))


def _is_digest(part: str) -> bool:
    return len(part) >= _SHORTEST and not part.isalpha() and not part.isdecimal()


def _written(script: Script) -> Iterator[str]:
    """Yield what may hold addresses: strings and templates, or all of a text that does not lex.

    Of a URL that the script takes apart at once (``"https://example.org/a.js".split("/")``) the parts come as well.
    """
    if not script.lexes:
        yield script.text
    texts = list(script.texts_of(Kind.STRING, Kind.TEMPLATE))
    yield from map(string_content, texts)
    urls = {text for text in texts if "//" in text}
    parted = {text for text, following in pairwise(script.tokens) if text in urls and following == "."} if urls else ()
    yield from (string_content(text).replace("//", " ") for text in parted)


def _addresses(texts: Iterable[str]) -> Iterator[str]:
    for text in (text.replace("\\/", "/") for text in texts):
        yield from (f"//{host.lower()}{path}" for host, path in _URL.findall(text))
        for run in _RUN.findall(_URL.sub(" ", text)):
            _, point, ending = run.rstrip(".").rpartition(".")
            if point and ending[:1].isalpha():
                yield run


def _may_lead_to(address: str, path: str, root: str) -> bool:
    """Whether a word of ``ScriptFacts.addresses`` with the name of a file may be an address of it."""
    if not address.startswith("//"):
        return True
    host, _, rest = address[2:].partition("/")
    own, folder = host_and_path(root)
    if own == host_and_path(NOWHERE)[0]:
        return unquote_path(rest) == folder[1:] + path
    return host.removeprefix("www.") == own.removeprefix("www.")


def _filled(groups: tuple[str, str, str]) -> Iterator[str]:
    return filter(None, groups[1:])


# ---- Module scripts: whether one needs no other module and none needs it

_WORDS = frozenset({"import", "export"})


def is_self_contained(script: Script) -> bool:
    """Whether a module imports and exports nothing and does not ask for its address; ``False`` if it does not lex.

    ``import`` and ``export`` are reserved words: elsewhere they are names of properties, after a point or before a
    colon.
    """
    return script.lexes and not any(_is_declaration(script, place) for place in script.places(_WORDS))


def _is_declaration(script: Script, place: int) -> bool:
    tokens = script.tokens
    is_property = place > 0 and tokens[place - 1] in (".", "?.")
    return not is_property and place + 1 < len(tokens) and tokens[place + 1] != ":"
