"""What of a page comes from advertisers and trackers: by the rules that ship and the user's filter lists."""

from __future__ import annotations

from adaptc.compile.analyse.decorations.filters import Request
from adaptc.compile.page.context import PageContext
from adaptc.compile.view import View
from adaptc.core.urls import Reach, join


class Blocking:
    """Asks rules and filters about the addresses that one page loads."""

    def __init__(self, page: PageContext, view: View) -> None:
        self.page, self.view = page, view
        self.rules = view.labelling.rules
        self.host = view.url_of(page.path).partition("//")[2].partition("/")[0].partition(":")[0]

    def is_external(self, address: str) -> bool:
        """Whether an address, as written, is on another site."""
        return self.view.follow(self.page.base, address).target.reach is Reach.EXTERNAL

    def url(self, address: str) -> str:
        """Return the absolute URL of an address as written."""
        return join(self.page.base, address) or address

    def reason(self, address: str, kind: str) -> str | None:
        """Return why a load of this kind (an option of filters: "script", "image") is blocked, or ``None``."""
        url, is_external = self.url(address), self.is_external(address)
        request = Request(url, kind, self.host, is_external)
        if self.rules.filters.allows(request):
            return None
        listed = self.rules.filters.blocks(request)
        if listed is not None:
            return f"the filter {listed}"
        ads = self.rules.ads
        # a hint may name the host alone
        is_known = ads.urls.match(url) or ads.widgets.match(url) or ads.urls.match(f"{url}/")
        return "of an advertiser, tracker or social network" if is_external and is_known else None

    def listed(self, address: str, kind: str) -> str | None:
        """Return the filter of the user's lists that blocks a load, or ``None``."""
        return self.rules.filters.blocks(Request(self.url(address), kind, self.host, self.is_external(address)))
