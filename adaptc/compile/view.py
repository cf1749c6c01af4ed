"""What a pass sees and what it returns.

A pass is a pure function of one unit and a read-only ``View`` of the site. The view records every lookup, of missing
files too; the record is the unit's list of dependencies. A pass returns values and touches no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from adaptc.core.diagnostics import Diagnostic
from adaptc.core.model import Action, Effort
from adaptc.core.values import dataclass
from adaptc.site.selection import NO_BOUNDS, Bounds

if TYPE_CHECKING:
    from adaptc.browser.evidence import PageEvidence
    from adaptc.compile.analyse.decisions import Placement
    from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUsage
    from adaptc.compile.analyse.decorations.rules import DecorationRules
    from adaptc.core.facts import FactKind
    from adaptc.site.site import SiteTarget

F = TypeVar("F")

# Bytes of a request and its response without the body, at the least: header fields as HTTP/2 compresses them. In
# HTTP/1.1 they are 600 and more. Without them no data URI pays: base64 compresses to the size of the image again.
REQUEST_BYTES = 100
# Bytes that a script or a player of another site which waits for visitors is worth, at least: most load others
WAITING_BYTES = 4096

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that is not a page, at some level: its path, media type and content."""

    path: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an asset pass. ``content`` is ``None`` if the asset stays as it is.

    ``absorbed`` is the size in bytes of the files that are now part of the content and no longer loaded separately.
    """

    content: bytes | None
    actions: tuple[Action, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    absorbed: int = 0


@dataclass(frozen=True, slots=True)
class Alternate:
    """An image in another format of ``adaptc.core.model.FORMATS``."""

    format: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Alternates:
    """An image in other formats, in the order of ``adaptc.core.model.FORMATS``."""

    images: tuple[Alternate, ...] = ()
    actions: tuple[Action, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file at ``path``, next to a page; ``content`` is ``None`` if there is none."""

    path: str
    media_type: str
    content: bytes | None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A smaller copy of an image, under a path of its own, named by its content (``_adaptc/ab12.webp``).

    ``digest`` is the SHA-256 of its bytes and ``size`` their number; ``width`` and ``height`` are its pixels,
    ``natural_width`` and ``natural_height`` the CSS pixels at which the original is shown. ``likeness`` is there where
    the copy was compared with the original (``adaptc.formats.image.copiers``).
    """

    path: str
    media_type: str
    digest: str
    size: int
    width: int
    height: int
    natural_width: int
    natural_height: int
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration as far as passes know it.

    ``csp`` is the Content-Security-Policy header that the server sends; ``crowd_limit`` is that of
    ``adaptc.compile.analyse.decisions.DeliveryCost``, in bytes. ``bounds`` are the parts of the docroot that not
    everybody may read.
    """

    effort: Effort = "fast"
    limit_pixels: int = 100_000_000
    csp: str | None = None
    data_uri_budget: int = 8192
    data_uri_max: int = 2048
    crowd_limit: int = 58_000
    bounds: Bounds = NO_BOUNDS


class Labelling(Protocol):
    """The names of the level and the rules by which its images are labelled."""

    @property
    def levels(self) -> tuple[str, ...]:
        """The level, and those that it extends, the nearest first: their adaptation tags hold."""

    @property
    def rules(self) -> DecorationRules:
        """The rules, the user's overrides among them."""


class View(Protocol):
    """The site as the passes of one level see it. Every lookup is recorded."""

    settings: Settings

    def url_of(self, path: str) -> str:
        """Return the absolute URL of a path."""

    def follow(self, base: str, reference: str) -> SiteTarget:
        """Resolve a reference against the absolute URL ``base`` and look for the file."""

    def media_type(self, path: str) -> str:
        """Return the media type of an existing file."""

    def read(self, path: str) -> bytes:
        """Return the content of an existing file of the docroot."""

    def artifact(self, path: str) -> bytes:
        """Return the content of an existing asset at this level."""

    def facts(self, kind: FactKind[F], content: str | bytes) -> F:
        """Return the facts of a text, as a script or style sheet (as UTF-8); they depend on nothing else."""

    def placement(self, path: str) -> Placement:
        """Return whether a shared style sheet or script should move into its pages."""

    def page_evidence(self, path: str) -> PageEvidence | None:
        """Return what a browser saw of the page at ``path``; ``None`` if it did not look."""

    def page_document(self, path: str) -> bytes | None:
        """Return the markup (UTF-8) of the page at ``path`` after its scripts, ``None`` if no browser saw any."""

    def page_written(self, path: str) -> bytes | None:
        """Return what of that markup the page at ``path`` can have before its scripts run (``PageEvidence``)."""

    def pinned(self, path: str) -> str | None:
        """Return what fixes the bytes of ``path``: an ``integrity`` attribute, or its digest in a text of the site."""

    def header_values(self, path: str, field: str) -> tuple[str, ...]:
        """Return the values of a header field with which hosts send a file, by the files of the site for them."""

    def sent_charset(self, path: str) -> str | None:
        """Return the label of the encoding with which hosts send a page, ``None`` where the page says it."""

    def is_unused(self, path: str) -> bool:
        """Whether no page, style sheet or SVG file refers to the JPEG at ``path``."""

    def shown_characters(self) -> frozenset[int]:
        """Return the code points that the pages of the site may show."""

    def scripts(self) -> tuple[str, ...]:
        """Return the paths of the site's scripts."""

    def icons_named(self) -> frozenset[str]:
        """Return the names of icons, drawn by scripts, that pages, scripts and data of the site write."""

    def may_use_features(self) -> bool:
        """Whether something may turn on features of fonts that browsers do not use by themselves (small capitals)."""

    def keeps_imports(self, path: str) -> bool:
        """Whether the sheet at ``path`` keeps its imports, since those of all sheets would exceed the budget."""

    def is_sole_import(self, path: str) -> bool:
        """Whether a single style sheet imports the sheet at ``path``, and nothing else loads it."""

    def is_loaded_twofold(self, path: str) -> bool:
        """Whether a page loads the sheet at ``path`` by itself, and a style sheet imports it."""

    @property
    def labelling(self) -> Labelling:
        """The level and the rules of labels; only for passes with ``needs_labels``."""

    def evidence(self, path: str) -> ImageEvidence:
        """Return what the image file at ``path`` looks like; only for passes with ``needs_labels``."""

    def usage(self, path: str) -> SiteUsage:
        """Return how the site uses the image file at ``path``; only for passes with ``needs_labels``."""


# The kind of copies of fonts
WOFF2 = "woff2"


class DerivingView(View, Protocol):
    """A view of a level that makes smaller copies of images and fonts."""

    @property
    def derived(self) -> Mapping[str, DerivedFile]:
        """The copies that ``derive`` returned, by path."""

    def derive(self, path: str, kind: str, options: Options) -> DerivedFile | str:
        """Return a smaller copy of the image or font at ``path``, or the reason why the original stays.

        ``kind`` is a name of ``adaptc.formats.image.copiers.COPIERS``; ``options`` are the keyword arguments of
        its function except those that ``Settings`` holds. A font has the kind ``WOFF2``, and the option ``characters``,
        as text: those of its glyphs that stay; all without. It keeps all of its features, unless ``features`` is false.
        With ``embedded`` it is that with this digest among the data URIs of the style sheet at ``path``.
        """

    def copy_content(self, copy: DerivedFile) -> bytes:
        """Return the bytes of a copy that ``derive`` returned."""
