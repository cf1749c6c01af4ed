"""The signs by which a person would judge an image, each with a sentence: ``everywhere`` "used by 512 of 766 pages".

``SIGNS`` is the list of all; the rules give each a weight for each question (decoration? logo? story?). A sign is
either present or not, so that every score is a sum of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import SiteUsage, UseEvidence
from adaptc.core import media

# A sign returns its sentence, or None if it is absent.
Sign = Callable[[Case], "str | None"]
SIGNS: dict[str, Sign] = {}


def _sign(read: Sign) -> Sign:
    """Add a sign that is named like its function."""
    SIGNS[read.__name__] = read
    return read


def _use_sign(
    name: str, sentence: str, condition: Callable[[UseEvidence], object], *, markup_only: bool = False
) -> None:
    """Add a sign that depends on the use alone and always has the same sentence.

    With ``markup_only`` it is not for backgrounds.
    """

    def read(case: Case) -> str | None:
        return sentence if condition(case.use) and not (markup_only and case.is_background()) else None

    SIGNS[name] = read


def signs(case: Case) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of each sign of a use."""
    for name, read in SIGNS.items():
        sentence = read(case)
        if sentence is not None:
            yield name, sentence


def _if(condition: object, sentence: str) -> str | None:
    return sentence if condition else None


# ---- size and pixels


def _size_sign(name: str, condition: Callable[[Case, Mapping[str, float]], object]) -> None:
    """Add a sign of the size in which an image is shown, given the limits of the rules."""
    SIGNS[name] = lambda case: _if(case.size and condition(case, case.rules.limits), _size(case))


_size_sign("hairline", lambda case, limits: case.shortest <= limits["hairline"])
_size_sign("small", lambda case, limits: case.shortest > limits["hairline"] and case.longest <= limits["small"])
_size_sign("icon_sized", lambda case, limits: limits["small"] < case.longest <= limits["icon"])
_size_sign("large", lambda case, limits: not case.is_background() and case.shortest >= limits["large"])


@_sign
def stripe(case: Case) -> str | None:
    is_stripe = case.size and case.shortest > 0 and case.longest / case.shortest >= case.rules.limits["stripe"]
    return _if(is_stripe, f"{_size(case)}, a stripe")


def _size(case: Case) -> str:
    return f"{case.size[0]:.0f}x{case.size[1]:.0f} px" if case.size else ""


@_sign
def flat(case: Case) -> str | None:
    image = case.image
    is_flat = image and image.entropy is not None and image.entropy < case.rules.limits["flat"]
    return _if(is_flat, "hardly any picture in it (flat colour)")


@_sign
def silhouette(case: Case) -> str | None:
    image, limits = case.image, case.rules.limits
    if image is None or image.entropy is None or image.transparent is None:
        return None
    is_shape = image.entropy < limits["flat"] and 0.05 < image.transparent <= limits["outline"]
    is_large = case.shortest >= limits["shape"] and not _says_something(case)
    return _if(is_shape and is_large, "a large shape in one colour")


@_sign
def photo(case: Case) -> str | None:
    return _if(case.looks_like_photo() and not case.is_background(), "looks like a photograph")


@_sign
def animated(case: Case) -> str | None:
    return _if(case.image and case.image.frames > 1, "animated")


# ---- the site


def _usage_sign(name: str, usage: SiteUsage, *, markup_only: bool = False, is_icon_too: bool = True) -> None:
    """Add a sign: how many pages of the site use the file."""

    def read(case: Case) -> str | None:
        is_used_so = usage in case.usage and not (markup_only and case.is_background())
        is_used_so &= is_icon_too or not 0 < case.longest <= case.rules.limits["icon"]
        return case.site.sentence(case.use.path, usage) if is_used_so else None

    SIGNS[name] = read


_usage_sign("everywhere", SiteUsage.EVERYWHERE)
_usage_sign("shared", SiteUsage.SHARED)
_usage_sign("unique", SiteUsage.UNIQUE, markup_only=True, is_icon_too=False)
_usage_sign("first_on_pages", SiteUsage.FIRST)


# ---- the page


@_sign
def repeated(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.times >= 3, f"{case.use.times} times on this page")


@_sign
def series(case: Case) -> str | None:
    return _if(case.use.alike >= 3, f"one of {case.use.alike} different images in places of the same kind")


_use_sign("first", "the first image of the page", lambda use: use.order == 0, markup_only=True)
_use_sign("before_heading", "before the first heading", lambda use: use.before_heading, markup_only=True)


# ---- its alternative text


_use_sign("alt_empty", "empty alt", lambda use: use.alt is not None and not use.alt.strip(), markup_only=True)


@_sign
def alt_text(case: Case) -> str | None:
    says_more = _says_something(case) and not case.use.alt_repeats
    return _if(says_more, f'alt "{_shortened(case.use.alt or "")}"')


@_sign
def alt_idle(case: Case) -> str | None:
    is_idle = not case.is_background() and case.use.alt and not _says_something(case)
    return _if(is_idle, f'alt "{_shortened(case.use.alt or "")}" says nothing')


_use_sign(
    "alt_sentence",
    "its alt is a sentence",
    lambda use: len((use.alt or "").split()) >= 4 and not use.alt_repeats,
    markup_only=True,
)


@_sign
def drawing_without_alt(case: Case) -> str | None:
    use, limits = case.use, case.rules.limits
    is_so = use.alt is not None and not _says_something(case) and not case.is_background() and not use.alone_in_link
    # a word for any picture ("image") is not the author's word that it says nothing, as an empty alt is
    is_empty = not (use.alt or "").strip()
    is_photo = case.looks_like_photo() or not (is_empty or (case.image and case.image.media_type != media.JPEG))
    is_drawing = 0 < case.longest <= limits["drawing" if is_empty else "icon"] and not is_photo
    has_text = 0 < use.near_length <= limits["caption"] and not use.in_cell
    return _if(is_so and is_drawing and has_text, "a small drawing whose alt says nothing next to its own text")


@_sign
def illustration(case: Case) -> str | None:
    use, limits = case.use, case.rules.limits
    is_drawing = case.image is not None and case.image.is_wordless and not case.is_background()
    has_text = 0 < use.part_length <= limits["part"] and not use.link
    says_more = _says_something(case) or case.named("foreign", case.file_words)
    return _if(is_drawing and has_text and not says_more, "a drawing that comes with a heading, which says more")


def _says_something(case: Case) -> bool:
    """Whether the alternative text is more than punctuation, the file's name, or words for any picture."""
    text = (case.use.alt or "").lower()
    if case.is_background() or not any(map(str.isalnum, text)):
        return False
    return not (_is_letter(text) or _is_idle(case) or _is_file_name(text, case))


def _is_letter(text: str) -> bool:
    """Whether a letter stands for a shape, as in ``o`` for a bullet; a digit is a number."""
    return len(text) == 1 and text.isascii() and text.isalpha()


def _is_idle(case: Case) -> bool:
    groups = case.rules.words
    return bool(case.alt_words) and case.alt_words <= groups["idle"] | groups["ornament"] | groups["shape"]


def _is_file_name(text: str, case: Case) -> bool:
    looks_like_one = len(text) >= 3 and any(mark in text for mark in "._-0123456789")
    return looks_like_one and text.rpartition("/")[2] in case.file_name


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


_use_sign("hidden", "hidden from assistive technology", lambda use: use.hidden)


# ---- its place


_use_sign("in_header", "in the header", lambda use: use.region == "header")
_use_sign("in_nav", "in the navigation", lambda use: use.region == "nav")
_use_sign("in_footer", "in the footer", lambda use: use.region == "footer")
_use_sign("in_aside", "in a side bar", lambda use: use.region == "aside")
_use_sign("in_figure", "in a figure", lambda use: use.figure, markup_only=True)
_use_sign("alone_in_link", "the only content of a link", lambda use: use.alone_in_link and not use.link_alike)
_use_sign(
    "leads_away",
    "leads to another page",
    lambda use: use.alone_in_link and use.link in ("page", "outside", "home"),
    markup_only=True,
)
_use_sign("link_with_twin", "a text link nearby leads to the same place", lambda use: use.link_alike)
_use_sign(
    "home_link",
    "links to the home page",
    lambda use: use.link == "home" and use.path and (use.alone_in_link or use.kind == "background"),
)
_use_sign("outside_link", "links to another site", lambda use: use.link == "outside" and use.alone_in_link)
_use_sign("enlarges", "links to a picture", lambda use: use.link == "image")
_use_sign(
    "linked_with_text",
    "next to the text of its link",
    lambda use: use.link not in ("", "image") and not use.alone_in_link,
    markup_only=True,
)
_use_sign("alone_in_cell", "only content of a table cell", lambda use: use.in_cell and use.alone, markup_only=True)
_use_sign(
    "alone_in_block",
    "alone in its block",
    lambda use: use.alone and not use.in_cell and not use.alone_in_link,
    markup_only=True,
)


@_sign
def beside_label(case: Case) -> str | None:
    has_label = not case.is_background() and 0 < case.use.text_length <= case.rules.limits["label"]
    return _if(has_label, f"next to its own text ({case.use.text_length} characters)")


@_sign
def alt_repeats(case: Case) -> str | None:
    is_so = case.use.alt_repeats and not case.is_background() and not case.use.alone_in_link
    return _if(is_so, "its alt repeats the text next to it")


@_sign
def icon_with_label(case: Case) -> str | None:
    # a JPEG of this size is a portrait or a photograph
    is_drawing = not case.is_background() and not (case.image and case.image.media_type == media.JPEG)
    is_icon = 0 < case.longest <= case.rules.limits["icon"] and is_drawing
    has_label = 0 < case.use.near_length <= case.rules.limits["label"] and not case.use.alone_in_link
    says_more = _says_something(case) and not case.use.alt_repeats
    return _if(
        is_icon and has_label and not says_more, f"an icon next to its own text ({case.use.near_length} characters)"
    )


@_sign
def in_text(case: Case) -> str | None:
    use = case.use
    is_so = use.in_text and not case.is_background() and use.text_length > case.rules.limits["label"]
    # that of a link with text is next to what it stands for
    return _if(is_so and (use.link in ("", "image") or use.alone_in_link), "in a line of text")


_use_sign("in_heading", "in a heading", lambda use: use.in_heading, markup_only=True)
_use_sign("form_button", "a button of a form", lambda use: use.kind == "input")
_use_sign("image_map", "an image map", lambda use: use.usemap)


@_sign
def logo_class(case: Case) -> str | None:
    word = case.named("logo", frozenset(case.use.names))
    return _if(word, f'of class "{word}"')


@_sign
def icon_file(case: Case) -> str | None:
    word = case.named("icon", case.file_words)
    return _if(word and case.longest > case.rules.limits["icon"], f'called "{word}"')


@_sign
def card(case: Case) -> str | None:
    word = case.named("card", frozenset(case.use.names))
    is_one = word and case.use.alike >= 2 and not case.is_background()
    return _if(is_one, f'in one of several places called "{word}"')


# ---- style sheets


_PATTERNS = frozenset({"repeat", "repeat-x", "repeat-y", "round", "space"})


@_sign
def background(case: Case) -> str | None:
    return _if(case.is_background(), "CSS background" if case.use.property.startswith("background") else "CSS image")


_use_sign("repeats", "repeated as a pattern", lambda use: use.repeat in _PATTERNS)


@_sign
def card_background(case: Case) -> str | None:
    use = case.use
    count = max(use.alike if use.is_inline else 1, use.siblings)
    is_so = case.is_background() and ((use.is_inline and use.alike >= 3) or _is_picture_in_row(case))
    return _if(is_so, f"background of one of {count} elements of the same kind, each with its own")


def _is_picture_in_row(case: Case) -> bool:
    """Whether a background is large, not a drawing in few colours, and one of several side by side."""
    image, limits = case.image, case.rules.limits
    if image is None or image.entropy is None or image.width is None or image.height is None:
        return False
    is_picture = image.entropy >= limits["picture"] and min(image.width, image.height) >= limits["large"]
    return is_picture and case.use.siblings >= 2 and case.use.holds_text <= limits["caption"]


@_sign
def control_background(case: Case) -> str | None:
    use = case.use
    if not case.is_background() or use.repeat in _PATTERNS or use.body or (case.image and case.image.frames > 1):
        return None  # what moves is seen while something loads
    if use.control or (use.link and use.alone_in_link and not use.link_alike):
        return "the picture of a control without text"
    is_sign = _is_sign_sized(case) and not use.holds_text and (not use.link or use.alone_in_link)
    word = case.named("control", case.all_words) if is_sign else None
    return _if(word, f'called "{word}": the picture of a control')


def _is_sign_sized(case: Case) -> bool:
    return case.longest <= case.rules.limits["icon"] or not case.size


@_sign
def replaces_text(case: Case) -> str | None:
    is_so = case.use.replaces_text and case.use.repeat not in _PATTERNS
    return _if(is_so, "seen in the place of its element's text, which is hidden")


@_sign
def named_background(case: Case) -> str | None:
    is_so = case.is_background() and case.use.alt and not case.use.holds_text and not case.use.body
    return _if(is_so, f'a background that is called "{_shortened(case.use.alt or "")}"')


_use_sign(
    "empty_background",
    "background of an element without text",
    lambda use: use.kind == "background" and not use.holds_text and not use.body and not use.pseudo,
)


# ---- names


def _words_sign(group: str, where: str, sentence: str, limit: str = "") -> None:
    """Add a sign: one of a group of words is in the name; with ``limit``, of an image no larger than that."""

    def read(case: Case) -> str | None:
        word = case.named(group, getattr(case, where))
        is_fit = not limit or 0 < case.longest <= case.rules.limits[limit]
        return sentence.format(word) if word is not None and is_fit else None

    SIGNS[f"{group}_name"] = read


_words_sign("logo", "file_words", 'called "{}"')
_words_sign("foreign", "file_words", 'called "{}": the mark of others')
_words_sign("ornament", "file_words", 'called "{}"')
_words_sign("shape", "file_words", 'called "{}"')
_words_sign("arrow", "file_words", 'called "{}"', limit="icon")
_words_sign("icon", "all_words", 'called "{}"', limit="icon")
_words_sign("notice", "file_words", 'called "{}": the sign of a notice', limit="icon")
_words_sign("social", "all_words", 'called "{}"', limit="icon")
_words_sign("portrait", "all_words", 'called "{}"')


@_sign
def portrait_background(case: Case) -> str | None:
    """A person's picture, but for the wide one that lies under the words of a profile's header."""
    word, image = case.named("portrait", case.all_words), case.image
    is_square = image is not None and image.width is not None and image.width == image.height
    is_so = word is not None and case.is_background() and (is_square or case.use.region != "header")
    return _if(is_so, f'a background called "{word}"')


@_sign
def figure_name(case: Case) -> str | None:
    word = case.named("figure", case.file_words)
    is_small = 0 < case.longest <= case.rules.limits["small"]  # a chart or map of this size is the icon of one
    return _if(word and not is_small, f'called "{word}"')


_words_sign("meaning", "all_words", 'called "{}": it says something')
_words_sign("stock", "file_words", 'called "{}": a stock picture')
