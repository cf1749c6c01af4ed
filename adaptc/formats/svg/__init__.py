"""SVG files: their references, and a smaller file that renders the same. lxml is imported lazily."""

from adaptc.formats.svg.clean import CleanedSvg, clean_svg
from adaptc.formats.svg.parse import svg_references

__all__ = ["CleanedSvg", "clean_svg", "svg_references"]
