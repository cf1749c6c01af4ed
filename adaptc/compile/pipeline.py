"""The pipeline: every pass, in one list, and the steps of a level.

A pass is declared in ``PASSES`` and nowhere else. Raise its ``version`` whenever it writes other bytes for the same
input: name, version, options and the versions of its ``libraries`` are part of a level's recipe, and so of every cache
key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from adaptc.config.rulebook import Level, Option
from adaptc.config.schema import text_file
from adaptc.core import media
from adaptc.core.digest import digest_parts
from adaptc.core.libraries import PYTHON, identify
from adaptc.core.model import FORMATS, NEGOTIABLE
from adaptc.core.values import dataclass, field
from adaptc.core.version import VERSION
from adaptc.formats import codings
from adaptc.formats.image.score import MODERATE, TEXT_SCALE

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.page.context import PageContext, Report
    from adaptc.compile.view import Alternates, Asset, DerivingView, Options, Outcome, Sidecar, View
    from adaptc.formats.html.edit import Editor
    from adaptc.formats.html.minify import MinifiedMarkup

# ---- the kinds of passes

_PACKAGE = "adaptc.compile.passes"

AssetFunction = Callable[["Asset", "DerivingView", "Options"], "Outcome"]
# Gets the image at the level, and its bytes in the docroot
AlternateFunction = Callable[["Asset", bytes, "View", "Options"], "Alternates"]
EditFunction = Callable[["Editor", "PageContext", "DerivingView", "Options"], "Report"]
# Returns the whole page as new text, ``None`` to leave it as it is
WholePageFunction = Callable[[str, "PageContext", "DerivingView", "Options"], "tuple[str | None, Report]"]
# Gets the text of a page after all edits, and its tree if that is known
TextFunction = Callable[[str, "Document | None", "PageContext", "Options"], "MinifiedMarkup | None"]
# Gets the path and the source of a page
SidecarFunction = Callable[[str, bytes, "View", "Options"], "Sidecar"]

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class BasePass(Generic[F]):
    """What all kinds of passes have in common; ``options`` are their defaults by name.

    ``function`` is ``"MODULE:NAME"``, a function of ``adaptc.compile.passes.MODULE``, which is imported when the pass
    first runs. A command that builds nothing, as ``adaptc check`` of a fresh site, needs the recipes of levels only;
    the modules of all passes, with their parsers, take 0.4 s to import. With ``needs_content`` it is for pages that
    show their content without scripts. Others are made of what a browser saw after their scripts, or stay as they are
    at the level above. ``libraries`` are the distributions that its result depends on, but for ``EVERY_PASS`` and
    those that compare sizes (``codings.ESTIMATING``): a test compares them with what its module imports.
    """

    name: str
    version: int
    media_types: frozenset[str]
    function: str | F
    options: Mapping[str, Option] = field(default_factory=dict)
    needs_content: bool = False
    libraries: frozenset[str] = frozenset()

    @property
    def run(self) -> F:
        """The function itself. Raises ``ImportError`` and ``AttributeError`` if there is none."""
        return cast("F", _import_function(self.function))

    def function_names(self) -> Iterator[str]:
        """Yield the ``"MODULE:NAME"`` of each function of the pass."""
        if isinstance(self.function, str):
            yield self.function


@dataclass(frozen=True, slots=True)
class AssetPass(BasePass[AssetFunction]):
    """Rewrites a file that is not a page.

    With ``content_only`` the result depends on the content alone, and equal files share it; it may be the
    ``"MODULE:NAME"`` of a function that tells so for a content. With ``may_grow`` the file may become larger, because
    that saves bytes or requests elsewhere. With ``needs_labels`` the pass asks for the labels of images.
    """

    content_only: bool | str = False
    may_grow: bool = False
    needs_labels: bool = False

    def depends_on_content_only(self, content: bytes) -> bool:
        """Whether the result depends on the content alone."""
        if isinstance(self.content_only, bool):
            return self.content_only
        return cast("bool", _import_function(self.content_only)(content))


@dataclass(frozen=True, slots=True)
class AlternatePass(BasePass[AlternateFunction]):
    """Makes an image in other formats."""


@dataclass(frozen=True, slots=True)
class EditPass(BasePass[EditFunction]):
    """Edits a page through an ``Editor``, in one round with other edit passes where possible.

    ``writes`` are the tags of elements that it changes and that others may change too: two passes never edit an
    element in the same round. With ``after_edits`` the pass starts a new round, so that it sees the edits of the
    passes before it. With ``keeps_embeds`` the page loads the same files as before. A page that would be larger than
    at the level above is made again with each of ``smaller_budgets`` as the option ``budget``, until it is not.
    """

    writes: frozenset[str] = frozenset()
    after_edits: bool = False
    keeps_embeds: bool = False
    needs_labels: bool = False
    smaller_budgets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WholePagePass(BasePass[WholePageFunction]):
    """Writes a page anew; it may load other files then. With ``may_grow`` the page may become larger.

    ``smaller_budgets`` and ``needs_labels`` are those of an edit pass, for images that it shows.
    """

    may_grow: bool = False
    needs_labels: bool = False
    smaller_budgets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TextPass(BasePass[TextFunction]):
    """Shortens the text of a page after all edits."""


@dataclass(frozen=True, slots=True)
class SidecarPass(BasePass[SidecarFunction]):
    """Makes a file next to a page."""


Pass = AssetPass | AlternatePass | EditPass | WholePagePass | TextPass | SidecarPass


@cache
def _import_function(function: str | Callable[..., Any]) -> Any:
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


# ---- their options

_MINIFY = {"minify": Option(True)}
# The price and the least likeness are those of copies, as below; and the bytes that a request is worth
_STRIP = {
    "decorations": Option(True),
    "ads": Option(True),
    "price": Option(0.0),
    "least": Option(0.0),
    "request": Option(0.0),
}
# Whether declarations go whose prefixes no browser of today knows
_NAMES = {"names": Option(False)}
_PREFIXES = {"prefixes": Option("keep", "keep", "drop")}
_COMMENTS = Option("keep-with-scripts", "keep", "drop", "keep-with-scripts")
_DOCTYPE = Option("keep", "keep", "short")

# How close to the original an image must stay: the same pixels, or a score of ``adaptc.formats.image.score``
_TARGET = Option("exact", "exact", float)
# How far the points of drawings may move, as a share of their longer side
_SHIFT = {"shift": Option(0.0)}
# The bytes that a page may take to avoid a harm of 1, 0 where images are made smaller whatever they are worth; and the
# least likeness that is allowed (see ``adaptc.compile.page.pricing``)
_PRICE = {"price": Option(0.0), "least": Option(0.0)}
# The additional formats of images, in any order
_FORMATS = Option([], *(list(names) for count in range(len(FORMATS) + 1) for names in permutations(FORMATS, count)))
# The smaller copies of images: see ``adaptc.formats.image.halve.halve``
_COPIES = {
    "scale": Option(0.5),
    "text_scale": Option(TEXT_SCALE),
    "target": Option(MODERATE, float, str),
    "frozen": Option(False),
    **_PRICE,
}

# Bytes of all data URIs that a page may get, and of the largest image among them; with 0 the pass decides
_DATA_URIS = {"budget": Option(0), "largest": Option(0)}
# Whose transfer costs count: readers of several pages, or a crowd of readers of one page each
_READERS = {"readers": Option("visitors", "visitors", "crowd")}
# The scripts that keep a pass from changing the images of a page
# Bytes of the data URIs of smaller images in a page. In base64 they take a third more of clients that accept no content
# coding, which is more than some copies save: without this, such pages would keep all requests of the level above.
_SMALLER_BUDGETS = (32768, 8192, 0)
_HALF_IMAGES = {**_COPIES, **_DATA_URIS}
_INLINE_IMAGES = {**_DATA_URIS, **_READERS}
# The formats in which pages and sheets offer images; and the pixels of a copy for each CSS pixel of the largest box
_OFFERED = {"formats": _FORMATS, "target": _TARGET}
_PICTURES = {**_OFFERED, "density": Option(2.0)}
_DISPLAY = Option("keep", "keep", "swap", "fallback", "optional")
_SHEET_FONTS = {"woff2": Option(True), "subset": Option(True), "icons": Option(True), "display": _DISPLAY}
_LOADING = {"priority": Option(True), "lazy": Option(True)}
_SPECULATION = Option("none", "none", "prefetch", "prerender")
_CONNECTIONS = {"preconnect": Option(True), "speculation": _SPECULATION, "transition": Option(False)}
# The fonts for text to remove: all, or those that other sites serve; and the families to keep
_FAMILIES = {"keep": Option([]), "which": Option("all", "all", "foreign")}
# The scripts that build a prerendered page once more in the browser
_THIRD_PARTIES = {"hosts": Option([]), "frames": Option([])}
_PRERENDERED = {"hydration": Option("keep", "keep", "applications", "drop")}
# The site's own template and sheet (files), its accent colour (CSS), the line at the top ("off", "on" or a text), and
# where the full page is, with ``{path}`` for the path of a page. Bytes of images, as data URIs.
_COMPOSED = {
    "template": Option.checked("", text_file),
    "style": Option.checked("", text_file),
    "accent": Option(""),
    "notice": Option("off"),
    "full": Option(""),
    "budget": Option(0),
}
# The largest size of a page's files together, in bytes, at which they are bundled
_LIMIT = {"limit": Option(5_000_000)}

# ---- the libraries that their results depend on

EVERY_PASS = frozenset({PYTHON, "tinycss2", "turbohtml", "upa-url"})
_VECTORS = frozenset({"lxml"})
_SIZES = frozenset({"Pillow"})
# What images look like: the labels of decorations, and their price
_LOOKS = _SIZES | _VECTORS
_IMAGES = _LOOKS | {"mozjpeg-lossless-optimization", "oxipng-pybind", "pyvips", "pyvips-binary"}
_FONTS = frozenset({"Brotli", "fonttools"})
_COMPOSING = _IMAGES | {"jinja2"}

# ---- the passes

_HTML, _CSS, _JS, _SVG = (frozenset({name}) for name in (media.HTML, media.CSS, media.JS, media.SVG))
_JSON = frozenset({"application/json", "application/manifest+json", "application/ld+json"})
_CONVERTIBLE = frozenset(media.BY_EXTENSION[extension] for extension in NEGOTIABLE)
_RASTER = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF, "image/apng"})
_IMG, _LINK, _SCRIPT, _STYLE = (frozenset({tag}) for tag in ("img", "link", "script", "style"))

PASSES: tuple[Pass, ...] = (
    # files
    AssetPass(
        "images",
        13,
        _RASTER,
        "images:recompress_image",
        {"target": _TARGET, **_PRICE},
        content_only=True,
        libraries=_IMAGES,
    ),
    AlternatePass(
        "alternates",
        10,
        _CONVERTIBLE,
        "images:make_alternates",
        {"formats": _FORMATS, "target": _TARGET},
        libraries=_IMAGES,
    ),
    AssetPass("svg", 2, _SVG, "images:clean_svg_file", _SHIFT, content_only=True, libraries=_IMAGES),
    AssetPass(
        "strip-sheets", 9, _CSS, "sheet_images:strip_sheet", _STRIP, may_grow=True, needs_labels=True, libraries=_IMAGES
    ),
    AssetPass(
        "styles",
        15,
        _CSS,
        "styles:rewrite_sheet",
        {"flatten": Option(True), **_MINIFY, **_PREFIXES},
        content_only="styles:imports_nothing",
    ),
    AssetPass("fonts", 2, _CSS, "fonts:reduce_sheet_fonts", _FAMILIES, content_only=True),
    AssetPass("half-sheets", 10, _CSS, "sheet_images:halve_sheet", _COPIES, may_grow=True, libraries=_IMAGES),
    AssetPass("sheet-pictures", 9, _CSS, "sheet_images:offer_formats", _OFFERED, may_grow=True, libraries=_IMAGES),
    AssetPass("sheet-fonts", 8, _CSS, "sheet_fonts:offer_sheet_fonts", _SHEET_FONTS, may_grow=True, libraries=_FONTS),
    AssetPass("script-icons", 1, _JS, "scripts:drop_unused_icons", content_only="scripts:is_without_icons"),
    AssetPass("scripts", 8, _JS, "scripts:rewrite_script", {**_NAMES, **_MINIFY}, content_only=True),
    AssetPass("json", 3, _JSON, "scripts:rewrite_json", content_only=True),
    # pages
    EditPass("late-styles", 4, _HTML, "inline_styles:apply_late_styles", writes=_LINK | _SCRIPT),
    EditPass("page-fonts", 8, _HTML, "fonts:reduce_page_fonts", _FAMILIES, writes=_LINK | _STYLE, keeps_embeds=True),
    EditPass("style-fonts", 8, _HTML, "sheet_fonts:offer_style_fonts", _SHEET_FONTS, writes=_STYLE, libraries=_FONTS),
    EditPass("page-icons", 6, _HTML, "page_icons:reduce_icons", {"largest": Option(2048)}, libraries=_SIZES),
    EditPass("prerendered", 42, _HTML, "prerendered:adapt_prerendered", _PRERENDERED, after_edits=True),
    EditPass(
        "used-styles",
        35,
        _HTML,
        "used_styles:inline_used_styles",
        writes=_LINK | _STYLE,
        after_edits=True,
    ),
    EditPass("half-objects", 5, _HTML, "half_images:halve_objects", writes=_IMG, needs_labels=True, libraries=_IMAGES),
    EditPass("strip", 22, _HTML, "strip:strip", _STRIP, writes=_IMG | _STYLE, needs_labels=True, libraries=_IMAGES),
    EditPass("third-parties", 3, _HTML, "third_parties:hold_third_parties", _THIRD_PARTIES, after_edits=True),
    EditPass(
        "half-images",
        22,
        _HTML,
        "half_images:halve_images",
        _HALF_IMAGES,
        writes=_IMG | _STYLE,
        libraries=_IMAGES,
        smaller_budgets=_SMALLER_BUDGETS,
    ),
    EditPass("inline-styles", 19, _HTML, "inline_styles:inline_styles", _READERS, writes=_LINK),
    EditPass("inline-scripts", 23, _HTML, "inline_scripts:inline_scripts", _READERS, smaller_budgets=(0,)),
    EditPass("inline-images", 10, _HTML, "inline_images:inline_images", _INLINE_IMAGES, writes=_IMG),
    EditPass(
        "icon-fonts",
        5,
        _HTML,
        "icon_fonts:inline_icon_fonts",
        {"largest": Option(8192)},
        writes=_STYLE,
        after_edits=True,
        libraries=_FONTS,
    ),
    EditPass(
        "pictures",
        21,
        _HTML,
        "pictures:add_pictures",
        _PICTURES,
        writes=_IMG | _STYLE,
        after_edits=True,
        libraries=_IMAGES,
    ),
    EditPass("loading", 11, _HTML, "loading:set_loading", _LOADING, writes=_IMG, after_edits=True, libraries=_SIZES),
    EditPass("connections", 4, _HTML, "hints:connect_early", _CONNECTIONS, keeps_embeds=True),
    EditPass("font-preloads", 4, _HTML, "sheet_fonts:preload_fonts", writes=_LINK, after_edits=True, libraries=_FONTS),
    EditPass("hints", 3, _HTML, "hints:remove_hints", _READERS, after_edits=True),
    WholePagePass("bundle", 4, _HTML, "bundle:bundle_page", _LIMIT, may_grow=True),
    SidecarPass("bundle-file", 2, _HTML, "bundle:bundle_sidecar", _LIMIT),
    EditPass("dimensions", 12, _HTML, "dimensions:add_dimensions", keeps_embeds=True, libraries=_SIZES),
    EditPass(
        "embedded",
        18,
        _HTML,
        "embedded:minify_embedded",
        {**_NAMES, **_MINIFY, **_PREFIXES},
        writes=_STYLE,
        keeps_embeds=True,
    ),
    WholePagePass("base-only", 6, _HTML, "base_only:remove_objects"),
    WholePagePass(
        "compose",
        22,
        _HTML,
        "composed:compose_page",
        _COMPOSED,
        needs_labels=True,
        needs_content=True,
        libraries=_COMPOSING,
        smaller_budgets=_SMALLER_BUDGETS,
    ),
    TextPass("markup", 9, _HTML, "embedded:shorten_markup", {"comments": _COMMENTS, "doctype": _DOCTYPE}),
)

LIBRARIES = EVERY_PASS.union(_IMAGES, codings.LIBRARIES, *(each.libraries for each in PASSES))
"""All libraries that results may depend on."""

BY_NAME: Mapping[str, Pass] = {each.name: each for each in PASSES}
KNOWN_PASSES: Mapping[str, Mapping[str, Option]] = {each.name: each.options for each in PASSES}


def passes_with(option: str) -> tuple[str, ...]:
    """Return the names of the passes that have an option."""
    return tuple(name for name, options in KNOWN_PASSES.items() if option in options)


# ---- levels

P = TypeVar("P", bound=Pass, covariant=True)


@dataclass(frozen=True, slots=True)
class Step(Generic[P]):
    """A pass with the options that a level sets."""

    pass_: P
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.pass_.name

    def recipe(self) -> str:
        """Return the text that identifies the effect of this step: name, version and options."""
        options = ",".join(f"{name}={value!r}" for name, value in sorted(self.options.items()))
        return f"{self.name}/{self.pass_.version}({options})"

    def result_recipe(self) -> str:
        """Return the text that identifies the result for a content: the recipe, and the versions of libraries."""
        return f"{self.recipe()} {identify(EVERY_PASS | self.pass_.libraries)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A level with its steps in order, and the plans as which pages may be made instead."""

    level: Level
    steps: tuple[Step[Pass], ...]
    instead: tuple[Plan, ...] = ()

    @property
    def needs_labels(self) -> bool:
        """Whether a step asks for the labels of images."""
        return any(
            isinstance(step.pass_, AssetPass | EditPass | WholePagePass)
            and (step.pass_.needs_labels or step.options.get("price"))
            for plan in (self, *self.instead)
            for step in plan.steps
        ) or bool(self.instead)

    @property
    def compares(self) -> bool:
        """Whether a step asks which pages show the same without their scripts (``is_same_without_scripts``)."""
        plans = (self, *self.instead)
        return any(step.options.get("hydration", "keep") != "keep" for plan in plans for step in plan.steps)

    def steps_for(self, media_type: str) -> tuple[Step[Pass], ...]:
        """Return the steps for files of a media type, in order."""
        return tuple(step for step in self.steps if media_type in step.pass_.media_types)

    def steps_of(self, kind: type[P], media_type: str) -> tuple[Step[P], ...]:
        """Return the steps for files of a media type whose pass is of one kind, in order."""
        steps = self.steps_for(media_type)
        return tuple(Step(step.pass_, step.options) for step in steps if isinstance(step.pass_, kind))

    @property
    def libraries(self) -> frozenset[str]:
        """The libraries that the level's bytes depend on, except those that encode them to be sent."""
        own = (step.pass_.libraries for plan in (self, *self.instead) for step in plan.steps)
        # pages that may be made in several ways are compared by what images look like
        return EVERY_PASS.union(codings.ESTIMATING, _IMAGES if self.instead else (), *own)

    def recipe(self, settings: str) -> str:
        """Return the digest of everything that decides the level's bytes, except the site and ``libraries``."""
        steps = [step.recipe() for step in self.steps]
        for plan in self.instead:
            steps += [f"instead {plan.recipe(settings)} at {self.level.price!r}, {self.level.request!r}"]
        return digest_parts(VERSION, settings, self.level.promise, *self.level.bases, *steps)


@cache
def facts_recipe() -> str:
    """Return the text that identifies what is found of the same source (``adaptc.compile.analyse.facts``)."""
    return f"{VERSION} {identify(EVERY_PASS | _VECTORS)}"


def plan_level(level: Level) -> Plan:
    """Return the plan of a level whose passes were checked against ``KNOWN_PASSES``."""
    priced = {"price": level.price, "request": level.request}
    instead = tuple(Plan(other, _steps(other, priced)) for other in level.instead)
    return Plan(level, _steps(level, {}), instead)


def _steps(level: Level, priced: Mapping[str, float]) -> tuple[Step[Pass], ...]:
    """Return the steps of a level; ``priced`` are options over those of the passes that have them."""
    uses = ((use.name, dict(use.options)) for use in level.passes)
    return tuple(
        Step(BY_NAME[name], {**options, **{key: value for key, value in priced.items() if key in options}})
        for name, options in uses
    )


def modules_of(levels: Iterable[Level]) -> list[str]:
    """Return the modules of the passes of ``levels``, for callers that import them early."""
    plans = [plan_level(level) for level in levels]
    passes = {step.name: step.pass_ for plan in plans for own in (plan, *plan.instead) for step in own.steps}
    names = (name for each in passes.values() for name in each.function_names())
    return sorted({f"{_PACKAGE}.{name.partition(':')[0]}" for name in names})


def levels_above(levels: Iterable[Level]) -> Mapping[str, str]:
    """Return the next higher built level for each degrading level; ``levels`` are in order, highest first.

    Of the levels without a number, one that keeps the article alone (``text``) is below the lowest number; others have
    no level above or below them.
    """
    chosen = list(levels)
    ladder = [level for level in chosen if level.number is not None]
    articles = [level for level in chosen if ladder and level.number is None and level.promise == "article"]
    return {lower.name: upper.name for upper, lower in pairwise(ladder) if lower.promise != "same"} | {
        level.name: ladder[-1].name for level in articles
    }
