"""A use of an image with everything that is known about it."""

from __future__ import annotations

from functools import cached_property

from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUsage, UsageLookup, UseEvidence
from adaptc.compile.analyse.decorations.rules import DecorationRules
from adaptc.core.values import dataclass
from adaptc.formats.html.syntax import name_words


@dataclass(frozen=True)
class Case:
    """Everything that is known about one use."""

    use: UseEvidence
    image: ImageEvidence | None
    site: UsageLookup
    rules: DecorationRules

    @cached_property
    def usage(self) -> SiteUsage:
        """How the site uses the file."""
        return self.site.usage(self.use.path, self.rules.limits)

    @cached_property
    def size(self) -> tuple[float, float] | None:
        """Width and height as shown in px: those of the markup, completed by the file's ratio, or the file's."""
        width, height = self.use.width, self.use.height
        natural = self.image and self.image.width and self.image.height and (self.image.width, self.image.height)
        if width and height:
            return width, height
        if not natural:
            return (width or height, width or height) if width or height else None  # type: ignore[return-value]
        scale = width / natural[0] if width else height / natural[1] if height else 1.0
        return natural[0] * scale, natural[1] * scale

    @cached_property
    def longest(self) -> float:
        """The longer side in px; 0 where the size is not known."""
        return max(self.size) if self.size else 0.0

    @cached_property
    def shortest(self) -> float:
        """The shorter side in px; 0 where the size is not known."""
        return min(self.size) if self.size else 0.0

    @cached_property
    def file_name(self) -> str:
        """The name of the file in lower case."""
        return (self.use.path or self.use.url.partition("?")[0]).lower().rpartition("/")[2]

    @cached_property
    def file_words(self) -> frozenset[str]:
        """The words of the file's name and of the folder it is in."""
        path = (self.use.path or self.use.url.partition("?")[0]).rsplit("/", 2)
        return frozenset(name_words(path[-1].partition(".")[0])) | frozenset(
            name_words(path[-2] if len(path) > 1 else "")
        )

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The words of the file's name, and of class and id of the element and of those around it."""
        return self.file_words | frozenset(self.use.names)

    @cached_property
    def alt_words(self) -> frozenset[str]:
        """The words of the alternative text."""
        return frozenset(name_words(self.use.alt or ""))

    def named(self, group: str, candidates: frozenset[str]) -> str | None:
        """Return a word of the group among those found."""
        return min(candidates & self.rules.words.get(group, frozenset()), default=None)

    @cached_property
    def folder_words(self) -> frozenset[str]:
        """The words of the folder of the file."""
        return frozenset(name_words((self.use.path or "").rpartition("/")[0].rpartition("/")[2]))

    def looks_like_photo(self) -> bool:
        """Whether its pixels are mostly those of a photograph."""
        image, limits = self.image, self.rules.limits
        if image is None or image.entropy is None or image.colours is None:
            return False
        return image.entropy >= limits["photo"] and image.colours >= limits["photo_colours"]

    def is_background(self) -> bool:
        """Whether a style sheet shows it."""
        return self.use.kind == "background"
