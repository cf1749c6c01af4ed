"""The text of a page as levels without scripts begin with it."""

from __future__ import annotations

from adaptc.formats.html.counters import write_counted_numbers
from adaptc.formats.html.streaming import place_streamed_parts
from adaptc.formats.html.written_years import leave_out_written_years

__all__ = ["static_text"]


def static_text(text: str) -> str:
    """Return the page's text with streamed parts in their places, numbers counted up, and no written years."""
    return write_counted_numbers(leave_out_written_years(place_streamed_parts(text)))
