"""The words of a page, for levels that promise to keep them and may add to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["fold", "lost_words"]

_SPACE = " \t\n\r\f"
_SHOWN = 40  # characters quoted of a piece of text that is gone


def fold(text: str) -> str:
    """Fold the whitespace that CSS folds; a no-break space is a character like any other."""
    spaced = text.replace("\n", " ").replace("\t", " ").replace("\r", " ").replace("\f", " ")
    return " ".join(filter(None, spaced.split(" ")))


def lost_words(before: Iterable[str], after: str) -> str | None:
    """Return the first piece of text that is not in ``after`` behind the piece before it; ``None`` when all are.

    ``before`` are text nodes in document order, ``after`` is folded text. Between two pieces there may be more than
    there was (the words of an image, of a noscript); where they stood apart, something must stand between them.
    """
    end = 0
    for piece, is_apart in _pieces(before):
        at = after.find(piece, end + is_apart if end else 0)
        if at < 0:
            return piece[:_SHOWN]
        end = at + len(piece)
    return None


def _pieces(texts: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield what is not white space of each text node, and whether white space parts it from the one before."""
    is_apart = False
    for text in texts:
        piece = fold(text)
        if piece:
            yield piece, is_apart or text[0] in _SPACE
            is_apart = text[-1] in _SPACE
        elif text:
            is_apart = True
