"""The hydration of a page by the framework that prerendered it: its scripts, its state, what is fetched for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.core.urls import host_and_path
from adaptc.core.values import dataclass
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.references import ISLAND_SCRIPTS
from adaptc.formats.script import is_javascript_type, is_module_type
from adaptc.site.published import is_hydratable

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = ["ANY", "MATERIAL", "Hydration", "find_framework", "imported_urls", "inline_code"]

# ---- The frameworks that prerender pages: how such a page looks, and which of its scripts hydrate it
# Hydration builds the page that is there already once more in the browser, from the code of its components and a copy
# of its content as JSON, so that it answers to clicks and follows links without loading a page.

_NEVER = re.compile(r"(?!)")
# Names of files that bundlers make ("main.5b0e4cfb.js" (webpack), "a.md.BRWLPP_B.lean.js" (Vite), "chunk-ABCDEF12.js"
# (Angular)), folders of what frameworks made, and files of content (Gatsby, Nuxt)
_BUNDLE = re.compile(
    r"[\w.~-]+[.-][0-9a-f]{8,}\.m?js$|[\w.~@$-]+[.-](?=[\w-]*[0-9A-Z])[\w-]{8,}(?:\.lean)?\.m?js$"
    r"|(?:^|/)(?:_next|_nuxt|_app|_astro)/|(?:^|/)(?:main|polyfills|runtime|vendor|common|chunk|\d+)[.-]\w{8,}\.m?js$"
    r"|(?:^|/)(?:page-data/.*\.json|static/d/\d+\.json|_payload\.js(?:on)?)$"
)


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework, by what its pages have.

    ``root`` selects the element that it renders. ``mark`` selects what only its pages have, and ``code`` matches its
    inline scripts: the state, and the start of the hydration; either tells its pages. ``bundle`` matches the paths of
    its scripts and of what they fetch. With ``has_modules`` the inline modules of its pages are its own, too, each that
    of a component. Of a page that ``needs_evidence`` only a browser says whether it shows the same without scripts, and
    ``needs`` matches attributes of what runs before a visitor uses anything.
    """

    name: str
    root: str = "body"
    mark: str = ""
    code: re.Pattern[str] = _NEVER
    bundle: re.Pattern[str] = _BUNDLE
    has_modules: bool = False
    needs_evidence: bool = False
    needs: re.Pattern[str] = _NEVER


def _code(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Directives that run as the page is scrolled, pointed at, or by themselves
_DIRECTIVES = _code(
    r"""\s(?:x-(?:init|effect|intersect|teleport|resize|sort)\b|(?:@|x-on:)(?!click|key|input|change|submit)[\w.:-]+)"""
    r"""|<a\b[^>]*\shref=["']?[^"'#\s>][^>]*\s(?:@|x-on:)click|<a\b[^>]*\s(?:@|x-on:)click[^>]*\shref=["']?[^"'#\s>]"""
)
MATERIAL = "Material for MkDocs"
FRAMEWORKS = (
    Framework("Docusaurus", "#__docusaurus", "#__docusaurus"),
    Framework(
        "Gatsby", "#___gatsby", "#___gatsby", _code(r"\bwindow\.(?:pagePath|___chunkMapping|___webpackComp\w+)\b")
    ),
    Framework("Next.js", mark="script#__NEXT_DATA__", code=_code(r"\bself\.__next_[fs]\b")),
    Framework("Nuxt", "#__nuxt", "#__nuxt", _code(r"\bwindow\.__NUXT__\b")),
    Framework(
        "VitePress", "#app", "meta[name=generator][content^=VitePress]", _code(r"\b__VP_(?:HASH_MAP|SITE_DATA)__\b")
    ),
    Framework("VuePress", "#app", "meta[name=generator][content^=VuePress]"),
    Framework(
        "SvelteKit",
        mark="script[data-sveltekit-fetched], script[data-sveltekit-hydrate]",
        code=_code(r"\b__sveltekit_\w+\s*=|\b(?:kit|app)\.start\("),
    ),
    Framework("React Router", code=_code(r"\bwindow\.__(?:remix|reactRouter)(?:Context|Manifest|RouteModules)\b")),
    Framework("Angular", "[ng-server-context]", "[ng-server-context]", _code(r"\b__jsaction_bootstrap\b")),
    Framework("Vue", "[data-server-rendered]", "[data-server-rendered]", _code(r"\bwindow\.__INITIAL_STATE__\b")),
    Framework(
        "Astro",
        mark='astro-island, meta[name=generator][content^="Astro "], script[type=module][src*="_astro/"]',
        code=_code(r"""customElements\.define\(["']astro-island["']|\bself\.Astro\b"""),
        has_modules=True,
    ),
    # Directives say what elements show and do; <is-land> loads its like once it is seen or used, or the page idles
    Framework(
        "Alpine or is-land",
        mark="[x-data], is-land",
        bundle=re.compile(r"(?:^|/)(?:is-land|@?alpine)[^/]*(?:/|\.m?js$)", re.IGNORECASE),
        needs_evidence=True,
        needs=_DIRECTIVES,
    ),
    # Its bundle works on pages that MkDocs wrote (``material.js`` stands in for it). More runs before a visitor uses
    # anything: notes in code, tabs that were chosen on another page, diagrams, versions, consent
    Framework(
        MATERIAL,
        bundle=re.compile(r"(?:^|/)assets/javascripts/bundle\.[0-9a-f]{8}\.min\.js$"),
        mark='meta[name=generator][content*="mkdocs-material"]',
        needs_evidence=True,
        needs=re.compile(
            r"""\b(?:mermaid|md-banner__button)\b|"content\.(?:code\.(?:annotate|select)|tabs\.link)"|"provider": """
            r"""|__consent|\bclass=["'][^"']*\b(?:annotate|select)\b"""
        ),
    ),
)
ANY = Framework("a framework")  # any other (``adaptc.site.published.is_hydratable``)


def find_framework(editor: Editor) -> Framework | None:
    """Return the framework that rendered a page, if there is one; one without a name, by what hydration looks for."""
    codes = tuple(inline_code(editor.tree))
    for each in FRAMEWORKS:
        if any(map(each.code.search, codes)) or (each.mark and editor.tree.select_one(each.mark)):
            return each
    return ANY if is_hydratable(editor.text) else None


def inline_code(tree: Document) -> Iterator[str]:
    """Yield the texts of the inline scripts of a page."""
    return (each.text for each in tree.iter_elements("script") if "src" not in each.attrs)


_IMPORTED = re.compile(r"""\bimport\s*+\(?\s*+(?:(?:(?!\bimport\b)[^"'();])*?\bfrom\s*+)?["']([^"']+)["']""")
_EARLY = frozenset({"preload", "prefetch", "modulepreload", "prerender"})
_FETCHED_BY_CODE = frozenset({"script", "fetch", "json", "worker"})


@dataclass(frozen=True, slots=True)
class Hydration:
    """What of a page hydrates it: ``scripts`` with code and state, ``hints`` to fetch such files early.

    ``others`` are the other scripts that run; ``islands`` are the parts of an Astro page that are hydrated.
    """

    scripts: tuple[Element, ...]
    hints: tuple[Element, ...]
    others: tuple[Element, ...]
    islands: tuple[Element, ...]

    @staticmethod
    def of(tree: Document, framework: Framework) -> Hydration:
        """Find the hydration of a page that a framework rendered."""
        scripts = list(tree.iter_elements("script"))
        links = [each for each in tree.iter_elements("link") if not _EARLY.isdisjoint(rel_tokens(each))]
        preloaded = frozenset(_path(each, "href") for each in links if "modulepreload" in rel_tokens(each))
        own = [each for each in scripts if _is_part(each, framework, preloaded)]
        others = [each for each in scripts if each not in own and _runs(each)]
        loaded = frozenset(_path(each, "src") for each in own if "src" in each.attrs)
        has_modules = any(is_module_type(each.attr("type")) for each in others)
        hints = [each for each in links if _is_hint(each, framework, loaded, has_modules=has_modules)]
        return Hydration(tuple(own), tuple(hints), tuple(others), tuple(tree.iter_elements("astro-island")))

    def island_urls(self) -> tuple[str, ...]:
        """Return the addresses of the scripts that islands load."""
        urls = (island.attr(name) for island in self.islands for name in ISLAND_SCRIPTS)
        return tuple(url for url in urls if url)

    def urls(self) -> tuple[str, ...]:
        """Return the addresses of all files that it has browsers load with the page."""
        own = (script.attr("src") for script in self.scripts)
        return (*filter(None, own), *(link.attr("href") or "" for link in self.hints), *self.island_urls())


def _is_part(script: Element, framework: Framework, preloaded: frozenset[str]) -> bool:
    if not _runs(script):
        return False
    if "src" in script.attrs:
        path = _path(script, "src")
        return framework.bundle.search(path) is not None or (is_module_type(script.attr("type")) and path in preloaded)
    if framework.has_modules and is_module_type(script.attr("type")):
        return True
    imported = (host_and_path(url)[1] for url in imported_urls(script.text))
    return framework.code.search(script.text) is not None or any(map(framework.bundle.search, imported))


def imported_urls(text: str) -> list[str]:
    """Return the addresses that a module imports by name."""
    return _IMPORTED.findall(text)


def _runs(script: Element) -> bool:
    kind = script.attr("type")
    return is_module_type(kind) or is_javascript_type(kind, script.attr("language"))


def _is_hint(link: Element, framework: Framework, loaded: frozenset[str], *, has_modules: bool) -> bool:
    """Whether a link fetches code or state early, or anything for the next page; sheets and fonts of this page stay."""
    path, relations = _path(link, "href"), rel_tokens(link)
    if "stylesheet" in relations:
        return False
    if path in loaded or ("modulepreload" in relations and not has_modules):
        return True
    if framework.bundle.search(path) is None:
        return False
    is_for_code = (link.attr("as") or "").lower() in _FETCHED_BY_CODE or path.endswith((".js", ".mjs", ".json"))
    return is_for_code or bool(relations & {"modulepreload", "prefetch"})


def _path(element: Element, name: str) -> str:
    """Return the path of a URL: without query and fragment, and without the host, which may be one for files only."""
    return host_and_path((element.attr(name) or "").strip())[1]
