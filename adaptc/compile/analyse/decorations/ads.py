"""Advertisements and trackers: by where they come from, what they are called, and the sizes of banners."""

from __future__ import annotations

from adaptc.compile.analyse.decorations.signs import Case


def ad_reason(case: Case) -> str | None:
    """Return why an image is an advertisement or a tracker, or ``None``.

    A size alone is none: photographs come in 300x250 too. It counts for images of other hosts, and beside a name.
    """
    ads, use = case.rules.ads, case.use
    if use.url and ads.urls.match(use.url):
        return f"comes from {use.url.partition('//')[2].partition('/')[0]}, an advertiser or a tracker"
    if use.url and case.size and case.longest <= 1:
        return "a tracking pixel of another host"
    name = min(ads.names & (case.file_words | frozenset(use.names)), default=None)
    is_size = case.size is not None and (round(case.size[0]), round(case.size[1])) in ads.sizes
    if is_size and (name or (use.url and use.link == "outside")):
        return f"{case.size[0]:.0f}x{case.size[1]:.0f} px, the size of a banner" if case.size else None
    return f'called "{name}" and leads to another site' if name and use.link == "outside" else None
