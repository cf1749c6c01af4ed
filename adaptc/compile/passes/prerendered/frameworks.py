"""The frameworks that prerender pages: how such a page looks, and which of its scripts hydrate it.

Hydration builds the page that is there already once more in the browser, from the code of its components and a copy
of its content as JSON, so that it answers to clicks and follows links without loading a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turbohtml import Document

__all__ = ["FRAMEWORKS", "Framework", "find_framework", "inline_code"]

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework, by what its pages have.

    ``root`` selects the element that it renders. ``mark`` selects what only its pages have, and ``code`` matches its
    inline scripts: the state, and the start of the hydration; either tells its pages. ``state`` selects elements that
    hold the state as data. ``bundle`` matches the paths of its scripts and of what they fetch.
    """

    name: str
    root: str
    bundle: re.Pattern[str]
    mark: str = ""
    code: re.Pattern[str] = _NEVER
    state: str = ""

    def is_on(self, tree: Document, codes: tuple[str, ...]) -> bool:
        """Whether the framework rendered a page; ``codes`` are its inline scripts."""
        return bool(self.mark and tree.select_one(self.mark)) or any(map(self.code.search, codes))


# Names of files that bundlers make: "main.5b0e4cfb.js" (webpack), "a.md.BRWLPP_B.lean.js" (Vite)
_HEX = r"[\w.~-]+[.-][0-9a-f]{8,}\.js$"
_BASE64 = r"[\w.~@$-]+[.-](?=[\w-]*[0-9A-Z])[\w-]{8,}(?:\.lean)?\.m?js$"

FRAMEWORKS = (
    Framework(
        "Docusaurus",
        "#__docusaurus",
        re.compile(rf"(?:^|/)(?:assets/js/)?{_HEX}"),
        mark="#__docusaurus",
    ),
    Framework(
        "Gatsby",
        "#___gatsby",
        re.compile(r"-[0-9a-f]{16,}\.m?js$|(?:^|/)page-data/.*\.json$|(?:^|/)static/d/\d+\.json$"),
        mark="#___gatsby",
        code=re.compile(r"\bwindow\.(?:pagePath|___chunkMapping|___webpackCompilationHash)\b"),
    ),
    Framework(
        "Next.js",
        "body",
        re.compile(r"(?:^|/)_next/"),
        mark="script#__NEXT_DATA__",
        code=re.compile(r"\bself\.__next_[fs]\b"),
        state="script#__NEXT_DATA__",
    ),
    Framework(
        "Nuxt",
        "#__nuxt",
        re.compile(r"(?:^|/)_nuxt/|(?:^|/)_payload\.js(?:on)?$"),
        mark="#__nuxt",
        code=re.compile(r"\bwindow\.__NUXT__\b"),
        state="script#__NUXT_DATA__",
    ),
    Framework(
        "VitePress",
        "#app",
        re.compile(rf"(?:^|/)assets/(?:[\w-]+/)*{_BASE64}"),
        mark='meta[name=generator][content^="VitePress"]',
        code=re.compile(r"\b__VP_(?:HASH_MAP|SITE_DATA)__\b"),
    ),
    Framework(
        "VuePress",
        "#app",
        re.compile(rf"(?:^|/)assets/(?:[\w-]+/)*{_BASE64}"),
        mark='meta[name=generator][content^="VuePress"]',
    ),
    Framework(
        "SvelteKit",
        "body",
        re.compile(r"(?:^|/)_app/"),
        mark="script[data-sveltekit-fetched], script[data-sveltekit-hydrate]",
        code=re.compile(r"\b__sveltekit_\w+\s*=|\b(?:kit|app)\.start\("),
        state="script[data-sveltekit-fetched]",
    ),
    Framework(
        "React Router",
        "body",
        re.compile(rf"(?:^|/)(?:assets|build)/(?:[\w-]+/)*{_BASE64}"),
        code=re.compile(r"\bwindow\.__(?:remix|reactRouter)(?:Context|Manifest|RouteModules)\b"),
    ),
    Framework(
        "Angular",
        "[ng-server-context]",
        re.compile(r"(?:^|/)(?:main|polyfills|runtime|vendor|common|chunk|\d+)[.-]\w{8,}\.m?js$"),
        mark="[ng-server-context]",
        code=re.compile(r"\b__jsaction_bootstrap\b"),
        state="script#ng-state",
    ),
    Framework(
        "Vue",
        "[data-server-rendered]",
        re.compile(rf"(?:^|/){_HEX}"),
        mark="[data-server-rendered]",
        code=re.compile(r"\bwindow\.__INITIAL_STATE__\b"),
    ),
    Framework(
        "Astro",
        "body",
        _NEVER,  # the islands name their components in attributes
        mark="astro-island",
        code=re.compile(r"""customElements\.define\(["']astro-island["']|\bself\.Astro\b"""),
    ),
)


def find_framework(tree: Document) -> Framework | None:
    """Return the framework that rendered a page, if there is one."""
    codes = tuple(inline_code(tree))
    return next((each for each in FRAMEWORKS if each.is_on(tree, codes)), None)


def inline_code(tree: Document) -> Iterator[str]:
    """Yield the texts of the inline scripts of a page."""
    return (each.text for each in tree.iter_elements("script") if "src" not in each.attrs)
