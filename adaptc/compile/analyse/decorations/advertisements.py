"""Which images advertise: what advertisers and trackers serve, banners, and the marks of sponsors."""

from __future__ import annotations

from adaptc.compile.analyse.decorations.case import Case

_GROUP = 3  # different marks next to each other


def ad_reason(case: Case) -> str | None:
    """Return why an image is an advertisement or a tracker, or ``None``.

    The size alone is no reason: photographs come in 300x250 too. It counts for images of other hosts, or with a name.
    """
    ads, use = case.rules.ads, case.use
    if use.url and ads.urls.match(use.url):
        return f"comes from {use.url.partition('//')[2].partition('/')[0]}, an advertiser or a tracker"
    if use.url and case.size and case.longest <= 1:
        return "a tracking pixel of another host"
    size = (round(case.size[0]), round(case.size[1])) if case.size else (0, 0)
    name = min(ads.names & (case.file_words | frozenset(use.names)), default=None)
    if size in ads.badges and use.host and use.alone_in_link:
        return f"{size[0]}x{size[1]} px, a badge that leads to another site"
    if size in ads.sizes and (name or (use.url and use.link == "outside")):
        return f"{size[0]}x{size[1]} px, the size of a banner"
    if name and use.link == "outside":
        return f'called "{name}" and leads to another site'
    return _sponsor_reason(case)


def _sponsor_reason(case: Case) -> str | None:
    """Return why an image is the mark of a sponsor, or of others to whom the page sends its readers.

    Marks are small and no photographs, alone in links to other hosts: where classes, a heading or the folder name
    sponsors, or in a group.
    """
    ads, use = case.rules.ads, case.use
    is_mark = use.kind != "background" and case.shortest <= case.rules.limits["mark"] and not case.looks_like_photo()
    if not is_mark or use.region in ("header", "nav"):
        return None
    names = frozenset((*use.names, *use.heading, *case.folder_words))
    leads_away = bool(use.host) and use.alone_in_link
    word = min(ads.sponsors & names, default=None)
    if word is not None and (leads_away or (use.alike >= _GROUP and not ads.sponsors.isdisjoint(use.names))):
        return f'the mark of a sponsor ("{word}")'
    is_in_group = use.hosts >= case.rules.limits["marks"] and case.shortest <= case.rules.limits["row"]
    if leads_away and is_in_group and not _is_of_others(case, names):
        return f"one of the marks that lead to {use.hosts} other hosts"
    return None


def _is_of_others(case: Case, names: frozenset[str]) -> bool:
    """Whether it belongs to customers or users, or stands for a page of the site itself on a social network."""
    words = case.rules.words
    return bool((names | case.file_words) & (words["foreign"] | words["social"] | words["arrow"]))
