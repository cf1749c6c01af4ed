"""Content digests (SHA-256, FIPS 180-4), which name artifacts in the cache; and digests that texts of a site hold."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain

_CHUNK = 1 << 20


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of ``content`` as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_chunks(chunks: Iterable[bytes]) -> str:
    """Return the SHA-256 of the concatenated chunks as 64 hexadecimal digits."""
    total = hashlib.sha256()
    for chunk in chunks:
        total.update(chunk)
    return total.hexdigest()


def digest_file(path: str) -> str | None:
    """Return the SHA-256 of a file; what cannot be read is equal to nothing."""
    try:
        with open(path, "rb", buffering=0) as file:
            return digest_chunks(iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return None


def digest_parts(*parts: str | bytes) -> str:
    """Return the SHA-256 of a sequence of parts as 64 hexadecimal digits.

    Each part is preceded by its length, so that ``("ab", "c")`` and ``("a", "bc")`` differ. Text is encoded as UTF-8
    with lone surrogates, since file names may hold any bytes.
    """
    total = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()


# ---- digests in texts
#
# Service workers, loaders and import maps have tables of digests by which files are checked. No list of them would be
# complete. So every string that has the form of a digest is taken for one, and counts if a file of the site has it.
# One is kept as its first twelve hexadecimal digits, a shortened one as eleven or fewer: of 5,000 sites with 100,000
# files and as many strings one would have two of them alike by chance.

WHOLE_DIGITS = 12
_SHORTEST = 8  # hexadecimal digits of a digest that somebody shortened
ALGORITHMS = ("md5", "sha1", "sha256", "sha384", "sha512")
"""Those of which digests are known. Nobody checks a file by MD5: a service worker tells versions by it."""


def content_digests(content: bytes, sha256: str) -> str:
    """Return the first digits of the digest of ``content`` by each of ``ALGORITHMS``, one after the other."""
    others = {name: hashlib.new(name, content, usedforsecurity=False) for name in ALGORITHMS if name != "sha256"}
    return "".join((others[name].hexdigest() if name in others else sha256)[:WHOLE_DIGITS] for name in ALGORITHMS)


class DigestsWritten:
    """Digests that texts write, as ``written_digests`` returns them."""

    def __init__(self, digits: Iterable[str]) -> None:
        self.digits = frozenset(digits)
        self._lengths = sorted({len(each) for each in self.digits})

    def matches(self, digests: str) -> Iterator[tuple[str, str]]:
        """Yield (algorithm, the digits that are written) for a file with these ``content_digests``."""
        for number, name in enumerate(ALGORITHMS if digests else ()):
            digest = digests[number * WHOLE_DIGITS :]
            yield from ((name, digest[:length]) for length in self._lengths if digest[:length] in self.digits)


# The letters of hexadecimal digits become "x", those of base64 and base64url "b", since literal runs are found quickly:
# 60 MB/s in all. One expression for all forms read 20 MB/s, and took a twentieth of a quick build.
_HEXADECIMAL_LETTERS = b"0123456789abcdefABCDEF"
_BASE64_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-"
_AS_HEXADECIMAL = bytes(120 if code in _HEXADECIMAL_LETTERS else 32 for code in range(256))
_AS_BASE64 = bytes(98 if code in _BASE64_LETTERS else 32 for code in range(256))
_WHOLE = 32  # digits of the shortest digest, MD5
# Lengths of whole digests in base64 without padding. One in hexadecimal digits has 32, 40, 64, 96 or 128
_LENGTHS = frozenset((22, 27, 43, 64, 86))
_HEXADECIMAL_RUN = re.compile(b"x" * _SHORTEST + b"x*")
_BASE64_RUN = re.compile(b"b" * min(_LENGTHS) + b"b*")
_ONE_CASE = re.compile(rb"[0-9a-f]{8,128}|[0-9A-F]{8,128}")
_AS_PAIRS = bytes(120 if code in _HEXADECIMAL_LETTERS else 58 if code in b":- " else 32 for code in range(256))
_PAIRS = re.compile(rb"[0-9a-f]{2}(?:[:\x20-][0-9a-f]{2}){19,63}(?!\w)", re.IGNORECASE)
_LIST = re.compile(
    rb"\[(?>(?:\s*+(?:-?(?:0|[1-9][0-9]{0,2})|0x[0-9a-f]{1,2})\s*+(?:,|(?=\]))){20,64})\s*+\]", re.IGNORECASE
)
_NUMBER, _PAIR = re.compile(rb"-?\w+"), re.compile(rb"\w+")
_BYTES = frozenset((20, 32, 48, 64))
_WORD = re.compile(rb"[\w+/.#?&-]")
_NAMED = re.compile(rb"(?:sha(?:1|256|384|512)|md5)-", re.IGNORECASE)
_SHORTENED_BASE64 = re.compile(rb"sha[1235][0-9]{0,2}-([A-Za-z0-9+/_-]{8,21})(?![\w+/=-])")
_QUERY = re.compile(rb"[?&][\w.%-]*=\Z")
_BEFORE = 40  # bytes in front of a digest that may be the name of a parameter
# How JSON, scripts, markup and addresses write the letters of base64
_ESCAPE_FORMS = rb"\u00%02x \u00%02X \x%02x \x%02X &#%d; &#x%02x; &#x%02X; %%%02X %%%02x"
_ESCAPES = [
    (letter, (other, *(form % ord(letter) for form in _ESCAPE_FORMS.split())))
    for letter, other in ((b"+", b"&plus;"), (b"/", rb"\/"), (b"/", b"&sol;"), (b"=", b"&equals;"))
]


def written_digests(text: bytes) -> tuple[str, ...]:
    """Return what a text holds in the form of a digest, each once. The text is read once.

    The digest may be by SHA-1 or more, or MD5, in hexadecimal digits, base64 or base64url, whole or shortened: to
    hexadecimal digits, or to base64 after the name of the algorithm; or byte by byte. What stands in the name of a
    file, or in a query, is none: nobody checks it.
    """
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = text.decode("utf-16", "replace").encode("utf-8", "replace")
    by_bytes = list(_byte_by_byte(text))
    starts = tuple(
        start
        for start in (b"\\/", b"\\u00", b"\\x2", b"\\x3", b"&#", b"&plus;", b"&sol;", b"&equals;", b"%2", b"%3")
        if start in text
    )
    for letter, escapes in _ESCAPES if starts else ():
        for escape in escapes:
            if escape.startswith(starts) and escape in text:
                text = text.replace(escape, letter)
    return tuple(dict.fromkeys((*_hexadecimal(text), *_base64(text), *by_bytes)))


def _hexadecimal(text: bytes) -> Iterator[str]:
    for match in _HEXADECIMAL_RUN.finditer(text.translate(_AS_HEXADECIMAL)):
        start, end = match.span()
        run = text[start:end]
        if run.isdigit() or not _ONE_CASE.fullmatch(run) or _is_in_name(text, start, end):
            continue
        if len(run) >= _WHOLE:
            yield run.decode("ascii").lower()[:WHOLE_DIGITS]
        elif not run.isalpha():
            yield run.decode("ascii").lower()[: WHOLE_DIGITS - 1]


def _byte_by_byte(text: bytes) -> Iterator[str]:
    """Yield lists of numbers (``[18, 0xff, -3]``), and pairs of digits that are apart (``AB:CD``, ``\\xab\\xcd``)."""
    apart = text.replace(b"\\x", b":") if b"\\x" in text else text
    has_pairs = b"xx:" * 8 in apart.translate(_AS_PAIRS)
    for match in chain(_LIST.finditer(text), _PAIRS.finditer(apart) if has_pairs else ()):
        number, base = (_NUMBER, 0) if match.re is _LIST else (_PAIR, 16)
        numbers = number.findall(match[0])
        if len(numbers) in _BYTES:
            yield bytes(int(each, base) % 256 for each in numbers).hex()[:WHOLE_DIGITS]


def _is_in_name(text: bytes, start: int, end: int) -> bool:
    """Whether letters go on at either end, as in the name of a file, a query or a colour."""
    before = text[start - 1 : start]
    if text[start - 2 : start].lower() == b"0x":
        before = text[start - 3 : start - 2]
    if _WORD.match(before) and not _NAMED.fullmatch(text[max(0, start - 7) : start].lstrip(b"\"'`=: \n")):
        return True
    return bool(_goes_on(text, end) or (before == b"=" and _is_query(text, start)))


def _goes_on(text: bytes, end: int) -> bool:
    after = text[end : end + 2]
    return (after[:1] == b"." and after[1:].isalpha()) or (after[:1] != b"." and _WORD.match(after) is not None)


def _is_query(text: bytes, start: int) -> bool:
    return _QUERY.search(text[max(0, start - _BEFORE) : start]) is not None


def _base64(text: bytes) -> Iterator[str]:
    for match in _BASE64_RUN.finditer(text.translate(_AS_BASE64)):
        start, end = match.span()
        named = _NAMED.match(text, start, end)
        start = named.end() if named else start
        if end - start in _LENGTHS and not _is_part(text, start, end, is_named=named is not None):
            yield _decoded(text[start:end])
    yield from (_decoded(match[1])[: WHOLE_DIGITS - 1] for match in _SHORTENED_BASE64.finditer(text))


def _is_part(text: bytes, start: int, end: int, *, is_named: bool) -> bool:
    """Whether a run of the letters of base64 is a part of a name, or hexadecimal digits."""
    before = text[start - 1 : start]
    is_in_address = not is_named and (before in (b"?", b"&", b".", b"#") or (before == b"=" and _is_query(text, start)))
    after = text[end : end + 2]
    return (
        is_in_address
        or (after[:1] == b"." and after[1:].isalpha())
        or _ONE_CASE.fullmatch(text, start, end) is not None
    )


def _decoded(run: bytes) -> str:
    return binascii.a2b_base64(run[:8].replace(b"-", b"+").replace(b"_", b"/")).hex()
