"""Advertisements and trackers: by where they come from, what they are called, and the sizes of banners."""

from __future__ import annotations

from adaptc.analyse.decorations.signs import View


def ad_reason(view: View) -> str | None:
    """Return why an image is an advertisement or a tracker, or ``None``.

    A size alone is none: photographs come in 300x250 too. It counts for images of other hosts, and beside a name.
    """
    ads, use = view.rules.ads, view.use
    if use.url and ads.urls.match(use.url):
        return f"comes from {use.url.partition('//')[2].partition('/')[0]}, an advertiser or a tracker"
    if use.url and view.size and view.longest <= 1:
        return "a tracking pixel of another host"
    name = min(ads.names & (view.file_words | frozenset(use.names)), default=None)
    is_size = view.size is not None and (round(view.size[0]), round(view.size[1])) in ads.sizes
    if is_size and (name or (use.url and use.link == "outside")):
        return f"{view.size[0]:.0f}x{view.size[1]:.0f} px, the size of a banner" if view.size else None
    return f'called "{name}" and leads to another site' if name and use.link == "outside" else None
