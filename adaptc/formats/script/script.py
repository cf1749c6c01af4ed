"""A script that is read once for all questions about it: its tokens, and its code in one spelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, compress
from operator import and_, not_

from adaptc.core.values import dataclass
from adaptc.formats.script.lexer import Kind, kind_of, scan, unescape

__all__ = ["Script", "is_string", "string_content"]


@dataclass(frozen=True, eq=False)
class Script:
    """A script. Each of its properties is found once, when it is first asked for; comments are no tokens."""

    text: str

    @cached_property
    def lexes(self) -> bool:
        """Whether the text is that of a script; otherwise there are no tokens."""
        return self._pieces is not None

    @cached_property
    def _pieces(self) -> Sequence[str] | None:
        return scan(self.text)

    @cached_property
    def kinds_of(self) -> Mapping[str, Kind]:
        """Return the kinds of tokens by their texts, in the order in which those first appear."""
        kinds = ((piece, kind_of(piece)) for piece in dict.fromkeys(self._pieces or ()))
        return {piece: kind for piece, kind in kinds if kind not in (None, Kind.COMMENT)}

    @cached_property
    def tokens(self) -> Sequence[str]:
        """Return the texts of the tokens."""
        return list(filter(self.kinds_of.__contains__, self._pieces or ()))

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        """Return the kinds of the tokens."""
        return list(map(self.kinds_of.__getitem__, self.tokens))

    @cached_property
    def gaps(self) -> Mapping[int, str]:
        """Return the white space and comments by the number of tokens before them."""
        pieces = self._pieces or ()
        are_tokens = list(map(self.kinds_of.__contains__, pieces))
        gaps: dict[int, str] = {}
        for place, piece in compress(zip(accumulate(are_tokens), pieces, strict=True), map(not_, are_tokens)):
            gaps[place] = gaps.get(place, "") + piece
        return gaps

    @property
    def comments(self) -> Iterator[str]:
        """Return the comments, in order."""
        others = (piece for piece in self._pieces or () if piece not in self.kinds_of)
        return (piece for piece in others if kind_of(piece) is Kind.COMMENT)

    def texts_of(self, *kinds: Kind) -> Iterator[str]:
        """Yield the texts of the tokens of these kinds, each once, in the order in which they first appear."""
        return (text for text, kind in self.kinds_of.items() if kind in kinds)

    def strings(self) -> Iterator[str]:
        """Yield the contents of strings, and of templates without substitutions, each once."""
        for text, kind in self.kinds_of.items():
            if is_string(text, kind):
                yield unescape(text[1:-1])

    @cached_property
    def code(self) -> str:
        """Return the code without comments and escapes, with strings in ``"`` and spaces only between words.

        Strings are part of it: ``a["currentScript"]`` and ``setAttribute("src", b)`` are code as well. A text that does
        not lex is returned with its comments, so that nothing is missed.
        """
        if not self.lexes:
            return unescape(self.text).replace("'", '"')
        spellings = {text: _spelling(text, kind) for text, kind in self.kinds_of.items()}
        words = {text: kind in (Kind.WORD, Kind.NUMBER) for text, kind in self.kinds_of.items()}
        are_words = list(map(words.__getitem__, self.tokens))
        spaces = map(("", " ").__getitem__, map(and_, [False, *are_words], are_words))
        return "".join(chain.from_iterable(zip(spaces, map(spellings.__getitem__, self.tokens), strict=True)))

    @cached_property
    def pairs(self) -> Mapping[int, int]:
        """Return the partner of each bracket, by the places of their tokens; those of templates are brackets, too."""
        templates = set(self.texts_of(Kind.TEMPLATE))
        closes = {*")]}", *(text for text in templates if text[0] == "}")}
        opens = {*"([{", *(text for text in templates if text.endswith("${"))}
        pairs: dict[int, int] = {}
        pending: list[int] = []
        for place, text in enumerate(self.tokens):
            if text in closes:
                partner = pending.pop()
                pairs[place], pairs[partner] = partner, place
            if text in opens:
                pending.append(place)
        return pairs

    def token(self, place: int) -> str:
        """Return the text of a token, empty outside of the script."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else ""

    def places(self, texts: Iterable[str]) -> Iterator[int]:
        """Yield where tokens of these texts are, in order."""
        wanted = frozenset(texts)
        return (place for place, text in enumerate(self.tokens) if text in wanted) if wanted else iter(())


def is_string(text: str, kind: Kind) -> bool:
    """Whether a token is a string, or a template without substitutions."""
    return kind is Kind.STRING or (kind is Kind.TEMPLATE and text[0] == text[-1] == "`")


def string_content(text: str) -> str:
    """Return the text of a string, or of a piece of a template."""
    return unescape(text[1:].removesuffix("${") if text.endswith("${") else text[1:-1])


def _spelling(text: str, kind: Kind) -> str:
    if is_string(text, kind):
        return f'"{unescape(text[1:-1])}"'
    return unescape(text) if kind in (Kind.WORD, Kind.TEMPLATE) else text
