"""The pipeline: every pass there is, in one list, and what a level makes of it.

A pass is declared here and nowhere else. ``version`` goes up whenever the pass makes other bytes of the same input:
name, version and options are part of the recipe, and so of every cache key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import permutations
from typing import TYPE_CHECKING, Any

from adaptc.compile.passes.deferred import Deferred
from adaptc.compile.passes.images import MEDIA_TYPES as IMAGES
from adaptc.config.rulebook import Level, Option
from adaptc.core import media
from adaptc.core.digest import digest_parts
from adaptc.core.model import FORMATS, NEGOTIABLE
from adaptc.core.version import VERSION
from adaptc.formats.image.targets import MODERATE, TEXT_SCALE

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.page.context import PageContext, PagePass, WholePass
    from adaptc.compile.view import Alternates, Asset, Beside, DerivingView, Options, Outcome, View
    from adaptc.formats.html.markup import Minified

make_alternates = Deferred("alternates", "make_alternates")
base_only = Deferred("base_only", "base_only")
bundle_beside = Deferred("bundle", "bundle_beside")
bundle_page = Deferred("bundle", "bundle_page")
add_dimensions = Deferred("dimensions", "add_dimensions")
minify_embedded = Deferred("embedded", "minify_embedded")
half_images = Deferred("half_images", "half_images")
half_objects = Deferred("half_objects", "half_objects")
half_sheet_file = Deferred("half_sheets", "half_sheet_file")
recompress_image = Deferred("images", "recompress_image")
inline_images = Deferred("inline_images", "inline_images")
inline_scripts = Deferred("inline_scripts", "inline_scripts")
inline_styles = Deferred("inline_styles", "inline_styles")
shorten_markup = Deferred("markup", "shorten_markup")
reduce_icons = Deferred("page_icons", "reduce_icons")
read_only = Deferred("reading", "read_only")
reduce_page_fonts = Deferred("fonts", "reduce_page_fonts")
reduce_sheet_fonts = Deferred("fonts", "reduce_sheet_fonts")
remove_scripts = Deferred("remove_scripts", "remove_scripts")
show_noscript = Deferred("remove_scripts", "show_noscript")
rewrite_json = Deferred("scripts", "rewrite_json")
rewrite_script = Deferred("scripts", "rewrite_script")
strip = Deferred("strip", "strip")
strip_sheet = Deferred("strip_sheets", "strip_sheet")
rewrite_sheet = Deferred("styles", "rewrite_sheet")
clean_svg_file = Deferred("svg", "clean_svg_file")
unembed = Deferred("unembed", "unembed")
used_styles = Deferred("used_styles", "used_styles")

AssetPass = Callable[["Asset", "DerivingView", "Options"], "Outcome"]
# Makes an image in other formats, of the image at the level and the bytes as they came
AlternatePass = Callable[["Asset", bytes, "View", "Options"], "Alternates"]
# Makes a file next to a page, of its path and content as it came
BesidePass = Callable[[str, bytes, "View", "Options"], "Beside"]
# A text pass works on the finished text of a page, after all edits, and what it parses to, where that is known.
TextPass = Callable[["str", "Document | None", "PageContext", "Options"], "Minified | None"]

_JSON = frozenset({"application/json", "application/manifest+json", "application/ld+json"})
_PAGES = frozenset({media.HTML})
_CONVERTIBLE = frozenset(media.BY_EXTENSION[extension] for extension in NEGOTIABLE)


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: its name, version, the media types it works on, its options with their defaults, and its function.

    Exactly one of ``asset``, ``edit``, ``whole``, ``text``, ``beside`` and ``alternate`` is given. ``content_only``
    says that an asset pass looks at nothing but the content, so that its result is shared by equal files wherever
    they are; ``after_edits`` that an edit pass must see what the edit passes before it made of the page, where
    others may run on the same text; ``changes_embeds`` that a page may load other files after it. ``writes`` are
    the tags of elements that an edit pass changes and others may change as well: two passes never edit one element
    in the same text. ``may_grow`` says that an asset or page is worth more bytes to this pass, which saves them, or
    requests, elsewhere; ``labels`` that it asks what images are for. ``prepare`` turns the text into one that the
    edits of a pass, which runs by itself then, start from.
    """

    name: str
    version: int
    media_types: frozenset[str]
    options: Mapping[str, Option] = field(default_factory=dict)
    asset: AssetPass | None = None
    edit: PagePass | None = None
    whole: WholePass | None = None
    text: TextPass | None = None
    beside: BesidePass | None = None
    alternate: AlternatePass | None = None
    content_only: bool = False
    after_edits: bool = False
    changes_embeds: bool = False
    writes: frozenset[str] = frozenset()
    labels: bool = False
    may_grow: bool = False
    prepare: Callable[[str], str] | None = None


_MINIFY = {"minify": Option(True)}
_STRIP = {
    "decorations": Option(True),
    "ads": Option(True),
    "keep": Option("content", "content", "logo-story"),
}
_COMMENTS = Option("keep-with-scripts", "keep", "drop", "keep-with-scripts")

# How near to the original an image must stay: the same pixels, or a score of ``adaptc.formats.image.score``
_TARGET = Option("exact", "exact", float)
# Formats in which images are made as well, in any order
_FORMATS = Option([], *(list(names) for count in range(len(FORMATS) + 1) for names in permutations(FORMATS, count)))

# What a smaller copy of an image is like: see ``adaptc.formats.image.halve.halve``
_COPIES = {
    "scale": Option(0.5),
    "text_scale": Option(TEXT_SCALE),
    "target": Option(MODERATE, float, str),
    "frozen": Option(False),
}

# What data URIs may add to a page, and how large an image may become one, in bytes; 0 is for the pass to choose
_TAKEN_IN = {"budget": Option(0), "largest": Option(0)}
# Whose cost decides what moves into a page: readers of several pages, or a crowd of which each reads one
_READERS = Option("visitors", "visitors", "crowd")
# Which scripts keep a page's images as they are
_SCRIPTS = Option("own", "own", "any")

# Families whose fonts stay
# Which fonts for text go: every one, or those that other sites serve; and families that stay
_FAMILIES = {"keep": Option([]), "which": Option("all", "all", "foreign")}

# The bytes of a page's files together, up to which they are bundled
_LIMIT = {"limit": Option(5_000_000)}

PASSES: tuple[Pass, ...] = (
    Pass("images", 2, IMAGES, {"target": _TARGET}, asset=recompress_image, content_only=True),
    Pass("alternates", 1, _CONVERTIBLE, {"formats": _FORMATS, "target": _TARGET}, alternate=make_alternates),
    Pass("svg", 1, frozenset({media.SVG}), asset=clean_svg_file, content_only=True),
    Pass("strip-sheets", 1, frozenset({media.CSS}), _STRIP, asset=strip_sheet, labels=True, may_grow=True),
    Pass("styles", 3, frozenset({media.CSS}), {"flatten": Option(True), **_MINIFY}, asset=rewrite_sheet),
    Pass("fonts", 2, frozenset({media.CSS}), _FAMILIES, asset=reduce_sheet_fonts, content_only=True),
    Pass("half-sheets", 1, frozenset({media.CSS}), _COPIES, asset=half_sheet_file, may_grow=True),
    Pass("scripts", 1, frozenset({media.JS}), _MINIFY, asset=rewrite_script, content_only=True),
    Pass("json", 1, _JSON, asset=rewrite_json, content_only=True),
    Pass("page-fonts", 2, _PAGES, _FAMILIES, edit=reduce_page_fonts, writes=frozenset({"style", "link"})),
    Pass("page-icons", 1, _PAGES, {"largest": Option(2048)}, edit=reduce_icons, changes_embeds=True),
    Pass("remove-scripts", 1, _PAGES, edit=remove_scripts, prepare=show_noscript, changes_embeds=True),
    Pass("unembed", 1, _PAGES, edit=unembed, after_edits=True, changes_embeds=True),
    Pass(
        "used-styles",
        1,
        _PAGES,
        {
            "loads": Option("nothing", "nothing", "images", "everything"),
            "scripts": Option("none", "none", "own"),
            "apart": Option([]),
        },
        edit=used_styles,
        after_edits=True,
        changes_embeds=True,
        writes=frozenset({"link", "style"}),
    ),
    Pass("half-objects", 1, _PAGES, edit=half_objects, changes_embeds=True, writes=frozenset({"img"}), labels=True),
    Pass("strip", 2, _PAGES, _STRIP, edit=strip, changes_embeds=True, writes=frozenset({"img", "style"}), labels=True),
    Pass(
        "half-images",
        2,
        _PAGES,
        {**_COPIES, **_TAKEN_IN, "kind": Option("half", "half", "hard"), "scripts": _SCRIPTS},
        edit=half_images,
        changes_embeds=True,
        writes=frozenset({"img", "style"}),
    ),
    Pass(
        "inline-styles",
        2,
        _PAGES,
        {"readers": _READERS},
        edit=inline_styles,
        changes_embeds=True,
        writes=frozenset({"link"}),
    ),
    Pass("inline-scripts", 3, _PAGES, {"readers": _READERS}, edit=inline_scripts, changes_embeds=True),
    Pass(
        "inline-images",
        2,
        _PAGES,
        {**_TAKEN_IN, "readers": _READERS, "scripts": Option("any", "own", "any")},
        edit=inline_images,
        changes_embeds=True,
        writes=frozenset({"img"}),
    ),
    Pass("bundle", 1, _PAGES, _LIMIT, whole=bundle_page, changes_embeds=True, may_grow=True),
    Pass("bundle-file", 1, _PAGES, _LIMIT, beside=bundle_beside),
    Pass("dimensions", 1, _PAGES, edit=add_dimensions),
    Pass("embedded", 1, _PAGES, _MINIFY, edit=minify_embedded, writes=frozenset({"style"})),
    Pass("base-only", 1, _PAGES, whole=base_only, changes_embeds=True),
    Pass("reading", 1, _PAGES, whole=read_only, changes_embeds=True),
    Pass("markup", 1, _PAGES, {"comments": _COMMENTS}, text=shorten_markup),
)

BY_NAME: Mapping[str, Pass] = {one.name: one for one in PASSES}
KNOWN_PASSES: Mapping[str, Mapping[str, Option]] = {one.name: one.options for one in PASSES}


@dataclass(frozen=True, slots=True)
class Step:
    """A pass with the options that a level gives it."""

    of: Pass
    options: Mapping[str, Any]

    def recipe(self) -> str:
        """Return the text that stands for what this step does."""
        chosen = ",".join(f"{name}={value!r}" for name, value in sorted(self.options.items()))
        return f"{self.of.name}/{self.of.version}({chosen})"


@dataclass(frozen=True, slots=True)
class Plan:
    """A level, ready to run: its steps in order."""

    level: Level
    steps: tuple[Step, ...]

    @property
    def labels(self) -> bool:
        """Whether some step asks what images are for."""
        return any(step.of.labels for step in self.steps)

    def steps_for(self, media_type: str) -> tuple[Step, ...]:
        """Return the steps that work on a media type, in order."""
        return tuple(step for step in self.steps if media_type in step.of.media_types)

    def recipe(self, settings: str) -> str:
        """Return the digest of everything but the site that decides the level's bytes."""
        return digest_parts(VERSION, settings, self.level.promise, *(step.recipe() for step in self.steps))


def plan_level(level: Level) -> Plan:
    """Return the plan of a level whose passes were checked against ``KNOWN_PASSES``."""
    return Plan(level, tuple(Step(BY_NAME[use.name], dict(use.options)) for use in level.passes))


def modules_of(levels: Iterable[Level]) -> list[str]:
    """Return the modules of the passes that levels have, for who will need them all."""
    passes = {step.of.name: step.of for level in levels for step in plan_level(level).steps}
    values = (getattr(of, one.name) for of in passes.values() for one in fields(of))
    return sorted({one.home for one in values if isinstance(one, Deferred)})
